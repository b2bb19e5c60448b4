// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * collapsed_read.c - reads folded stacks, one per line: "a;b;c 12", root first. See
 * docs/format-collapsed.md.
 *
 * The first elements of a line may name its process and thread, in CPython's form and ours
 * ("process:12 app;tid:34;..."). Frames are "file:func:line", "func (file:line)" or, in machine
 * code, "func ([library])"; anything else is a name. austin's files are special (austin.h).
 *
 * Lines are read several times: once to collect all names and counts, and once for each profile
 * (process) that is delivered. Memory grows with distinct names and stacks, and with how often a
 * line belongs to another process than the line before it, but not with the number of lines.
 */
#include <errno.h>
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
#include "model/event.h"
#include "model/intern.h"
#include "model/native_frame.h"
#include "model/reader.h"

/*
 * What is special in austin's folded stacks: a head that says what is counted, and the names of
 * processes and threads.
 */

struct input;

/* Without austin's head, known is false and the rest has the defaults of folded stacks. */
struct austin {
	bool known;
	enum profile_unit unit;
	enum profile_mode mode;
	uint64_t factor;	/* from the file's microseconds to the unit */
	uint64_t interval_us;
};

/* Longer heads are not read completely. */
#define HEAD_BYTES 4096
/* A period of a day or more is ignored, as in gperftools' profiles. */
#define INTERVAL_MAX_US 86400000000

static void read_line(struct austin *a, const char *line)
{
	unsigned long long interval;
	char mode[16];

	if (sscanf(line, "# interval: %19llu", &interval) == 1 && interval &&
	    interval < INTERVAL_MAX_US)
		a->interval_us = interval;
	if (sscanf(line, "# mode: %15s", mode) != 1)
		return;
	if (!strcmp(mode, "memory")) {
		a->unit = UNIT_BYTES;
		a->mode = MODE_UNKNOWN;
		a->factor = 1;
	} else {
		a->mode = !strcmp(mode, "cpu") ? MODE_CPU : MODE_WALL;
	}
}

/* Reads "# austin: 3.6.0", "# interval: 100", "# mode: wall" at the beginning of a file. */
static struct austin austin_head(const struct input *in)
{
	struct austin a = { .unit = UNIT_SAMPLES, .mode = MODE_UNKNOWN, .factor = 1,
			    .interval_us = NOMINAL_INTERVAL_US };
	char head[HEAD_BYTES], *line = head, *end;
	size_t n = in->size < sizeof(head) - 1 ? in->size : sizeof(head) - 1;

	memcpy(head, in->data, n);
	head[n] = '\0';
	if (strncmp(head, "# austin: ", 10))
		return a;
	a = (struct austin){ .known = true, .unit = UNIT_NANOSECONDS, .mode = MODE_WALL,
			     .factor = 1000, .interval_us = 100 };
	for (; *line == '#' && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		read_line(&a, line);
	}
	return a;
}

/* "P12" is a process, "T0:34" or "T34" is a thread. */
static bool austin_process(const struct string_ref *s, uint64_t *tgid)
{
	return s->len > 1 && *s->data == 'P' && parse_decimal(s->data + 1, s->len - 1, tgid) &&
	       *tgid <= UINT32_MAX;
}

static bool austin_thread(const struct string_ref *s, uint64_t *tid)
{
	const char *colon = s->len ? memrchr(s->data, ':', s->len) : NULL;
	const char *number = colon ? colon + 1 : s->data + 1;

	return s->len > 1 && *s->data == 'T' &&
	       parse_decimal(number, s->data + s->len - number, tid);
}

#define PROCESS_PREFIX "process:"
#define THREAD_PREFIX "tid:"
#define OTHER_THREAD_PREFIX "thread ("
/* If the first line is longer, the file has no stacks. */
#define PROBE_BYTES (1u << 20)
#define COMM_BYTES 256

/* A sequence of lines of one process. */
struct segment {
	size_t from, to;		/* offsets in the file */
	size_t next;			/* the process's next segment; 0: none */
};

/* A process: where its lines are, and their sums. */
struct profile {
	size_t first, last;		/* indices in segments */
	struct reader_info info;
	char comm[COMM_BYTES];
};

