// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * speedscope.c - reads speedscope's own JSON, profiles of type "sampled". See
 * docs/reading.md.
 *
 * Its profiles are threads here; those of one process (as py-spy and we name
 * them) that count the same thing are one profile. The text stays where it is
 * mapped: samples and weights are two places in it that move along together, so
 * memory grows with frames and threads only.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "describe.h"
#include "intern.h"
#include "json_pull.h"
#include "input.h"
#include "reader.h"

/* Ours for threads whose names hold no number: above every thread id of Linux. */
#define MADE_UP_THREAD (1ULL << 32)
#define NUMBER_MAX_CHARS 63
/* 2^63 ns after it nothing wraps around. */
#define START_MAX_US 1e18

/* What a unit's values are multiplied with to be whole numbers of ours. */
static const struct unit {
	const char *name;
	enum profile_unit unit;
	double factor;
} units[] = {
	{ "none", UNIT_SAMPLES, 1 },	       { "nanoseconds", UNIT_NANOSECONDS, 1 },
	{ "microseconds", UNIT_NANOSECONDS, 1e3 }, { "milliseconds", UNIT_NANOSECONDS, 1e6 },
	{ "seconds", UNIT_NANOSECONDS, 1e9 },  { "bytes", UNIT_BYTES, 1 },
};

/* One of the file's profiles. */
struct thread {
	struct json_pull samples, weights;	/* at the arrays */
	bool has_samples, has_weights, has_type;
	const struct unit *unit;
	struct string_ref name;		/* in names */
	double start, end;		/* startValue, endValue, in the unit */
	bool has_end;
	uint64_t start_us;		/* after the thread that starts first */
	uint64_t thread_id;
	uint32_t group;
	uint64_t event_cnt, weight_sum, truncated_cnt;
	uint64_t elapsed;	/* weight_sum and the pauses */
	size_t off;
};

/* What is one profile to others: a process and a unit. */
struct group {
	uint32_t tgid;
	enum profile_unit unit;
	struct reader_info info;
};

struct speedscope_reader {
	struct reader reader;
	const struct input *in;
	struct intern *names;
	struct buf frame_of;		/* uint32_t: frame id of shared.frames[i] */
	struct buf threads, groups;
	struct string_ref file_name;
	uint32_t current;
	struct buf key, text, ids;	/* of what is being read */
	const struct reason *why;
};

static struct speedscope_reader *to_speedscope(struct reader *r)
{
	return (struct speedscope_reader *)r;
}

static struct thread *thread_at(const struct speedscope_reader *s, size_t i)
{
	return (struct thread *)(void *)s->threads.data + i;
}

static size_t thread_cnt(const struct speedscope_reader *s)
{
	return s->threads.len / sizeof(struct thread);
}

static struct group *group_at(const struct speedscope_reader *s, size_t i)
{
	return (struct group *)(void *)s->groups.data + i;
}

/* Any JSON object: no other format that is read here is one. */
static bool probe(const struct input *in)
{
	struct json_pull j;

	json_pull_start(&j, in->data, in->size < 4096 ? in->size : 4096, 0);
	return json_pull_type(&j) == JT_OBJECT;
}

static int bad_json(const struct reason *why, const struct json_pull *j)
{
	if (!strcmp(j->err, "out of memory"))
		return reason_memory(why);
	return reason_at(why, json_pull_offset(j), "expected %s", j->err);
}

static bool read_double(struct json_pull *j, double *v)
{
	char text[NUMBER_MAX_CHARS + 1];
	const char *s;
	size_t len;

	if (!json_pull_number(j, &s, &len))
		return false;
	if (len > NUMBER_MAX_CHARS)
		return json_pull_fail(j, "a number of at most 63 characters");
	memcpy(text, s, len);
	text[len] = '\0';
	*v = strtod(text, NULL);
	return isfinite(*v) ? true : json_pull_fail(j, "a finite number");
}

