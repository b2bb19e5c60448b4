/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pager.h - shows what goes to standard output page by page, if that is a terminal.
 *
 * The program is $TACHBPF_PAGER, else $PAGER, else less, which ends at once if everything fits
 * the terminal; an empty variable, or "cat", means none. Root's is always less, without what
 * could start other programs: these variables may be another user's (sudo -E, su), and what they
 * name would run as root.
 */
#ifndef TACHBPF_PAGER_H
#define TACHBPF_PAGER_H

#include <stdbool.h>

/* Start the pager if standard output is a terminal. Failing is no error: there is none then. */
void pager_start(void);

/* Was one started? Then it is no error if nobody reads standard output any more. */
bool pager_is_started(void);

/*
 * End standard output, and wait until the user has seen enough. false: the pager could not be
 * run, which was logged. true if there is none.
 */
bool pager_end(void);

#endif