struct collapsed_reader {
	struct reader reader;
	const struct input *in;
	struct austin austin;
	struct intern *names;
	struct intern *labels;		/* the texts of frames; only strings */
	struct buf frame_of;		/* uint32_t: frame id of each label */
	struct intern *processes;	/* prefixes of lines; the string's id is the index in
					 * profiles */
	struct profile *profiles;
	size_t profile_cap;
	struct buf segments;		/* struct segment */
	uint32_t current;
	struct buf ids;			/* frame ids of the current line */
};

/* The parts of a line. */
struct line {
	uint32_t process;		/* index in profiles */
	uint64_t thread_id, weight;
	uint32_t frames[EVENT_MAX_FRAMES], nframes;
	bool cut;
};

static struct collapsed_reader *to_collapsed(struct reader *r)
{
	return (struct collapsed_reader *)r;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The offset of the count at the end of a line; len if there is none. */
static size_t count_at(const char *s, size_t len)
{
	size_t i = len;

	while (i && is_digit(s[i - 1]))
		i--;
	return i && i < len && (s[i - 1] == ' ' || s[i - 1] == '\t') ? i : len;
}

/* The length of the line without its end ("\n", "\r\n"); *next: start of the next line. */
static size_t line_end(const struct input *in, size_t at, size_t *next)
{
	const uint8_t *p = in->data + at, *nl = memchr(p, '\n', in->size - at);
	size_t len = nl ? (size_t)(nl - p) : in->size - at;

	*next = at + len + (nl != NULL);
	return len && p[len - 1] == '\r' ? len - 1 : len;
}

static bool is_comment(const char *s, size_t len)
{
	return !len || *s == '#';
}

static bool collapsed_probe(const struct input *in)
{
	struct input head = { .data = in->data,
			      .size = in->size < PROBE_BYTES ? in->size : PROBE_BYTES };
	size_t at, next, len;

	for (at = 0; at < head.size; at = next) {
		const char *s = (const char *)head.data + at;

		len = line_end(&head, at, &next);
		if (memchr(s, '\0', len))
			return false;
		/* At least one character must remain for the count. */
		if (!is_comment(s, len))
			return count_at(s, len) > 1 && count_at(s, len) < len;
	}
	return false;
}

/* Parses "func ([library])" or "func ([library] source:line)", a frame of machine code. */
static bool parse_native(const struct string_ref *s, struct string_ref *file,
			 struct string_ref *func, int32_t *line)
{
	const char *at = s->data, *mid = NULL, *next, *colon, *end = s->data + s->len - 1;
	uint64_t number;

	if (!s->len || *end != ')')
		return false;
	/* C++ names contain brackets, too. */
	while ((next = memmem(at, (size_t)(end - at), " ([", 3))) {
		mid = next;
		at = next + 1;
	}
	if (!mid || mid == s->data)
		return false;
	*func = (struct string_ref){ s->data, (uint32_t)(mid - s->data) };
	*file = (struct string_ref){ mid + 2, (uint32_t)(end - mid - 2) };
	colon = memrchr(file->data, ':', file->len);
	if (end[-1] != ']' && colon && parse_decimal(colon + 1, end - colon - 1, &number) &&
	    number <= INT32_MAX) {
		file->len = (uint32_t)(colon - file->data);
		*line = (int32_t)number;
	}
	return frame_kind_of_names(file, func, *line) == FRAME_NATIVE;
}

/* Parses "file:func:line" or "func (file:line)". Returns false if it is neither. */
static bool parse_place(const struct string_ref *s, struct string_ref *file,
			struct string_ref *func, int32_t *line)
{
	bool brackets = s->len && s->data[s->len - 1] == ')';
	const char *end = s->data + s->len - brackets, *colon, *mid;
	uint64_t number;

