/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_serve.h - the helper's loop: it takes files from the opener, and answers the main process. */
#ifndef TACHBPF_ELF_SERVE_H
#define TACHBPF_ELF_SERVE_H

/*
 * Serves until one of the sockets is closed, or its peer sends an invalid message. Returns 0 if it
 * was closed, or -errno.
 */
int elf_serve(int main_fd, int opener_fd);

#endif
