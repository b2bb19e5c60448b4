// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_frame_names.c - the kind of a frame as its names tell it, and that kinds survive when
 * frames go from one profile to another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/util.h"
#include "model/intern.h"
#include "model/native_frame.h"
#include "model/remap.h"

static struct string_ref ref(const char *text)
{
	return (struct string_ref){ text, (uint32_t)strlen(text) };
}

static void test_names(void **state)
{
	static const struct {
		const char *file, *func;
		int32_t line;
		enum frame_kind kind;
	} cases[] = {
		{ "a.py", "f", 3, FRAME_PYTHON },
		{ "a.py", "<GC>", LINE_NONE, FRAME_PYTHON },
		{ "~/a.py", "<GC>", LINE_NONE, FRAME_PYTHON },
		{ "", "", LINE_NONE, FRAME_PYTHON },
		{ "~", "f", 3, FRAME_PYTHON },	/* code that was compiled under this name */
		{ "~", "<GC>", LINE_NONE, FRAME_SYNTHETIC },
		{ "~", "<GC>", 0, FRAME_SYNTHETIC },
		{ "~", "", LINE_NONE, FRAME_SYNTHETIC },
		{ "~", "<kernel>", LINE_NONE, FRAME_SYNTHETIC },
		{ "~", "<kernel schedule>", LINE_NONE, FRAME_KERNEL },
		{ "~", "<kernel ", LINE_NONE, FRAME_KERNEL },
		{ "~", "<native>", LINE_NONE, FRAME_NATIVE },
		{ "~", "<native thread blas>", LINE_NONE, FRAME_SYNTHETIC },
		{ "~", "0x55d1c0de", LINE_NONE, FRAME_NATIVE },
		{ "[libfoo.so.1]", "f", LINE_NONE, FRAME_NATIVE },
		{ "[libfoo.so.1]", "<GC>", 0, FRAME_NATIVE },
		{ "[libfoo.so.1] foo.c", "f", LINE_NONE, FRAME_NATIVE },
		{ "[libfoo.so.1] foo.c", "f", 3, FRAME_NATIVE },
		{ "[x]", "f", 3, FRAME_PYTHON },	/* compile(source, "[x]", "exec") */
		{ "[x]y", "f", LINE_NONE, FRAME_PYTHON },
		{ "[", "f", LINE_NONE, FRAME_PYTHON },
		{ "[]", "f", LINE_NONE, FRAME_PYTHON },
		{ "[x", "f", LINE_NONE, FRAME_PYTHON },
		{ "[x] ", "f", LINE_NONE, FRAME_PYTHON },
		{ "[a/b]", "f", LINE_NONE, FRAME_PYTHON },
		{ "/[x]", "f", LINE_NONE, FRAME_PYTHON },
	};
	const struct string_ref nothing = { 0 }, tilde = ref("~");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct string_ref file = ref(cases[i].file), func = ref(cases[i].func);

		if (frame_kind_of_names(&file, &func, cases[i].line) != cases[i].kind)
			fail_msg("%s %s %d", cases[i].file, cases[i].func, cases[i].line);
	}
	assert_int_equal(frame_kind_of_names(&nothing, &nothing, 0), FRAME_PYTHON);
	assert_int_equal(frame_kind_of_names(&tilde, &nothing, 0), FRAME_SYNTHETIC);
}

/* Four frames of the same name: only their kinds tell them apart. */
static void test_remap(void **state)
{
	struct intern *from = intern_new(), *into = intern_new();
	const struct profile_tables *ours = intern_tables(into);
	struct frame f = { .line = LINE_NONE };
	uint32_t ids[FRAME_KIND_CNT + 1], other;
	struct event ev = { .nframes = FRAME_KIND_CNT + 1, .frames = ids }, out;
	struct remap *r;
	int kind;

	assert_int_equal(intern_synthetic(into, FRAME_SYNTHETIC, "other", &other), 0);
	assert_int_equal(intern_string(from, "~", 1, &f.file), 0);
	assert_int_equal(intern_string(from, "x", 1, &f.func), 0);
	for (kind = 0; kind < FRAME_KIND_CNT; kind++) {
		f.kind = kind;
		assert_int_equal(intern_frame(from, &f, &ids[kind]), 0);
	}
	ids[kind] = 1000;
	r = remap_new(intern_tables(from), into);
	assert_int_equal(remap_event(r, &ev, &out), 0);
	for (kind = 0; kind < FRAME_KIND_CNT; kind++) {
		assert_int_equal(ours->frames[out.frames[kind]].kind, kind);
		assert_int_not_equal(out.frames[kind], other);
	}
	assert_int_equal(ours->frames[out.frames[kind]].kind, FRAME_SYNTHETIC);	/* <lost frame> */
	assert_int_equal(ours->frame_cnt, 1 + FRAME_KIND_CNT + 1);
	remap_free(r);
	intern_free(from);
	intern_free(into);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_remap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