	colon = s->len ? memrchr(s->data, ':', end - s->data) : NULL;
	if (!colon || !parse_decimal(colon + 1, end - colon - 1, &number) || number > INT32_MAX)
		return false;
	*line = (int32_t)number;
	if (brackets) {
		mid = memmem(s->data, colon - s->data, " (", 2);
		if (!mid || mid == s->data || mid + 2 == colon)
			return false;
		*func = (struct string_ref){ s->data, (uint32_t)(mid - s->data) };
		*file = (struct string_ref){ mid + 2, (uint32_t)(colon - mid - 2) };
		return true;
	}
	mid = memrchr(s->data, ':', colon - s->data);
	if (!mid)
		return false;
	*file = (struct string_ref){ s->data, (uint32_t)(mid - s->data) };
	*func = (struct string_ref){ mid + 1, (uint32_t)(colon - mid - 1) };
	return true;
}

static int intern_label(struct collapsed_reader *c, const struct string_ref *s, uint32_t *frame)
{
	struct string_ref file = { SYNTHETIC_FILE, strlen(SYNTHETIC_FILE) }, func = *s;
	uint32_t id, known = intern_tables(c->labels)->string_cnt;
	int32_t line = LINE_NONE;
	int err = intern_string(c->labels, s->data, s->len, &id);

	if (err)
		return err;
	if (id < known) {
		*frame = ((uint32_t *)(void *)c->frame_of.data)[id];
		return 0;
	}
	if (!parse_native(s, &file, &func, &line) && !parse_place(s, &file, &func, &line)) {
		file = (struct string_ref){ SYNTHETIC_FILE, strlen(SYNTHETIC_FILE) };
		func = *s;
		line = LINE_NONE;
	}
	err = intern_place(c->names, &file, &func, line, COLUMN_NONE, 0, frame);
	return err ? err : buf_add(&c->frame_of, frame, sizeof(*frame));
}

/* Takes the next element of a stack; *s is then what follows it. Returns false at the end. */
static bool next_element(struct string_ref *s, struct string_ref *element)
{
	const char *semicolon;

	if (!s->data)
		return false;
	*element = *s;
	semicolon = memchr(s->data, ';', s->len);
	if (!semicolon) {
		s->data = NULL;
		return true;
	}
	element->len = (uint32_t)(semicolon - s->data);
	s->len -= element->len + 1;
	s->data = semicolon + 1;
	return true;
}

/* "process:12 app" */
static bool is_process(const struct collapsed_reader *c, const struct string_ref *s, uint32_t *tgid)
{
	size_t at = strlen(PROCESS_PREFIX), end = at;
	uint64_t number;

	if (c->austin.known && austin_process(s, &number)) {
		*tgid = (uint32_t)number;
		return true;
	}
	if (!ref_starts_with(*s, PROCESS_PREFIX))
		return false;
	while (end < s->len && is_digit(s->data[end]))
		end++;
	if (!parse_decimal(s->data + at, end - at, &number) || number > UINT32_MAX ||
	    (end < s->len && s->data[end] != ' '))
		return false;
	*tgid = (uint32_t)number;
	return true;
}

/* "tid:34", or py-spy's "thread (34): name". */
static bool is_thread(const struct collapsed_reader *c, const struct string_ref *s,
		      uint64_t *thread_id)
{
	size_t len = strlen(THREAD_PREFIX), other = strlen(OTHER_THREAD_PREFIX);
	const char *close;

	if (c->austin.known && austin_thread(s, thread_id))
		return true;
	if (ref_starts_with(*s, THREAD_PREFIX))
		return parse_decimal(s->data + len, s->len - len, thread_id);
	if (!ref_starts_with(*s, OTHER_THREAD_PREFIX))
		return false;
	close = memchr(s->data, ')', s->len);
	return close && (close + 1 == s->data + s->len || close[1] == ':') &&
	       parse_decimal(s->data + other, close - s->data - other, thread_id);
}

/* Finds the index of the line's process in profiles; the profile itself is not made here. */
static int find_process(struct collapsed_reader *c, struct string_ref *rest, struct line *l)
{
	struct string_ref element, none = { "", 0 }, ahead = *rest;
	uint32_t tgid;

	if (next_element(&ahead, &element) && is_process(c, &element, &tgid))
		*rest = ahead;
	else
		element = none;
	return intern_string(c->processes, element.data, element.len, &l->process);
}

static int parse_frames(struct collapsed_reader *c, struct string_ref rest, struct line *l)
{
	struct string_ref element, ahead = rest;
	uint32_t frame;
	int err;

	l->thread_id = 0;
	if (next_element(&ahead, &element) && is_thread(c, &element, &l->thread_id))
		rest = ahead;
	c->ids.len = 0;
	while (next_element(&rest, &element)) {
		/* An empty element is no frame: ";;" and a ";" at an end occur in real files. */
		if (!element.len)
			continue;
		err = intern_label(c, &element, &frame);
		if (!err)
			err = buf_add(&c->ids, &frame, sizeof(frame));
		if (err)
			return err;
	}
	return stack_fit(c->names, &c->ids, true, l->frames, &l->nframes, &l->cut);
}

/* Returns 1: a stack; 0: a line to ignore; -errno with a reason. */
static int parse_line(struct collapsed_reader *c, size_t at, size_t len, struct line *l,
		      const struct reason *why)
{
	const char *s = (const char *)c->in->data + at;
	size_t count = count_at(s, len);
	struct string_ref rest;
	int err;

	if (is_comment(s, len))
		return 0;
	if (count == len)
		return reason_at(why, at, "a line without a space and a whole number at its end");
	if (count > UINT32_MAX)
		return reason_at(why, at, "a line of %zu bytes, at most 4 GiB are read", len);
	if (!parse_decimal(s + count, len - count, &l->weight))
		return reason_at(why, at + count, "'%.*s' is not a count of at most 64 bits",
				 len - count > 40 ? 40 : (int)(len - count), s + count);
	if (__builtin_mul_overflow(l->weight, c->austin.factor, &l->weight))
		return reason_at(why, at + count, "a count that is too large");
	rest = (struct string_ref){ s, (uint32_t)(count - 1) };
	err = find_process(c, &rest, l);
	if (!err)
		err = parse_frames(c, rest, l);
	return err ? reason_memory(why) : 1;
}

/* Adds a process. Its name is what follows "process:12 ". */
static int add_profile(struct collapsed_reader *c)
{
	const struct string_ref *s;
	uint32_t i = c->reader.profile_cnt;
	struct profile *profiles = array_grow(c->profiles, i, &c->profile_cap, sizeof(*profiles));
	struct profile *p;
	const char *space;

	if (!profiles)
		return -ENOMEM;
	c->profiles = profiles;
	c->reader.profile_cnt++;
	p = &profiles[i];
	memset(p, 0, sizeof(*p));
	p->info.meta.mode = c->austin.mode;
	p->info.meta.unit = c->austin.unit;
	p->info.meta.interval_us = c->austin.interval_us;
	p->info.timed = c->austin.unit == UNIT_NANOSECONDS;
	s = &intern_tables(c->processes)->strings[i];
	if (!s->len)
		return 0;
	is_process(c, s, &p->info.meta.tgid);
	space = memchr(s->data, ' ', s->len);
	if (space)
		snprintf(p->comm, sizeof(p->comm), "%.*s",
			 (int)(s->data + s->len - space - 1), space + 1);
	return 0;
}

static struct segment *segment_at(struct collapsed_reader *c, size_t i)
{
	return (struct segment *)(void *)c->segments.data + i;
}

/* Adds the line from at to next to the process's segments. */
static int add_to_segments(struct collapsed_reader *c, struct profile *p, size_t at, size_t next)
{
	struct segment fresh = { .from = at, .to = next };
	size_t cnt = c->segments.len / sizeof(fresh);
	bool first = p->last >= cnt || !p->info.event_cnt;

	/* Only the newest segment can grow; ignored lines belong to it. */
	if (!first && p->last == cnt - 1) {
		segment_at(c, p->last)->to = next;
		return 0;
	}
	if (buf_add(&c->segments, &fresh, sizeof(fresh)))
		return -ENOMEM;
	if (first)
		p->first = cnt;
	else
		segment_at(c, p->last)->next = cnt;
	p->last = cnt;
	return 0;
}

static int count_line(struct collapsed_reader *c, const struct line *l, size_t at, size_t next,
		      const struct reason *why)
{
	struct profile *p;

	if (l->process == c->reader.profile_cnt && add_profile(c))
		return reason_memory(why);
	p = &c->profiles[l->process];
	if (l->weight && add_to_segments(c, p, at, next))
		return reason_memory(why);
	if (l->weight > WEIGHT_SUM_MAX - p->info.weight_sum)
		return reason_at(why, at, "counts that add up to more than 63 bits");
	p->info.weight_sum += l->weight;
	p->info.event_cnt += l->weight > 0;
	p->info.truncated_cnt += l->cut;
	return 0;
}

static int count_lines(struct collapsed_reader *c, const struct reason *why)
{
	size_t at, next, len;
	struct line l;
	int got, err = 0;

	for (at = 0; !err && at < c->in->size; at = next) {
		len = line_end(c->in, at, &next);
		got = parse_line(c, at, len, &l, why);
		err = got > 0 ? count_line(c, &l, at, next, why) : got;
	}
	return err;
}

static void select_profile(struct reader *r, uint32_t i)
{
	struct collapsed_reader *c = to_collapsed(r);

	c->current = i;
	r->info = c->profiles[i].info;
	r->info.meta.comm = *c->profiles[i].comm ? c->profiles[i].comm : NULL;
}

static void free_collapsed(struct reader *r)
{
	struct collapsed_reader *c = to_collapsed(r);

	intern_free(c->names);
	intern_free(c->labels);
	intern_free(c->processes);
	buf_free(&c->frame_of);
	buf_free(&c->ids);
	buf_free(&c->segments);
	free(c->profiles);
	free(c);
}

static struct reader *open_collapsed(const struct input *in, const struct reader_args *args,
				     char *why, size_t why_size)
{
	const struct reason reason = { why, why_size };
	struct collapsed_reader *c = calloc(1, sizeof(*c));
	int err;

	if (!c) {
		reason_memory(&reason);
		return NULL;
	}
	c->reader.ops = &reader_collapsed;
	c->in = in;
	c->austin = austin_head(in);
	c->names = intern_new();
	c->labels = intern_new();
	c->processes = intern_new();
	err = c->names && c->labels && c->processes ? count_lines(c, &reason) :
						      reason_memory(&reason);
	if (!err && !c->reader.profile_cnt)
		err = reason_at(&reason, 0, "no line with a stack in it");
	if (err) {
		free_collapsed(&c->reader);
		errno = -err;
		return NULL;
	}
	c->reader.tables = intern_tables(c->names);
	select_profile(&c->reader, 0);
	return &c->reader;
}

static int deliver_line(const struct collapsed_reader *c, struct clocks *clocks,
			const struct line *l, reader_event_fn on_event, void *ctx)
{
	bool timed = c->austin.unit == UNIT_NANOSECONDS;
	struct event ev = { .thread_id = l->thread_id, .nframes = l->nframes, .frames = l->frames,
			    .weight = l->weight };
	int err = clocks_tick(clocks, l->thread_id, timed ? l->weight / 1000 : l->weight,
			      timed ? 1 : NOMINAL_INTERVAL_US, &ev.time_us);

	return err ? err : on_event(ctx, &ev);
}

static int collapsed_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
			 size_t why_size)
{
	struct collapsed_reader *c = to_collapsed(r);
	const struct profile *p = &c->profiles[c->current];
	const struct reason reason = { why, why_size };
	struct clocks clocks = { 0 };
	size_t i, at, next, len;
	struct line l;
	int got, err = 0;

	if (!p->info.event_cnt)
		return 0;
	for (i = p->first;; i = segment_at(c, i)->next) {
		for (at = segment_at(c, i)->from; !err && at < segment_at(c, i)->to; at = next) {
			len = line_end(c->in, at, &next);
			got = parse_line(c, at, len, &l, &reason);
			err = got < 0 ? got : 0;
			if (got > 0 && l.weight && l.process == c->current)
				err = deliver_line(c, &clocks, &l, on_event, ctx);
		}
		if (err || !segment_at(c, i)->next)
			break;
	}
	clocks_free(&clocks);
	return err;
}

const struct reader_ops reader_collapsed = {
	.name = "collapsed",
	.help = "folded stacks with counts, the input of flame graph tools",
	.probe = collapsed_probe,
	.vague = true,
	.open = open_collapsed,
	.select = select_profile,
	.run = collapsed_run,
	.free = free_collapsed,
};