/* A weight in our unit: exact when it is whole, however large. */
static bool read_weight(struct json_pull *j, const struct unit *unit, uint64_t *weight)
{
	struct json_pull back = *j;
	double v;

	if (unit->factor == 1 && json_pull_uint(j, weight))
		return *weight <= WEIGHT_SUM_MAX ? true :
						   json_pull_fail(j, "a weight of at most 63 bits");
	*j = back;
	if (!read_double(j, &v))
		return false;
	v = nearbyint(v * unit->factor);
	if (v < 0 || v >= (double)WEIGHT_SUM_MAX) {
		*j = back;
		return json_pull_fail(j, "a weight that is not negative, of at most 63 bits");
	}
	*weight = (uint64_t)v;
	return true;
}

static bool read_position(struct json_pull *j, int32_t *v)
{
	double d;

	if (json_pull_type(j) == JT_NULL)
		return json_pull_skip(j);
	if (!read_double(j, &d))
		return false;
	*v = d >= 0 && d <= INT32_MAX ? (int32_t)d : -1;
	return true;
}

static bool no_memory(struct json_pull *j)
{
	return json_pull_fail(j, "out of memory");
}

/* A string, or null for none, as a string of ours. */
static bool read_name(struct speedscope_reader *s, struct json_pull *j, struct string_ref *name)
{
	uint32_t id;

	if (json_pull_type(j) == JT_NULL)
		return json_pull_skip(j);
	if (!json_pull_string(j, &s->text))
		return false;
	if (intern_string(s->names, s->text.len ? (char *)s->text.data : "", s->text.len, &id))
		return no_memory(j);
	*name = intern_tables(s->names)->strings[id];
	return true;
}

static bool read_frame(struct speedscope_reader *s, struct json_pull *j)
{
	static const struct string_ref nowhere = { SYNTHETIC_FILE, sizeof(SYNTHETIC_FILE) - 1 };
	struct string_ref file = { 0 }, func = { 0 };
	int32_t line = LINE_NONE, col = 0;
	uint32_t id;
	bool ok = true;

	if (!json_pull_enter(j, JT_OBJECT))
		return false;
	while (ok && json_pull_key(j, &s->key)) {
		if (json_key_is(&s->key, "name"))
			ok = read_name(s, j, &func);
		else if (json_key_is(&s->key, "file"))
			ok = read_name(s, j, &file);
		else if (json_key_is(&s->key, "line"))
			ok = read_position(j, &line);
		else if (json_key_is(&s->key, "col"))
			ok = read_position(j, &col);
		else
			ok = json_pull_skip(j);
	}
	if (j->err)
		return false;
	if (!func.data)
		return json_pull_fail(j, "a frame with a name before this");
	/* Columns count from 1 there, from 0 here. */
	if (intern_place(s->names, file.data ? &file : &nowhere, &func, line,
			 col > 0 ? col - 1 : COLUMN_NONE, &id) ||
	    buf_add(&s->frame_of, &id, sizeof(id)))
		return no_memory(j);
	return true;
}

static bool read_shared(struct speedscope_reader *s, struct json_pull *j)
{
	bool ok = json_pull_enter(j, JT_OBJECT);

	while (ok && json_pull_key(j, &s->key)) {
		if (!json_key_is(&s->key, "frames")) {
			ok = json_pull_skip(j);
			continue;
		}
		if (s->frame_of.len)
			return json_pull_fail(j, "one list of frames, not a second one");
		ok = json_pull_enter(j, JT_ARRAY);
		while (ok && json_pull_element(j))
			ok = read_frame(s, j);
	}
	return ok && !j->err;
}

static bool read_unit(struct speedscope_reader *s, struct json_pull *j, struct thread *th)
{
	struct json_pull back = *j;
	size_t i;

	if (!json_pull_string(j, &s->text))
		return false;
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (json_key_is(&s->text, units[i].name))
			th->unit = &units[i];
	}
	if (th->unit)
		return true;
	*j = back;
	return json_pull_fail(j, "a unit: none, nanoseconds, microseconds, milliseconds, seconds "
				 "or bytes");
}

static bool read_type(struct speedscope_reader *s, struct json_pull *j, struct thread *th)
{
	struct json_pull back = *j;

	if (!json_pull_string(j, &s->text))
		return false;
	th->has_type = true;
	if (json_key_is(&s->text, "sampled"))
		return true;
	*j = back;
	return json_pull_fail(j, "a profile of type \"sampled\", the only one that is read");
}

