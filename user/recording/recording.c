// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recording.c - creates, fills and finishes the files of a recording. See recording.h.
 */
#include "recording/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/compress.h"
#include "base/job_thread.h"
#include "base/time.h"
#include "base/util.h"
#include "model/intern.h"
#include "model/memory_sink.h"
#include "recording/memory_file.h"
#include "recording/profile_file.h"
#include "recording/recording_rows.h"
#include "recording/row_service.h"
#include "recording/totals.h"
#include "resolve/process.h"

/*
 * A process that lives for less than this shares a file with similar ones. Until then its samples
 * are in memory: kill -9 loses them.
 */
#define MERGE_BELOW_NS 1000000000ull
/*
 * In a mode with ticks and waits, a process that never ran shares a file with similar ones. Its
 * samples are in memory for this long, in case it runs soon; then they are written there once a
 * second.
 */
#define IDLE_HELD_NS 10000000000ull
/* 10,000 samples of depth 20: more than a second of one CPU at any common rate. */
#define HELD_MAX_BYTES (2u << 20)

/* The state of a process in the recording. */
struct observed {
	struct process *process;
	struct profile_file file;	/* its sink may be in memory (memory_sink.h) */
	struct memory_file memory;	/* --mode mem: instead of file */
	/* Its counters at recording_begin(). NULL: it is observed from its start. */
	struct process_stats *before;
	struct losses_of_threads *lost_before;
	uint64_t taken, refused;	/* samples, counted by recording_event() */
	bool ran;			/* it has a sample on a CPU */
	uint64_t since_ns;		/* when the recording started to observe it */
	uint64_t held, shared;		/* samples in memory; in shared files, while it was still
					 * alive */
	struct link busy;		/* in recording.busy: it may have something to write */
	bool news;			/* it had an event since the last tick */
};

static const struct observer_ops recording_ops;

/* Stores the time of day at which the recording begins. */
static void note_time(struct recording *r)
{
	r->utc_us = (wall_ns() - now_ns()) / 1000;
	r->start_time = (r->utc_us + r->start_ns / 1000) / 1000000;
}

struct recording *recording_new(const struct recording_args *args)
{
	struct recording *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return NULL;
	r->observer.ops = &recording_ops;
	r->args = *args;
	r->dirfd = r->session.fd = -1;
	r->start_ns = now_ns();
	note_time(r);
	r->selection = strdup(args->selection);
	if (args->compress) {
		r->compressor = compressor_new(COMPRESS_LEVEL);
		r->joins = job_thread_new();
	}
	r->trigger = args->trigger ? strdup(args->trigger) : NULL;
	if (!r->selection || (args->trigger && !r->trigger) ||
	    (args->compress && (!r->compressor || !r->joins))) {
		err = -ENOMEM;
	} else {
		err = recording_open_place(r);
	}
	if (!err)
		return r;
	recording_free(r);
	errno = -err;
	return NULL;
}

static void free_observed(struct observed *o)
{
	link_take(&o->busy);
	profile_file_abandon(&o->file);
	memory_file_abandon(&o->memory);
	free(o->lost_before);
	free(o->before);
	free(o);
}

void recording_free(struct recording *r)
{
	struct observed *o;
	int err = errno;
	size_t pos = 0;

	if (!r)
		return;
	while ((o = u64map_next(&r->live, &pos)))
		free_observed(o);
	recording_free_groups(r);
	recording_free_rows(r);
	remarks_free(&r->remarks);
	buf_free(&r->late_files);
	free(r->selection);
	free(r->trigger);
	u64map_free(&r->live);
	job_thread_free(r->joins);
	compressor_free(r->compressor);
	recording_free_place(r);
	free(r);
	errno = err;
}

struct observer *recording_observer(struct recording *r)
{
	return &r->observer;
}

/* Returns how long the process had lived at end_ns (CLOCK_MONOTONIC); 0: now. */
static uint64_t age_ns(const struct process *p, uint64_t end_ns)
{
	uint64_t boot = clock_ns(CLOCK_BOOTTIME), start = process_start_ns(p);

	if (end_ns)
		boot -= now_ns() - end_ns;
	return start && start < boot ? boot - start : UINT64_MAX;
}

void recording_set_command(struct recording *r, pid_t tgid)
{
	r->command_tgid = tgid;
}

/* Returns true if the process is so young that it may share a file. */
static bool may_share(const struct recording *r, const struct process *p, uint64_t end_ns)
{
	return r->args.place != PLACE_FILE && !r->args.split_all &&
	       process_tgid(p) != r->command_tgid && age_ns(p, end_ns) < MERGE_BELOW_NS;
}

