// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * speedscope_write.c - writes speedscope's JSON (docs/format-speedscope.md): a "sampled" profile
 * for each thread, with stacks root first and the time that each lasted.
 *
 * A sample of a clock lasts until the thread's next one, apart from pauses (sample_time.h), which
 * have an empty stack. Before its first sample a thread also has an empty stack, so that all
 * threads have the same axis.
 *
 * Equal consecutive stacks become one with the sum of their times, as in speedscope itself.
 * Distinct stacks are kept in memory; the sequence of each thread is spooled.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/json.h"
#include "base/u64map.h"
#include "base/writer.h"
#include "bpf/abi.h"
#include "formats/formats.h"
#include "formats/sample_time.h"
#include "model/native_frame.h"
#include "model/profile_names.h"
#include "model/sink.h"
#include "model/spool.h"
#include "model/stacks.h"
#include "model/thread_names.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* Spooled in place of a stack's number + 1. */
#define NO_STACK 0

/* Estimated size in the file of a stack with its weight, and of each of its frames. */
#define STACK_BYTES 8
#define LABEL_BYTES 4

/* A profile in the file: of a thread, or of a process. */
struct track {
	uint32_t process;
	uint64_t thread_id;
	struct spool_stream stream;	/* pairs: stack + 1, weight */
	uint64_t stack;			/* stack + 1, not spooled yet; its weight so far: */
	uint64_t weight;
	uint64_t total;			/* sum of all weights */
	uint64_t on_cpu, busy;		/* of samples on CPU, of all that have a stack: time in
					 * microseconds, or in another unit weights */
};

/* The clock of one thread in the current profile. */
struct clock {
	struct track *track;
	uint64_t time_us;		/* time of the last sample */
	uint64_t stack;			/* + 1 */
	uint64_t weight;		/* number of samples that the last event represents */
};

struct speedscope {
	struct sink sink;
	struct sink_args args;
	int err;
	bool active, begun;
	struct stacks *stacks;
	struct spool *spool;
	struct buf tracks;		/* struct track * */
	uint32_t track_0;		/* the current profile's first track */
	struct buf stats;		/* struct profile_stats, by process */
	struct u64map clocks;		/* struct clock, by thread */
	struct profile_meta meta;
	uint64_t start_us;		/* time zero of the current profile */
	bool started;
	uint64_t bytes;			/* about as many as the samples take in the file */
};

static struct speedscope *to_speedscope(struct sink *s)
{
	return (struct speedscope *)s;
}

static uint32_t track_cnt(const struct speedscope *s)
{
	return (uint32_t)(s->tracks.len / sizeof(struct track *));
}

static struct track *track_at(const struct speedscope *s, uint32_t i)
{
	return ((struct track **)(void *)s->tracks.data)[i];
}

static struct sink *speedscope_open(const struct sink_args *args)
{
	struct speedscope *s = calloc(1, sizeof(*s));
	struct stacks_config config = { .detail = DETAIL_FUNCTION };

	if (!s)
		return NULL;
	s->sink.ops = &sink_speedscope;
	s->args = *args;
	if (args->lines == LINES_APART)
		config.detail = DETAIL_LINE;
	s->stacks = stacks_new(&config);
	s->spool = spool_new();
	if (!s->stacks || !s->spool) {
		stacks_free(s->stacks);
		spool_free(s->spool);
		free(s);
		errno = ENOMEM;
		return NULL;
	}
	return &s->sink;
}

static int speedscope_begin(struct sink *sink, const struct profile_meta *meta,
			    const struct profile_tables *tables)
{
	struct speedscope *s = to_speedscope(sink);

	if (s->err)
		return s->err;
	if (s->active || (s->begun && !s->args.many))
		return -EINVAL;
	s->err = stacks_begin(s->stacks, meta, tables);
	s->active = s->begun = !s->err;
	s->meta = *meta;
	s->track_0 = track_cnt(s);
	s->started = false;
	return s->err;
}

static int put_pending(struct speedscope *s, struct track *t)
{
	const uint64_t pair[] = { t->stack, t->weight };
	uint32_t n = t->stack == NO_STACK ? 0 :
					    stacks_get(s->stacks, (uint32_t)(t->stack - 1)).n;
	int err;

	if (!t->weight)
		return 0;
	t->weight = 0;
	s->bytes += STACK_BYTES + (uint64_t)n * LABEL_BYTES;
	err = sink_check_size(&sink_speedscope, s->args.max_bytes, s->bytes);
	return err ? err : spool_add(s->spool, &t->stream, pair, 2);
}

