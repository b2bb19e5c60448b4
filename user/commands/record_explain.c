// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* record_explain.c - why a recording has no Python process, or no samples. See record_parts.h. */
#include "commands/record_parts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "commands/options.h"
#include "host/proc.h"
#include "recording/recording.h"
#include "target/script.h"

#define SHOWN_BYTES 256
#define TIME_BYTES 32
/* A command that ended within this time may have ended before it could be sampled. */
#define SHORT_S 0.2
/* The rate that is recommended for short programs. */
#define FAST_HZ 10000

struct explanation {
	const struct record_options *opts;
	const struct recording_result *result;
	const struct record_end *end;
	char command[SHOWN_BYTES];	/* the command's first word; "": none */
	char time[TIME_BYTES];		/* how long it ran, or the recording took */
};

static void show_time(double s, char text[TIME_BYTES])
{
	if (s < 1)
		snprintf(text, TIME_BYTES, "%.0f ms", s * 1000);
	else
		snprintf(text, TIME_BYTES, "%.1f s", s);
}

/* ---- no Python process ---- */

/* The command has not ended. Returns false if it has. */
static bool explain_running(const struct explanation *e)
{
	char program[4 * PROC_COMM_MAX];
	struct proc_stat st;

	if (!e->end->command_pid || proc_stat(e->end->command_pid, &st) || st.zombie)
		return false;
	log_error("no Python process was found: '%s' was still running %s when the recording "
		  "ended after %s, and had not started Python yet: record for longer; nothing was "
		  "recorded", e->command,
		  escape_text(st.comm, strlen(st.comm), program, sizeof(program)), e->time);
	return true;
}

/*
 * The command is a script for another program than Python, as pyenv's shims are, and has ended.
 * Returns false if it is none.
 */
static bool explain_script(const struct explanation *e)
{
	const char *name = e->opts->command[0];
	char path[PATH_MAX], line[SCRIPT_LINE_BYTES], shown[SHOWN_BYTES];

	if (!script_find_program(name, path, sizeof(path)) || script_is_python(path) ||
	    !script_interpreter(path, line))
		return false;
	log_error("no Python process was found: '%s' is a script (%s) that ended after %s with "
		  "status %d and started no Python; nothing was recorded", e->command,
		  escape_text(line, strlen(line), shown, sizeof(shown)), e->time,
		  e->end->command_status);
	return true;
}

static void explain_command(const struct explanation *e)
{
	if (explain_running(e))
		return;
	if (e->opts->select.proc_filter.children == CHILDREN_NO)
		log_error("no Python process was found: '%s' is not Python, and --no-children "
			  "leaves out its child processes; nothing was recorded", e->command);
	else if (explain_script(e))
		return;
	else if (e->result->unidentified && e->end->ran_s < SHORT_S)
		log_error("no Python process was found: '%s' ended after %s, before it was known "
			  "whether it is Python; nothing was recorded", e->command, e->time);
	else
		log_error("no Python process was found: neither '%s' nor its child processes are "
			  "Python; nothing was recorded", e->command);
}

static void explain_no_python(const struct explanation *e)
{
	const struct record_options *o = e->opts;

	if (e->result->refused)
		log_error("no Python process that can be profiled was found, but %zu that cannot: "
			  "tachbpf ps shows the reasons", e->result->refused);
	else if (o->select.proc_filter.cnt || o->select.proc_filter.min_age_s > 0)
		log_error("no Python process matches the filters: nothing was recorded; tachbpf ps "
			  "with the same filters lists those that match");
	else if (o->command)
		explain_command(e);
	else
		log_error("no Python process was found: nothing was recorded; tachbpf ps lists "
			  "those that run");
}

/* ---- no samples ---- */

/* The command was so short that this is the reason. Returns false if it was not. */
static bool explain_short(const struct explanation *e)
{
	const struct record_options *o = e->opts;
	bool lost = e->result->lost;

	if (!o->command || e->end->command_pid || e->end->ran_s >= SHORT_S ||
	    !options_mode(o)->ticks)
		return false;
	if (lost)
		log_result("no samples: '%s' ended after %s, before it was recognised as Python "
			   "(%" PRIu64 " %s lost)", e->command, e->time, e->result->lost,
			   text_plural(e->result->lost, "sample was", "samples were"));
	else if (e->end->rate_hz < FAST_HZ)
		log_result("no samples: '%s' ran for %s: too short for -r %u; try -r 10khz",
			   e->command, e->time, e->end->rate_hz);
	return lost || e->end->rate_hz < FAST_HZ;
}

static void explain_no_samples(const struct explanation *e)
{
	enum record_mode mode = e->opts->mode;
	const struct recording_result *res = e->result;
	const char *who = res->processes == 1 ? "the process" : "the processes";

	if (explain_short(e))
		return;
	if (res->lost)
		log_result("no samples: %" PRIu64 " %s lost", res->lost,
			   text_plural(res->lost, "was", "were"));
	else if (e->opts->event.kind != EVENT_NONE)
		log_result("no samples: the event did not happen in %s", who);
	else if (mode == RECORD_CPU)
		log_result("no samples: %s slept or waited, or used too little CPU time; -m wall "
			   "also records waiting", who);
	else if (record_modes[mode].memory)
		log_result("no allocations: %s touched no new memory", who);
	else if (mode == RECORD_WALL || mode == RECORD_ALL)
		log_result("no samples: %s did not live long enough; a higher -r may help",
			   who);
	else
		log_result("no samples: %s did nothing that mode %s records; -m wall records all "
			   "time", who, record_modes[mode].name);
}

/* Only children of the command were recorded, and have other files. */
static void explain_children(const struct explanation *e)
{
	const char *output = e->opts->recording.output;
	char shown[SHOWN_BYTES];

	if (!e->result->processes || e->result->command_seen || !e->opts->command ||
	    e->opts->recording.place != PLACE_COMMAND)
		return;
	log_info("'%s' itself is not Python: the profiles of its child processes are in '%s"
		 PLACE_DIR_SUFFIX "'", e->command,
		 escape_text(output, strlen(output), shown, sizeof(shown)));
}

void record_explain(const struct record_options *o, const struct recording_result *res,
		    const struct record_end *end)
{
	struct explanation e = { .opts = o, .result = res, .end = end };

	if (o->command)
		escape_text(o->command[0], strlen(o->command[0]), e.command, sizeof(e.command));
	show_time(end->ran_s, e.time);
	if (!res->processes)
		explain_no_python(&e);
	else if (!res->samples)
		explain_no_samples(&e);
	explain_children(&e);
}
