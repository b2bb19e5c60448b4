// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * record_show.c - after the end of a recording: the command, the exit status. See record_parts.h;
 * record_hot.c and record_next.c have the answer, record_explain.c why there is none.
 */
#include "commands/record_parts.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "commands/command_process.h"
#include "commands/options.h"
#include "host/spawn.h"
#include "recording/recording.h"

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