static int put_weight(struct speedscope *s, struct track *t, uint64_t stack, uint64_t weight)
{
	int err;

	/* A larger total would put endValue before the last stack. */
	if (weight > UINT64_MAX / 2 - t->total)
		weight = UINT64_MAX / 2 - t->total;
	if (!weight)
		return 0;
	if (stack != t->stack) {
		err = put_pending(s, t);
		if (err)
			return err;
		t->stack = stack;
	}
	t->weight += weight;
	t->total += weight;
	return 0;
}

static int add_track(struct speedscope *s, uint64_t tid, struct track **out)
{
	struct track *t = calloc(1, sizeof(*t));

	if (!t || buf_add(&s->tracks, &t, sizeof(t))) {
		free(t);
		return -ENOMEM;
	}
	t->process = stacks_process_cnt(s->stacks) - 1;
	t->thread_id = tid;
	*out = t;
	return 0;
}

/* One axis per process: its threads' weights follow each other. */
static bool by_process(const struct speedscope *s)
{
	return s->args.group == GROUP_PROCESS;
}

/* Finds the track of a new thread; by process, it may exist already. */
static int find_track(struct speedscope *s, uint64_t tid, struct track **out)
{
	uint32_t cnt = track_cnt(s);

	if (by_process(s) && cnt &&
	    track_at(s, cnt - 1)->process == stacks_process_cnt(s->stacks) - 1) {
		*out = track_at(s, cnt - 1);
		return 0;
	}
	return add_track(s, by_process(s) ? 0 : tid, out);
}

static int add_clock(struct speedscope *s, const struct event *ev, struct clock **out)
{
	struct clock *c = calloc(1, sizeof(*c));
	int err = c ? find_track(s, ev->thread_id, &c->track) : -ENOMEM;

	if (!err)
		err = u64map_put(&s->clocks, ev->thread_id, c);
	if (err) {
		free(c);
		return err;
	}
	*out = c;
	if (s->meta.unit != UNIT_SAMPLES || by_process(s) || ev->time_us <= s->start_us)
		return 0;
	return put_weight(s, c->track, NO_STACK, ev->time_us - s->start_us);
}

/* Spools the time from a thread's last sample to now, or to the end. */
static int put_time(struct speedscope *s, struct clock *c, uint64_t gap_us)
{
	uint64_t interval = s->meta.interval_us ? s->meta.interval_us : 1;
	uint64_t own = mul_capped(interval, c->weight);
	uint64_t lasts = sample_lasts(s->meta.mode, interval, own, gap_us);
	int err = put_weight(s, c->track, c->stack, lasts);

	if (err || by_process(s))
		return err;
	return put_weight(s, c->track, NO_STACK, gap_us - lasts);
}

static void set_start(struct speedscope *s, const struct event *ev)
{
	s->started = true;
	s->start_us = ev->time_us;
	/* If a recording began long before its first sample, show that. */
	if (s->meta.start_us && s->meta.start_us < ev->time_us)
		s->start_us = s->meta.start_us;
}

/* The busiest thread is chosen by samples, not by the time that a stack lasts. */
static void count_busy(const struct speedscope *s, struct track *t, const struct event *ev)
{
	uint64_t interval = s->meta.unit == UNIT_SAMPLES && s->meta.interval_us ?
				    s->meta.interval_us : 1;
	uint64_t weight = mul_capped(interval, ev->weight);

	if (!ev->nframes)
		return;
	t->busy = add_capped(t->busy, weight);
	if (ev->status & STATUS_ON_CPU)
		t->on_cpu = add_capped(t->on_cpu, weight);
}

static int count_event(struct speedscope *s, const struct event *ev)
{
	struct clock *c;
	uint64_t stack;
	uint32_t id;
	int err;

	if (!s->started)
		set_start(s, ev);
	err = stacks_add(s->stacks, ev, &id);
	if (err)
		return err;
	stack = stacks_get(s->stacks, id).n ? (uint64_t)id + 1 : NO_STACK;
	c = u64map_get(&s->clocks, ev->thread_id);
	if (s->meta.unit != UNIT_SAMPLES) {
		err = c ? 0 : add_clock(s, ev, &c);
		if (err)
			return err;
		count_busy(s, c->track, ev);
		return put_weight(s, c->track, stack, ev->weight);
	}
	if (!c)
		err = add_clock(s, ev, &c);
	else if (ev->time_us > c->time_us)
		err = put_time(s, c, ev->time_us - c->time_us);
	if (err)
		return err;
	count_busy(s, c->track, ev);
	c->time_us = ev->time_us > c->time_us ? ev->time_us : c->time_us;
	c->stack = stack;
	c->weight = ev->weight;
	return 0;
}

