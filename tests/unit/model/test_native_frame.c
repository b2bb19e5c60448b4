// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_frame.c - what the file of a frame of machine code says.
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

static struct string_ref ref(const char *text)
{
	return (struct string_ref){ text, (uint32_t)strlen(text) };
}

static void assert_text(struct string_ref s, const char *text)
{
	assert_int_equal(s.len, strlen(text));
	if (s.len)
		assert_memory_equal(s.data, text, s.len);
}

static void test_parts(void **state)
{
	static const struct {
		const char *file, *library, *source;
	} cases[] = {
		{ "[libfoo.so.1]", "libfoo.so.1", "" },
		{ "[libfoo.so.1] src/foo.c", "libfoo.so.1", "src/foo.c" },
		{ "[vdso]", "vdso", "" },
		{ "[a] [b] c", "a", "[b] c" },
		{ "[a]b", "", "" },
		{ "[a] ", "", "" },
		{ "[]", "", "" },
		{ "[a", "", "" },
		{ "a]", "", "" },
		{ "[a/b]", "", "" },
		{ "~", "", "" },
		{ "", "", "" },
	};
	const struct string_ref nothing = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct string_ref file = ref(cases[i].file);

		assert_text(native_library(&file), cases[i].library);
		assert_text(native_source(&file), cases[i].source);
	}
	assert_int_equal(native_library(&nothing).len, 0);
}

static void test_has_file(void **state)
{
	const struct string_ref library = ref("[libc.so.6]"), none = ref("~");
	int kind;

	for (kind = 0; kind < FRAME_KIND_CNT; kind++) {
		assert_int_equal(frame_has_file(kind, &none), kind == FRAME_PYTHON);
		assert_int_equal(frame_has_file(kind, &library),
				 kind == FRAME_PYTHON || kind == FRAME_NATIVE);
	}
}

/* Whatever a library is called, its frames are read as frames of machine code. */
static void test_names(void **state)
{
	static const struct {
		const char *library, *source, *file;
		int32_t line, line_after;
	} cases[] = {
		{ "libfoo.so.1", NULL, "[libfoo.so.1]", LINE_NONE, LINE_NONE },
		{ "libfoo.so.1", "", "[libfoo.so.1]", 7, LINE_NONE },
		{ "libfoo.so.1", "src/foo.c", "[libfoo.so.1] src/foo.c", 7, 7 },
		{ "libfoo.so.1", "src/foo.c", "[libfoo.so.1] src/foo.c", 0, LINE_NONE },
		{ "[vdso]", NULL, "[vdso]", LINE_NONE, LINE_NONE },
		{ "a]b[c/d", "] x", "[a_b_c_d] ] x", 1, 1 },
		{ "[]", NULL, "[__]", LINE_NONE, LINE_NONE },
		{ "", NULL, "[?]", LINE_NONE, LINE_NONE },
	};
	struct intern *in = intern_new();
	const struct profile_tables *t = intern_tables(in);
	uint32_t id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct frame *f;

		assert_int_equal(intern_native(in, cases[i].library, cases[i].source, "f",
					       cases[i].line, &id), 0);
		f = &t->frames[id];
		assert_text(t->strings[f->file], cases[i].file);
		assert_text(t->strings[f->func], "f");
		assert_int_equal(f->line, cases[i].line_after);
		assert_int_equal(f->end_line, f->line);
		assert_int_equal(f->kind, FRAME_NATIVE);
		assert_true(frame_is_native(t, f));
		assert_int_equal(frame_kind_of_names(&t->strings[f->file], &t->strings[f->func],
						     f->line), FRAME_NATIVE);
	}
	intern_free(in);
}

static void test_long(void **state)
{
	static char library[3 * NATIVE_LIBRARY_BYTES], source[3 * NATIVE_FILE_BYTES];
	struct intern *in = intern_new();
	const struct profile_tables *t = intern_tables(in);
	struct string_ref file;
	uint32_t id;

	memset(library, 'l', sizeof(library) - 1);
	memset(source, 's', sizeof(source) - 1);
	assert_int_equal(intern_native(in, library, source, "f", 1, &id), 0);
	file = t->strings[t->frames[id].file];
	assert_int_equal(file.len, NATIVE_FILE_BYTES - 1);
	assert_int_equal(native_library(&file).len, NATIVE_LIBRARY_BYTES - 1);
	library[0] = '[';
	library[sizeof(library) - 2] = ']';
	assert_int_equal(intern_native(in, library, NULL, "f", 1, &id), 0);
	file = t->strings[t->frames[id].file];
	assert_int_equal(native_library(&file).len, NATIVE_LIBRARY_BYTES - 1);
	intern_free(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_has_file),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
