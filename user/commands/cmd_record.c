// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_record.c - tachbpf record: makes a capture and a recording from the options, and runs them
 * until the time is over, a signal comes, or the selected processes have ended.
 */
#include "commands/commands.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/start.h"
#include "base/text.h"
#include "base/util.h"
#include "capture/capture.h"
#include "capture/capture_process.h"
#include "commands/command_process.h"
#include "commands/options.h"
#include "commands/record_parts.h"
#include "doctor/precheck.h"
#include "host/identity.h"
#include "host/kallsyms.h"
#include "host/opener.h"
#include "host/privileges.h"
#include "host/spawn.h"
#include "recording/recording.h"
#include "target/inspector.h"
#include "worker/worker.h"

#define RATE_ALL_HZ 99		/* not 100, which would be in step with code that runs every 10
				 * ms */
#define RATE_ONE_HZ 999
#define NS_PER_S 1000000000ull
#define STATUS_LINE_MS 200
/*
 * How long samples wait when little is happening (-a): longer than the period of a 99 Hz clock, so
 * that one wake-up serves both. If there is much, the ring buffer wakes us earlier.
 */
#define QUIET_BATCH_MS 550

struct record {
	const struct record_options *opts;
	struct identities *identities;
	struct recording *recording;	/* NULL with a flight recorder */
	struct record_flight *flight;	/* --keep, --when, --signal; NULL: without */
	struct capture *capture;
	struct proc_filter proc_filter;	/* a copy of the options' conditions; evaluation changes
					 * it */
	char *selection;		/* selection_text() */
	struct spawned child;
	int command_status;		/* once it has ended; or why the start failed */
	bool started;			/* sampling has begun */
	bool not_asked;			/* there was no trigger, so nothing was to be recorded */
	struct record_signals ended_by;	/* signals that ended it */
	struct recording_result result;
	struct record_end end;		/* how it ended, for record_explain() */
	uint32_t rate_hz;
	uint64_t start_ns, next_housekeep_ns, next_status_ns;
	bool status_line;
	bool workers;			/* they have the rights that this process gives up */
	struct kallsyms *kernel;	/* of --kernel and --native; NULL: none */
	struct opener opener;		/* of --open */
};

/* Returns the selected processes as text for session.json, to be freed; NULL: no memory. */
static char *selection_text(const struct record_options *o)
{
	struct buf b = { 0 };
	char pid[16];
	size_t i;

	if (o->command) {
		proc_filter_text(&o->select.proc_filter, &b);
		buf_add(&b, " --", 3);
	} else {
		buf_add(&b, o->select.all ? "-a" : "-p", 2);
	}
	for (i = 0; i < o->select.pid_cnt; i++)
		buf_add(&b, pid, snprintf(pid, sizeof(pid), "%c%d", i ? ',' : ' ',
					  o->select.pids[i]));
	for (i = 0; o->command && o->command[i]; i++) {
		buf_add(&b, " ", 1);
		buf_add(&b, o->command[i], strlen(o->command[i]));
	}
	if (!o->command)
		proc_filter_text(&o->select.proc_filter, &b);
	buf_add(&b, "", 1);
	if (b.data && *b.data == ' ')
		memmove(b.data, b.data + 1, b.len - 1);
	return (char *)b.data;
}

/*
 * Under sudo, files belong to the user who called it, and are created with that user's rights.
 * Where that user may not write, as in root's home (`sudo -i`), they belong to root.
 */
static void choose_owner(const struct record_options *o)
{
	const struct recording_args *rec = &o->recording;
	/* Replacing a directory requires another name next to it. */
	bool is_dir = rec->place == PLACE_DIR && !rec->force;

	if (privileges_user_may_create(rec->output, is_dir) &&
	    (!o->export.path || privileges_user_may_create(o->export.path, false)) &&
	    (!o->html || privileges_user_may_create(o->html, false)))
		return;
	log_info("the user who called sudo cannot write there: the files will belong to root");
	output_keep_roots();
}

