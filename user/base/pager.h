/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pager.h - shows standard output page by page, if that is a terminal.
 *
 * The program is $TACHBPF_PAGER, otherwise $PAGER, otherwise less, which ends at once if everything
 * fits the terminal; an empty variable, or "cat", means none. Root always gets less, with all
 * features disabled that could start other programs: these variables may be another user's (sudo
 * -E, su), and their program would run as root.
 */
#ifndef TACHBPF_PAGER_H
#define TACHBPF_PAGER_H

#include <stdbool.h>

/* Starts the pager if standard output is a terminal. Failing is no error: there is no pager. */
void pager_start(void);

/* Returns true if one was started. It is no error then if nobody reads standard output. */
bool pager_is_started(void);

/*
 * Closes standard output, and waits until the pager ends. Returns false if the pager could not be
 * run, which was logged; true if there is none.
 */
bool pager_end(void);

#endif
