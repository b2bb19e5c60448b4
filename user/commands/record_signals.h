/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record_signals.h - signals to tachbpf while it records: SIGINT, SIGTERM and SIGHUP, and the one of
 * --signal.
 *
 * Ctrl-C on a terminal also reaches the command after "--". It decides whether to end, and the
 * recording ends after it, so that its end is recorded: such a SIGINT is counted separately.
 */
#ifndef TACHBPF_RECORD_SIGNALS_H
#define TACHBPF_RECORD_SIGNALS_H

#include <stdbool.h>

struct record_signals {
	int own;		/* number of signals that were sent to tachbpf */
	int last;		/* the last one of these; 0: none */
	int terminal;		/* number of Ctrl-C that the command got, too */
	int asked;		/* number of those of record_signals_ask() */
};

/*
 * Catch them from now on, and ignore SIGPIPE and SIGXFSZ: write(2) fails instead. Until
 * record_signals_begun(), which comes when somebody asks what was seen again and again, a second
 * signal ends tachbpf at once: the start may hang on others' files.
 */
void record_signals_catch(bool with_command);
void record_signals_begun(void);

/* Count this signal, too: it asks for what a flight recorder has kept. */
void record_signals_ask(int sig);

/* What has come since. */
struct record_signals record_signals_seen(void);

#endif
