// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* record_flight.c - see record_parts.h. */
#include "commands/record_parts.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "capture/capture.h"
#include "commands/command_process.h"
#include "commands/options.h"
#include "recording/flight.h"
#include "recording/recording.h"
#include "telemetry/command_label.h"

#define NS_PER_S 1000000000ull
/* At most this many of the processes that meet a condition at the same time are named. */
#define NAMED_AT_ONCE 5
#define TRIGGER_BYTES 512
#define SEQ_MAX 999999
#define LABEL_COLUMNS 40	/* of a command */

struct record_flight {
	const struct record_options *opts;
	struct recording_args args;
	struct flight *flight;
	struct capture *capture;	/* NULL: sampling has not begun */
	pid_t command_tgid;		/* 0: none */
	bool numbered;			/* several recordings may follow */
	unsigned int seq;		/* of the last one's name */
	char path[PATH_MAX];		/* of the current or the last one */
	int asked;			/* signals that were handled */
	char trigger[TRIGGER_BYTES];	/* the condition met since the last recording; "": none */
	unsigned int met;		/* since the last step */
	uint64_t next_ns;		/* the earliest next recording for a condition
					 * (CLOCK_MONOTONIC) */
	struct recording *recording;	/* being written; NULL: none */
	char why[TRIGGER_BYTES];	/* ... its trigger */
	uint64_t until_ns;		/* ... its end; 0: none */
	uint32_t written;		/* recordings, including failed ones */
	int err;			/* of the first that failed */
	struct recording_result sum;
};

static uint64_t keep_ns(const struct record_flight *f)
{
	return (uint64_t)(f->opts->flight.keep_s * NS_PER_S);
}

/* ---- names ---- */

