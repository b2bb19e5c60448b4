// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * speedscope_read.c - reads speedscope's own JSON. See docs/reading.md.
 *
 * Its profiles are threads here; those of one process (by the names that py-spy and we give) with
 * the same unit are one profile. The text stays in the mapped file: samples and weights are two
 * positions in it that advance together, so memory only grows with frames and threads. An evented
 * profile has a sample for each interval between two of its events.
 */
#include "formats/speedscope/speedscope_parse.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "formats/describe.h"
#include "formats/formats.h"
#include "formats/input.h"
#include "formats/read_error.h"
#include "formats/read_stack.h"
#include "formats/thread_clocks.h"
#include "model/intern.h"
#include "model/reader.h"

/* Threads whose names have no number get numbers from here on: above every thread id of Linux. */
#define MADE_UP_THREAD (1ULL << 32)
/* Even 2^63 ns later nothing overflows. */
#define START_MAX_US 1e18

static struct speedscope_reader *to_speedscope(struct reader *r)
{
	return (struct speedscope_reader *)r;
}

static struct group *group_at(const struct speedscope_reader *s, size_t i)
{
	return (struct group *)(void *)s->groups.data + i;
}

/* Any JSON object: no other input format is one. */
static bool speedscope_probe(const struct input *in)
{
	struct json_pull j;

	json_pull_start(&j, in->data, in->size < 4096 ? in->size : 4096, 0);
	return json_pull_type(&j) == JT_OBJECT;
}

/* ---- samples ---- */

struct walk {
	struct json_pull samples, weights;
	uint64_t at;	/* evented: the time so far */
	uint32_t frames[EVENT_MAX_FRAMES];
	struct event ev;
	bool cut;
};

static void walk_start(struct speedscope_reader *s, struct walk *w, const struct thread *th)
{
	w->samples = th->samples;
	w->weights = th->weights;
	json_pull_enter(&w->samples, JT_ARRAY);
	if (!th->evented)
		json_pull_enter(&w->weights, JT_ARRAY);
	s->ids.len = 0;
}

/* Returns 1: the stack and weight of the next sample were read; 0: there are no more; -errno. */
static int read_sample(struct speedscope_reader *s, const struct thread *th, struct walk *w)
{
	bool sample = json_pull_element(&w->samples), weight = json_pull_element(&w->weights);

	if (sample != weight)
		return reason_at(s->why, json_pull_offset(sample ? &w->weights : &w->samples),
				 "expected as many weights as samples");
	if (!sample)
		return 0;
	if (!speedscope_read_stack(s, &w->samples))
		return speedscope_bad_json(s->why, &w->samples);
	if (!speedscope_read_weight(&w->weights, th->unit, &w->ev.weight))
		return speedscope_bad_json(s->why, &w->weights);
	return 1;
}

/* Reads the next sample of a thread into w->ev. Returns 1; 0: no more; -errno with a reason. */
static int walk_next(struct speedscope_reader *s, const struct thread *th, struct walk *w)
{
	int got;

	if (th->evented) {
		got = speedscope_read_events(s, th, &w->samples, &w->at, &w->ev.weight);
		if (got < 0)
			got = speedscope_bad_json(s->why, &w->samples);
	} else {
		got = read_sample(s, th, w);
	}
	if (got <= 0)
		return got;
	w->ev.frames = w->frames;
	if (stack_fit(s->names, &s->ids, true, w->frames, &w->ev.nframes, &w->cut))
		return reason_memory(s->why);
	return 1;
}

static int count_samples(struct speedscope_reader *s, struct thread *th)
{
	struct walk w = { 0 };
	int got;

	walk_start(s, &w, th);
	while ((got = walk_next(s, th, &w)) > 0) {
		if (w.ev.weight > WEIGHT_SUM_MAX - th->elapsed)
			return reason_at(s->why, json_pull_offset(&w.weights),
					 "expected weights that add up to at most 63 bits");
		th->elapsed += w.ev.weight;
		/* An empty stack is a pause. */
		if (w.ev.nframes && w.ev.weight) {
			th->weight_sum += w.ev.weight;
			th->event_cnt++;
			th->truncated_cnt += w.cut;
		}
	}
	return got;
}

/* ---- processes and threads ---- */

/* The number after a word, as in "Process 12 Thread 0x1f \"main\"". False if there is none. */
static bool number_behind(const struct string_ref *name, const char *word, uint64_t *v)
{
	char text[256], *at, *end;

	if (!name->len || memchr(name->data, '\0', name->len))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)(name->len < 255 ? name->len : 255), name->data);
	for (at = text; (at = strcasestr(at, word)); at++) {
		char *p = at + strlen(word);

		while (*p && strchr(" :(=#", *p))
			p++;
		if (*p < '0' || *p > '9')
			continue;
		errno = 0;
		*v = strtoull(p, &end, strncmp(p, "0x", 2) ? 10 : 16);
		if (!errno && p != at + strlen(word))
			return true;
	}
	return false;
}