static int open_recording(struct record *r)
{
	const struct record_options *o = r->opts;
	struct recording_args args = o->recording;

	args.rate_hz = r->rate_hz;
	args.by_pid = o->select.pid_cnt && o->select.proc_filter.children != CHILDREN_YES;
	args.mode = options_mode(o);
	args.event = o->event.name;
	args.event_every = o->capture.event_every;
	args.async = o->capture.async;
	args.memory = (struct recording_memory){
		.exact = o->capture.allocations,
		.every_bytes = o->capture.every_bytes,
		.min_block_bytes = o->capture.min_block_bytes,
		.interval_us = (uint64_t)llround(1e6 * (o->capture.interval_s > 0 ?
							o->capture.interval_s : 1)),
	};
	args.features = FEATURE_ALL_THREADS | (o->capture.gc ? FEATURE_GC : 0) |
			(o->capture.opcodes ? FEATURE_OPCODES : 0) |
			(o->capture.native ? FEATURE_NATIVE : 0);
	r->selection = selection_text(o);
	args.selection = r->selection ? r->selection : "";
	if (options_is_flight(&o->flight))
		r->flight = record_flight_new(o, &args);
	else
		r->recording = recording_new(&args);
	return r->recording || r->flight ? 0 : -errno;
}

static bool has_conditions(const struct record_options *o)
{
	return o->select.proc_filter.cnt || o->select.proc_filter.min_age_s > 0;
}

/*
 * Reads the names of the kernel's functions, which --kernel requires and --native does not. 0, or
 * -errno after logging.
 */
static int read_kernel_names(struct record *r)
{
	bool native = r->opts->capture.native;

	if (!r->opts->kernel && !native)
		return 0;
	r->kernel = kallsyms_read("/proc/kallsyms");
	if (r->kernel)
		return 0;
	if (!r->opts->kernel) {
		log_info("kernel functions are left out: /proc/kallsyms %s (see `tachbpf "
			 "doctor`)", errno == EPERM ? "hides its addresses" : strerror(errno));
		return 0;
	}
	if (errno == EPERM)
		log_error("--kernel: /proc/kallsyms hides its addresses: set the sysctl "
			  "kernel.kptr_restrict to 1 or 0, and run as root (CAP_SYSLOG)");
	else
		log_error("--kernel: cannot read /proc/kallsyms: %s", strerror(errno));
	return -errno;
}

/* Returns true if nobody needs samples, or a process' end, soon. */
static bool waits_long(const struct record *r)
{
	return r->opts->select.all && !r->opts->command && !r->flight && !r->status_line;
}

static int open_capture(struct record *r)
{
	const struct record_options *o = r->opts;
	struct capture_args args = o->capture;

	args.all = o->select.all;
	args.first = o->select.pid_cnt ? o->select.pids[0] : 0;
	args.children = o->select.proc_filter.children == CHILDREN_YES;
	args.rate_hz = r->rate_hz;
	args.mode = options_mode(o);
	args.event_spec = o->event.kind == EVENT_NONE ? NULL : &o->event;
	args.quiet_batch_ms = waits_long(r) ? QUIET_BATCH_MS : 0;
	args.kernel = r->kernel;
	args.proc_filter = has_conditions(o) ? &r->proc_filter : NULL;
	args.identities = r->identities;
	args.ends_wait = record_signals_again;
	args.observer = r->flight ? record_flight_observer(r->flight) :
				    recording_observer(r->recording);
	r->capture = capture_new(&args);
	return r->capture ? 0 : -errno;
}

/*
 * Adds a process of -p, with --children its descendants, too. If it does not meet the conditions
 * now, it may later.
 */
static int add_pid(struct record *r, pid_t pid)
{
	bool children = r->proc_filter.children == CHILDREN_YES;
	int err = capture_add(r->capture, pid);

	if (err == -EAGAIN) {
		log_warn("process %d does not match the other filters at present", pid);
		err = 0;
	} else if (err == -ENOENT && children) {
		err = 0;	/* for example a shell, which was logged as not Python */
	}
	if (err)
		return err;
	if (children)
		return capture_add_children(r->capture, pid);
	return has_conditions(r->opts) ? capture_watch(r->capture, pid, WATCH_ALONE) : 0;
}

