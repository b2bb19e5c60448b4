/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record_parts.h - the parts of tachbpf record besides cmd_record.c: output after a recording
 * (record_show.c, record_hot.c), files in other formats (record_export.c), and the flight recorder
 * (record_flight.c).
 */
#ifndef TACHBPF_RECORD_PARTS_H
#define TACHBPF_RECORD_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct capture;
struct input_options;
struct observer;
struct record_flight;
struct record_options;
struct record_signals;
struct recording;
struct recording_args;
struct recording_paths;
struct recording_result;
struct spawned;

/* ---- record_explain.c: messages if there are no samples ---- */

/* How a recording ended. */
struct record_end {
	double ran_s;			/* its time: that of a command that has ended */
	uint32_t rate_hz;
	pid_t command_pid;		/* of a command that has not ended; 0: it has, or none */
	int command_status;		/* as of spawn_ended() */
};
/*
 * Logs why there is no Python process, or why there are no samples, or that only children of the
 * command were recorded.
 */
void record_explain(const struct record_options *opts, const struct recording_result *result,
		    const struct record_end *end);

/* ---- record_show.c: waiting for the command, the exit status ---- */

/*
 * Waits for the end of the command, which may go on after the recording. ended_by: the signals that
 * ended the recording. With --kill, or after a SIGTERM or SIGHUP, the command is asked to end; with
 * --kill it is killed after some seconds. Another signal, or a second Ctrl-C, ends the waiting.
 * Returns its status as spawn_ended() does, or 128 + N if signal N ended the waiting.
 */
int record_wait_command(const struct record_options *opts, struct spawned *child,
			const struct record_signals *ended_by);

/*
 * Returns the exit status of a recording without an error. command_status: of the command, 0 if
 * there was none: if it is not 0, it takes precedence.
 */
int record_exit_status(const struct recording_result *result, int command_status);

/*
 * ---- record_control.c: --control, by which the program that started tachbpf knows when sampling
 * has begun, and ends it also where it may not send signals: under sudo ----
 */

/* Sampling has begun: says so on standard output. 0, or -errno after logging. */
int record_control_begun(struct capture *capture);
/* Returns true if there is input on standard input, or its end. */
bool record_control_ended(void);

/*
 * ---- record_sources.c: the source text of the hottest files ----
 *
 * Keeps it next to the recording at these paths, as its processes saw it. After recording_finish(),
 * while the inspector can still be started. Takes at most half a second; what cannot be read is
 * left out.
 */
void record_keep_sources(const struct recording *r, const struct recording_paths *paths);

/*
 * ---- record_hot.c, record_gil.c, record_next.c: the answer, on standard error ----
 */

/*
 * Prints one number and the rows that answer the mode's question: the hottest lines, where threads
 * wait, for whom ... Of a recording that is too large to be read in about a second, what fits is
 * read; sampling: in less, because the capture goes on. Returns false if there are no samples:
 * nothing was printed.
 */
bool record_show_hot(const struct record_options *opts, const struct recording_paths *paths,
		     const struct recording_result *result, bool sampling);
/* Prints the commands that fit this recording. */
void record_show_next(const struct record_options *opts, const struct recording_paths *paths);

/*
 * ---- record_export.c: files in other formats: of --html, and of -o FILE.svg and the like (struct
 * record_export) ----
 */

/*
 * Checks at the start that the files can be written; only --force replaces that of -o. 0, or -errno
 * after logging.
 */
int record_check_exports(const struct record_options *opts);
/*
 * Writes the files, as convert does, if there are samples; otherwise logs that there are none.
 * *page: the written file that --open shows; NULL: none. 0, or -errno after logging.
 */
int record_write_exports(const struct record_options *opts, const struct recording_paths *paths,
			 const struct recording_result *result, const char **page);
/*
 * Removes the recording behind the file of -o. written: false if that file could not be written:
 * then logs where the recording is.
 */
void record_end_export(const struct record_options *opts, bool written);

/*
 * ---- record_flight.c: record with --keep, --when or --signal: when and where a recording is
 * written, and messages about it. docs/flight-recorder.md describes each combination ----
 */

/*
 * Nothing is written yet, but checks that the output can be created and that nothing is in the way.
 * opts and what args points to must outlive it. NULL with errno; logs why.
 */
struct record_flight *record_flight_new(const struct record_options *opts,
					const struct recording_args *args);
/* To be called before capture_free(). NULL is allowed. */
void record_flight_free(struct record_flight *f);
/* Returns the observer for capture_new(). */
struct observer *record_flight_observer(struct record_flight *f);
/* Sets the process in which the user's command runs. */
void record_flight_set_command(struct record_flight *f, pid_t tgid);

/* Sampling has begun: logs what it waits for. The capture must outlive f. */
void record_flight_begun(struct record_flight *f, struct capture *capture);
/*
 * To be called repeatedly: writes requested recordings. *done: all requested recordings were
 * written. 0, or -errno that ends the capture; an error of a recording does not.
 */
int record_flight_step(struct record_flight *f, bool *done);
/* Returns how long the caller may wait until the next step, at most max_ms. */
int record_flight_wait_ms(const struct record_flight *f, int max_ms);
/*
 * After capture_stop(): writes the last recording. *result is the sum of all. 0; or -errno: one was
 * not written.
 */
int record_flight_end(struct record_flight *f, struct recording_result *result);

/* Returns true if there was a trigger, or an end, for which a recording was written or tried. */
bool record_flight_has_begun(const struct record_flight *f);

#endif
