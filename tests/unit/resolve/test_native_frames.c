// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_frames.c - addresses of machine code become rows, whose names may come later. */
#define NATIVE_KNOWN_MAX 2048
#define NATIVE_ROWS_MAX 6000
#define NATIVE_PENDING_MAX 64

#include "resolve/native_frames.c"

#include "tests/unit/resolve/fake_code.h"
#include "tests/unit/resolve/fake_native.h"

static struct intern *in;
static struct native_frames *nf;

static void begin(void)
{
	fake_native = (struct native){ .later = false };
	in = intern_new();
	nf = native_frames_new(&fake_native, in, 1, 0);
	assert_non_null(nf);
}

static void end(void)
{
	native_frames_free(nf);
	intern_free(in);
}

/* The ids of one address. */
static uint32_t ids_of(uint32_t file, uint64_t addr, uint32_t out[8])
{
	static struct raw_native raw = { .nframes = 1 };
	struct native_known *known[RAW_NATIVE_FRAMES];
	const uint32_t *ids;
	uint32_t cnt;

	raw.frames[0] = (struct raw_native_frame){ .addr = addr, .file = file };
	assert_int_equal(native_frames_find(nf, &raw, known), 0);
	assert_int_equal(native_frames_ids(nf, known[0], &ids, &cnt), 0);
	memcpy(out, ids, cnt * sizeof(*ids));
	return cnt;
}

static uint32_t id_of(uint32_t file, uint64_t addr)
{
	uint32_t ids[8];

	assert_int_equal(ids_of(file, addr, ids), 1);
	return ids[0];
}

static void check(uint32_t id, const char *file, const char *func, int line)
{
	const struct profile_tables *t = intern_tables(in);

	assert_true(frame_is(t, id, file, func, line));
	assert_int_equal(t->frames[id].kind, FRAME_NATIVE);
	assert_int_equal(t->frames[id].opcode, OPCODE_NONE);
	assert_int_equal(t->frames[id].end_line, line);
	assert_int_equal(t->frames[id].column, COLUMN_NONE);
}

static void test_names(void **state)
{
	uint32_t a;

	begin();
	a = id_of(1, 0x5010);
	check(a, "[libfoo.so.1]", "f5", LINE_NONE);
	assert_int_equal(id_of(1, 0x5020), a);	/* the same function */
	check(id_of(3, 0x6000), "[vdso]", "f6", LINE_NONE);
	check(id_of(2, 0x1001), "[libpython3.so]", "eval", LINE_NONE);
	assert_int_equal(fake_native.asked, 4);
	assert_int_equal(id_of(1, 0x5010), a);
	assert_int_equal(fake_native.asked, 4);
	assert_int_equal(native_frames_unnamed(nf), 0);
	assert_int_equal(native_frames_pending(nf), 0);
	end();
}

static void test_classes(void **state)
{
	static struct raw_native raw = { .nframes = 6, .frames = {
		{ .addr = 0x1000, .file = 2 }, { .addr = 0x1001, .file = 2 },
		{ .addr = 0x1002, .file = 2 }, { .addr = 0x1003, .file = 2 },
		{ .addr = 0x1001, .file = 1 }, { .addr = 0, .file = 0 },
	} };
	struct native_known *known[RAW_NATIVE_FRAMES];
	int i, round;

	begin();
	for (round = 0; round < 2; round++) {
		assert_int_equal(native_frames_find(nf, &raw, known), 0);
		for (i = 0; i < 4; i++)
			assert_int_equal(known[i]->class, NATIVE_CODE + i);
		assert_int_equal(known[4]->class, NATIVE_CODE);
		assert_int_equal(known[5]->class, NATIVE_CODE);
	}
	assert_int_equal(fake_native.asked, 0);	/* names are for frames that are shown */
	raw.nframes = 0;
	assert_int_equal(native_frames_find(nf, &raw, known), 0);
	end();
}

