/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* start.h - what every program does first, and what one that stays does next. */
#ifndef TACHBPF_START_H
#define TACHBPF_START_H

/*
 * Opens closed descriptors 0 to 2 so that they can be neither read nor written (EBADF), and no file
 * of ours gets their numbers; commands that we start find them closed. And turns a limit of file
 * sizes (ulimit -f) into an error of write(2), EFBIG, instead of a deadly signal.
 */
void start_program(void);

/*
 * Gives back what only the start needed: freed memory, and the pages of the executable and its
 * libraries, which come again from the page cache when they are used. From now on freed memory goes
 * back soon, too. For programs that stay.
 */
void start_over(void);

#endif
