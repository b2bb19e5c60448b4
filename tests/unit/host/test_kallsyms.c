// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_kallsyms.c - names of the kernel's functions.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/kallsyms.h"

static char path[] = "/tmp/tachbpf-kallsyms-XXXXXX";

static void fill(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_names(void **state)
{
	struct kallsyms *k;

	fill("ffffffff81000200 T later\n"
	     "0000000000000010 A fixed_percpu\n"
	     "ffffffff81000100 t first\n"
	     "ffffffff81000180 D data\n"
	     "no line like that\n"
	     "ffffffffc0000000 t of_a_module\t[some]\n");
	k = kallsyms_read(path);
	assert_non_null(k);
	assert_null(kallsyms_name(k, 0xffffffff810000ffull));
	assert_string_equal(kallsyms_name(k, 0xffffffff81000100ull), "first");
	assert_string_equal(kallsyms_name(k, 0xffffffff810001ffull), "first");
	assert_string_equal(kallsyms_name(k, 0xffffffff81000200ull), "later");
	assert_string_equal(kallsyms_name(k, 0xffffffffc0001000ull), "of_a_module");
	kallsyms_free(k);
}

static void test_hidden(void **state)
{
	fill("0000000000000000 T first\n0000000000000000 T later\n");
	assert_null(kallsyms_read(path));
	assert_int_equal(errno, EPERM);
	assert_null(kallsyms_read("/nowhere/kallsyms"));
	assert_int_equal(errno, ENOENT);
	kallsyms_free(NULL);
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	close(fd);
	return fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_hidden),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
