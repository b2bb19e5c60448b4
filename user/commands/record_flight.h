/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record_flight.h - record with --keep, --when or --signal: when a recording is written, where, and what
 * is said of it. docs/flight-recorder.md says what each combination does.
 */
#ifndef TACHBPF_RECORD_FLIGHT_H
#define TACHBPF_RECORD_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct capture;
struct observer;
struct record_flight;
struct record_options;
struct recording_args;
struct recording_result;

/*
 * Nothing is written yet, but the place is tried: it can be made, and nothing is in the way. opts and what
 * args points to outlive it. NULL with errno; logs why.
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
 * To be called again and again: writes what was asked for. *done: so many recordings as were asked for
 * are written. 0, or -errno that ends the capture; an error of a recording does not.
 */
int record_flight_step(struct record_flight *f, bool *done);
/* How long the caller may wait until the next step, at most max_ms. */
int record_flight_wait_ms(const struct record_flight *f, int max_ms);
/* After capture_stop(): the last recording. *result is the sum of all. 0; or -errno: one was not written. */
int record_flight_end(struct record_flight *f, struct recording_result *result);

/* Was there a trigger, or an end, for which a recording was written or tried? */
bool record_flight_has_begun(const struct record_flight *f);

#endif
