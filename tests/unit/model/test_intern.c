// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_intern.c - ids are dense, stable and given in order of first sight.
 */
#include "tests/unit/tach_test.h"

static void test_strings(void **state)
{
	struct intern *in = intern_new();
	const struct profile_tables *t = intern_tables(in);
	char name[64];
	uint32_t i, id;
	int pass;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < 20000; i++) {
			int len = snprintf(name, sizeof(name), "%.*s%u", (int)(i % 40),
					   "/usr/lib/python3.11/site-packages/package", i);

			assert_int_equal(intern_string(in, name, len, &id), 0);
			assert_int_equal(id, i);
			assert_int_equal(t->strings[i].len, len);
			assert_memory_equal(t->strings[i].data, name, len);
		}
		assert_int_equal(t->string_cnt, 20000);
	}
	intern_free(in);
}

static void test_odd_strings(void **state)
{
	struct intern *in = intern_new();
	const struct profile_tables *t = intern_tables(in);
	size_t big = 3 << 20;
	char *s = calloc(1, big);
	uint32_t a, b, c, d, e;

	assert_int_equal(intern_string(in, NULL, 0, &a), 0);
	assert_int_equal(intern_string(in, "", 0, &b), 0);
	assert_int_equal(a, b);
	/* A NUL is a byte like any other. */
	assert_int_equal(intern_string(in, "\0", 1, &b), 0);
	assert_int_equal(intern_string(in, "\0\0", 2, &c), 0);
	assert_true(a != b && b != c);
	assert_int_equal(intern_string(in, s, big, &d), 0);
	assert_int_equal(intern_string(in, s, big - 1, &e), 0);
	assert_true(d != e);
	assert_int_equal(t->strings[d].len, big);
	assert_int_equal(intern_string(in, s, big, &e), 0);
	assert_int_equal(d, e);
	free(s);
	intern_free(in);
}

static void test_frames(void **state)
{
	struct intern *in = intern_new();
	const struct profile_tables *t = intern_tables(in);
	const struct frame base = { 1, 2, 3, 4, 5, 6, 7, FRAME_NATIVE, 8 };
	struct frame f;
	uint32_t i, id, first;

	assert_int_equal(intern_frame(in, &base, &first), 0);
	/* Every field counts, the padding does not. */
	for (i = 0; i < 9; i++) {
		memset(&f, 0xff, sizeof(f));
		f.file = base.file + (i == 0);
		f.func = base.func + (i == 1);
		f.line = base.line + (i == 2);
		f.end_line = base.end_line + (i == 3);
		f.column = base.column + (i == 4);
		f.end_column = base.end_column + (i == 5);
		f.opcode = base.opcode + (i == 6);
		f.kind = base.kind + (i == 7);
		f.first_line = base.first_line + (i == 8);
		assert_int_equal(intern_frame(in, &f, &id), 0);
		assert_int_equal(id, i + 1);
	}
	memset(&f, 0xaa, sizeof(f));
	f.file = 1, f.func = 2, f.line = 3, f.end_line = 4, f.column = 5, f.end_column = 6;
	f.opcode = 7, f.kind = FRAME_NATIVE, f.first_line = 8;
	assert_int_equal(intern_frame(in, &f, &id), 0);
	assert_int_equal(id, first);
	for (i = 10; i < 50000; i++) {
		f.line = (int32_t)i * 10;
		assert_int_equal(intern_frame(in, &f, &id), 0);
		assert_int_equal(id, i);
		assert_int_equal(t->frames[id].line, f.line);
	}
	assert_int_equal(t->frame_cnt, 50000);
	intern_free(in);
}

static void test_synthetic(void **state)
{
	struct intern *in = intern_new();
	const struct profile_tables *t = intern_tables(in);
	uint32_t gc, other, again, kernel;

	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "<GC>", &gc), 0);
	assert_int_equal(intern_synthetic(in, FRAME_NATIVE, "<native>", &other), 0);
	assert_int_equal(intern_synthetic(in, FRAME_SYNTHETIC, "<GC>", &again), 0);
	assert_int_equal(gc, again);
	assert_int_not_equal(gc, other);
	/* The same name of another kind is another frame. */
	assert_int_equal(intern_synthetic(in, FRAME_KERNEL, "<GC>", &kernel), 0);
	assert_int_not_equal(gc, kernel);
	assert_int_equal(t->frames[gc].kind, FRAME_SYNTHETIC);
	assert_int_equal(t->frames[other].kind, FRAME_NATIVE);
	assert_int_equal(t->frames[kernel].kind, FRAME_KERNEL);
	assert_int_equal(t->frames[gc].func, t->frames[kernel].func);
	assert_int_equal(t->frames[gc].line, LINE_NONE);
	assert_int_equal(t->frames[gc].column, COLUMN_NONE);
	assert_int_equal(t->frames[gc].opcode, OPCODE_NONE);
	assert_memory_equal(t->strings[t->frames[gc].file].data, "~", 1);
	intern_free(in);
	intern_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_odd_strings),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_synthetic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