static int speedscope_event(struct sink *sink, const struct event *ev)
{
	struct speedscope *s = to_speedscope(sink);

	if (s->err)
		return s->err;
	if (!s->active)
		return -EINVAL;
	return s->err = count_event(s, ev);
}

/* The last sample of each thread lasts as long as its weight: nothing follows it. */
static int finish_clocks(struct speedscope *s)
{
	uint64_t interval = s->meta.interval_us ? s->meta.interval_us : 1;
	struct clock *c;
	size_t pos = 0;
	uint32_t i;
	int err = 0;

	while ((c = u64map_next(&s->clocks, &pos))) {
		if (!err && s->meta.unit == UNIT_SAMPLES && c->weight)
			err = put_weight(s, c->track, c->stack, mul_capped(interval, c->weight));
		free(c);
	}
	for (i = s->track_0; !err && i < track_cnt(s); i++)
		err = put_pending(s, track_at(s, i));
	u64map_free(&s->clocks);
	memset(&s->clocks, 0, sizeof(s->clocks));
	return err;
}

static int speedscope_end(struct sink *sink, const struct profile_stats *stats)
{
	static const struct profile_stats none;
	struct speedscope *s = to_speedscope(sink);

	if (s->err)
		return s->err;
	if (!s->active)
		return -EINVAL;
	s->active = false;
	stacks_end(s->stacks);
	s->err = buf_add(&s->stats, stats ? stats : &none, sizeof(*stats));
	if (!s->err)
		s->err = finish_clocks(s);
	return s->err;
}

static void put_frame(struct speedscope *s, struct writer *w, uint32_t label)
{
	const struct profile_tables *t = stacks_tables(s->stacks);
	const struct frame *f = &t->frames[label];
	struct json j;

	json_start_in(&j, w);
	json_object(&j, NULL);
	json_string_n(&j, "name", t->strings[f->func].data, t->strings[f->func].len);
	if (frame_has_file(f->kind, &t->strings[f->file]))
		json_string_n(&j, "file", t->strings[f->file].data, t->strings[f->file].len);
	if (stacks_line(s->stacks, label))
		json_uint(&j, "line", stacks_line(s->stacks, label));
	json_object_end(&j);
}

static void put_frames(struct speedscope *s, struct writer *w)
{
	uint32_t i;

	for (i = 0; i < stacks_tables(s->stacks)->frame_cnt; i++) {
		writer_text(w, i ? ",\n" : "\n");
		put_frame(s, w, i);
	}
}

static void put_stack(struct speedscope *s, struct writer *w, uint64_t stack)
{
	struct stack_view v;
	uint32_t i;

	writer_char(w, '[');
	if (stack != NO_STACK) {
		v = stacks_get(s->stacks, (uint32_t)(stack - 1));
		for (i = v.n; i--;) {
			writer_uint(w, v.labels[i]);
			if (i)
				writer_char(w, ',');
		}
	}
	writer_char(w, ']');
}

/* Writes one of the two arrays of a track. */
static int put_column(struct speedscope *s, struct writer *w, const struct track *t, bool weights)
{
	struct spool_reader r;
	uint64_t pair[2];
	bool first = true;
	int more;

	spool_read(&r, s->spool, &t->stream);
	writer_char(w, '[');
	while ((more = spool_next(&r, pair, 2)) > 0) {
		if (!first)
			writer_char(w, ',');
		first = false;
		if (weights)
			writer_uint(w, pair[1]);
		else
			put_stack(s, w, pair[0]);
	}
	writer_char(w, ']');
	return more;
}

static void put_track_name(struct speedscope *s, struct writer *w, const struct track *t)
{
	const struct stack_process *p = stacks_process(s->stacks, t->process);
	char name[sizeof(p->name) + 32 + THREAD_LABEL_BYTES], tid[THREAD_LABEL_BYTES] = "";
	bool process = *p->name && (s->args.many || by_process(s));

	if (!by_process(s))
		thread_label(p->meta.thread_names, t->thread_id, "thread ", tid);
	snprintf(name, sizeof(name), "%s%s%s%s%s", process ? sink_meta_kind(&p->meta) : "",
		 process ? " " : "", process ? p->name : "", process && *tid ? " " : "",
		 *tid || process ? tid : "process");
	json_string_in(w, string_of(name));
}

