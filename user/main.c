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

static int run_record(const struct options *o)
{
	return record_run(&o->record);
}

static int run_top(const struct options *o)
{
	return top_run(&o->top);
}

static int run_dump(const struct options *o)
{
	return dump_run(&o->record);
}

static int run_info(const struct options *o)
{
	return info_run(&o->info);
}

static int run_report(const struct options *o)
{
	return report_run(&o->report);
}

static int run_replay(const struct options *o)
{
	return replay_run(&o->replay);
}

static int run_open(const struct options *o)
{
	return open_run(&o->replay);
}

static int run_mem(const struct options *o)
{
	return mem_run(&o->mem);
}

static int run_convert(const struct options *o)
{
	return convert_run(&o->convert);
}

static int run_merge(const struct options *o)
{
	return merge_run(&o->merge);
}

static int run_split(const struct options *o)
{
	return split_run(&o->split);
}

static int run_diff(const struct options *o)
{
	return diff_run(&o->diff);
}

static int run_gil(const struct options *o)
{
	return gil_run(&o->gil);
}

static int run_recover(const struct options *o)
{
	return recover_run(&o->recover);
}

static int run_doctor(const struct options *o)
{
	return doctor_run(&o->doctor);
}

static int run_ps(const struct options *o)
{
	return ps_run(&o->ps);
}

static int run_agent(const struct options *o)
{
	return agent_command_run(&o->agent);
}

static int run_completion(const struct options *o)
{
	return completion_run(&o->completion);
}

static int (*const run[])(const struct options *o) = {
	[COMMAND_RECORD] = run_record,
	[COMMAND_TOP] = run_top,
	[COMMAND_DUMP] = run_dump,
	[COMMAND_INFO] = run_info,
	[COMMAND_REPORT] = run_report,
	[COMMAND_REPLAY] = run_replay,
	[COMMAND_OPEN] = run_open,
	[COMMAND_MEM] = run_mem,
	[COMMAND_CONVERT] = run_convert,
	[COMMAND_MERGE] = run_merge,
	[COMMAND_SPLIT] = run_split,
	[COMMAND_DIFF] = run_diff,
	[COMMAND_GIL] = run_gil,
	[COMMAND_RECOVER] = run_recover,
	[COMMAND_DOCTOR] = run_doctor,
	[COMMAND_PS] = run_ps,
	[COMMAND_AGENT] = run_agent,
	[COMMAND_COMPLETION] = run_completion,
};

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
	case COMMAND_DIFF:
		return o->show != SHOW_NOTHING || !o->diff.format;
	default:
		return o->show != SHOW_NOTHING;
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
	if (o.show != SHOW_NOTHING) {
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
