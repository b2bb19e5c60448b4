// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_library.c - libraries among the strings of a profile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/native_library.h"
#include "model/remap.h"

static const uint8_t id_a[] = { 0x01, 0xab, 0xff }, id_b[20] = { 0x7f };

static const struct native_library *find(const struct native_library *list, int cnt,
					 const char *name)
{
	uint32_t len = (uint32_t)strlen(name);
	int i;

	for (i = 0; i < cnt; i++)
		if (list[i].name.len == len && !memcmp(list[i].name.data, name, len))
			return &list[i];
	return NULL;
}

static void test_there_and_back(void **state)
{
	struct intern *in = intern_new();
	char text[NATIVE_BUILD_ID_TEXT];
	const struct native_library *l;
	struct native_library *list;
	int cnt;

	assert_int_equal(native_libraries(intern_tables(in), &list), 0);
	assert_null(list);
	/* What is known of a library grows. */
	assert_int_equal(native_library_add(in, "liba.so", NULL, NULL, 0), 0);
	assert_int_equal(native_library_add(in, "liba.so", "/usr/lib/a b/liba.so", NULL, 0), 0);
	assert_int_equal(native_library_add(in, "liba.so", "/usr/lib/a b/liba.so", id_a, 3), 0);
	assert_int_equal(native_library_add(in, "[vdso]", NULL, id_b, sizeof(id_b)), 0);
	assert_int_equal(native_library_add(in, "none.so", "/x", id_b, 21), 0);
	cnt = native_libraries(intern_tables(in), &list);
	assert_int_equal(cnt, 3);
	l = find(list, cnt, "liba.so");
	assert_non_null(l);
	assert_int_equal(l->path.len, strlen("/usr/lib/a b/liba.so"));
	assert_memory_equal(l->path.data, "/usr/lib/a b/liba.so", l->path.len);
	assert_int_equal(l->build_id_bytes, 3);
	assert_memory_equal(l->build_id, id_a, 3);
	assert_string_equal(native_build_id_text(l, text), "01abff");
	l = find(list, cnt, "vdso");
	assert_int_equal(l->build_id_bytes, 20);
	assert_int_equal(l->path.len, 0);
	l = find(list, cnt, "none.so");
	assert_int_equal(l->build_id_bytes, 0);
	assert_string_equal(native_build_id_text(l, text), "");
	assert_null(find(list, cnt, "liba"));
	free(list);
	intern_free(in);
}

/* Two files with the same name: nobody knows of which one a frame is. */
static void test_several(void **state)
{
	struct intern *in = intern_new(), *copy = intern_new();
	struct native_library *list;

	assert_int_equal(native_library_add(in, "liba.so", "/1/liba.so", id_a, 3), 0);
	assert_int_equal(native_library_add(in, "liba.so", "/2/liba.so", id_b, 20), 0);
	assert_int_equal(native_library_add(in, "liba.so", "/3/liba.so", id_a, 3), 0);
	assert_int_equal(native_libraries_copy(intern_tables(in), copy), 0);
	assert_int_equal(native_libraries(intern_tables(copy), &list), 1);
	assert_int_equal(list[0].build_id_bytes, 0);
	free(list);
	intern_free(in);
	intern_free(copy);
}

