// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_columns.c - which columns the sink writes for samples, and for what they refer to. The
 * Python package reads the same columns in tests/python.
 */
#include <math.h>
#include <stdlib.h>

#include "bpf/abi.h"
#include "formats/columns/columns_out.h"
#include "formats/formats.h"
#include "model/thread_names.h"
#include "tests/unit/export_test.h"

/* A column with this name, the part with this number from 0. */
struct found {
	const uint8_t *values;
	uint32_t width;
	uint64_t count;
};

static bool find_part(const struct buf *b, const char *name, int part, struct found *f)
{
	const struct column_head *head;
	size_t at = COLUMN_ALIGN;

	assert_memory_equal(b->data, COLUMNS_MAGIC, strlen(COLUMNS_MAGIC));
	for (; at < b->len; at += (f->width * f->count + COLUMN_ALIGN - 1) / COLUMN_ALIGN *
				  COLUMN_ALIGN) {
		assert_true(at + COLUMN_ALIGN <= b->len);
		head = (const void *)(b->data + at);
		at += COLUMN_ALIGN;
		*f = (struct found){ b->data + at, head->width, head->count };
		assert_true(f->width * f->count <= b->len - at);
		if (!strcmp(head->name, name) && !part--)
			return true;
	}
	assert_int_equal(at, b->len);
	return false;
}

static struct found find(const struct buf *b, const char *name)
{
	struct found f;

	if (!find_part(b, name, 0, &f))
		fail_msg("no column %s", name);
	return f;
}

static int64_t value(const struct buf *b, const char *name, uint64_t i)
{
	struct found f = find(b, name);
	int64_t v = 0;
	int32_t narrow;

	assert_true(i < f.count);
	if (f.width == 4) {
		memcpy(&narrow, f.values + 4 * i, 4);
		return narrow;
	}
	memcpy(&v, f.values + f.width * i, f.width);
	return v;
}

static double real(const struct buf *b, const char *name, uint64_t i)
{
	int64_t bits = value(b, name, i);
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static void assert_count(const struct buf *b, const char *name, uint64_t count)
{
	assert_int_equal(find(b, name).count, count);
}

/* Checks the string that a column refers to; NULL: none. */
static void assert_text(const struct buf *b, const char *name, uint64_t i, const char *text)
{
	int64_t id = value(b, name, i), begin, end;

	if (!text) {
		assert_int_equal(id, -1);
		return;
	}
	begin = value(b, "string.ends", id);
	end = value(b, "string.ends", id + 1);
	assert_int_equal(end - begin, strlen(text));
	assert_memory_equal(find(b, "string.bytes").values + begin, text, strlen(text));
}

static void test_calls(void **state)
{
	check_calls(&sink_columns);
}

static void test_samples(void **state)
{
	struct export_test t = { .meta = { .tgid = 12, .comm = "app", .interval_us = 1000,
					   .start_us = 5, .mode = MODE_WALL, .timed = true,
					   .python_major = 3, .python_minor = 12 } };
	struct thread_names *names = thread_names_new();
	uint32_t f[2], back[1];
	struct buf b;

	assert_int_equal(thread_names_set(names, 7, "worker"), 0);
	t.meta.thread_names = names;
	export_open(&t, &sink_columns);
	f[0] = export_frame(&t, "a.py", "f", 3);
	f[1] = export_frame(&t, "a.py", "main", 9);
	back[0] = f[1];
	export_begin(&t);
	export_event(&t, 7, 100, 1, 2, f);
	t.status = STATUS_MAIN_THREAD | STATUS_ON_CPU;
	export_event(&t, 8, 101, 3, 1, back);
	export_event(&t, 7, 102, 2, 2, f);
	export_event(&t, 7, 103, 4, 0, NULL);
	assert_int_equal(sink_columns.lost(t.s, "ring_full", 5), 0);
	b = export_close(&t);

	assert_count(&b, "sample.stack", 4);
	assert_int_equal(value(&b, "sample.time_us", 2), 102);
	assert_int_equal(value(&b, "sample.weight", 1), 3);
	assert_int_equal(value(&b, "sample.status", 1), STATUS_MAIN_THREAD | STATUS_ON_CPU);
	assert_int_equal(value(&b, "sample.stack", 2), value(&b, "sample.stack", 0));
	assert_int_equal(value(&b, "sample.thread", 2), 0);
	/* Two stacks and the empty one: sums, and squares of weights 1 and 2. */
	assert_count(&b, "stack.ends", 4);
	assert_int_equal(value(&b, "stack.weight", 0), 3);
	assert_true(real(&b, "stack.squares", 0) == 5.0);
	assert_int_equal(value(&b, "stack.ends", 3), 3);
	assert_text(&b, "frame.function", value(&b, "stack.frames", 0), "f");
	assert_int_equal(value(&b, "frame.line", value(&b, "stack.frames", 1)), 9);

	assert_count(&b, "thread.id", 2);
	assert_text(&b, "thread.name", 0, "worker");
	assert_text(&b, "thread.name", 1, NULL);
	assert_int_equal(value(&b, "thread.main", 1), 1);
	assert_int_equal(value(&b, "process.pid", 0), 12);
	assert_text(&b, "process.comm", 0, "app");
	assert_text(&b, "process.mode", 0, "wall");
	assert_text(&b, "process.service.name", 0, NULL);
	assert_int_equal(value(&b, "process.python", 0), 3 << 16 | 12 << 8);
	assert_int_equal(value(&b, "process.timed", 0), 1);
	assert_true(isnan(real(&b, "process.duration_s", 0)));
	assert_text(&b, "loss.cause", 0, "ring_full");
	assert_int_equal(value(&b, "loss.count", 0), 5);
	assert_count(&b, "end", 0);
	buf_free(&b);
	thread_names_drop(names);
}

/* More than fit into one batch, whose tables come last. */
static void test_batches(void **state)
{
	struct export_test t = { .meta = { .tgid = 1 } };
	struct found first, second, third;
	uint32_t f, i;
	struct buf b;

	export_open(&t, &sink_columns);
	f = export_frame(&t, "a.py", "f", 3);
	export_begin(&t);
	for (i = 0; i < 65536 + 10; i++)
		export_event(&t, 7, i, 1, 1, &f);
	b = export_close(&t);
	assert_true(find_part(&b, "sample.time_us", 0, &first));
	assert_true(find_part(&b, "sample.time_us", 1, &second));
	assert_false(find_part(&b, "sample.time_us", 2, &third));
	assert_int_equal(first.count, 65536);
	assert_int_equal(second.count, 10);
	assert_int_equal(value(&b, "stack.weight", 0), 65536 + 10);
	buf_free(&b);
}

/* The processes of a shared file get rows of their own, and their frames are no functions. */
static void test_shared_profile(void **state)
{
	struct export_test t = { .meta = { .mode = MODE_CPU } };
	uint32_t f[2], other[2];
	struct buf b;

	export_open(&t, &sink_columns);
	f[0] = other[0] = export_frame(&t, "a.py", "f", 3);
	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<process 12 app>", &f[1]), 0);
	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<process 13 web @box>",
					  &other[1]), 0);
	export_begin(&t);
	export_event(&t, 1, 1, 1, 2, f);
	export_event(&t, 2, 2, 1, 2, other);
	export_event(&t, 1, 3, 1, 2, f);
	b = export_close(&t);
	assert_count(&b, "process.pid", 3);
	assert_int_equal(value(&b, "process.pid", 1), 12);
	assert_text(&b, "process.comm", 2, "web");
	assert_text(&b, "process.container", 2, "box");
	assert_int_equal(value(&b, "process.profile", 2), 0);
	assert_int_equal(value(&b, "thread.process", 1), 2);
	assert_count(&b, "stack.weight", 1);
	assert_count(&b, "frame.kind", 1);
	buf_free(&b);
}

