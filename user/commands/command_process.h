/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * command_process.h - the process of a command that looks at others: its workers (worker.h), and
 * the signals to it while it records: SIGINT, SIGTERM and SIGHUP, and the one of --signal.
 *
 * Ctrl-C on a terminal also reaches the command after "--". It decides whether to end, and the
 * recording ends after it, so that its end is recorded: such a SIGINT is counted separately.
 */
#ifndef TACHBPF_COMMAND_PROCESS_H
#define TACHBPF_COMMAND_PROCESS_H

#include <stdbool.h>

#include "capture/capture_process.h"

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

/* Parts of `parts` that no capture has: the worker of a look (look_worker.h). */
#define COMMAND_LOOK 256
/* The same, with the right to read the kernel's functions, instead. */
#define COMMAND_LOOK_KERNEL 512

/*
 * Start the keeper of the workers that a capture with these parts (enum capture_part) can have,
 * once. Without a keeper, which is logged, the program must keep its own rights: -errno. Once it
 * has given them up: reader_reads_proc().
 */
int command_workers_start(unsigned int parts);

#endif
