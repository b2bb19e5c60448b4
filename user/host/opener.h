/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * opener.h - opens a file on the desktop with xdg-open, as the logged-in user.
 *
 * If root runs for a user through sudo, the program that opens the file is that user's, without any
 * of root's rights. While a recording runs, the right to become that user is given up as well; so a
 * helper becomes that user in advance, and waits.
 */
#ifndef TACHBPF_OPENER_H
#define TACHBPF_OPENER_H

#include <sys/types.h>

struct opener {
	pid_t pid;		/* 0: none */
	int path_fd;		/* takes the path; if it is closed without one, the helper ends */
	int err_fd;		/* delivers an errno if xdg-open cannot be run */
	const char *why_not;	/* NULL, or why nothing can be opened */
};

/* Start the helper. A failure is not an error: opener_show() will log the reason. */
void opener_start(struct opener *o);

/* Open the file, without waiting until it is closed. Logs a warning if that is not possible. */
void opener_show(struct opener *o, const char *path);

/* End the helper if it was not needed. */
void opener_stop(struct opener *o);

#endif