/* Returns true if the process has not run so far and such processes may share a file. */
static bool is_idle(const struct recording *r, const struct observed *o)
{
	const struct record_mode_def *mode = r->args.mode;

	return !o->ran && mode->ticks && mode->waits && !mode->need_status &&
	       r->args.place != PLACE_FILE && !r->args.split_all && !r->args.by_pid &&
	       process_tgid(o->process) != r->command_tgid;
}

/* ---- the observer: what a capture calls ---- */

/* Sets time zero of all profiles; none has a sample yet. */
static void on_start(struct observer *observer, uint64_t start_ns)
{
	struct recording *r = (struct recording *)observer;
	size_t i;

	r->start_ns = start_ns;
	note_time(r);
	for (i = 0; i < r->row_cnt; i++)
		r->rows[i]->begin_s = 0;	/* found before sampling began */
}

static struct row *add_row(struct recording *r, const struct process *p, const char *command)
{
	struct row *row = recording_new_row(r, command);

	if (!row)
		return NULL;
	recording_reserve_row(r, row->command);
	row->tgid = process_tgid(p);
	row->named = recording_is_named(r, row->tgid);
	r->command_seen |= row->tgid == r->command_tgid;
	row->identity = *process_identity(p);
	snprintf(row->comm, sizeof(row->comm), "%s", process_comm(p));
	snprintf(row->version, sizeof(row->version), "%s", process_image(p)->version);
	row->free_threaded = process_image(p)->free_threaded;
	return row;
}

/*
 * A process' file is created when there is something to write. Only one that the user named is
 * created now, so that an error is reported immediately.
 */
static struct observed *observe_process(struct recording *r, struct process *p, const char *command)
{
	struct observed *o = calloc(1, sizeof(*o));
	struct row *row = o ? add_row(r, p, command) : NULL;

	if (row && u64map_put(&r->live, process_tgid(p), o)) {
		recording_remove_row(r, row);
		row = NULL;
	}
	if (!row) {
		free(o);
		return NULL;
	}
	o->process = p;
	o->since_ns = now_ns();
	link_put(&r->busy, &o->busy);
	profile_file_init(&o->file, r, row, process_image(p), process_tgid(p), process_comm(p));
	memory_file_init(&o->memory, r, row, p);
	return o;
}

static int on_begin(struct observer *observer, struct process *p)
{
	struct recording *r = (struct recording *)observer;
	char text[RECORDING_COMMAND_BYTES];
	struct observed *o = observe_process(r, p, recording_command(p, text));

	if (!o)
		return -ENOMEM;
	process_set_observed(p, o);
	if (!o->file.row->named)
		return 0;
	if (r->args.mode->memory)
		return memory_file_create(&o->memory);
	return profile_file_create(&o->file, process_tables(p));
}

struct observed *recording_begin(struct recording *r, struct process *p)
{
	char text[RECORDING_COMMAND_BYTES];
	struct recording_joined joined = {
		.begin_ns = now_ns(), .command = recording_command(p, text),
	};

	process_stats(p, &joined.before);
	joined.lost_before = process_thread_losses(p);
	return recording_begin_at(r, p, &joined);
}

struct observed *recording_begin_at(struct recording *r, struct process *p,
				    const struct recording_joined *at)
{
	struct process_stats *before = malloc(sizeof(*before));
	struct observed *o = before ? observe_process(r, p, at->command) : NULL;

	if (!o) {
		free(before);
		errno = ENOMEM;
		return NULL;
	}
	o->since_ns = at->begin_ns;
	*before = at->before;
	o->before = before;
	losses_add_since(&o->lost_before, at->lost_before, NULL);
	o->file.row->begin_s = recording_seconds(r, at->begin_ns);
	return o;
}

/*
 * A process that may share a file gets a sink in memory until this is decided; others get a file.
 */
static int open_sink(struct recording *r, struct observed *o)
{
	const struct profile_tables *tables = process_tables(o->process);
	struct sink *memory;

	if (!may_share(r, o->process, 0) && !is_idle(r, o))
		return profile_file_create(&o->file, tables);
	memory = memory_sink_new();
	return memory ? profile_file_begin(&o->file, memory, tables) : -ENOMEM;
}

static inline int write_event(struct recording *r, struct observed *o, const struct event *ev)
{
	int err;

	o->ran |= (ev->status & STATUS_ON_CPU) != 0;
	o->news = true;
	if (!o->busy.at)
		link_put(&r->busy, &o->busy);
	if (!o->file.sink && !o->file.err)
		o->file.err = open_sink(r, o);
	err = profile_file_event(&o->file, ev);
	o->held += err ? 0 : process_samples_in(o->process, ev);
	return recording_judge_error(r, o->file.row, err);
}