/* What calls a trampoline of CPython's is the interpreter's, also if it has no symbol. */
static void test_callers_of_trampolines(void **state)
{
	static struct raw_native raw = { .nframes = 4, .frames = {
		{ .addr = 0x1001, .file = 2 }, { .addr = 0x77, .file = NATIVE_FILE_TRAMPOLINE },
		{ .addr = 0x2000, .file = 2 }, { .addr = 0x3000, .file = 2 },
	} };
	static const uint8_t classes[] = { NATIVE_EVAL, NATIVE_CODE, NATIVE_PLUMBING, NATIVE_CODE };
	struct native_known *known[RAW_NATIVE_FRAMES];
	int i, round;

	begin();
	for (round = 0; round < 2; round++) {
		assert_int_equal(native_frames_find(nf, &raw, known), 0);
		for (i = 0; i < 4; i++)	/* the trampoline's own is native_class()'s answer */
			assert_int_equal(known[i]->class, classes[i]);
	}
	/* A name that its perf map does not have yet is asked for again. */
	fake_native.nameless = true;
	check(id_of(NATIVE_FILE_TRAMPOLINE, 0x77), "[JIT]", "JIT+0x77", LINE_NONE);
	fake_native.nameless = false;
	check(id_of(NATIVE_FILE_TRAMPOLINE, 0x77), "[JIT]", "f0", LINE_NONE);
	end();
}

/* Frames may be in an interpreter whose functions are not known yet, wherever the walk ends. */
static void test_classified_later(void **state)
{
	static struct raw_native raw = { .nframes = 2, .frames = {
		{ .addr = 0x2001, .file = 2 }, { .addr = 0x1001, .file = 2 },
	} };
	struct native_known *known[RAW_NATIVE_FRAMES];

	begin();
	fake_native.unknown = true;
	assert_int_equal(native_frames_find(nf, &raw, known), 0);
	assert_int_equal(known[0]->class, NATIVE_CODE);
	assert_int_equal(known[1]->class, NATIVE_CODE);
	fake_native.unknown = false;
	assert_int_equal(native_frames_find(nf, &raw, known), 0);
	assert_int_equal(known[0]->class, NATIVE_EVAL);
	assert_int_equal(known[1]->class, NATIVE_EVAL);
	end();
}

static void test_lines(void **state)
{
	uint32_t ids[8];

	begin();
	fake_native.lines = true;
	check(id_of(1, 0x5010), "[libfoo.so.1] src/foo.c", "f5", 0x10);
	assert_int_equal(ids_of(1, 0x64033, ids), 3);
	check(ids[0], "[libfoo.so.1] src/foo.c", "f100", 0x33);
	check(ids[1], "[libfoo.so.1] b.c", "mid", 7);
	check(ids[2], "[libfoo.so.1] b.c", "outer", 7);
	assert_int_equal(ids_of(1, 0x64033, ids), 3);
	check(ids[2], "[libfoo.so.1] b.c", "outer", 7);
	end();
}

static void test_named_later(void **state)
{
	uint32_t a, b, ids[8];

	begin();
	fake_native.later = fake_native.lines = true;
	a = id_of(1, 0x5010);
	b = id_of(1, 0x64033);
	check(a, "[libfoo.so.1]", "libfoo.so.1", LINE_NONE);
	assert_int_not_equal(a, b);
	assert_int_equal(id_of(1, 0x5010), a);
	assert_int_equal(native_frames_pending(nf), 2);
	assert_int_equal(native_frames_unnamed(nf), 3);
	assert_int_equal(native_frames_retry(nf), 0);
	assert_int_equal(native_frames_pending(nf), 2);
	fake_native.later = false;
	assert_int_equal(native_frames_retry(nf), 0);
	assert_int_equal(native_frames_pending(nf), 0);
	assert_int_equal(native_frames_unnamed(nf), 0);
	check(a, "[libfoo.so.1] src/foo.c", "f5", 0x10);
	/* One row has the function that the others are inlined in; later stacks have all. */
	check(b, "[libfoo.so.1] b.c", "outer", 7);
	assert_int_equal(ids_of(1, 0x64033, ids), 3);
	check(ids[0], "[libfoo.so.1] src/foo.c", "f100", 0x33);
	end();
}