/* "worker-1 (tid 12)" is thread 12, whatever precedes it: our own form (thread_label()). */
static bool number_at_end(const struct string_ref *name, uint64_t *v)
{
	static const char before[] = "(tid ";
	char text[32], *at, *end;
	size_t len = name->len < sizeof(text) - 1 ? name->len : sizeof(text) - 1;

	if (!len)
		return false;
	memcpy(text, name->data + name->len - len, len);
	text[len] = '\0';
	at = memrchr(text, '(', len);
	if (!at || strncmp(at, before, strlen(before)))
		return false;
	at += strlen(before);
	errno = 0;
	*v = strtoull(at, &end, 10);
	return *at >= '0' && *at <= '9' && !errno && !strcmp(end, ")");
}

static bool same_thread(const struct speedscope_reader *s, uint32_t group, uint64_t id,
			size_t below)
{
	size_t i;

	/* Few threads share a name with a number; threads without one do not come here. */
	for (i = 0; i < below; i++) {
		if (thread_at(s, i)->group == group && thread_at(s, i)->thread_id == id)
			return true;
	}
	return false;
}

static int find_group(struct speedscope_reader *s, uint32_t tgid, enum profile_unit unit,
		      uint32_t *found)
{
	struct group g = { .tgid = tgid, .unit = unit };
	uint32_t cnt = (uint32_t)(s->groups.len / sizeof(g));

	for (*found = 0; *found < cnt; ++*found) {
		if (group_at(s, *found)->tgid == tgid && group_at(s, *found)->unit == unit)
			return 0;
	}
	return buf_add(&s->groups, &g, sizeof(g));
}

/* Above this many names or threads, they are not compared any more: it would take too long. */
#define NAMED_MAX 4096

static int identify_thread(struct speedscope_reader *s, size_t i)
{
	struct thread *th = thread_at(s, i);
	uint64_t tgid = 0;

	if (i >= NAMED_MAX || (!number_behind(&th->name, "process", &tgid) &&
			       !number_behind(&th->name, "pid", &tgid)) || tgid > UINT32_MAX)
		tgid = 0;
	if (find_group(s, (uint32_t)tgid, th->unit->unit, &th->group))
		return reason_memory(s->why);
	if (i >= NAMED_MAX || (!number_at_end(&th->name, &th->thread_id) &&
			       !number_behind(&th->name, "thread", &th->thread_id) &&
			       !number_behind(&th->name, "tid", &th->thread_id)) ||
	    same_thread(s, th->group, th->thread_id, i))
		th->thread_id = MADE_UP_THREAD + i;
	return 0;
}

static int add_to_group(struct speedscope_reader *s, const struct thread *th)
{
	struct group *g = group_at(s, th->group);
	struct reader_info *info = &g->info;
	double seconds = th->elapsed / 1e9;

	if (th->weight_sum > WEIGHT_SUM_MAX - info->weight_sum)
		return reason_at(s->why, th->off,
				 "expected weights that add up to at most 63 bits");
	info->weight_sum += th->weight_sum;
	info->event_cnt += th->event_cnt;
	info->truncated_cnt += th->truncated_cnt;
	info->meta.tgid = g->tgid;
	info->meta.unit = g->unit;
	info->meta.mode = MODE_UNKNOWN;
	info->timed = g->unit == UNIT_NANOSECONDS;
	info->stats.known = info->timed;
	if (info->timed && seconds > info->stats.duration_s)
		info->stats.duration_s = seconds;
	return 0;
}

/* Finds the interval: for times, the mean weight of a sample. Otherwise it is unknown. */
static void finish_group(const struct speedscope_reader *s, struct reader_info *info)
{
	info->meta.interval_us = NOMINAL_INTERVAL_US;
	if (info->timed && info->event_cnt) {
		uint64_t us = info->weight_sum / info->event_cnt / 1000;

		info->meta.interval_us = us ? us : 1;
		info->stats.sample_rate = 1e6 / info->meta.interval_us;
	}
	info->name = s->file_name;
}

