// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * speedscope_events.c - reads profiles of type "evented": functions that open and close. Like
 * speedscope, it requires that each closes the one opened last.
 */
#include "formats/speedscope/speedscope_parse.h"

#include <math.h>
#include <string.h>

#include "base/util.h"

/* Each interval repeats the whole stack: without a limit, N events make N * N frames. */
#define OPEN_MAX 4096

struct event_json {
	bool has_type, has_frame, has_at, close;
	uint32_t frame;
	uint64_t at;	/* in our unit, since startValue */
};

static bool read_at(const struct thread *th, struct json_pull *j, uint64_t *at)
{
	struct json_pull back = *j;
	double v;

	if (!json_pull_double(j, &v))
		return false;
	v = nearbyint((v - th->start) * th->unit->factor);
	if (v >= 0 && v < (double)WEIGHT_SUM_MAX) {
		*at = (uint64_t)v;
		return true;
	}
	*j = back;
	return json_pull_fail(j, "a time that is not before startValue, of at most 63 bits");
}

static bool read_type(struct speedscope_reader *s, struct json_pull *j, bool *close)
{
	struct json_pull back = *j;

	if (!json_pull_string(j, &s->text))
		return false;
	*close = json_key_is(&s->text, "C");
	if (*close || json_key_is(&s->text, "O"))
		return true;
	*j = back;
	return json_pull_fail(j, "an event of type \"O\" or \"C\"");
}

static bool read_event(struct speedscope_reader *s, const struct thread *th, struct json_pull *j,
		       struct event_json *e)
{
	bool ok = json_pull_enter(j, JT_OBJECT);

	*e = (struct event_json){ 0 };
	while (ok && json_pull_key(j, &s->key)) {
		if (json_key_is(&s->key, "type"))
			ok = e->has_type = read_type(s, j, &e->close);
		else if (json_key_is(&s->key, "frame"))
			ok = e->has_frame = speedscope_read_index(s, j, &e->frame);
		else if (json_key_is(&s->key, "at"))
			ok = e->has_at = read_at(th, j, &e->at);
		else
			ok = json_pull_skip(j);
	}
	if (!j->err && !(e->has_type && e->has_frame && e->has_at))
		json_pull_fail(j, "an event with type, frame and at before this");
	return !j->err;
}

static bool apply_event(struct speedscope_reader *s, struct json_pull *j,
			const struct event_json *e)
{
	size_t size = sizeof(e->frame);

	if (!e->close && s->ids.len / size >= OPEN_MAX)
		return json_pull_fail(j, "at most 4096 open frames before this");
	if (!e->close)
		return !buf_add(&s->ids, &e->frame, size) || json_pull_fail(j, "out of memory");
	if (s->ids.len < size || memcmp(s->ids.data + s->ids.len - size, &e->frame, size))
		return json_pull_fail(j, "an event before this that closes the frame opened last");
	s->ids.len -= size;
	return true;
}

int speedscope_read_events(struct speedscope_reader *s, const struct thread *th,
			   struct json_pull *j, uint64_t *at, uint64_t *weight)
{
	struct json_pull back = *j;
	struct event_json e;

	for (; json_pull_element(j); back = *j) {
		if (!read_event(s, th, j, &e))
			return -1;
		if (e.at < *at) {
			json_pull_fail(j, "an event before this that is not earlier than the one "
					  "before it");
			return -1;
		}
		if (e.at > *at) {
			/* The event itself is read again by the next call. */
			*weight = e.at - *at;
			*at = e.at;
			*j = back;
			return 1;
		}
		if (!apply_event(s, j, &e))
			return -1;
	}
	if (!j->err && s->ids.len)
		json_pull_fail(j, "as many frames closed as opened before this");
	return j->err ? -1 : 0;
}