/* A debug file has come: names and classes are asked for anew, and rows that wait keep waiting. */
static void test_renewed(void **state)
{
	uint32_t a, b, c;

	begin();
	a = id_of(1, 0x5010);
	fake_native.later = true;
	b = id_of(1, 0x6000);
	fake_native.later = false;
	fake_native.name = "static_one";
	assert_int_equal(id_of(1, 0x5010), a);
	fake_native.renewed++;
	c = id_of(1, 0x5010);
	check(c, "[libfoo.so.1]", "static_one", LINE_NONE);
	check(a, "[libfoo.so.1]", "f5", LINE_NONE);
	assert_int_equal(native_frames_pending(nf), 1);
	assert_int_equal(native_frames_retry(nf), 0);
	check(b, "[libfoo.so.1]", "static_one", LINE_NONE);
	assert_int_equal(id_of(1, 0x6000), c);
	end();
}

/* Without a symbol; JIT code is asked for again, because a perf map grows. */
static void test_nameless(void **state)
{
	begin();
	fake_native.nameless = true;
	check(id_of(1, 0x5010), "[libfoo.so.1]", "libfoo.so.1+0x5010", LINE_NONE);
	check(id_of(0, 0x7000), "[JIT]", "JIT+0x7000", LINE_NONE);
	assert_int_equal(native_frames_unnamed(nf), 2);
	fake_native.nameless = false;
	check(id_of(1, 0x5010), "[libfoo.so.1]", "libfoo.so.1+0x5010", LINE_NONE);
	check(id_of(0, 0x7000), "[JIT]", "f7", LINE_NONE);
	assert_int_equal(native_frames_unnamed(nf), 3);
	end();
	/* One that was asked for, and has none: there is no use in waiting. */
	begin();
	fake_native.later = fake_native.nameless = true;
	assert_int_equal(id_of(1, 0x5010), 1);
	fake_native.later = false;
	assert_int_equal(native_frames_retry(nf), 0);
	assert_int_equal(native_frames_pending(nf), 0);
	assert_int_equal(native_frames_unnamed(nf), 1);
	check(1, "[libfoo.so.1]", "libfoo.so.1+0x5010", LINE_NONE);
	assert_int_equal(id_of(1, 0x5010), id_of(1, 0x5010));
	end();
}

static bool has_string(const char *s)
{
	uint32_t id;

	return intern_find_string(in, s, strlen(s), &id);
}

/* The profile says which libraries its frames are in. */
static void test_libraries(void **state)
{
	static const char path[] = "/usr/lib/libfoo\\x1b.so.1";
	char text[128];
	uint32_t strings;

	begin();
	fake_native.later = true;
	id_of(1, 0x5010);
	id_of(3, 0x5010);
	fake_native.later = false;
	snprintf(text, sizeof(text), "tachbpf: library: [libfoo.so.1] - %s", path);
	assert_true(has_string(text));
	fake_native.built = true;
	id_of(1, 0x6010);
	snprintf(text, sizeof(text), "tachbpf: library: [libfoo.so.1] abcdef %s", path);
	assert_true(has_string(text));
	strings = intern_tables(in)->string_cnt;
	id_of(1, 0x7010);
	assert_int_equal(intern_tables(in)->string_cnt, strings + 1);
	end();
}

