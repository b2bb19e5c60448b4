/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_start.h - starts the helper executable tachbpf-elf. For the main process.
 */
#ifndef TACHBPF_ELF_START_H
#define TACHBPF_ELF_START_H

#include <stddef.h>
#include <sys/types.h>

enum elf_role { ELF_ROLE_TABLES, ELF_ROLE_NAMES };

#define ELF_HELPER_NAME "tachbpf-elf"

/*
 * Finds the executable: next to our own, or where `make install` puts it, in ../libexec/tachbpf
 * from there. TACHBPF_ELF overrides it (tests). As root, one that is not next to our own must be
 * owned, and writable, only by root. Returns 0; -ENOENT: none, as with NATIVE=0; -EPERM: others can
 * change it, path has its name; another -errno.
 */
int elf_helper_find(char *path, size_t size);

/*
 * Starts a helper. main_fd and opener_fd are its ends of the sockets (SOCK_SEQPACKET) to the main
 * process and to the opener; the caller keeps and closes them. All our other descriptors must be
 * CLOEXEC. The helper has no rights, opens no file, and ends with us, with either socket, or if a
 * request takes too long (elf_serve.h).
 *
 * *pid: our child, to be waited for; *pidfd: readable when it has ended, owned by the caller.
 * Returns 0, or -errno of elf_helper_find() or posix_spawn(3).
 */
int elf_helper_start(enum elf_role role, int main_fd, int opener_fd, pid_t *pid, int *pidfd);

#endif
