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
 * Find the executable: beside our own, else where `make install` puts it, in ../libexec/tachbpf
 * seen from there. TACHBPF_ELF in the environment names another one (tests). If we are root, one
 * that is not beside our own must be root's, and only root's to change. 0; -ENOENT: there is none,
 * it was built without (NATIVE=0); -EPERM: others can change it; path has its name; other -errno.
 */
int elf_helper_find(char *path, size_t size);

/*
 * Start a helper. main_fd and opener_fd are its ends of the sockets (SOCK_SEQPACKET) to the main
 * process and to the opener; they stay the caller's, who closes them. All our other descriptors
 * must be CLOEXEC. It has no rights, opens no file, and ends with us, with either socket, or if a
 * question takes it too long (elf_serve.h).
 *
 * *pid: our child, to be waited for; *pidfd: can be read when it has ended; the caller's. 0 or
 * -errno as of elf_helper_find(), and of posix_spawn(3).
 */
int elf_helper_start(enum elf_role role, int main_fd, int opener_fd, pid_t *pid, int *pidfd);

#endif
