// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_method_names.c - which name a function gets that several tables name; limits of the work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "elf_helper/method_names.h"
#include "tests/unit/elf/made_elf.h"

#define STRINGS_MAX 200000
#define TEXT_MAX (8u << 20)
#define USES_MAX (1u << 18)
#define TYPES_MAX 65536

static struct elf_file f;
static struct elf_segments segments;
static struct method_names *names;

/* The file is complete. */
static void begin(void)
{
	int fd = made_end();

	assert_int_equal(elf_file_open(&f, fd), 0);
	assert_int_equal(elf_segments_read(&f, &segments), 0);
	names = method_names_new(&f, &segments);
	assert_non_null(names);
}

static void begin_empty(void)
{
	made_begin(MADE_PLAIN);
	begin();
}

static void end(void)
{
	method_names_free(names);
	close(f.fd);
}

static uint32_t word(const char *text)
{
	uint32_t number = method_literal(names, text);

	assert_int_not_equal(number, 0);
	return number;
}

/* owner NULL: unknown */
static void use(uint32_t function, enum method_rank rank, const char *owner, const char *name)
{
	assert_int_equal(method_use(names, made_function(function), rank,
				    owner ? word(owner) : 0, word(name)), 0);
}

/* The name of function 1, which alone has one; "": it has none. Ends the names. */
static const char *name_of_1(void)
{
	static char name[300];
	struct elf_methods out = { 0 };

	assert_int_equal(method_names_resolve(names, &out), 0);
	assert_in_range(out.cnt, 0, 1);
	snprintf(name, sizeof(name), "%s", out.cnt ? out.text + out.functions[0].name : "");
	assert_true(!out.cnt || out.functions[0].start == made_function(1));
	elf_methods_free(&out);
	end();
	return name;
}

static void test_one_owner(void **state)
{
	begin_empty();
	use(1, RANK_METHOD, "dict", "update");
	assert_string_equal(name_of_1(), "dict.update");
	begin_empty();
	use(1, RANK_METHOD, "builtins", "len");
	assert_string_equal(name_of_1(), "len");
	begin_empty();
	use(1, RANK_METHOD, "builtins.x", "len");
	assert_string_equal(name_of_1(), "builtins.x.len");
	begin_empty();
	use(1, RANK_METHOD, NULL, "alone");
	assert_string_equal(name_of_1(), "alone");
	/* Two names in one type: the first. */
	begin_empty();
	use(1, RANK_METHOD, "str", "lower");
	use(1, RANK_METHOD, "str", "casefold");
	assert_string_equal(name_of_1(), "str.lower");
}

static void test_rank(void **state)
{
	begin_empty();
	use(1, RANK_SLOT, "m.A", "__iter__");
	use(1, RANK_GETSET, "m.A", "state");
	use(1, RANK_METHOD, "m.A", "method");
	use(1, RANK_METHOD, "m.A", "other");
	assert_string_equal(name_of_1(), "m.A.method");
	begin_empty();
	use(1, RANK_SLOT, "m.A", "__iter__");
	use(1, RANK_GETSET, "m.B", "state");
	assert_string_equal(name_of_1(), "m.B.state");
}

static void test_several_owners(void **state)
{
	begin_empty();
	use(1, RANK_METHOD, "m.A", "f");
	use(1, RANK_METHOD, "m.B", "f");
	assert_string_equal(name_of_1(), "m.*.f");
	begin_empty();
	use(1, RANK_METHOD, "m.A", "f");
	use(1, RANK_METHOD, "n.B", "f");
	assert_string_equal(name_of_1(), "f");
	/* "m.ab" is not in "m.a". */
	begin_empty();
	use(1, RANK_METHOD, "m.a.A", "f");
	use(1, RANK_METHOD, "m.ab.A", "f");
	assert_string_equal(name_of_1(), "f");
	begin_empty();
	use(1, RANK_METHOD, "m.A", "f");
	use(1, RANK_METHOD, NULL, "f");
	assert_string_equal(name_of_1(), "f");
	begin_empty();
	use(1, RANK_METHOD, NULL, "f");
	use(1, RANK_METHOD, "m.A", "f");
	assert_string_equal(name_of_1(), "f");
	/* Nothing is the same. */
	begin_empty();
	use(1, RANK_METHOD, "m.A", "f");
	use(1, RANK_METHOD, "m.B", "g");
	assert_string_equal(name_of_1(), "");
}

static void type(uint64_t vaddr, const char *name, uint64_t base)
{
	assert_int_equal(method_type(names, vaddr, word(name), base), 0);
}

/* PyTypeObject begins 24 bytes before tp_name, 40 in a free-threaded build. */
static void test_bases(void **state)
{
	static const uint64_t heads[] = { 24, 40 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(heads); i++) {
		begin_empty();
		type(0x3000, "m.C", 0x2000 - heads[i]);
		type(0x1000, "m.A", 0);
		type(0x4000, "n.D", 0x2000 - heads[i]);
		type(0x2000, "m.B", 0x1000 - heads[i]);
		use(1, RANK_SLOT, "m.C", "f");
		use(1, RANK_SLOT, "n.D", "f");
		assert_string_equal(name_of_1(), "m.B.f");
		begin_empty();
		type(0x1000, "m.A", 0);
		type(0x2000, "m.B", 0x1000 - heads[i]);
		use(1, RANK_SLOT, "m.B", "f");
		use(1, RANK_SLOT, "m.A", "f");
		assert_string_equal(name_of_1(), "m.A.f");
	}
	/* A type that is its own base, or its base's. */
	begin_empty();
	type(0x1000, "m.A", 0x2000 - 24);
	type(0x2000, "m.B", 0x1000 - 24);
	type(0x3000, "m.C", 0x3000 - 24);
	use(1, RANK_SLOT, "m.A", "f");
	use(1, RANK_SLOT, "m.C", "f");
	assert_string_equal(name_of_1(), "m.*.f");
}

