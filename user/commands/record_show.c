// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * record_show.c - after the end of a recording: the flame graph, the command, the exit status, and
 * why there are no samples. See record_parts.h; record_hot.c and record_next.c have the answer.
 */
#include "commands/record_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/command_process.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/record_hot.h"
#include "formats/formats.h"
#include "host/spawn.h"
#include "recording/recording.h"

/* ---- no samples, the command, the exit status ---- */

/* --kill: SIGTERM, and after this time SIGKILL. */
#define KILL_AFTER_NS 5000000000ull
/* How long a signal that arrives just before waiting for the command may be missed. */
#define WAIT_MS 200
#define SHOWN_BYTES 256

/* Returns the command's first word, for messages. */
static const char *shown_command(const struct record_options *o, char buf[SHOWN_BYTES])
{
	return escape_text(o->command[0], strlen(o->command[0]), buf, SHOWN_BYTES);
}

static void explain_no_python(const struct record_options *o, const struct recording_result *res)
{
	char buf[SHOWN_BYTES];

	if (res->refused)
		log_error("no Python process that can be profiled was found, but %zu that cannot: "
			  "tachbpf ps shows the reasons", res->refused);
	else if (o->select.proc_filter.cnt || o->select.proc_filter.min_age_s > 0)
		log_error("no Python process matches the filters: nothing was recorded; tachbpf ps "
			  "with the same filters lists those that match");
	else if (!o->command)
		log_error("no Python process was found: nothing was recorded; tachbpf ps lists "
			  "those that run");
	else if (o->select.proc_filter.children == CHILDREN_NO)
		log_error("no Python process was found: '%s' is not Python, and --no-children "
			  "leaves out its child processes; nothing was recorded",
			  shown_command(o, buf));
	else
		log_error("no Python process was found: neither '%s' nor its child processes are "
			  "Python; nothing was recorded", shown_command(o, buf));
}

static void explain_no_samples(const struct record_options *o, const struct recording_result *res)
{
	const struct record_mode_def *mode = &record_modes[o->mode];
	const char *who = res->processes == 1 ? "the process" : "the processes";

	if (res->lost)
		log_result("no samples: %" PRIu64 " %s lost", res->lost,
			   text_plural(res->lost, "was", "were"));
	else if (o->event.kind != EVENT_NONE)
		log_result("no samples: the event did not happen in %s", who);
	else if (o->mode == RECORD_CPU)
		log_result("no samples: %s slept or waited, or used too little CPU time; -m wall "
			   "also records waiting", who);
	else if (mode->memory)
		log_result("no allocations: %s touched no new memory", who);
	else if (o->mode == RECORD_WALL || o->mode == RECORD_ALL)
		log_result("no samples: %s did not live long enough; a higher -r may help",
			   who);
	else
		log_result("no samples: %s did nothing that mode %s records; -m wall records all "
			   "time", who, mode->name);
}

void record_explain(const struct record_options *o, const struct recording_result *res)
{
	char command[SHOWN_BYTES], output[SHOWN_BYTES];

	if (!res->processes)
		explain_no_python(o, res);
	else if (!res->samples)
		explain_no_samples(o, res);
	if (res->processes && !res->command_seen && o->command &&
	    o->recording.place == PLACE_COMMAND)
		log_info("'%s' itself is not Python: the profiles of its child processes are in '%s"
			 PLACE_DIR_SUFFIX "'", shown_command(o, command),
			 escape_text(o->recording.output, strlen(o->recording.output), output,
				     sizeof(output)));
}

static bool ends_command(int sig)
{
	return sig == SIGTERM || sig == SIGHUP;
}

int record_wait_command(const struct record_options *o, struct spawned *child,
			const struct record_signals *ended_by)
{
	struct record_signals before = *ended_by, now;
	bool asked = o->kill || ends_command(before.last);
	uint64_t kill_ns = now_ns() + KILL_AFTER_NS;
	char command[SHOWN_BYTES];
	int status;

	if (spawn_ended(child, &status))
		return status;
	if (asked)
		spawn_signal(child, SIGTERM);
	else
		log_info("the recording has ended; waiting for '%s' (process %d), which is still "
			 "running: another SIGINT stops waiting",
			 shown_command(o, command), child->pid);
	while (!spawn_wait(child, WAIT_MS, &status)) {
		now = record_signals_seen();
		if (now.own > before.own && ends_command(now.last) && !asked) {
			spawn_signal(child, SIGTERM);
			asked = true;
			before = now;
		} else if (now.own > before.own || now.terminal > before.terminal + 1) {
			log_info("process %d continues without tachbpf", child->pid);
			spawn_forget(child);
			return 128 + (now.own > before.own ? now.last : SIGINT);
		}
		if (o->kill && now_ns() >= kill_ns)
			spawn_signal(child, SIGKILL);
	}
	return status;
}

int record_exit_status(const struct recording_result *res, int command_status)
{
	if (command_status)
		return command_status;
	if (res->lost_processes && !res->samples)
		return EXIT_FAILURE;	/* nothing was recorded, due to an error that was logged */
	return res->processes ? EXIT_SUCCESS : EXIT_NO_PYTHON;
}
