// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * speedscope_parse.c - parses the JSON of a speedscope file: frames and profiles, the places of
 * samples and weights, and the values in them. See speedscope_read.c.
 */
#include "formats/speedscope/speedscope_parse.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "formats/input.h"
#include "formats/read_error.h"
#include "formats/read_stack.h"
#include "model/intern.h"
#include "model/reader.h"

const struct unit speedscope_units[SPEEDSCOPE_UNIT_CNT] = {
	{ "none", UNIT_SAMPLES, 1 },	       { "nanoseconds", UNIT_NANOSECONDS, 1 },
	{ "microseconds", UNIT_NANOSECONDS, 1e3 }, { "milliseconds", UNIT_NANOSECONDS, 1e6 },
	{ "seconds", UNIT_NANOSECONDS, 1e9 },  { "bytes", UNIT_BYTES, 1 },
};

int speedscope_bad_json(const struct reason *why, const struct json_pull *j)
{
	if (!strcmp(j->err, "out of memory"))
		return reason_memory(why);
	return reason_at(why, json_pull_offset(j), "expected %s", j->err);
}

/* A weight in our unit: exact when it is whole, however large. */
bool speedscope_read_weight(struct json_pull *j, const struct unit *unit, uint64_t *weight)
{
	struct json_pull back = *j;
	double v;

	if (unit->factor == 1 && json_pull_uint(j, weight))
		return *weight <= WEIGHT_SUM_MAX ? true :
						   json_pull_fail(j, "a weight of at most 63 bits");
	*j = back;
	if (!json_pull_double(j, &v))
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
	if (!json_pull_double(j, &d))
		return false;
	*v = d >= 0 && d <= INT32_MAX ? (int32_t)d : -1;
	return true;
}

static bool no_memory(struct json_pull *j)
{
	return json_pull_fail(j, "out of memory");
}

/* Reads a string, or null; it is interned. */
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
	/* Columns are counted from 1 there, and from 0 here. */
	if (intern_place(s->names, file.data ? &file : &nowhere, &func, line,
			 col > 0 ? col - 1 : COLUMN_NONE, 0, &id) ||
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
	for (i = 0; i < SPEEDSCOPE_UNIT_CNT; i++) {
		if (json_key_is(&s->text, speedscope_units[i].name))
			th->unit = &speedscope_units[i];
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
	th->evented = json_key_is(&s->text, "evented");
	if (th->evented || json_key_is(&s->text, "sampled"))
		return true;
	*j = back;
	return json_pull_fail(j, "a profile of type \"sampled\" or \"evented\"");
}

/* Remembers the position of an array and skips it. */
static bool remember_array(struct json_pull *j, struct json_pull *place, bool *has)
{
	if (*has)
		return json_pull_fail(j, "one list of samples, weights or events, no second one");
	*has = json_pull_type(j) == JT_ARRAY;
	*place = *j;
	return *has ? json_pull_skip(j) : json_pull_fail(j, "an array");
}

static bool read_profile(struct speedscope_reader *s, struct json_pull *j)
{
	struct thread th = { .off = json_pull_offset(j) };
	struct json_pull events;
	bool ok = json_pull_enter(j, JT_OBJECT);

	while (ok && json_pull_key(j, &s->key)) {
		if (json_key_is(&s->key, "type"))
			ok = read_type(s, j, &th);
		else if (json_key_is(&s->key, "name"))
			ok = read_name(s, j, &th.name);
		else if (json_key_is(&s->key, "unit"))
			ok = read_unit(s, j, &th);
		else if (json_key_is(&s->key, "startValue"))
			ok = json_pull_double(j, &th.start);
		else if (json_key_is(&s->key, "endValue"))
			ok = th.has_end = json_pull_double(j, &th.end);
		else if (json_key_is(&s->key, "samples"))
			ok = remember_array(j, &th.samples, &th.has_samples);
		else if (json_key_is(&s->key, "weights"))
			ok = remember_array(j, &th.weights, &th.has_weights);
		else if (json_key_is(&s->key, "events"))
			ok = remember_array(j, &events, &th.has_events);
		else
			ok = json_pull_skip(j);
	}
	if (j->err)
		return false;
	if (!th.has_type || !th.unit ||
	    (th.evented ? !th.has_events : !th.has_samples || !th.has_weights))
		return json_pull_fail(j, "a profile with type, unit, and samples and weights or "
					 "events before this");
	if (th.evented)
		th.samples = events;
	if (th.has_end && th.end < th.start)
		return json_pull_fail(j,
				      "a profile before this that does not end before it starts");
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

bool speedscope_read_index(const struct speedscope_reader *s, struct json_pull *j, uint32_t *frame)
{
	const uint32_t *frame_of = (const uint32_t *)(const void *)s->frame_of.data;
	struct json_pull back = *j;
	uint64_t index;

	if (!json_pull_uint(j, &index))
		return false;
	if (index >= s->frame_of.len / sizeof(*frame_of)) {
		*j = back;
		return json_pull_fail(j, "an index into shared.frames");
	}
	*frame = frame_of[index];
	return true;
}

/* Reads the frames of one sample into s->ids. */
bool speedscope_read_stack(struct speedscope_reader *s, struct json_pull *j)
{
	uint32_t frame;

	s->ids.len = 0;
	if (!json_pull_enter(j, JT_ARRAY))
		return false;
	while (json_pull_element(j)) {
		if (!speedscope_read_index(s, j, &frame))
			return false;
		if (buf_add(&s->ids, &frame, sizeof(frame)))
			return no_memory(j);
	}
	return !j->err;
}

int speedscope_parse(struct speedscope_reader *s)
{
	struct json_pull j;

	json_pull_start(&j, s->in->data, s->in->size, 0);
	if (!read_top(s, &j))
		return speedscope_bad_json(s->why, &j);
	if (!thread_cnt(s))
		return reason_at(s->why, json_pull_offset(&j), "expected a profile before this");
	return 0;
}
