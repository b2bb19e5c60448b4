/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * options.h - the command line, as tables.
 */
#ifndef TACHBPF_OPTIONS_H
#define TACHBPF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sinks/sink.h"

/* Usage errors end the program with this, everything else that fails with 1. */
#define EXIT_USAGE 2

/* What to record. */
struct record_options {
	bool all;			/* -a */
	pid_t *pids;			/* -p; pid_cnt of them */
	size_t pid_cnt;
	char **command;			/* -- CMD ARGS...; NULL: none; not owned */
	uint32_t rate_hz;		/* -r; 0: default for the selection */
	double duration_s;		/* -d; 0: until interrupted */
	const char *output;		/* -o; NULL: default name */
	bool no_compression;		/* --compression none */
	enum tach_layout layout;	/* --layout */
	bool opcodes;			/* --opcodes */
	bool no_gc;			/* --no-gc */
	bool json;			/* --json: the summary as JSON on stdout */
	bool ignore_kernel_bugs;	/* --ignore-kernel-bugs: kernels that can freeze */
	int verbose;			/* -v, -v -v; -1 with -q */
};

#endif