/* What a program calls itself is no library, nor is what has another form. */
static void test_strangers(void **state)
{
	static const char *const strangers[] = {
		"tachbpf: library: ", "tachbpf: library: [a]", "tachbpf: library: [a] ",
		"tachbpf: library: [a] 01", "tachbpf: library: [a] 0 /x",
		"tachbpf: library: [a] 0g /x", "tachbpf: library: [a] AB /x",
		"tachbpf: library: [a]- /x", "tachbpf: library: [] - /x",
		"tachbpf: library: a - /x", "tachbpf: library: [a]  /x", "tachbpf: library: [a",
		"tachbpf: library: [a] 000102030405060708090a0b0c0d0e0f1011121314 /x",
	};
	static const char name[] = "tachbpf: library: [libc.so.6] 00 /x";
	struct intern *in = intern_new();
	struct frame f = { .line = 1 };
	const struct profile_tables *t = intern_tables(in);
	struct buf ids = { 0 };
	uint32_t id;
	size_t i;

	for (i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
		assert_int_equal(intern_string(in, strangers[i], strlen(strangers[i]), &id), 0);
	assert_int_equal(intern_string(in, name, strlen(name), &f.func), 0);
	f.file = 1000;		/* a table may be damaged */
	assert_int_equal(intern_frame(in, &f, &id), 0);
	assert_int_equal(native_libraries_find(t, &ids), 0);
	assert_int_equal(ids.len, 0);
	/* Nor is a name of a program that lives. */
	assert_int_equal(t->library_cnt, 0);
	assert_int_equal(native_library_add(in, "liba.so", NULL, NULL, 0), 0);
	assert_int_equal(native_library_add(in, "liba.so", NULL, NULL, 0), 0);
	assert_int_equal(t->library_cnt, 1);
	assert_int_equal(native_libraries_find(t, &ids), 0);
	assert_int_equal(ids.len, sizeof(id));
	assert_memory_equal(ids.data, t->libraries, sizeof(id));
	buf_free(&ids);
	intern_free(in);
}

/* They go where frames of machine code go. */
static void test_remap(void **state)
{
	struct intern *from = intern_new(), *into = intern_new();
	struct native_library *list;
	struct remap *r;
	uint32_t ids[2];
	struct event ev = { .nframes = 1, .frames = ids }, out;

	assert_int_equal(native_library_add(from, "liba.so", "/liba.so", id_a, 3), 0);
	assert_int_equal(intern_synthetic(from, FRAME_SYNTHETIC, "<GC>", &ids[0]), 0);
	assert_int_equal(intern_native(from, "liba.so", NULL, "f", 0, &ids[1]), 0);
	r = remap_new(intern_tables(from), into);
	assert_int_equal(remap_event(r, &ev, &out), 0);
	assert_int_equal(remap_libraries(r), 0);
	assert_int_equal(native_libraries(intern_tables(into), &list), 0);
	ev.nframes = 2;
	assert_int_equal(remap_event(r, &ev, &out), 0);
	assert_int_equal(remap_libraries(r), 0);
	assert_int_equal(native_libraries(intern_tables(into), &list), 1);
	assert_int_equal(list[0].build_id_bytes, 3);
	free(list);
	remap_free(r);
	intern_free(from);
	intern_free(into);
}

/* Which frame has which, also of a library of which nothing is known. */
static void test_index(void **state)
{
	struct intern *in = intern_new();
	const struct profile_tables *t = intern_tables(in);
	struct native_index x;
	uint32_t ids[4], i;
	static const uint32_t numbers[] = { 0, 1, 2, 1 };

	assert_int_equal(intern_synthetic(in, FRAME_NATIVE, "<native>", &ids[0]), 0);
	assert_int_equal(intern_native(in, "libb.so", NULL, "f", 0, &ids[1]), 0);
	assert_int_equal(intern_native(in, "liba.so", "a.c", "f", 2, &ids[2]), 0);
	assert_int_equal(intern_native(in, "libb.so", "b.c", "f", 2, &ids[3]), 0);
	assert_int_equal(native_library_add(in, "liba.so", "/liba.so", id_a, 3), 0);
	assert_int_equal(native_library_add(in, "unused.so", "/unused.so", id_a, 3), 0);
	assert_int_equal(native_index_make(&x, t), 0);
	assert_int_equal(x.cnt, 2);
	for (i = 0; i < 4; i++)
		assert_int_equal(native_index_of(&x, &t->frames[ids[i]]), numbers[i]);
	assert_int_equal(x.list[0].build_id_bytes, 0);
	assert_int_equal(x.list[1].build_id_bytes, 3);
	native_index_free(&x);
	intern_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_remap),
		cmocka_unit_test(test_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