/* Remember where an array is and go on behind it. */
static bool remember(struct json_pull *j, struct json_pull *place, bool *has)
{
	if (*has)
		return json_pull_fail(j, "one list of samples and one of weights, not a second one");
	*has = json_pull_type(j) == JT_ARRAY;
	*place = *j;
	return *has ? json_pull_skip(j) : json_pull_fail(j, "an array");
}

static bool read_profile(struct speedscope_reader *s, struct json_pull *j)
{
	struct thread th = { .off = json_pull_offset(j) };
	bool ok = json_pull_enter(j, JT_OBJECT);

	while (ok && json_pull_key(j, &s->key)) {
		if (json_key_is(&s->key, "type"))
			ok = read_type(s, j, &th);
		else if (json_key_is(&s->key, "name"))
			ok = read_name(s, j, &th.name);
		else if (json_key_is(&s->key, "unit"))
			ok = read_unit(s, j, &th);
		else if (json_key_is(&s->key, "startValue"))
			ok = read_double(j, &th.start);
		else if (json_key_is(&s->key, "endValue"))
			ok = th.has_end = read_double(j, &th.end);
		else if (json_key_is(&s->key, "samples"))
			ok = remember(j, &th.samples, &th.has_samples);
		else if (json_key_is(&s->key, "weights"))
			ok = remember(j, &th.weights, &th.has_weights);
		else
			ok = json_pull_skip(j);
	}
	if (j->err)
		return false;
	if (!th.has_type || !th.unit || !th.has_samples || !th.has_weights)
		return json_pull_fail(j, "a profile with type, unit, samples and weights before this");
	if (th.has_end && th.end < th.start)
		return json_pull_fail(j, "a profile that does not end before it starts before this");
	return buf_add(&s->threads, &th, sizeof(th)) ? no_memory(j) : true;
}

static bool read_top(struct speedscope_reader *s, struct json_pull *j)
{
	bool ok = json_pull_enter(j, JT_OBJECT);

	while (ok && json_pull_key(j, &s->key)) {
		if (json_key_is(&s->key, "shared")) {
			ok = read_shared(s, j);
		} else if (json_key_is(&s->key, "profiles")) {
			ok = json_pull_enter(j, JT_ARRAY);
			while (ok && json_pull_element(j))
				ok = read_profile(s, j);
		} else if (json_key_is(&s->key, "name")) {
			ok = read_name(s, j, &s->file_name);
		} else {
			ok = json_pull_skip(j);
		}
	}
	return ok && json_pull_finish(j);
}

/* ---- samples ---- */

/* The frames of one sample into s->ids. */
static bool read_stack(struct speedscope_reader *s, struct json_pull *j)
{
	const uint32_t *frame_of = (const uint32_t *)(const void *)s->frame_of.data;
	size_t cnt = s->frame_of.len / sizeof(*frame_of);
	uint64_t index;

	s->ids.len = 0;
	if (!json_pull_enter(j, JT_ARRAY))
		return false;
	while (json_pull_element(j)) {
		struct json_pull back = *j;

		if (!json_pull_uint(j, &index))
			return false;
		if (index >= cnt) {
			*j = back;
			return json_pull_fail(j, "an index into shared.frames");
		}
		if (buf_add(&s->ids, &frame_of[index], sizeof(*frame_of)))
			return no_memory(j);
	}
	return !j->err;
}

struct walk {
	struct json_pull samples, weights;
	uint32_t frames[EVENT_MAX_FRAMES];
	struct event ev;
	bool cut;
};

static void walk_start(struct walk *w, const struct thread *th)
{
	w->samples = th->samples;
	w->weights = th->weights;
	json_pull_enter(&w->samples, JT_ARRAY);
	json_pull_enter(&w->weights, JT_ARRAY);
}

