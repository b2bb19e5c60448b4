/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * start.h - what every program does first.
 */
#ifndef TACHBPF_START_H
#define TACHBPF_START_H

/*
 * Descriptors 0 to 2 that are closed become ones that can be neither read nor written (EBADF), so
 * that no file of ours gets their numbers; commands that we start find them closed. And a limit of
 * file sizes (ulimit -f) becomes an error of write(2), EFBIG, not a deadly signal.
 */
void start_program(void);

#endif
