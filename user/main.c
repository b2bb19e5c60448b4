// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * main.c - parses the command line, runs the command and returns its exit status.
 */
#include <stdlib.h>

#include "base/colour.h"
#include "base/output.h"
#include "base/pager.h"
#include "base/start.h"
#include "base/util.h"
#include "commands/commands.h"
#include "commands/options.h"

/* Each command: its function, and its member of struct options. */
#define COMMANDS(X)                                                                                \
	X(RECORD, record_run, record) X(TOP, top_run, top) X(DUMP, dump_run, dump)                 \
	X(HEAP, heap_run, heap)                                                                    \
	X(INFO, info_run, info) X(REPORT, report_run, report)                                      \
	X(CONVERT, convert_run, convert) X(OPEN, open_run, convert) X(MEM, mem_run, mem)           \
	X(MERGE, merge_run, merge) X(SPLIT, split_run, split)                                      \
	X(DIFF, diff_run, diff) X(GIL, gil_run, gil)                                               \
	X(RECOVER, recover_run, recover) X(DOCTOR, doctor_run, doctor) X(PS, ps_run, ps)           \
	X(AGENT, agent_command_run, agent) X(COMPLETION, completion_run, completion)

#define RUN(id, function, member)                                                                  \
	static int run_##id(const struct options *o)                                               \
	{                                                                                          \
		return function(&o->member);                                                       \
	}
COMMANDS(RUN)

#define ROW(id, function, member) [COMMAND_##id] = run_##id,
static int (*const run[])(const struct options *o) = { COMMANDS(ROW) };

/* Does the command print what may be longer than a screen? */
static bool pages(const struct options *o)
{
	switch (o->command) {
	case COMMAND_DUMP:
	case COMMAND_INFO:
	case COMMAND_REPORT:
	case COMMAND_MEM:
	case COMMAND_GIL:
	case COMMAND_DOCTOR:
	case COMMAND_PS:
		return true;
	case COMMAND_HEAP:
		return o->show != SHOW_NOTHING || !(o->heap.since_s > 0);
	case COMMAND_DIFF:
		return o->show != SHOW_NOTHING || !o->diff.format;
	default:
		return o->show != SHOW_NOTHING && o->show != SHOW_START;
	}
}

int main(int argc, char **argv)
{
	int status = EXIT_USAGE;
	struct options o;

	start_program();
	if (options_parse(&o, argc, argv))
		goto out;
	colour_choose(o.colour);
	log_set_level(o.verbose);
	if (pages(&o))
		pager_start();
	if (o.show == SHOW_START) {
		options_print(&o, stderr);	/* nothing was asked for: EXIT_USAGE */
	} else if (o.show != SHOW_NOTHING) {
		options_print(&o, stdout);
		status = output_flush_stdout() ? EXIT_FAILURE : EXIT_SUCCESS;
	} else {
		status = run[o.command](&o);
	}
	if (!pager_end() && status == EXIT_SUCCESS)
		status = EXIT_FAILURE;
out:
	options_free(&o);
	return status;
}
