/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record_end.h - what comes after a recording: messages if it has no samples, the command that
 * goes on, the exit status.
 */
#ifndef TACHBPF_RECORD_END_H
#define TACHBPF_RECORD_END_H

struct record_options;
struct record_signals;
struct recording_result;
struct spawned;

/* Log why there is no sample, or that only children of the command were recorded. */
void record_explain(const struct record_options *opts, const struct recording_result *result);

/*
 * The recording has ended, and the command may go on: wait for its end. ended_by: the signals that
 * ended the recording. With --kill, or after a SIGTERM or SIGHUP, it is asked to end; with
 * --kill it is killed after some seconds. Another signal, or a second Ctrl-C, ends the waiting.
 * Returns its status as spawn_ended() has it, or 128 + N if signal N ended the waiting.
 */
int record_wait_command(const struct record_options *opts, struct spawned *child,
			const struct record_signals *ended_by);

/*
 * The exit status of a recording without an error. command_status: of the command, 0 if there
 * was none: if it is not 0, it wins.
 */
int record_exit_status(const struct recording_result *result, int command_status);

#endif