static void set_command(struct record *r)
{
	if (r->flight)
		record_flight_set_command(r->flight, r->child.pid);
	else
		recording_set_command(r->recording, r->child.pid);
}

/* Forks the command, which waits until sampling has begun. */
static int hold_command(struct record *r)
{
	enum proc_filter_children children = r->proc_filter.children;
	int err;

	if (!r->opts->command)
		return 0;
	err = spawn_held(&r->child, r->opts->command);
	if (!err) {
		set_command(r);
		capture_expect(r->capture, r->opts->command);
		err = capture_watch(r->capture, r->child.pid,
				    children == CHILDREN_NO ? WATCH_ALONE : WATCH_CHILDREN);
	}
	if (err)
		log_error("cannot start %s: %s", r->opts->command[0], strerror(-err));
	return err;
}


static int select_processes(struct record *r)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < r->opts->select.pid_cnt; i++)
		err = add_pid(r, r->opts->select.pids[i]);
	return err;
}

static int start_capture(struct record *r)
{
	int err = capture_start(r->capture);

	start_over();
	if (err || !r->opts->command)
		return err;
	err = spawn_go(&r->child);
	if (err) {
		log_error("cannot run %s: %s", r->opts->command[0], strerror(-err));
		r->command_status = spawn_exec_status(-err);
	}
	return err;
}

static void clear_status_line(struct record *r)
{
	if (r->status_line)
		fprintf(stderr, "\r\033[K");
}

static void print_status_line(struct record *r)
{
	struct capture_counts c;
	uint64_t now = now_ns();

	if (!r->status_line || now < r->next_status_ns)
		return;
	r->next_status_ns = now + STATUS_LINE_MS * 1000000ull;
	capture_counts(r->capture, &c);
	fprintf(stderr, "\r%6.1f s  %u %s  %llu %s  %llu lost\033[K", (now - r->start_ns) / 1e9,
		c.processes_live, text_plural(c.processes_live, "process", "processes"),
		(unsigned long long)c.received, text_plural(c.received, "sample", "samples"),
		(unsigned long long)c.bpf[CNT_RING_FULL]);
	fflush(stderr);
}

/*
 * Returns true if a process of -p may still be recorded later, because of conditions or --children.
 */
static bool any_pid_may_follow(const struct record *r)
{
	size_t i;

	if (!has_conditions(r->opts) && r->proc_filter.children != CHILDREN_YES)
		return false;
	for (i = 0; i < r->opts->select.pid_cnt; i++)
		if (!kill(r->opts->select.pids[i], 0) || errno != ESRCH)
			return true;
	return false;
}

/* Returns true if -d is the total duration, not the time after a trigger. */
static bool has_duration(const struct record *r)
{
	return r->opts->duration_s > 0 && !options_has_trigger(&r->opts->flight);
}

static bool is_finished(struct record *r)
{
	if (record_signals_seen().own || (r->opts->control && record_control_ended()))
		return true;
	if (has_duration(r) && now_ns() - r->start_ns >= r->opts->duration_s * NS_PER_S)
		return true;
	if (r->opts->command)
		return spawn_ended(&r->child, &r->command_status);
	if (!r->opts->select.pid_cnt)
		return false;
	return !capture_live(r->capture) && !any_pid_may_follow(r);
}

static int wait_ms(const struct record *r)
{
	double longest_ms = waits_long(r) ? QUIET_BATCH_MS : STATUS_LINE_MS, left_ms = longest_ms;

	if (r->flight && !has_duration(r))
		return record_flight_wait_ms(r->flight, STATUS_LINE_MS);
	if (has_duration(r))
		left_ms = r->opts->duration_s * 1000 - (now_ns() - r->start_ns) / 1e6;
	return left_ms < 1 ? 1 : left_ms < longest_ms ? left_ms : longest_ms;
}

