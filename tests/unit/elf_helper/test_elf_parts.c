// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_elf_parts.c - which function a part belongs to, and where nothing is said, in this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf_helper/elf_symbols.h"
#include "tests/unit/elf_helper/made_parts.h"

extern const char __ehdr_start[], two_ways[], two_ways_cold[], goes_back[], goes_back_cold[],
	alone_cold[], shared_cold[], ends_in_call[], ends_in_call_cold[], torn_cold[], leaf[],
	stub[];

static struct elf_file file;
static struct elf_parts parts;

static int setup(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return fd < 0 || elf_file_open(&file, fd) || elf_parts_read(&file, &parts);
}

static int teardown(void **state)
{
	elf_parts_free(&parts);
	close(file.fd);
	return 0;
}

static uint64_t address_of(const char *code)
{
	return (uint64_t)(code - __ehdr_start) + file.loads[0].vaddr;
}

/* The function of the part that begins there; 0: nothing is said. */
static uint64_t function_of(const char *part)
{
	uint64_t start = address_of(part);
	size_t i;

	for (i = 0; i < parts.cnt && parts.parts[i].start != start; i++)
		continue;
	return i < parts.cnt ? parts.parts[i].function : 0;
}

static void test_the_function_of_a_part(void **state)
{
	assert_int_equal(function_of(two_ways_cold), address_of(two_ways));
	assert_int_equal(function_of(goes_back_cold), address_of(goes_back));
	assert_int_equal(function_of(ends_in_call_cold), address_of(ends_in_call));
}

static void test_nothing_is_said(void **state)
{
	assert_int_equal(function_of(alone_cold), 0);
	assert_int_equal(function_of(shared_cold), 0);
	assert_int_equal(function_of(torn_cold), 0);
}

static void test_what_is_no_part(void **state)
{
	assert_int_equal(function_of(leaf), 0);
#if defined(__x86_64__)
	assert_int_equal(function_of(stub), 0);
#endif
	assert_int_equal(function_of(two_ways), 0);
}

static void test_they_are_sorted(void **state)
{
	size_t i;

	assert_true(parts.cnt >= 3);
	for (i = 0; i < parts.cnt; i++) {
		assert_true(parts.parts[i].start < parts.parts[i].end);
		assert_true(!i || parts.parts[i].start >= parts.parts[i - 1].end);
	}
}

static void assert_name(const struct elf_symbols *s, const char *at, const char *wanted)
{
	char name[ELF_MANGLED_BYTES];
	uint64_t start = 0;

	assert_int_equal(elf_symbols_find(s, address_of(at), name, &start), wanted != NULL);
	if (!wanted)
		return;
	assert_string_equal(name, wanted);
	assert_int_equal(start, address_of(at));
}

/* Of functions, only these have a name: that of a part is its function's. */
static void test_names(void **state)
{
	struct elf_method named[] = {
		{ address_of(two_ways), address_of(goes_back), 0 },
		{ address_of(ends_in_call_cold), address_of(torn_cold), 4 },
	};
	struct elf_methods m = { .functions = named, .cnt = 2, .text_bytes = 10 };
	struct elf_symbols *s = elf_symbols_new();

	m.text = malloc(m.text_bytes);
	memcpy(m.text, "a.b\0its", 8);
	assert_int_equal(elf_symbols_add_methods(s, &m), 0);
	elf_symbols_sort(s);
	assert_name(s, two_ways_cold, NULL);
	assert_int_equal(elf_symbols_add_parts(s, &parts), 0);
	assert_name(s, two_ways, "a.b");
	assert_name(s, two_ways_cold, "a.b");
	assert_name(s, goes_back_cold, NULL);
	assert_name(s, ends_in_call_cold, "its");
	elf_symbols_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_function_of_a_part),
		cmocka_unit_test(test_nothing_is_said),
		cmocka_unit_test(test_what_is_no_part),
		cmocka_unit_test(test_they_are_sorted),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