/* Names are the target's. */
static void test_hostile_names(void **state)
{
	char name[5000];
	uint32_t id;

	begin();
	fake_native.name = "a\x1b]0;\xff\n";
	check(id_of(1, 0x5010), "[libfoo.so.1]", "a\\x1b]0;\\xff\\x0a", LINE_NONE);
	memset(name, '\x01', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	fake_native.name = name;
	id = id_of(1, 0x6010);
	assert_in_range(intern_tables(in)->strings[intern_tables(in)->frames[id].func].len, 1,
			4 * TEXT_MAX);
	end();
}

/* Frames beyond the bound have the library's row, and are asked for when they are needed again. */
static void test_many_wait(void **state)
{
	uint32_t i, id;

	begin();
	fake_native.later = true;
	for (i = 0; i < NATIVE_PENDING_MAX; i++)
		id_of(1, 0x1000 * i);
	assert_int_equal(native_frames_pending(nf), NATIVE_PENDING_MAX);
	id = id_of(1, 0x1000 * i);
	check(id, "[libfoo.so.1]", "libfoo.so.1", LINE_NONE);
	assert_int_equal(id_of(1, 0x1000 * i + 0x1000), id);
	assert_int_equal(native_frames_pending(nf), NATIVE_PENDING_MAX);
	fake_native.later = false;
	check(id_of(1, 0x1000 * i), "[libfoo.so.1]", "f64", LINE_NONE);
	assert_int_equal(native_frames_retry(nf), 0);
	for (i = 0; i < NATIVE_PENDING_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		check(id_of(1, 0x1000 * i), "[libfoo.so.1]", name, LINE_NONE);
	}
	assert_int_equal(native_frames_unnamed(nf), 2);
	end();
}

/* The table is emptied when it is full; who waits for a name gets it all the same. */
static void test_table_is_full(void **state)
{
	uint32_t i, id;

	begin();
	fake_native.later = true;
	id = id_of(1, 0x5010);
	fake_native.later = false;
	for (i = 0; i < NATIVE_KNOWN_MAX; i++)
		id_of(1, 0x9000 + i % 0x1000);
	assert_in_range(nf->known.cnt, 0, NATIVE_KNOWN_MAX);
	assert_null(slot_of(nf, 0));
	assert_int_equal(native_frames_retry(nf), 0);
	assert_int_equal(native_frames_pending(nf), 0);
	check(id, "[libfoo.so.1]", "f5", LINE_NONE);
	check(id_of(1, 0x5010), "[libfoo.so.1]", "f5", LINE_NONE);
	end();
}

/* A process has a number of rows, and its user a budget, which it gives back. */
static void test_rows_are_bounded(void **state)
{
	struct budget *b = budget_join(1000);
	uint32_t i;

	begin();
	native_frames_free(nf);
	nf = native_frames_new(&fake_native, in, 1, 1000);
	for (i = 0; i < 2 * NATIVE_ROWS_MAX; i++)
		id_of(1, 0x1000 * i);
	assert_in_range(intern_tables(in)->frame_cnt, NATIVE_ROWS_MAX, NATIVE_ROWS_MAX + 10);
	assert_true(frame_is(intern_tables(in), id_of(1, 0x1000 * i), SYNTHETIC_FILE, "<native>",
			     LINE_NONE));
	assert_int_equal(native_frames_unnamed(nf), NATIVE_ROWS_MAX + 1);
	assert_in_range(b->names, NATIVE_ROWS_MAX * FRAME_BYTES, NATIVE_ROWS_MAX * 128);
	end();
	assert_int_equal(b->names, 0);
	budget_leave(b);
}

/* Slots that one call found stay where they are, however the table grows. */
static void test_slots_stay(void **state)
{
	static struct raw_native raw = { .nframes = RAW_NATIVE_FRAMES };
	struct native_known *known[RAW_NATIVE_FRAMES];
	uint64_t next = 0;
	uint32_t round, i;

	begin();
	for (round = 0; round < 100; round++) {
		for (i = 0; i < RAW_NATIVE_FRAMES; i++)
			raw.frames[i] = (struct raw_native_frame){ .addr = next++, .file = 1 };
		assert_int_equal(native_frames_find(nf, &raw, known), 0);
		for (i = 0; i < RAW_NATIVE_FRAMES; i++)
			assert_int_equal(known[i]->addr, raw.frames[i].addr);
		assert_in_range(nf->known.cnt, 1, nf->known.cap / 2);
	}
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_callers_of_trampolines),
		cmocka_unit_test(test_classified_later),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_named_later),
		cmocka_unit_test(test_renewed),
		cmocka_unit_test(test_nameless),
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_many_wait),
		cmocka_unit_test(test_table_is_full),
		cmocka_unit_test(test_rows_are_bounded),
		cmocka_unit_test(test_slots_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
