/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record_parts.h - the parts of tachbpf record beside cmd_record.c: what comes when a recording has
 * ended (record_show.c), and the flight recorder (record_flight.c).
 */
#ifndef TACHBPF_RECORD_PARTS_H
#define TACHBPF_RECORD_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct capture;
struct observer;
struct record_flight;
struct record_options;
struct record_signals;
struct recording_args;
struct recording_paths;
struct recording_result;
struct spawned;

/*
 * ---- record_show.c: messages if there are no samples, the command that goes on, the exit status;
 * the hottest functions, the busiest processes, the flame graph of --html, and how to see more ----
 */

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

/*
 * Print the hottest functions of the recording at these paths, with -a also the busiest processes,
 * and the next commands. Nothing if it has no samples. A recording that cannot be read in about a
 * second is not read: the command that does it is named.
 */
void record_show_hot(const struct record_options *opts, const struct recording_paths *paths);

/* --html: can the file be written? For the beginning. 0, or -errno after logging. */
int record_check_html(const struct record_options *opts);
/*
 * Write the flame graph, as replay does, if there are samples; otherwise log that there are none.
 * *written: the file was written. 0, or -errno after logging.
 */
int record_write_html(const struct record_options *opts, const struct recording_paths *paths,
		      const struct recording_result *result, bool *written);

/*
 * ---- record_flight.c: record with --keep, --when or --signal: when a recording is written, where,
 * and what is said of it. docs/flight-recorder.md says what each combination does ----
 */

/*
 * Nothing is written yet, but the place is tried: it can be made, and nothing is in the way.
 * opts and what args points to outlive it. NULL with errno; logs why.
 */
struct record_flight *record_flight_new(const struct record_options *opts,
					const struct recording_args *args);
/* To be called before capture_free(). NULL is allowed. */
void record_flight_free(struct record_flight *f);
/* For capture_new(). */
struct observer *record_flight_observer(struct record_flight *f);
/* The user's command runs in this process. */
void record_flight_set_command(struct record_flight *f, pid_t tgid);

/* Sampling has begun: say what is waited for. The capture outlives f. */
void record_flight_begun(struct record_flight *f, struct capture *capture);
/*
 * To be called again and again: writes what was asked for. *done: so many recordings as were
 * asked for are written. 0, or -errno that ends the capture; an error of a recording does not.
 */
int record_flight_step(struct record_flight *f, bool *done);
/* How long the caller may wait until the next step, at most max_ms. */
int record_flight_wait_ms(const struct record_flight *f, int max_ms);
/*
 * After capture_stop(): the last recording. *result is the sum of all. 0; or -errno: one was not
 * written.
 */
int record_flight_end(struct record_flight *f, struct recording_result *result);

/* Was there a trigger, or an end, for which a recording was written or tried? */
bool record_flight_has_begun(const struct record_flight *f);

#endif