static int on_event(struct observer *observer, struct process *p, const struct event *ev)
{
	struct observed *o = process_observed(p);

	if (!o)
		return -ENOMEM;	/* as on_begin() returned */
	return write_event((struct recording *)observer, o, ev);
}

int recording_event(struct recording *r, struct observed *o, const struct event *ev)
{
	int err = write_event(r, o, ev);
	uint64_t samples = process_samples_in(o->process, ev);

	o->taken += err ? 0 : samples;
	o->refused += err ? samples : 0;
	return err;
}

/* As the observer's memory(). */
static int recording_memory(struct recording *r, struct observed *o, const struct memory_event *ev)
{
	return recording_judge_error(r, o->file.row, memory_file_event(&o->memory, ev));
}

static int on_memory(struct observer *observer, struct process *p, const struct memory_event *ev)
{
	struct observed *o = process_observed(p);

	return o ? recording_memory((struct recording *)observer, o, ev) : -ENOMEM;
}

static int write_held(void *ctx, const struct event *ev)
{
	struct observed *o = ctx;

	return profile_file_event(&o->file, ev);
}

/* Gives a process whose samples are in memory its own file, and writes them there. */
static int promote_to_file(struct observed *o)
{
	struct sink *held = o->file.sink;

	o->file.sink = NULL;
	profile_file_create(&o->file, process_tables(o->process));
	memory_sink_replay(held, write_held, o);
	held->ops->close(held);
	return o->file.err;
}

/* Writes the buffered samples of a process that has not run to the file that it shares. */
static int flush_idle(struct recording *r, struct observed *o)
{
	int err;

	if (!memory_sink_bytes(o->file.sink))
		return 0;
	err = recording_share(r, o->file.row, o->process, o->file.sink, o->held);
	memory_sink_empty(o->file.sink);
	o->shared += o->held;
	o->held = 0;
	return err;
}

static int flush_process(struct recording *r, struct observed *o)
{
	const struct sink *sink = o->file.sink;

	if (r->args.mode->memory)
		return memory_file_flush(&o->memory);
	if (!memory_sink_is(sink))
		return profile_file_flush(&o->file);
	if (is_idle(r, o) && (now_ns() - o->since_ns >= IDLE_HELD_NS ||
			      memory_sink_bytes(sink) >= HELD_MAX_BYTES))
		return flush_idle(r, o);
	if (is_idle(r, o))
		return 0;
	if (age_ns(o->process, 0) < MERGE_BELOW_NS && memory_sink_bytes(sink) < HELD_MAX_BYTES)
		return 0;
	return promote_to_file(o);
}

/* Everything was written: returns true if nothing else can become due without more events. */
static bool may_rest(const struct recording *r, const struct observed *o)
{
	const struct sink *sink = o->file.sink;

	return !r->args.mode->memory && !o->news && !process_frames_wait(o->process) &&
	       !(memory_sink_is(sink) && memory_sink_bytes(sink));
}

/* Of thousands of processes few have events. */
static int on_tick(struct observer *observer)
{
	struct recording *r = (struct recording *)observer;
	struct link *link, *next;
	struct observed *o;
	int err = 0, one;

	for (link = r->busy; link; link = next) {
		o = LINK_STRUCT(link, struct observed, busy);
		next = link->next;
		one = recording_judge_error(r, o->file.row, flush_process(r, o));
		err = err ? err : one;
		if (may_rest(r, o))
			link_take(link);
		o->news = false;
	}
	one = recording_flush_groups(r);
	return err ? err : one;
}

/*
 * Returns true if an ended process shares a file: it was young, or never ran, and has no file yet.
 */
static bool shares_file(const struct recording *r, const struct observed *o, uint64_t end_ns)
{
	if (memory_sink_is(o->file.sink) && is_idle(r, o))
		return true;
	return !r->ending && may_share(r, o->process, end_ns) &&
	       (!o->file.sink || memory_sink_is(o->file.sink));
}

static int end_file(struct recording *r, struct observed *o, bool exited)
{
	struct row *row = o->file.row;
	int err;

	row->names = thread_names_keep(process_thread_names(o->process));
	if (r->args.mode->memory) {
		err = memory_file_end(&o->memory, exited);
		recording_row_ended(r, row);
		return err;
	}
	if (memory_sink_is(o->file.sink))
		recording_judge_error(r, row, promote_to_file(o));
	err = profile_file_end(&o->file);
	recording_row_ended(r, row);
	return err;
}