/* 1: a sample in w->ev; 0: no more; -errno with a reason. */
static int walk_next(struct speedscope_reader *s, const struct thread *th, struct walk *w)
{
	bool sample = json_pull_element(&w->samples), weight = json_pull_element(&w->weights);

	if (sample != weight)
		return reason_at(s->why, json_pull_offset(sample ? &w->weights : &w->samples),
				 "expected as many weights as samples");
	if (!sample)
		return 0;
	if (!read_stack(s, &w->samples))
		return bad_json(s->why, &w->samples);
	if (!read_weight(&w->weights, th->unit, &w->ev.weight))
		return bad_json(s->why, &w->weights);
	w->ev.frames = w->frames;
	if (stack_fit(s->names, &s->ids, true, w->frames, &w->ev.nframes, &w->cut))
		return reason_memory(s->why);
	return 1;
}

static int count_samples(struct speedscope_reader *s, struct thread *th)
{
	struct walk w = { 0 };
	int got;

	walk_start(&w, th);
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

/* ---- whose samples they are ---- */

/* The number behind a word, as in "Process 12 Thread 0x1f \"main\"". false: there is none. */
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

static bool same_thread(const struct speedscope_reader *s, uint32_t group, uint64_t id, size_t below)
{
	size_t i;

	/* Few threads have names that say the same; many that say nothing do not come here. */
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

/* More of either than this are not told apart: comparing them all would take too long. */
#define NAMED_MAX 4096

static int identify(struct speedscope_reader *s, size_t i)
{
	struct thread *th = thread_at(s, i);
	uint64_t tgid = 0;

	if (i >= NAMED_MAX || (!number_behind(&th->name, "process", &tgid) &&
			       !number_behind(&th->name, "pid", &tgid)) || tgid > UINT32_MAX)
		tgid = 0;
	if (find_group(s, (uint32_t)tgid, th->unit->unit, &th->group))
		return reason_memory(s->why);
	if (i >= NAMED_MAX || (!number_behind(&th->name, "thread", &th->thread_id) &&
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
		return reason_at(s->why, th->off, "expected weights that add up to at most 63 bits");
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

/* The interval: of time, what a sample weighs in the mean. Else nothing says it. */
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

/* Only how much later than the earliest one a thread starts counts. */
static void set_starts(struct speedscope_reader *s)
{
	double first[ARRAY_SIZE(units)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++)
		first[i] = INFINITY;
	for (i = 0; i < thread_cnt(s); i++) {
		const struct thread *th = thread_at(s, i);

		first[th->unit - units] = fmin(first[th->unit - units], th->start);
	}
	for (i = 0; i < thread_cnt(s); i++) {
		struct thread *th = thread_at(s, i);
		double us = (th->start - first[th->unit - units]) * (th->unit->factor / 1e3);

		if (th->unit->unit == UNIT_NANOSECONDS && us > 0 && us < START_MAX_US)
			th->start_us = (uint64_t)us;
	}
}

static int parse(struct speedscope_reader *s)
{
	struct json_pull j;
	size_t i;
	int err = 0;

	json_pull_start(&j, s->in->data, s->in->size, 0);
	if (!read_top(s, &j))
		return bad_json(s->why, &j);
	if (!thread_cnt(s))
		return reason_at(s->why, json_pull_offset(&j), "expected a profile before this");
	for (i = 0; !err && i < thread_cnt(s); i++) {
		err = count_samples(s, thread_at(s, i));
		if (!err)
			err = identify(s, i);
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
	err = s->names ? parse(s) : reason_memory(&reason);
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

static int run_thread(struct speedscope_reader *s, const struct thread *th, reader_event_fn on_event,
		      void *ctx)
{
	bool timed = th->unit->unit == UNIT_NANOSECONDS;
	struct walk w = { .ev.thread_id = th->thread_id };
	uint64_t passed = 0, us;
	int got, err = 0;

	walk_start(&w, th);
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

static int run(struct reader *r, reader_event_fn on_event, void *ctx, char *why, size_t why_size)
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

static void describe(const struct reader *r, struct describe *d)
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
	.help = "speedscope's JSON, sampled profiles",
	.probe = probe,
	.open = open_speedscope,
	.select = select_group,
	.run = run,
	.describe = describe,
	.free = free_speedscope,
};
