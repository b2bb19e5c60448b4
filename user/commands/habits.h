/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * habits.h - commands and options that users know from other profilers (py-spy, memray, austin,
 * perf, CPython's profiling.sampling): what they mean here, or what to do instead.
 */
#ifndef TACHBPF_HABITS_H
#define TACHBPF_HABITS_H

#include <stddef.h>

#include "base/cli.h"
#include "commands/options.h"

/* A command of another profiler. */
struct habit_command {
	const char *name;
	enum command_id command;	/* what it is here ... */
	int (*word)(void *target, char *word);	/* ... with its words; NULL: the command's */
	const char *answer;		/* it is none: what to do instead */
};

/* Returns the row of a command; NULL: it is unknown. */
const struct habit_command *habits_find_command(const char *word);

/* For struct cli_command, foreign: target is a struct options, whose command is set. */
const struct cli_foreign *habits_find_option(void *target, const char *option, size_t len);

#endif