static bool is_taken(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

/* Chooses the next number that is free; with --force, the next one. */
static int choose_number(struct record_flight *f, const char *base, unsigned int from)
{
	for (f->seq = from; f->seq <= SEQ_MAX; f->seq++) {
		if (snprintf(f->path, sizeof(f->path), "%s.%03u", base, f->seq) >= PATH_MAX)
			return -ENAMETOOLONG;
		if (f->args.force || !is_taken(f->path))
			return 0;
	}
	return -EEXIST;
}

/* Without -o the name has the time; a second recording in the same second gets a number. */
static int choose_path(struct record_flight *f)
{
	const char *output = f->opts->recording.output;
	char name[OUTPUT_NAME_MAX];

	if (output && f->numbered)
		return choose_number(f, output, f->seq + 1);
	output_default_name(name);
	snprintf(f->path, sizeof(f->path), "%s", output ? output : name);
	return output || !is_taken(f->path) ? 0 : choose_number(f, name, 2);
}

static struct recording *open_recording(struct record_flight *f, const char *trigger)
{
	struct recording_args args = f->args;
	struct recording *r;
	int err = choose_path(f);

	if (err) {
		log_error("no free name for a recording: %s", strerror(-err));
		errno = -err;
		return NULL;
	}
	args.output = f->path;
	args.trigger = trigger;
	r = recording_new(&args);
	if (r && f->command_tgid)
		recording_set_command(r, f->command_tgid);
	return r;
}

/* ---- callbacks of the flight recorder ---- */

static void read_counts(void *ctx, struct capture_counts *out)
{
	struct record_flight *f = ctx;

	if (f->capture)
		capture_counts(f->capture, out);
}

static void on_met(void *ctx, const struct flight_met *met)
{
	struct record_flight *f = ctx;
	char condition[CLI_TEXT_MAX], label[COMMAND_LABEL_BYTES], text[TRIGGER_BYTES];
	const char *command = *met->command ? met->command : met->comm;

	snprintf(text, sizeof(text), "%.64s: process %d (%s) %s",
		 escape_text(met->condition, strlen(met->condition), condition, sizeof(condition)),
		 met->tgid, command_label(command, strlen(command), LABEL_COLUMNS, label),
		 met->text);
	if (f->met++ < NAMED_AT_ONCE)
		log_info("triggered: %s%s", text,
			 f->recording ? ": included in the current recording" : "");
	if (!f->recording && !*f->trigger)
		memcpy(f->trigger, text, sizeof(text));
}

/* ---- recordings ---- */

static void note_failure(struct record_flight *f, int err)
{
	f->err = f->err ? f->err : err;
	f->written++;
}

static void add_result(struct record_flight *f, const struct recording_result *one)
{
	f->sum.processes += one->processes;
	f->sum.refused += one->refused;
	f->sum.samples += one->samples;
	f->sum.lost += one->lost;
	f->sum.lost_processes += one->lost_processes;
	f->sum.command_seen |= one->command_seen;
}

/* Prints the answer, what was counted, and the next commands, as after any recording. */
static void show_recording(struct record_flight *f, const struct capture_counts *counts,
			   const struct recording_result *one)
{
	struct recording_paths paths;
	bool any;

	recording_print_head(f->recording, counts, stderr);
	fprintf(stderr, "Trigger: ");
	text_wrap(stderr, f->why, 0, text_terminal_width(stderr));
	any = !recording_paths(f->recording, &paths) &&
	      record_show_hot(f->opts, &paths, one, true);
	fprintf(stderr, "%s", any ? "\n" : "");
	recording_print_counts(f->recording, counts, stderr, log_get_level() >= LOG_VERBOSE);
	if (any)
		record_show_next(f->opts, &paths);
	recording_paths_free(&paths);
}

static void say_written(struct record_flight *f, const struct capture_counts *counts,
			const struct recording_result *one)
{
	char shown[4 * CLI_TEXT_MAX];
	int err;

	if (!one->processes) {
		log_info("nothing to write: no Python process was found");
		return;
	}
	if (f->opts->json) {
		recording_print_json(f->recording, counts, stdout);
		err = output_flush_stdout();
		f->err = f->err ? f->err : err;
	} else if (log_get_level() >= LOG_NORMAL) {
		show_recording(f, counts, one);
	}
	log_info("wrote %s", escape_text(f->path, strlen(f->path), shown, sizeof(shown)));
}

static void keep_sources(const struct recording *r)
{
	struct recording_paths paths;

	if (!recording_paths(r, &paths))
		record_keep_sources(r, &paths);
	recording_paths_free(&paths);
}

/* The recording is complete: finishes its files. */
static void finish_recording(struct record_flight *f)
{
	struct recording_result one;
	struct capture_counts counts;
	int err = flight_leave(f->flight, &counts), finish_err;

	finish_err = recording_finish(f->recording, &counts);
	recording_result(f->recording, &counts, &one);
	if (!finish_err && one.processes && !f->opts->no_source)
		keep_sources(f->recording);
	add_result(f, &one);
	err = err ? err : finish_err;
	if (err) {
		log_error("the recording '%s' is incomplete: %s", f->path, strerror(-err));
		note_failure(f, err);
	} else {
		say_written(f, &counts, &one);
		f->written++;
	}
	recording_free(f->recording);
	f->recording = NULL;
	*f->trigger = '\0';
	f->next_ns = now_ns() + keep_ns(f);
}

static bool has_written_all(const struct record_flight *f)
{
	return f->opts->flight.triggers && f->written >= f->opts->flight.triggers;
}

static void say_goes_on(const struct record_flight *f)
{
	char shown[4 * CLI_TEXT_MAX];

	log_info("recording into %s%s", escape_text(f->path, strlen(f->path), shown, sizeof(shown)),
		 f->until_ns ? "" : " until Ctrl-C");
}

/* Begins a recording with what is kept. after: it continues after that. */
static void begin_recording(struct record_flight *f, const char *trigger, bool after)
{
	double duration = f->opts->duration_s;
	unsigned int seq = f->seq;
	int err;

	snprintf(f->why, sizeof(f->why), "%s", trigger);
	*f->trigger = '\0';
	f->recording = open_recording(f, f->why);
	if (!f->recording) {
		note_failure(f, -errno);
		f->seq = seq;
		f->next_ns = now_ns() + keep_ns(f);
		log_warn("%s: nothing is written%s", trigger,
			 has_written_all(f) ? "" : "; retrying at the next trigger");
		return;
	}
	err = flight_enter(f->flight, f->recording);
	f->until_ns = duration > 0 ? now_ns() + (uint64_t)(duration * NS_PER_S) : 0;
	if (err || !after)
		finish_recording(f);
	else
		say_goes_on(f);
}

/* Returns true if there is a trigger now. Signals come first: somebody is waiting for them. */
static bool take_trigger(struct record_flight *f, char out[TRIGGER_BYTES])
{
	int asked = record_signals_seen().asked;
	bool again = asked != f->asked;

	f->asked = asked;
	if (again && f->recording) {
		log_info("a recording is already being written: %s", f->path);
		return false;
	}
	if (again)
		snprintf(out, TRIGGER_BYTES, "signal SIG%s",
			 f->opts->flight.signal == SIGUSR1 ? "USR1" : "USR2");
	else if (!f->recording && *f->trigger && now_ns() >= f->next_ns)
		memcpy(out, f->trigger, TRIGGER_BYTES);
	else
		return false;
	return true;
}

static void say_met(struct record_flight *f)
{
	if (f->met > NAMED_AT_ONCE)
		log_info("triggered: %u more processes", f->met - NAMED_AT_ONCE);
	f->met = 0;
}

int record_flight_step(struct record_flight *f, bool *done)
{
	bool after = !(f->opts->flight.keep_s > 0) || f->opts->duration_s > 0;
	char trigger[TRIGGER_BYTES];
	int err = 0;

	say_met(f);
	if (f->recording && (flight_error(f->flight) || (f->until_ns && now_ns() >= f->until_ns)))
		finish_recording(f);
	if (!has_written_all(f) && take_trigger(f, trigger)) {
		err = capture_settle(f->capture);
		if (!err)
			begin_recording(f, trigger, after);
	}
	*done = !f->recording && has_written_all(f);
	return err;
}

int record_flight_wait_ms(const struct record_flight *f, int max_ms)
{
	uint64_t now = now_ns(), left_ms;

	if (!f->recording || !f->until_ns)
		return max_ms;
	left_ms = f->until_ns > now ? (f->until_ns - now) / 1000000 : 0;
	return left_ms < 1 ? 1 : left_ms < (uint64_t)max_ms ? (int)left_ms : max_ms;
}

int record_flight_end(struct record_flight *f, struct recording_result *result)
{
	if (f->recording)
		finish_recording(f);
	else if (f->opts->flight.keep_s > 0 && !has_written_all(f))
		begin_recording(f, *f->trigger ? f->trigger : "the end", false);
	else if (!f->written)
		log_info("nothing was recorded: there was no trigger");
	*result = f->sum;
	return f->err;
}

bool record_flight_has_begun(const struct record_flight *f)
{
	return f->written;
}

/* ---- begin and end ---- */

static void say_armed(const struct record_flight *f)
{
	const struct flight_options *o = &f->opts->flight;
	char shown[CLI_TEXT_MAX];
	size_t i;

	for (i = 0; i < o->when.cnt; i++)
		log_info("armed: waiting for %s",
			 escape_text(o->when.list[i].text, strlen(o->when.list[i].text), shown,
				     sizeof(shown)));
	if (o->signal)
		log_info("armed: waiting for SIG%s: kill -%s %d",
			 o->signal == SIGUSR1 ? "USR1" : "USR2",
			 o->signal == SIGUSR1 ? "USR1" : "USR2", getpid());
	if (o->keep_s > 0)
		log_info("armed: keeping the last %g s; Ctrl-C writes them", o->keep_s);
}

void record_flight_begun(struct record_flight *f, struct capture *capture)
{
	f->capture = capture;
	say_armed(f);
}

/* It is better to know now that a place cannot be used than at three in the morning. */
static int try_place(struct record_flight *f)
{
	unsigned int seq = f->seq;
	struct recording *r = open_recording(f, NULL);

	if (!r)
		return -errno;
	recording_discard(r);
	recording_free(r);
	f->seq = seq;
	return 0;
}

struct record_flight *record_flight_new(const struct record_options *opts,
					const struct recording_args *args)
{
	const struct flight_options *o = &opts->flight;
	struct record_flight *f = calloc(1, sizeof(*f));
	struct flight_args flight = {
		.when = &o->when, .met = on_met, .counts = read_counts, .ctx = f,
	};
	int err;

	if (!f)
		return NULL;
	f->opts = opts;
	f->args = *args;
	f->numbered = options_has_trigger(o) && o->triggers != 1;
	flight.keep_ns = keep_ns(f);
	f->flight = flight_new(&flight);
	err = f->flight ? try_place(f) : -ENOMEM;
	if (!err && o->signal)
		record_signals_ask(o->signal);
	if (!err)
		return f;
	record_flight_free(f);
	errno = -err;
	return NULL;
}

void record_flight_free(struct record_flight *f)
{
	if (!f)
		return;
	flight_free(f->flight);
	recording_free(f->recording);
	free(f);
}

struct observer *record_flight_observer(struct record_flight *f)
{
	return flight_observer(f->flight);
}

void record_flight_set_command(struct record_flight *f, pid_t tgid)
{
	f->command_tgid = tgid;
}