static void test_hostile_names(void **state)
{
	struct export_test t = { .meta = { .tgid = 1, .comm = HOSTILE } };
	struct found bytes;
	struct buf b;
	uint32_t f, cp;
	size_t i, n;

	export_open(&t, &sink_columns);
	f = export_frame(&t, HOSTILE, "\xff\xfe", -1);
	export_begin(&t);
	export_event(&t, 1, 1, 1, 1, &f);
	b = export_close(&t);
	assert_text(&b, "frame.function", 0, "\xef\xbf\xbd\xef\xbf\xbd");
	bytes = find(&b, "string.bytes");
	for (i = 0; i < bytes.count; i += n) {
		n = utf8_char((const char *)bytes.values + i, bytes.count - i, &cp);
		assert_true(n);
	}
	buf_free(&b);
}

/* Sums of different units would mean nothing. */
static void test_units(void **state)
{
	struct export_test t = { .args = { .many = true }, .meta = { .tgid = 1 } };
	struct profile_meta bytes = { .tgid = 2, .unit = UNIT_BYTES };
	struct buf b;
	uint32_t f;

	export_open(&t, &sink_columns);
	f = export_frame(&t, "a.py", "f", 3);
	export_begin(&t);
	export_event(&t, 1, 1, 1, 1, &f);
	assert_int_equal(sink_columns.end(t.s, NULL), 0);
	assert_int_equal(sink_columns.begin(t.s, &bytes, intern_tables(t.in)), 0);
	export_event(&t, 2, 1, 100, 1, &f);
	b = export_close(&t);
	assert_count(&b, "process.pid", 1);
	assert_int_equal(value(&b, "stack.weight", 0), 1);
	buf_free(&b);
}

static void test_ends(void **state)
{
	int32_t end = 5;

	assert_int_equal(columns_add_end(&end, INT32_MAX - 5), 0);
	assert_int_equal(end, INT32_MAX);
	assert_int_equal(columns_add_end(&end, 1), -EOVERFLOW);
	end = 0;
	assert_int_equal(columns_add_end(&end, UINT64_MAX), -EOVERFLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_shared_profile),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