static void say_no_python(struct record *r)
{
	clear_status_line(r);
	log_info("no Python process found yet%s",
		 has_duration(r) ? "" : "; waiting for one (Ctrl-C stops)");
}

static int record_loop(struct record *r)
{
	bool reported = r->flight != NULL, done = false;
	int err = 0;

	while (!err && !done && !is_finished(r)) {
		err = capture_poll(r->capture, wait_ms(r));
		if (!err && now_ns() >= r->next_housekeep_ns) {
			r->next_housekeep_ns = now_ns() + NS_PER_S;
			err = capture_housekeep(r->capture);
		}
		print_status_line(r);
		if (!err && r->flight)
			err = record_flight_step(r->flight, &done);
		if (!reported && r->opts->select.all && !recording_process_cnt(r->recording))
			say_no_python(r);
		reported = true;
	}
	clear_status_line(r);
	return err;
}

/*
 * Keeps sources, prints the answer, what was counted, and the next commands, and writes files in
 * other formats. capture_err, finish_err: errors so far. 0, or -errno after logging.
 */
static int show_recording(struct record *r, const struct capture_counts *counts, int capture_err,
			  int finish_err)
{
	bool shown = !r->opts->json && log_get_level() >= LOG_NORMAL, any = false;
	bool there = !finish_err && r->result.processes;	/* otherwise there is no file */
	struct recording_paths paths = { 0 };
	const char *page = NULL;
	int err = there ? recording_paths(r->recording, &paths) : 0;

	if (err)
		log_error("cannot read the recording: %s", strerror(-err));
	if (!err && there && !r->opts->no_source)
		record_keep_sources(r->recording, &paths);
	if (shown) {
		recording_print_head(r->recording, counts, stderr);
		any = !err && there && record_show_hot(r->opts, &paths, &r->result, false);
		fprintf(stderr, "%s", any ? "\n" : "");
		recording_print_counts(r->recording, counts, stderr,
				       log_get_level() >= LOG_VERBOSE);
	}
	if (!capture_err && !finish_err)
		record_explain(r->opts, &r->result, &r->end);
	if (any || (shown && !err && there && r->result.samples))
		record_show_next(r->opts, &paths);
	if (!err && there)
		err = record_write_exports(r->opts, &paths, &r->result, &page);
	if (r->opts->open && page)
		opener_show(&r->opener, page);
	recording_paths_free(&paths);
	return err;
}

/* Concludes with a flight recorder. */
static int conclude_flight(struct record *r)
{
	int err = capture_stop(r->capture), end_err;

	end_err = record_flight_end(r->flight, &r->result);
	r->not_asked = !record_flight_has_begun(r->flight);
	return err ? err : end_err;
}

static int conclude_recording(struct record *r)
{
	struct capture_counts counts;
	int err, finish_err, json_err, show_err;

	if (r->flight)
		return conclude_flight(r);
	r->end = (struct record_end){
		.ran_s = (now_ns() - r->start_ns) / 1e9, .rate_hz = r->rate_hz,
		.command_pid = r->child.pid, .command_status = r->command_status,
	};
	err = capture_stop(r->capture);
	capture_counts(r->capture, &counts);
	finish_err = recording_finish(r->recording, &counts);
	recording_result(r->recording, &counts, &r->result);
	if (r->opts->json) {
		recording_print_json(r->recording, &counts, stdout);
		json_err = output_flush_stdout();
		finish_err = finish_err ? finish_err : json_err;
	}
	show_err = show_recording(r, &counts, err, finish_err);
	finish_err = finish_err ? finish_err : show_err;
	record_end_export(r->opts, !finish_err);
	return err ? err : finish_err;
}

/* A signal came before sampling: nothing was recorded, and nothing is left behind. */
static int end_interrupted(struct record *r)
{
	struct record_signals seen = record_signals_seen();

	if (!seen.own && !seen.terminal)
		return 0;
	r->command_status = 128 + (seen.own ? seen.last : SIGINT);
	return -EINTR;
}