static int put_track(struct speedscope *s, struct writer *w, const struct track *t)
{
	static const char *const units[] = { [UNIT_SAMPLES] = "microseconds",
					     [UNIT_BYTES] = "bytes",
					     [UNIT_NANOSECONDS] = "nanoseconds" };
	int err;

	writer_text(w, "{\"type\":\"sampled\",\"name\":");
	put_track_name(s, w, t);
	writer_text(w, ",\"unit\":\"");
	writer_text(w, units[stacks_process(s->stacks, t->process)->meta.unit]);
	writer_text(w, "\",\"startValue\":0,\"endValue\":");
	writer_uint(w, t->total);
	writer_text(w, ",\n\"samples\":");
	err = put_column(s, w, t, false);
	if (err)
		return err;
	writer_text(w, ",\n\"weights\":");
	err = put_column(s, w, t, true);
	writer_char(w, '}');
	return err;
}

/* Writes what the schema has no field for; speedscope ignores it. */
static void put_process(struct speedscope *s, struct writer *w, uint32_t process)
{
	const struct profile_meta *m = &stacks_process(s->stacks, process)->meta;
	const struct profile_stats *st = (struct profile_stats *)(void *)s->stats.data + process;
	char version[32];
	struct json j;

	snprintf(version, sizeof(version), "%u.%u.%u", m->python_major, m->python_minor,
		 m->python_micro);
	json_start_in(&j, w);
	json_object(&j, NULL);
	json_uint(&j, "pid", m->tgid);
	json_string(&j, "comm", m->comm ? m->comm : "");
	if (m->container)
		json_string(&j, "container", m->container);
	if (m->image)
		json_string(&j, "image", m->image);
	json_string(&j, "python_version", m->python_major ? version : "");
	json_string(&j, "platform", m->platform ? m->platform : "");
	json_string(&j, "mode", profile_mode_known(m->mode) ? profile_mode_name(m->mode) : "");
	json_uint(&j, "interval_us", m->interval_us);
	json_uint(&j, "truncated", stacks_process(s->stacks, process)->truncated);
	if (st->lost_known)
		json_uint(&j, "lost", st->lost_cnt);
	json_object_end(&j);
}

/* The profile that speedscope shows first. 0 if there is none. */
static uint32_t busiest_track(const struct speedscope *s)
{
	uint32_t i, best = 0;

	for (i = 1; i < track_cnt(s); i++) {
		const struct track *t = track_at(s, i), *b = track_at(s, best);

		if (t->on_cpu > b->on_cpu || (t->on_cpu == b->on_cpu && t->busy > b->busy))
			best = i;
	}
	return best;
}

static int write_file(struct speedscope *s, struct writer *w)
{
	uint32_t i, process_cnt = stacks_process_cnt(s->stacks);
	const char *name = process_cnt == 1 ? stacks_process(s->stacks, 0)->name : "";
	int err = 0;

	writer_text(w, "{\"$schema\":\"" SCHEMA "\",\n\"exporter\":\"tachbpf " TACHBPF_VERSION
		       "\",\n\"name\":");
	json_string_in(w, string_of(*name ? name : "tachbpf"));
	writer_text(w, ",\n\"activeProfileIndex\":");
	writer_uint(w, busiest_track(s));
	writer_text(w, ",\n\"tachbpf\":{\"processes\":[");
	for (i = 0; i < process_cnt; i++) {
		writer_text(w, i ? ",\n" : "\n");
		put_process(s, w, i);
	}
	writer_text(w, "]},\n\"shared\":{\"frames\":[");
	put_frames(s, w);
	writer_text(w, "]},\n\"profiles\":[");
	for (i = 0; !err && i < track_cnt(s); i++) {
		writer_text(w, i ? ",\n" : "\n");
		err = put_track(s, w, track_at(s, i));
	}
	writer_text(w, "]}\n");
	return err;
}

static int speedscope_close(struct sink *sink)
{
	struct speedscope *s = to_speedscope(sink);
	struct writer *w = writer_new(s->args.fd, s->args.max_bytes);
	int err = s->err, write_err;
	uint32_t i;

	if (!err && !w)
		err = -ENOMEM;
	if (!err && !s->active) {
		err = write_file(s, w);
		write_err = writer_flush(w);
		if (!err)
			err = write_err;
	}
	free(w);
	finish_clocks(s);
	for (i = 0; i < track_cnt(s); i++) {
		spool_stream_free(&track_at(s, i)->stream);
		free(track_at(s, i));
	}
	buf_free(&s->tracks);
	buf_free(&s->stats);
	stacks_free(s->stacks);
	spool_free(s->spool);
	free(s);
	return err;
}

const struct sink_ops sink_speedscope = {
	.name = "speedscope",
	.help = "JSON for speedscope.app, one profile per thread",
	.takes = SINK_TAKES_LINES | SINK_TAKES_GROUP,
	.open = speedscope_open,
	.begin = speedscope_begin,
	.event = speedscope_event,
	.end = speedscope_end,
	.close = speedscope_close,
	.suffix = ".speedscope.json",
};