/* Returns the process' statistics for its time in this recording. */
static void own_stats(const struct observed *o, struct process_stats *s)
{
	process_stats(o->process, s);
	if (!o->before)
		return;
	stats_since(s, o->before);
	s->samples = o->taken;
	s->lost[LOSS_WRITE] = o->refused;
}

int recording_service(struct recording *r, struct observed *o, const struct profile_service *s)
{
	if (!r->services)
		r->services = intern_new();
	return r->services ? row_service_number(r->services, s, &o->file.row->service) : -ENOMEM;
}

int recording_end(struct recording *r, struct observed *o, uint64_t end_ns)
{
	int err;

	u64map_remove(&r->live, process_tgid(o->process));
	own_stats(o, &o->file.row->stats);
	o->file.row->stats.samples -= o->shared;	/* counted there */
	if (r->args.mode->memory)
		o->file.row->stats.samples = o->file.row->stats.allocs;
	losses_add_since(&o->file.row->losses, process_thread_losses(o->process), o->lost_before);
	o->file.row->alive_ns = end_ns ? 0 : process_start_ns(o->process);
	o->file.row->end_s = end_ns ? recording_seconds(r, end_ns) : recording_since_start(r);
	if (!r->args.mode->memory && shares_file(r, o, end_ns))
		err = recording_merge(r, o->file.row, o->process, o->file.sink);
	else
		err = end_file(r, o, end_ns);
	free_observed(o);
	return err;
}

static int on_end(struct observer *observer, struct process *p, uint64_t end_ns)
{
	struct recording *r = (struct recording *)observer;
	struct observed *o = u64map_get(&r->live, process_tgid(p));

	if (!o)
		return 0;
	process_set_observed(p, NULL);
	return recording_end(r, o, end_ns);
}

static bool on_remark(struct observer *observer, pid_t tgid, uint32_t uid, const char *comm,
		      const char *text)
{
	return remarks_add(&((struct recording *)observer)->remarks, tgid, uid, comm, text);
}

uint64_t recording_interval_us(const struct recording *r)
{
	return sampling_interval_us(r->args.rate_hz);
}

void recording_keep_remarks(struct recording *to, const struct recording *from)
{
	remarks_add_living(&to->remarks, &from->remarks);
}

void recording_add_remarks(struct recording *r, const struct remarks *from)
{
	remarks_add_living(&r->remarks, from);
}

/* The user waits: at most two seconds of CPU time go into thorough joins (35 MB/s at worst). */
#define END_THOROUGH_BYTES (64u << 20)

static void on_stop(struct observer *observer, double missed_pct)
{
	struct recording *r = (struct recording *)observer;

	r->missed_pct = missed_pct;
	r->end_ns = now_ns();
	r->ending = true;
	if (r->compressor)
		compressor_limit_thorough(r->compressor, END_THOROUGH_BYTES);
}

static const struct observer_ops recording_ops = {
	.start = on_start,
	.begin = on_begin,
	.event = on_event,
	.memory = on_memory,
	.end = on_end,
	.tick = on_tick,
	.stop = on_stop,
	.remark = on_remark,
};

/* ---- the end ---- */

int recording_finish(struct recording *r, const struct capture_counts *counts)
{
	int err = recording_end_groups(r), json_err = memory_files_join(r);

	err = err ? err : json_err;
	if (!recording_row_cnt(r) && !r->remarks.cnt) {
		recording_discard(r);
		return err;
	}
	json_err = recording_write_session(r, counts);
	err = err ? err : json_err;
	if (err || r->incomplete)
		replaced_keep(&r->replaced);
	else
		replaced_remove(&r->replaced);
	return err;
}

uint64_t recording_start_utc_ns(const struct recording *r)
{
	return r->utc_us * 1000 + r->start_ns;
}

uint64_t recording_bytes(const struct recording *r)
{
	return r->bytes + r->session_bytes;
}

size_t recording_process_cnt(const struct recording *r)
{
	return recording_row_cnt(r);
}

void recording_result(const struct recording *r, const struct capture_counts *counts,
		      struct recording_result *out)
{
	struct tick_sums ticks;
	struct totals t;

	totals_sum(r, counts, &t);
	tick_sums(&ticks, counts, &t, r->args.mode->waits);
	*out = (struct recording_result){
		.processes = recording_row_cnt(r),
		.refused = r->remarks.cnt + r->remarks.more,
		.samples = t.samples,
		.lost = t.lost_total,
		.unidentified = counts->unidentified,
		.lost_processes = r->lost_cnt,
		.elapsed_s = t.elapsed_s,
		.cpu_s = (double)ticks.all / r->args.rate_hz,
		.idle_pct = percent(counts->bpf[CNT_IDLE], counts->bpf[CNT_TICK]),
		.command_seen = r->command_seen,
	};
}