static void test_functions(void **state)
{
	struct elf_methods out = { 0 };

	begin_empty();
	assert_true(method_is_function(names, made_function(0)));
	assert_true(method_is_function(names, made_function(MADE_FUNCTIONS - 1)));
	assert_false(method_is_function(names, made_function(0) - 16));
	assert_false(method_is_function(names, made_function(1) + 1));
	assert_false(method_is_function(names, made_function(MADE_FUNCTIONS)));
	assert_false(method_is_function(names, 0));
	assert_false(method_is_function(names, UINT64_MAX));
	/* The last one ends with its segment. Others are ignored. */
	use(MADE_FUNCTIONS - 1, RANK_METHOD, NULL, "last");
	use(MADE_FUNCTIONS, RANK_METHOD, NULL, "none");
	assert_int_equal(method_use(names, made_function(1) + 1, RANK_METHOD, 0, word("x")), 0);
	assert_int_equal(method_use(names, made_function(1), RANK_METHOD, 0, 0), 0);
	assert_int_equal(method_names_resolve(names, &out), 0);
	assert_int_equal(out.cnt, 1);
	assert_int_equal(out.functions[0].end, made_function(MADE_FUNCTIONS));
	elf_methods_free(&out);
	end();
}

static void test_strings(void **state)
{
	static const struct {
		const char *text;
		bool word, path;
	} strings[] = {
		{ "abc", true, true }, { "_a1", true, true }, { "a.b", false, true },
		{ "method-wrapper", false, true }, { "", false, false }, { "1a", false, false },
		{ "a b", false, false }, { "a..b", false, false }, { ".a", false, false },
		{ "a.", false, false }, { "a.1", false, false }, { "-a", false, false },
		{ "a\n", false, false }, { "\x80", false, false }, { "<lambda>", false, false },
	};
	uint64_t at[ARRAY_SIZE(strings)];
	uint32_t number;
	size_t i;

	made_begin(MADE_PLAIN);
	for (i = 0; i < ARRAY_SIZE(strings); i++)
		at[i] = made_string(strings[i].text);
	begin();
	for (i = 0; i < ARRAY_SIZE(strings); i++) {
		assert_int_equal(!!method_word(names, at[i]), strings[i].word);
		number = method_path(names, at[i]);
		assert_int_equal(!!number, strings[i].path);
		assert_int_equal(method_path(names, at[i]), number);
	}
	/* Not in the file */
	assert_int_equal(method_word(names, 0), 0);
	assert_int_equal(method_word(names, 1), 0);
	assert_int_equal(method_word(names, UINT64_MAX), 0);
	assert_int_equal(method_word(names, MADE_BASE + (1ull << 40)), 0);
	end();
}

/* Fills the data with names of len bytes, each with its NUL. */
static void fill_strings(size_t len)
{
	char *p = (char *)made.data;
	size_t i;

	memset(p, 'x', sizeof(made.data));
	for (i = len; i < sizeof(made.data); i += len + 1)
		p[i] = '\0';
}

static void test_too_many_strings(void **state)
{
	static const size_t lengths[] = { 3, 120 };
	size_t i, k, known;

	assert_true(sizeof(made.data) > STRINGS_MAX);
	for (k = 0; k < ARRAY_SIZE(lengths); k++) {
		made_begin(MADE_PLAIN);
		fill_strings(lengths[k]);
		begin();
		for (i = known = 0; i < sizeof(made.data); i++)
			known += !!method_word(names, MADE_AT(data) + i);
		if (lengths[k] == 3)	/* one of four addresses is that of a NUL */
			assert_int_equal(known, STRINGS_MAX / 4 * 3);
		else	/* 62 bytes on average */
			assert_in_range(known, TEXT_MAX / 64, TEXT_MAX / 60);
		assert_int_not_equal(method_word(names, MADE_AT(data)), 0);
		assert_int_equal(method_word(names, MADE_AT(strings)), 0);
		end();
	}
}

static void test_too_many_uses(void **state)
{
	uint32_t i;

	begin_empty();
	for (i = 0; i < USES_MAX; i++)
		assert_int_equal(method_use(names, made_function(1), RANK_METHOD, 0, word("f")),
				 0);
	use(2, RANK_METHOD, NULL, "too_late");
	assert_string_equal(name_of_1(), "f");
}

static void test_too_many_types(void **state)
{
	uint32_t i;

	begin_empty();
	for (i = 0; i < TYPES_MAX; i++)
		type(0x100000 + 8ull * i, "m.Many", 0);
	type(0x1000, "m.A", 0);
	type(0x2000, "m.B", 0x1000 - 24);
	use(1, RANK_SLOT, "m.B", "f");
	use(1, RANK_SLOT, "m.A", "f");
	assert_string_equal(name_of_1(), "m.*.f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_owner),
		cmocka_unit_test(test_rank),
		cmocka_unit_test(test_several_owners),
		cmocka_unit_test(test_bases),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_too_many_strings),
		cmocka_unit_test(test_too_many_uses),
		cmocka_unit_test(test_too_many_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
