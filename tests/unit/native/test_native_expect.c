// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_expect.c - files that are read before a program is executed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include "fake_parties.h"

/* Nothing is mapped so far, and /opt/a.so will be. */
static struct native *begin_expecting(void)
{
	struct native *n = begin(0, 0);

	STEP_UNTIL(n, !process_find(n, TGID)->waits);
	assert_int_equal(native_expect(n, "/opt/a.so"), 0);
	return n;
}

/* Answer the question what a file needs: strings, each with its NUL. */
static void give_needs(struct native *n, const char *strings, size_t bytes, uint32_t cnt)
{
	const struct elf_message m = question(n, ELF_ROLE_NAMES);

	assert_int_equal(m.kind, HELPER_NEEDS);
	answer(ELF_ROLE_NAMES, &m, NEEDS, strings, (uint32_t)bytes, cnt, -1);
}

#define NEEDS_OF(n, cnt, text) give_needs(n, text, sizeof(text), cnt)

static bool all_ready(const struct native *n, size_t cnt)
{
	size_t i, ready = 0;

	for (i = 0; i < n->file_cnt; i++)
		ready += n->files[i]->kind == FILE_MAPPED && n->files[i]->stage == FILE_READY;
	return ready == cnt;
}

static void test_a_program_and_what_it_needs(void **state)
{
	struct native *n = begin_expecting();

	NEEDS_OF(n, 4, "/opt/c.so\0$ORIGIN:/x\0b.so\0d.so");
	NEEDS_OF(n, 3, "\0\0b.so");
	NEEDS_OF(n, 2, "\0");
	NEEDS_OF(n, 0, "");
	give_table(n, false, 10);
	give_table(n, false, 10);
	give_table(n, false, 10);
	give_table(n, false, 10);
	STEP_UNTIL(n, all_ready(n, 4));
	/* b.so is searched once. */
	assert_int_equal(opener_of(n)->searched, 4);
	assert_int_equal(n->expected.file_cnt, 4);
	native_free(n);
}

static void test_where_a_library_is_searched(void **state)
{
	struct native *n = begin_expecting();

	NEEDS_OF(n, 3, "\0/x:$ORIGIN/y:relative\0z.so");
	STEP_UNTIL(n, opener_of(n)->searched == 2);
	assert_non_null(strstr(opener_of(n)->paths, "/x/z.so /opt/y/z.so /opt/../lib/z.so "));
	assert_non_null(strstr(opener_of(n)->paths, " /lib/z.so "));
	assert_null(strstr(opener_of(n)->paths, "relative"));
	native_free(n);
}

/* When the process maps the file, its table is there at once, and nothing is asked again. */
static void test_the_mapping_finds_the_table(void **state)
{
	struct native *n = begin_expecting();
	uint32_t file;

	NEEDS_OF(n, 2, "\0");
	file = give_table(n, false, 10);
	STEP_UNTIL(n, all_ready(n, 1));
	opener_of(n)->map_cnt = 1;
	native_stale(n, TGID);
	STEP_UNTIL(n, maps.places[0].cnt == 1);
	assert_int_equal(mapping(TGID, 0)->file, file);
	assert_int_equal(maps.tables[mapping(TGID, 0)->table].row_cnt, 10);
	native_free(n);
}

/* Until it is mapped, another file may get its inode. */
static void test_it_is_confirmed_only_for_a_while(void **state)
{
	struct native *n = begin_expecting();
	uint32_t other;

	NEEDS_OF(n, 2, "\0");
	give_table(n, false, 10);
	STEP_UNTIL(n, all_ready(n, 1));
	n->expected.until_ns = 1;
	STEP_UNTIL(n, !n->expected.file_cnt);
	assert_int_equal(n->expected.search_cnt, 0);
	opener_of(n)->mtime++;
	opener_of(n)->map_cnt = 1;
	native_stale(n, TGID);
	other = give_table(n, false, 20);
	STEP_UNTIL(n, maps.places[0].cnt == 1 && mapping(TGID, 0)->file == other);
	native_free(n);
}

static void test_a_program_that_is_not_there(void **state)
{
	struct native *n = begin(0, 0);

	STEP_UNTIL(n, !process_find(n, TGID)->waits);
	assert_int_equal(native_expect(n, "/nonexistent/program"), 0);
	STEP_UNTIL(n, opener_of(n)->searched == 1 && n->expected.next == 1);
	assert_int_equal(n->expected.file_cnt, 0);
	native_prepare(n, 60000);
	native_free(n);
}

/* A file at which the helper ends is not asked about again. */
static void test_a_helper_that_ends(void **state)
{
	struct native *n = begin_expecting();

	assert_int_equal(question(n, ELF_ROLE_NAMES).kind, HELPER_NEEDS);
	fake_end(ELF_ROLE_NAMES);
	give_table(n, false, 10);
	STEP_UNTIL(n, fakes[ELF_ROLE_NAMES].starts == 2 && all_ready(n, 1));
	assert_int_equal(opener_of(n)->searched, 1);
	native_free(n);
}

/* What a helper may not say; it is ended. */
static void test_false_needs(void **state)
{
	static const struct {
		const char *text;
		uint32_t bytes, cnt;
	} cases[] = {
		{ "abc", 3, 1 }, { "", 0, 1 }, { "\0\0", 2, 3 }, { "\0\0x", 4, 4000 },
	};
	struct elf_message m;
	struct native *n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		n = begin_expecting();
		m = question(n, ELF_ROLE_NAMES);
		answer(ELF_ROLE_NAMES, &m, NEEDS, cases[i].text, cases[i].bytes, cases[i].cnt, -1);
		STEP_UNTIL(n, fakes[ELF_ROLE_NAMES].starts == 2);
		native_free(n);
	}
}

/* However many libraries a file names, no more than EXPECTED_MAX files are searched. */
static void test_too_many(void **state)
{
	char text[2 + 64 * 8] = "", *at = text + 2;
	struct native *n = begin_expecting();
	uint32_t i;

	for (i = 0; i < 64; i++, at += strlen(at) + 1)
		snprintf(at, 8, "l%u.so", i);
	give_needs(n, text, (size_t)(at - text), 66);
	STEP_UNTIL(n, opener_of(n)->searched == EXPECTED_MAX && !n->expected.request);
	assert_int_equal(n->expected.search_cnt, EXPECTED_MAX);
	native_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_and_what_it_needs),
		cmocka_unit_test(test_where_a_library_is_searched),
		cmocka_unit_test(test_the_mapping_finds_the_table),
		cmocka_unit_test(test_it_is_confirmed_only_for_a_while),
		cmocka_unit_test(test_a_program_that_is_not_there),
		cmocka_unit_test(test_a_helper_that_ends),
		cmocka_unit_test(test_false_needs),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