/* Returns bits of enum capture_part. */
static unsigned int parts_of(const struct record_options *o)
{
	return (o->capture.native ? CAPTURE_NATIVE : 0) |
	       (o->capture.debug_urls ? CAPTURE_DEBUGINFOD : 0) |
	       (record_modes[o->mode].memory ? CAPTURE_MEMORY : 0) |
	       (o->capture.census ? CAPTURE_CENSUS : 0) |
	       (o->capture.allocations ? CAPTURE_BLOCKS : 0) |
	       (o->event.kind == EVENT_UPROBE || o->event.kind == EVENT_USDT ? CAPTURE_PROBES : 0);
}

static int record_all(struct record *r)
{
	int err = precheck_record(r->opts->ignore_kernel_bugs), end_err;

	r->identities = identities_new(inspector_names);
	if (!r->identities)
		return -ENOMEM;
	if (!err)
		err = record_check_exports(r->opts);
	if (!err && r->opts->open)
		opener_start(&r->opener);
	if (!err)
		r->workers = !command_workers_start(parts_of(r->opts));
	record_signals_catch(r->opts->command);	/* after the opener, which needs the defaults */
	if (!err)
		choose_owner(r->opts);
	if (!err)
		err = open_recording(r);
	if (!err)
		err = read_kernel_names(r);
	if (!err)
		err = open_capture(r);
	if (!err)
		err = hold_command(r);
	if (!err)
		capture_process_prepare(r->workers);	/* the command keeps its own */
	if (!err)
		err = select_processes(r);
	if (!err)
		err = end_interrupted(r);
	if (!err)
		err = start_capture(r);
	if (err)
		return err;
	record_signals_begun();
	r->started = true;
	r->start_ns = now_ns();	/* -d is the duration of sampling, without the start */
	r->next_housekeep_ns = r->start_ns + NS_PER_S;
	if (r->flight)
		record_flight_begun(r->flight, r->capture);
	if (r->opts->control)
		err = record_control_begun(r->capture);
	if (!err)
		err = record_loop(r);
	r->ended_by = record_signals_ended();
	end_err = conclude_recording(r);
	return err ? err : end_err;
}

/* To be called before waiting for the command, which is no longer sampled. */
static void end_capture(struct record *r)
{
	record_flight_free(r->flight);
	capture_free(r->capture);
	r->capture = NULL;
}

/* Returns true if -r sets the number of samples. Otherwise ticks only find processes. */
static bool is_rate_of_samples(const struct record_options *o)
{
	return o->mode != RECORD_MEM &&
	       (o->event.kind == EVENT_NONE || o->event.kind == EVENT_HARDWARE);
}

/* Says which Python runs a script. */
static void say_interpreter(const struct record_options *o)
{
	char shown[256];

	if (o->script)
		log_info("running it with %s", escape_text(o->command[0], strlen(o->command[0]),
							   shown, sizeof(shown)));
}

int record_run(const struct record_options *opts)
{
	struct record r = { .opts = opts, .proc_filter = opts->select.proc_filter };
	int err;

	r.rate_hz = opts->rate_hz ? opts->rate_hz :
		    opts->select.all || !is_rate_of_samples(opts) ? RATE_ALL_HZ : RATE_ONE_HZ;
	r.status_line = isatty(STDERR_FILENO) && log_get_level() >= LOG_NORMAL &&
			!options_is_flight(&opts->flight);
	say_interpreter(opts);
	err = record_all(&r);
	if (err && !r.started)
		recording_discard(r.recording);
	end_capture(&r);
	if (!err && r.child.pid)
		r.command_status = record_wait_command(opts, &r.child, &r.ended_by);
	spawn_abort(&r.child);
	recording_free(r.recording);
	free(r.selection);
	identities_free(r.identities);
	kallsyms_free(r.kernel);
	opener_stop(&r.opener);
	keeper_end();
	if (err)
		return r.started || !r.command_status ? EXIT_FAILURE : r.command_status;
	if (r.not_asked)
		return r.command_status;
	return record_exit_status(&r.result, r.command_status);
}
