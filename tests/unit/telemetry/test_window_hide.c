// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_window_hide.c - what of names stays on the machine: directories, types of exceptions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "model/intern.h"
#include "model/native_library.h"
#include "tests/unit/telemetry/window_data.h"

static struct window *window;
static struct fake_process process;

/* File and function of a frame as the window has them now: "file:function". */
static const char *shown(uint32_t frame)
{
	static char text[512];
	const struct profile_tables *t;
	uint32_t ids[EVENT_MAX_FRAMES];
	const struct frame *f;

	window_reset(window, BEGIN_NS, BEGIN_NS + NS_PER_S);
	add_stack(window, &process, 0, WINDOW_CPU, &frame, 1, 1, 1);
	assert_int_equal(window_stack_cnt(window), 1);
	assert_int_equal(window_stack(window, 0, ids), 1);
	t = window_names_tables(window_names(window));
	f = &t->frames[ids[0]];
	snprintf(text, sizeof(text), "%.*s:%.*s", (int)t->strings[f->file].len,
		 t->strings[f->file].data, (int)t->strings[f->func].len, t->strings[f->func].data);
	return text;
}

static void hide(bool directories, bool exceptions)
{
	const struct window_privacy privacy = { .no_directories = directories,
						.no_exceptions = exceptions };

	window_reset(window, BEGIN_NS, BEGIN_NS + NS_PER_S);
	window_hide(window, &privacy);
}

static void test_directories(void **state)
{
	static const struct {
		const char *path, *base;
	} cases[] = {
		{ "/home/me/app.py", "app.py:f" }, { "app.py", "app.py:f" }, { "/", ":f" },
		{ "/home/me/", ":f" }, { "", ":f" }, { "<frozen runpy>", "<frozen runpy>:f" },
		{ "a//b", "b:f" },
	};
	char whole[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t frame = python_frame(&process, cases[i].path, "f", 3);

		snprintf(whole, sizeof(whole), "%s:f", cases[i].path);
		hide(false, false);
		assert_string_equal(shown(frame), whole);
		/* The process' map knows the frame already, each time. */
		hide(true, false);
		assert_string_equal(shown(frame), cases[i].base);
		hide(false, true);
		assert_string_equal(shown(frame), whole);
	}
}

/* The directories of a source, too, and of libraries; the library's name stays. */
static void test_libraries(void **state)
{
	const struct profile_tables *t;
	bool found = false;
	uint32_t id, i;

	assert_int_equal(intern_native(process.in, "libfoo.so", "/secret/foo.c", "f", 3, &id), 0);
	assert_int_equal(native_library_add(process.in, "libfoo.so", "/secret/lib/libfoo.so", NULL,
					    0), 0);
	hide(false, false);
	assert_string_equal(shown(id), "[libfoo.so] /secret/foo.c:f");
	hide(true, false);
	assert_string_equal(shown(id), "[libfoo.so] foo.c:f");
	t = window_names_tables(window_names(window));
	for (i = 0; i < t->string_cnt; i++) {
		struct native_library l;

		assert_null(memmem(t->strings[i].data, t->strings[i].len, "secret", 6));
		if (native_library_parse(&t->strings[i], &l)) {
			found = true;
			assert_int_equal(l.path.len, strlen("libfoo.so"));
		}
	}
	assert_true(found);
}

static void test_exceptions(void **state)
{
	uint32_t error = other_frame(&process, FRAME_SYNTHETIC, "<exception me.SecretError>");
	uint32_t gc = other_frame(&process, FRAME_SYNTHETIC, "<GC>");
	uint32_t unknown = other_frame(&process, FRAME_SYNTHETIC, "<exception>");
	/* A function that is only called so is a function. */
	uint32_t function = python_frame(&process, "/a/b.py", "<exception x>", 1);

	hide(false, false);
	assert_non_null(strstr(shown(error), ":<exception me.SecretError>"));
	hide(false, true);
	assert_non_null(strstr(shown(error), ":<exception>"));
	assert_non_null(strstr(shown(unknown), ":<exception>"));
	assert_non_null(strstr(shown(gc), ":<GC>"));
	assert_string_equal(shown(function), "/a/b.py:<exception x>");
	hide(true, false);
	assert_non_null(strstr(shown(error), ":<exception me.SecretError>"));
}

/* Nothing of what is hidden is in the table any more; equal names become one. */
static void test_forgotten(void **state)
{
	uint32_t a, b, i;
	const struct profile_tables *t;

	hide(false, false);
	a = python_frame(&process, "/secret/one/a.py", "f", 1);
	b = python_frame(&process, "/secret/two/a.py", "f", 1);
	shown(a);
	shown(b);
	hide(true, true);
	add_stack(window, &process, 0, WINDOW_CPU, &a, 1, 1, 1);
	add_stack(window, &process, 0, WINDOW_CPU, &b, 1, 1, 1);
	assert_int_equal(window_stack_cnt(window), 1);
	t = window_names_tables(window_names(window));
	for (i = 0; i < t->string_cnt; i++)
		assert_null(memmem(t->strings[i].data, t->strings[i].len, "secret", 6));
	/* The same again changes nothing. */
	hide(true, true);
	assert_string_equal(shown(a), "a.py:f");
}

static int group_setup(void **state)
{
	window = window_new(&window_limits_default, BEGIN_NS, BEGIN_NS + NS_PER_S);
	process = fake_process();
	return window ? 0 : -1;
}

static int group_teardown(void **state)
{
	window_free(window);
	fake_process_free(&process);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directories),
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_forgotten),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
