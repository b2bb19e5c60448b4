/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * export_test.h - a small profile of the test's own making through a sink: what
 * the captures of CPython do not have. Names are hostile, units differ.
 */
#ifndef TACHBPF_EXPORT_TEST_H
#define TACHBPF_EXPORT_TEST_H

#include "formats/sinks.h"
#include "tests/unit/json_doc.h"
#include "tests/unit/tach_test.h"

/* A terminal's, JSON's, CSV's, a line's and UTF-8's trouble in one name. */
#define HOSTILE "=\"a,\\b'\n\x1b[31m;\xff\xe2\x80\xae<script> (x)--y"

struct export_test {
	char path[PATH_BYTES];
	struct sink_args args;
	struct profile_meta meta;
	struct intern *in;
	struct sink *s;
	uint8_t status;		/* of the events that follow */
};

static inline void export_open(struct export_test *t, const struct sink_ops *ops)
{
	t->args.fd = memory_file(t->path);
	t->in = intern_new();
	assert_non_null(t->in);
	t->s = sink_new(ops, &t->args);
	assert_non_null(t->s);
}

static inline void export_begin(struct export_test *t)
{
	assert_int_equal(t->s->ops->begin(t->s, &t->meta, intern_tables(t->in)), 0);
}

static inline uint32_t export_frame(struct export_test *t, const char *file, const char *func,
				    int32_t line)
{
	struct frame f = { .line = line, .end_line = line, .column = 4, .end_column = 9,
			   .opcode = OPCODE_NONE };
	uint32_t id;

	assert_int_equal(intern_string(t->in, file, strlen(file), &f.file), 0);
	assert_int_equal(intern_string(t->in, func, strlen(func), &f.func), 0);
	assert_int_equal(intern_frame(t->in, &f, &id), 0);
	return id;
}

/* The same frame of a function with this first line. */
static inline uint32_t export_first_line(struct export_test *t, uint32_t frame, int32_t first_line)
{
	struct frame f = intern_tables(t->in)->frames[frame];
	uint32_t id;

	f.first_line = first_line;
	assert_int_equal(intern_frame(t->in, &f, &id), 0);
	return id;
}

static inline void export_event(struct export_test *t, uint64_t tid, uint64_t time_us,
				uint64_t weight, uint32_t n, const uint32_t *frames)
{
	const struct event ev = { .thread_id = tid, .time_us = time_us, .weight = weight,
				  .nframes = n, .frames = frames, .status = t->status };

	assert_int_equal(t->s->ops->event(t->s, &ev), 0);
}

/* What the sink wrote. */
static inline struct buf export_close(struct export_test *t)
{
	struct buf b;

	assert_int_equal(t->s->ops->end(t->s, NULL), 0);
	assert_int_equal(t->s->ops->close(t->s), 0);
	b = file_bytes(t->path);
	close(t->args.fd);
	intern_free(t->in);
	memset(t, 0, sizeof(*t));
	return b;
}

/* Valid UTF-8 throughout and without anything a terminal obeys but line feeds. */
static inline void assert_printable(const struct buf *b)
{
	const char *p = (const char *)b->data, *end = p + b->len;
	uint32_t cp;
	size_t n;

	for (; p < end; p += n) {
		n = utf8_char(p, end - p, &cp);
		if (!n || (cp != '\n' && !utf8_printable(cp)))
			fail_msg("byte 0x%02x at %zu", (unsigned char)*p,
				 (size_t)(p - (const char *)b->data));
	}
}

/* The order of calls, errors that stay, a full disk: the same for every sink. */
static inline void check_calls(const struct sink_ops *ops)
{
	struct export_test t = { .meta = { .interval_us = 1000, .mode = MODE_CPU } };
	struct event ev = { .weight = 1, .nframes = 1 }, bad = ev;
	uint32_t id, none = UINT32_MAX;

	export_open(&t, ops);
	id = export_frame(&t, "/x/a.py", "f", 3);
	ev.frames = &id;
	bad.frames = &none;
	assert_int_equal(ops->event(t.s, &ev), -EINVAL);
	assert_int_equal(ops->end(t.s, NULL), -EINVAL);
	export_begin(&t);
	assert_int_equal(ops->begin(t.s, &t.meta, intern_tables(t.in)), -EINVAL);
	assert_int_equal(ops->event(t.s, &ev), 0);
	assert_int_equal(ops->end(t.s, NULL), 0);
	/* One process, unless many were announced. */
	assert_int_equal(ops->begin(t.s, &t.meta, intern_tables(t.in)), -EINVAL);
	assert_int_equal(ops->close(t.s), 0);

	/* A frame that does not exist. */
	t.s = ops->open(&t.args);
	export_begin(&t);
	assert_int_equal(ops->event(t.s, &bad), -EINVAL);
	assert_int_equal(ops->event(t.s, &ev), -EINVAL);
	assert_int_equal(ops->close(t.s), -EINVAL);

	/* Given up between begin and end: nothing is written. */
	assert_int_equal(ftruncate(t.args.fd, 0), 0);
	t.s = ops->open(&t.args);
	export_begin(&t);
	assert_int_equal(ops->event(t.s, &ev), 0);
	ops->close(t.s);
	assert_int_equal(lseek(t.args.fd, 0, SEEK_END), 0);

	close(t.args.fd);
	t.args.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	t.s = ops->open(&t.args);
	export_begin(&t);
	assert_int_equal(ops->event(t.s, &ev), 0);
	/* Whichever of the two writes. */
	ops->end(t.s, NULL);
	assert_int_equal(ops->close(t.s), -ENOSPC);
	close(t.args.fd);
	intern_free(t.in);
}

#endif
