/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * opener.h - shows a file on the desktop, with xdg-open, as the user who sits there.
 *
 * If root runs for a user behind sudo, what opens the file is that user's, without any of root's
 * rights. While a recording runs, the right to become that user is given up as well; so a helper
 * becomes that user before, and waits.
 */
#ifndef TACHBPF_OPENER_H
#define TACHBPF_OPENER_H

#include <sys/types.h>

struct opener {
	pid_t pid;		/* 0: none */
	int path_fd;		/* takes the path; without one the helper ends */
	int err_fd;		/* delivers an errno if xdg-open cannot be run */
	const char *why_not;	/* NULL, or why nothing can be shown */
};

/* Start the helper. Failing is no error: opener_show() will say why. */
void opener_start(struct opener *o);

/* Show the file; a warning says why that is not possible. Does not wait until it is closed. */
void opener_show(struct opener *o, const char *path);

/* End the helper if it was not needed. */
void opener_stop(struct opener *o);

#endif