/* A thread's start counts relative to the earliest start. */
static void set_starts(struct speedscope_reader *s)
{
	double first[SPEEDSCOPE_UNIT_CNT];
	size_t i;

	for (i = 0; i < SPEEDSCOPE_UNIT_CNT; i++)
		first[i] = INFINITY;
	for (i = 0; i < thread_cnt(s); i++) {
		const struct thread *th = thread_at(s, i);
		size_t unit = th->unit - speedscope_units;

		first[unit] = fmin(first[unit], th->start);
	}
	for (i = 0; i < thread_cnt(s); i++) {
		struct thread *th = thread_at(s, i);
		double us = (th->start - first[th->unit - speedscope_units]) *
			    (th->unit->factor / 1e3);

		if (th->unit->unit == UNIT_NANOSECONDS && us > 0 && us < START_MAX_US)
			th->start_us = (uint64_t)us;
	}
}

static int parse_document(struct speedscope_reader *s)
{
	size_t i;
	int err = speedscope_parse(s);

	for (i = 0; !err && i < thread_cnt(s); i++) {
		err = count_samples(s, thread_at(s, i));
		if (!err)
			err = identify_thread(s, i);
		if (!err)
			err = add_to_group(s, thread_at(s, i));
	}
	s->reader.profile_cnt = (uint32_t)(s->groups.len / sizeof(struct group));
	for (i = 0; !err && i < s->reader.profile_cnt; i++)
		finish_group(s, &group_at(s, i)->info);
	set_starts(s);
	return err;
}

static void select_group(struct reader *r, uint32_t i)
{
	struct speedscope_reader *s = to_speedscope(r);

	s->current = i;
	r->info = group_at(s, i)->info;
}

static void free_speedscope(struct reader *r)
{
	struct speedscope_reader *s = to_speedscope(r);

	intern_free(s->names);
	buf_free(&s->frame_of);
	buf_free(&s->threads);
	buf_free(&s->groups);
	buf_free(&s->key);
	buf_free(&s->text);
	buf_free(&s->ids);
	free(s);
}

static struct reader *open_speedscope(const struct input *in, const struct reader_args *args,
				      char *why, size_t why_size)
{
	const struct reason reason = { why, why_size };
	struct speedscope_reader *s = calloc(1, sizeof(*s));
	int err;

	if (!s) {
		reason_memory(&reason);
		return NULL;
	}
	s->reader.ops = &reader_speedscope;
	s->in = in;
	s->why = &reason;
	s->names = intern_new();
	err = s->names ? parse_document(s) : reason_memory(&reason);
	s->why = NULL;
	if (err) {
		free_speedscope(&s->reader);
		errno = -err;
		return NULL;
	}
	s->reader.tables = intern_tables(s->names);
	select_group(&s->reader, 0);
	return &s->reader;
}

static int run_thread(struct speedscope_reader *s, const struct thread *th,
		      reader_event_fn on_event, void *ctx)
{
	bool timed = th->unit->unit == UNIT_NANOSECONDS;
	struct walk w = { .ev.thread_id = th->thread_id };
	uint64_t passed = 0, us;
	int got, err = 0;

	walk_start(s, &w, th);
	while (!err && (got = walk_next(s, th, &w)) > 0) {
		us = passed / 1000;
		if (!timed && __builtin_mul_overflow(passed, NOMINAL_INTERVAL_US, &us))
			us = UINT64_MAX;
		w.ev.time_us = th->start_us + us;
		passed += th->unit->unit == UNIT_BYTES ? 0 : w.ev.weight;
		if (w.ev.nframes && w.ev.weight)
			err = on_event(ctx, &w.ev);
	}
	return err ? err : got;
}

static int speedscope_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
			  size_t why_size)
{
	struct speedscope_reader *s = to_speedscope(r);
	const struct reason reason = { why, why_size };
	size_t i;
	int err = 0;

	s->why = &reason;
	for (i = 0; !err && i < thread_cnt(s); i++) {
		if (thread_at(s, i)->group == s->current)
			err = run_thread(s, thread_at(s, i), on_event, ctx);
	}
	s->why = NULL;
	return err;
}

static void speedscope_describe(const struct reader *r, struct describe *d)
{
	const struct speedscope_reader *s = (const struct speedscope_reader *)r;
	size_t i;

	d->list(d, "thread_names");
	for (i = 0; i < thread_cnt(s); i++) {
		const struct thread *th = thread_at(s, i);

		if (th->group != s->current)
			continue;
		d->item(d);
		d->number(d, "thread", th->thread_id);
		d->text(d, "name", th->name.len ? th->name.data : "", th->name.len);
	}
	d->list_end(d);
}

const struct reader_ops reader_speedscope = {
	.name = "speedscope",
	.help = "speedscope JSON",
	.probe = speedscope_probe,
	.vague = true,
	.open = open_speedscope,
	.select = select_group,
	.run = speedscope_run,
	.describe = speedscope_describe,
	.free = free_speedscope,
};
