// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_frame_kinds.c - a frame of each kind through every writer, and back through the reader
 * of the format if there is one.
 */
#include "formats/formats.h"
#include "formats/readers.h"
#include "model/native_frame.h"
#include "model/stacks.h"
#include "tests/unit/export_test.h"

/* From the innermost frame to the outermost. */
static const struct {
	const char *name;
	enum frame_kind kind;
	const char *library, *source;	/* of machine code, NULL: not known */
} stack[] = {
	{ "<kernel pipe_read>", FRAME_KERNEL, NULL, NULL },
	{ "<blocked in read>", FRAME_SYNTHETIC, NULL, NULL },
	{ "<native thread blas>", FRAME_SYNTHETIC, NULL, NULL },
	{ "<native>", FRAME_NATIVE, NULL, NULL },
	{ "0x7f001234", FRAME_NATIVE, NULL, NULL },
	{ "scan_once", FRAME_NATIVE, "libfoo.so.1", NULL },
	{ "operator() (int)", FRAME_NATIVE, "libfoo.so.1", NULL },
	{ "crc32", FRAME_NATIVE, "libz.so.1", "src/crc32.c" },
	{ "__vdso_time", FRAME_NATIVE, "[vdso]", NULL },
	{ "work", FRAME_PYTHON, NULL, NULL },
	{ "main", FRAME_PYTHON, NULL, NULL },
};
#define DEPTH ARRAY_SIZE(stack)

/* What the writer makes of the stack. known false: all frames but Python's are synthetic. */
static struct buf written(const struct sink_ops *ops, bool known)
{
	struct export_test t = { .meta = { .interval_us = 1000, .mode = MODE_CPU } };
	uint32_t ids[DEPTH];
	size_t i;

	export_open(&t, ops);
	for (i = 0; i < DEPTH; i++) {
		enum frame_kind kind = known ? stack[i].kind : FRAME_SYNTHETIC;

		if (stack[i].library)
			assert_int_equal(intern_native(t.in, stack[i].library, stack[i].source,
						       stack[i].name, 7, &ids[i]), 0);
		else if (stack[i].kind == FRAME_PYTHON)
			ids[i] = export_frame(&t, "/x/a.py", stack[i].name, 3 + (int)i);
		else
			assert_int_equal(intern_synthetic(t.in, kind, stack[i].name, &ids[i]), 0);
	}
	export_begin(&t);
	export_event(&t, 7, 1000, 2, DEPTH, ids);
	return export_close(&t);
}

/* JSONL has a random number in each line. */
static void blank_run_ids(struct buf *b)
{
	static const char key[] = "\"run_id\":\"";
	char *p = (char *)b->data;

	while ((p = strstr(p, key)))
		for (p += strlen(key); *p && *p != '"'; p++)
			*p = '-';
}

/*
 * No file says more than it did when all these frames were told by their file "~", but gecko: only
 * CPython has no category for the kernel; columns have the kind itself; Parquet is Python's work.
 */
static void test_writers_say_the_same(void **state)
{
	const struct sink_ops *ops;
	struct buf with, without;
	size_t i;

	for (i = 0; (ops = sink_at(i)); i++) {
		if (!strcmp(ops->name, "gecko") || ops == &sink_parquet || ops == &sink_columns)
			continue;
		with = written(ops, true);
		without = written(ops, false);
		assert_true(with.len);
		if (!strcmp(ops->name, "jsonl")) {
			blank_run_ids(&with);
			blank_run_ids(&without);
		}
		if (with.len != without.len || memcmp(with.data, without.data, with.len))
			fail_msg("%s: kinds change the file", ops->name);
		buf_free(&with);
		buf_free(&without);
	}
}

/* What a format does not keep of a frame. */
enum {
	LOSES_BRACKETS = 1,	/* "<" and ">" become "[" and "]" */
	LOSES_FILES = 2,
	LOSES_NAMES = 4,	/* all but addresses */
};

struct seen {
	const struct profile_tables *tables;
	unsigned int losses;
	uint32_t events;
};

/* What a reader can know of a frame that was written. */
static enum frame_kind kind_after(unsigned int losses, size_t i)
{
	if (losses & LOSES_BRACKETS && stack[i].name[0] == '<')
		return FRAME_SYNTHETIC;
	if (losses & LOSES_FILES && (stack[i].kind == FRAME_PYTHON || stack[i].library))
		return FRAME_SYNTHETIC;
	return stack[i].kind;
}

static bool is(struct string_ref s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.data, text, s.len);
}

/* A frame of a library has its name, library, and its line if its source is known. */
static void check_native(const struct profile_tables *t, const struct frame *f, size_t i,
			 bool other_name)
{
	const struct string_ref *file = &t->strings[f->file];
	const char *library = *stack[i].library == '[' ? "vdso" : stack[i].library;
	struct string_ref source = native_source(file);

	assert_true(other_name || is(t->strings[f->func], stack[i].name));
	assert_true(is(native_library(file), library));
	assert_int_equal(source.len > 0, stack[i].source != NULL);
	if (source.len)
		assert_true(is(path_base(source), "crc32.c"));
	assert_int_equal(f->line, source.len ? 7 : LINE_NONE);
}

static int check_event(void *ctx, const struct event *ev)
{
	struct seen *seen = ctx;
	uint32_t i;

	seen->events++;
	if (seen->losses & LOSES_NAMES) {
		assert_int_equal(ev->nframes, 1);
		assert_int_equal(seen->tables->frames[ev->frames[0]].kind, FRAME_NATIVE);
		return 0;
	}
	assert_in_range(ev->nframes, DEPTH, DEPTH + 1);	/* there may be a root, the process */
	for (i = 0; i < DEPTH; i++) {
		const struct frame *f = &seen->tables->frames[ev->frames[i]];

		if (f->kind != kind_after(seen->losses, i))
			fail_msg("%s has kind %u", stack[i].name, f->kind);
		if (f->kind == FRAME_NATIVE && stack[i].library)
			check_native(seen->tables, f, i, seen->losses & LOSES_BRACKETS);
	}
	return 0;
}

static void read_back(const char *format, unsigned int losses)
{
	struct buf b = written(sink_find(format), true);
	struct seen seen = { .losses = losses };
	char why[256] = "", path[PATH_BYTES];
	int fd = memory_file(path);
	struct reader *r;

	set_file(fd, b.data, b.len);
	r = reader_open(path, NULL, why, sizeof(why));
	if (!r)
		fail_msg("%s: %s", format, why);
	seen.tables = reader_tables(r);
	assert_int_equal(reader_run(r, check_event, &seen, why, sizeof(why)), 0);
	assert_true(seen.events);
	reader_free(r);
	buf_free(&b);
	close(fd);
}

static void test_there_and_back(void **state)
{
	read_back("tach", 0);
	read_back("collapsed", 0);
	read_back("speedscope", 0);
	read_back("gperftools", LOSES_BRACKETS);
	read_back("gperftools-perl", LOSES_BRACKETS | LOSES_FILES);
	read_back("gperftools-native", LOSES_NAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writers_say_the_same),
		cmocka_unit_test(test_there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
