/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * command_process.h - the process of a command that inspects others: its workers (worker.h), and
 * the signals that it receives while it records: SIGINT, SIGTERM, SIGHUP, and the one of --signal.
 *
 * Ctrl-C on a terminal also reaches the command after "--". The command decides whether to end, and
 * the recording ends after it, so that its end is recorded: such a SIGINT is counted separately.
 */
#ifndef TACHBPF_COMMAND_PROCESS_H
#define TACHBPF_COMMAND_PROCESS_H

#include <stdbool.h>

#include "capture/capture_process.h"

struct record_signals {
	int own;		/* number of signals sent to tachbpf */
	int last;		/* the last one of these; 0: none */
	int terminal;		/* number of Ctrl-C that the command also received */
	int asked;		/* number of signals of record_signals_ask() */
};

/*
 * Catches them from now on, and ignores SIGPIPE and SIGXFSZ: write(2) fails instead. Until
 * record_signals_begun(), to be called when signals are polled regularly, a second signal ends
 * tachbpf immediately: the start may hang on others' files.
 */
void record_signals_catch(bool with_command);
void record_signals_begun(void);

/* Also counts this signal: it requests what a flight recorder has kept. */
void record_signals_ask(int sig);

/* Returns the signals received so far. */
struct record_signals record_signals_seen(void);
/* The same, of what has ended the recording; and whether there was another signal since then. */
struct record_signals record_signals_ended(void);
bool record_signals_again(void);

/* Values of `parts` that no capture has; at most one of them. The worker of a look
 * (look_worker.h). */
#define COMMAND_LOOK 256
/* The same, also with the right to read the kernel's functions. */
#define COMMAND_LOOK_KERNEL 512
/* The worker that reads heaps (heap_worker.h). */
#define COMMAND_CENSUS 1024

/*
 * Starts the keeper of the workers that a capture with these parts (enum capture_part) can have;
 * once. Without a keeper, which is logged, the program must keep its own rights: -errno. Once it
 * has given them up: reader_reads_proc().
 */
int command_workers_start(unsigned int parts);

#endif
