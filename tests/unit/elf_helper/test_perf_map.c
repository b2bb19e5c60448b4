// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_perf_map.c - names in perf maps, also of code that has taken the place of other code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_helper/perf_map.h"

static struct perf_map *read_map(const char *text, size_t len)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct perf_map *m;

	assert_int_equal(write(fd, text, len), len);
	m = perf_map_read(fd);
	assert_non_null(m);
	close(fd);
	return m;
}

static void is_named(const struct perf_map *m, uint64_t addr, const char *name, uint64_t start)
{
	char got[64] = "";
	uint64_t at = 0;

	perf_map_find(m, addr, got, sizeof(got), &at);
	assert_string_equal(got, name);
	assert_int_equal(at, start);
}

static void test_lines(void **state)
{
	static const char text[] = "7f0000001000 20 one\n"
				   "0x7f0000002000 0x10 LazyCompile:~two three\n"
				   "7F0000003000 A upper\n"
				   "\nnonsense\n12 34\n12 34 \n 12 34 x\n0 0 empty\n"
				   "12345678901234567 1 too long\n7f0000004000 g x\n"
				   "ffffffffffffff00 1000 at the end\n"
				   "7f0000005000 20 not yet written";
	struct perf_map *m = read_map(text, sizeof(text) - 1);

	is_named(m, 0x7f0000000fff, "", 0);
	is_named(m, 0x7f0000001000, "one", 0x7f0000001000);
	is_named(m, 0x7f000000101f, "one", 0x7f0000001000);
	is_named(m, 0x7f0000001020, "", 0);
	is_named(m, 0x7f0000002001, "LazyCompile:~two three", 0x7f0000002000);
	is_named(m, 0x7f0000003009, "upper", 0x7f0000003000);
	is_named(m, 0x12, "", 0);
	is_named(m, 0x7f0000004000, "", 0);
	is_named(m, 0xffffffffffffff80, "at the end", 0xffffffffffffff00);
	is_named(m, 0x7f0000005000, "", 0);
	perf_map_free(m);
}

static void test_nothing(void **state)
{
	struct perf_map *m = read_map("", 0);

	is_named(m, 0, "", 0);
	is_named(m, UINT64_MAX, "", 0);
	perf_map_free(m);
}

/* Any lines, against a table of who has each byte. */
static void test_the_last_line_is_right(void **state)
{
	enum { LINES = 60, BYTES = 256 };
	int round, i, at;

	srand(7);
	for (round = 0; round < 300; round++) {
		char text[LINES * 32], want[BYTES][8] = { "" };
		uint64_t starts[BYTES] = { 0 };
		size_t len = 0;
		struct perf_map *m;

		for (i = 0; i < LINES; i++) {
			int start = rand() % BYTES, size = 1 + rand() % (round % 2 ? 8 : 128);

			len += (size_t)sprintf(text + len, "%x %x n%d\n", start, size, i);
			for (at = start; at < start + size && at < BYTES; at++) {
				sprintf(want[at], "n%d", i);
				starts[at] = (uint64_t)start;
			}
		}
		m = read_map(text, len);
		for (at = 0; at < BYTES; at++)
			is_named(m, (uint64_t)at, want[at], starts[at]);
		perf_map_free(m);
	}
}

static void test_long_names_are_cut(void **state)
{
	char text[300], want[64];
	struct perf_map *m;
	int len = sprintf(text, "10 10 ");

	memset(text + len, 'n', 200);
	text[len + 200] = '\n';
	m = read_map(text, (size_t)len + 201);
	memset(want, 'n', 63);
	want[63] = '\0';
	is_named(m, 0x10, want, 0x10);
	perf_map_free(m);
}

static void test_too_many_lines(void **state)
{
	const size_t cnt = PERF_MAP_LINES_MAX + 5;
	char *text = malloc(cnt * 16);
	struct perf_map *m;
	size_t i, len = 0;

	for (i = 0; i < cnt; i++)
		len += (size_t)sprintf(text + len, "%zx 1 n\n", 16 * i);
	m = read_map(text, len);
	is_named(m, 16 * (PERF_MAP_LINES_MAX - 1), "n", 16 * (PERF_MAP_LINES_MAX - 1));
	is_named(m, 16 * PERF_MAP_LINES_MAX, "", 0);
	assert_true(perf_map_bytes(m) < 128u << 20);
	perf_map_free(m);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_the_last_line_is_right),
		cmocka_unit_test(test_long_names_are_cut),
		cmocka_unit_test(test_too_many_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
