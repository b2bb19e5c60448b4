// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_self_frame.c - whose self a stack is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/util.h"
#include "model/intern.h"
#include "model/stack_frame.h"

enum { GC, BLOCKED, EXCEPTION, KERNEL, NATIVE, UNRESOLVED, UNREADABLE, LOST, TRUNCATED, SWITCHING,
       ALONE, UNWOUND, MACHINE, LIKE_DETAIL, FOREIGN, LIKE_GC, FUNCTION, FRAMES };

static const struct {
	enum frame_kind kind;
	const char *name;
	bool detail;
} frames[FRAMES] = {
	[GC] = { FRAME_SYNTHETIC, "<GC>", true },
	[BLOCKED] = { FRAME_SYNTHETIC, "<blocked in read>", true },
	[EXCEPTION] = { FRAME_SYNTHETIC, "<exception KeyError>", true },
	[KERNEL] = { FRAME_KERNEL, "<kernel schedule>", true },
	[NATIVE] = { FRAME_NATIVE, "<native>", true },
	/* A Python function whose name is not known, and callers that are not known. */
	[UNRESOLVED] = { FRAME_SYNTHETIC, "<unresolved>", false },
	[UNREADABLE] = { FRAME_SYNTHETIC, "<unreadable frame>", false },
	[LOST] = { FRAME_SYNTHETIC, "<lost frame>", false },
	[TRUNCATED] = { FRAME_SYNTHETIC, "<truncated>", false },
	[SWITCHING] = { FRAME_SYNTHETIC, "<switching>", false },
	[ALONE] = { FRAME_SYNTHETIC, "<native thread blas>", false },
	[UNWOUND] = { FRAME_SYNTHETIC, "<unwound no further: JIT code>", true },
	/* Functions in machine code: details of a Python function, if only those are listed. */
	[MACHINE] = { FRAME_NATIVE, "read", true },
	[LIKE_DETAIL] = { FRAME_NATIVE, "<GC>", true },
	/* Other profilers' functions have no file, either. */
	[FOREIGN] = { FRAME_SYNTHETIC, "main.leaf", false },
	[LIKE_GC] = { FRAME_PYTHON, "<GC>", false },
	[FUNCTION] = { FRAME_PYTHON, "f", false },
};

static struct intern *make(void)
{
	struct intern *in = intern_new();
	struct frame f = { .line = 1 };
	uint32_t i, id;

	for (i = 0; i < FRAMES; i++) {
		const char *name = frames[i].name;

		if (frames[i].kind == FRAME_PYTHON) {
			assert_int_equal(intern_string(in, "a.py", 4, &f.file), 0);
			assert_int_equal(intern_string(in, name, strlen(name), &f.func), 0);
			assert_int_equal(intern_frame(in, &f, &id), 0);
		} else if (i == MACHINE || i == LIKE_DETAIL) {
			assert_int_equal(intern_native(in, "libc.so.6", NULL, name, 0, &id), 0);
		} else {
			assert_int_equal(intern_synthetic(in, frames[i].kind, name, &id), 0);
		}
		assert_int_equal(id, i);
	}
	return in;
}

static void test_details(void **state)
{
	struct intern *in = make();
	uint32_t i;

	for (i = 0; i < FRAMES; i++) {
		bool function = i == MACHINE || i == LIKE_DETAIL;

		assert_int_equal(frame_is_detail(intern_tables(in), i, SELF_OF_PYTHON),
				 frames[i].detail);
		assert_int_equal(frame_is_detail(intern_tables(in), i, SELF_OF_FUNCTIONS),
				 frames[i].detail && !function);
	}
	intern_free(in);
}

static void test_self(void **state)
{
	static const struct {
		uint32_t stack[4], n, python, any;
	} cases[] = {
		{ { 0 }, 0, 0, 0 },
		{ { FUNCTION, FUNCTION }, 2, 0, 0 },
		{ { GC, FUNCTION }, 2, 1, 1 },
		{ { KERNEL, BLOCKED, FUNCTION, FUNCTION }, 4, 2, 2 },
		{ { EXCEPTION, UNRESOLVED, FUNCTION }, 3, 1, 1 },
		{ { GC, TRUNCATED }, 2, 1, 1 },
		{ { NATIVE, FUNCTION, NATIVE, FUNCTION }, 4, 1, 1 },
		/* The kernel works for the function that called it, in whatever language. */
		{ { KERNEL, MACHINE, LIKE_DETAIL, FUNCTION }, 4, 3, 1 },
		{ { MACHINE, UNWOUND, FUNCTION }, 3, 2, 0 },
		{ { UNWOUND, FUNCTION }, 2, 1, 1 },
		{ { MACHINE, MACHINE, ALONE }, 3, 2, 0 },
		/* No function: the root. */
		{ { KERNEL, KERNEL, NATIVE }, 3, 2, 2 },
		{ { KERNEL, MACHINE }, 2, 1, 1 },
		{ { GC }, 1, 0, 0 },
	};
	struct intern *in = make();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(self_frame(intern_tables(in), cases[i].stack, cases[i].n,
					    SELF_OF_PYTHON), cases[i].python);
		assert_int_equal(self_frame(intern_tables(in), cases[i].stack, cases[i].n,
					    SELF_OF_FUNCTIONS), cases[i].any);
	}
	intern_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_details), cmocka_unit_test(test_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
