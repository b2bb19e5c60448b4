/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_serve.h - the helper's loop: it takes files from the opener, and answers the main process. */
#ifndef TACHBPF_ELF_SERVE_H
#define TACHBPF_ELF_SERVE_H

/*
 * Seconds of CPU time for one request; then SIGPROF ends the helper, and its parent starts another
 * one, which must not be sent the same request.
 */
#define ELF_SERVE_SECONDS 60
/*
 * From this CPU time (us) for tables on, the helper runs at nice 10. All of PyTorch's take 250 ms.
 * At nice 10, beside busy processes, they would come seconds later, and stacks end without them.
 */
#define ELF_QUICK_US 500000

/*
 * Serves until one of the sockets is closed, or its peer sends an invalid message. Returns 0 if it
 * was closed, or -errno.
 */
int elf_serve(int main_fd, int opener_fd);

#endif
