// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_elf_functions.c - where functions are, in files of this machine: the C library, and this
 * program, which exports none. And what a file that lies is believed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf.h"

#define CODE_BYTES 16

/* Found by their names in .symtab only. */
int function_of_this_test(int n);
extern int variable_of_this_test;

__attribute__((noinline, used)) int function_of_this_test(int n)
{
	return n * 7 + 3;
}

int variable_of_this_test = 5;

static struct elf_file file;
static int fd;

static void open_file(const char *path)
{
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(&file, fd), 0);
}

static int tear_down(void **state)
{
	close(fd);
	return 0;
}

static void open_libc(void)
{
	Dl_info info;

	assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info), 0);
	open_file(info.dli_fname);
}

/* The file has the function's instructions there. */
static void check_code(uint64_t offset, const void *function)
{
	uint8_t code[CODE_BYTES];

	assert_int_equal(pread(fd, code, sizeof(code), (off_t)offset), sizeof(code));
	assert_memory_equal(code, function, sizeof(code));
}

static void test_what_a_library_exports(void **state)
{
	static const char *const names[] = { "lfind", "no_such_function", "environ", "hcreate" };
	uint64_t offsets[4] = { 1, 1, 1, 1 };

	open_libc();
	assert_int_equal(elf_functions_find(&file, names, offsets, 4), 0);
	check_code(offsets[0], dlsym(RTLD_DEFAULT, "lfind"));
	assert_int_equal(offsets[1], 0);
	assert_int_equal(offsets[2], 0);	/* a variable */
	check_code(offsets[3], dlsym(RTLD_DEFAULT, "hcreate"));
}

static void test_a_program_that_exports_nothing(void **state)
{
	static const char *const names[] = { "function_of_this_test", "variable_of_this_test" };
	uint64_t offsets[2] = { 1, 1 };

	open_file("/proc/self/exe");
	assert_int_equal(elf_functions_find(&file, names, offsets, 2), 0);
	check_code(offsets[0], function_of_this_test);
	assert_int_equal(offsets[1], 0);
}

static void test_nothing_is_found(void **state)
{
	static const char *const names[] = { "no_such_function" };
	uint64_t offset = 1;

	open_libc();
	assert_int_equal(elf_functions_find(&file, names, &offset, 1), -ENOENT);
	assert_int_equal(offset, 0);
}

/* Symbols outside of what is mapped executable, or outside of the file. */
static void test_a_file_that_lies(void **state)
{
	static const char *const names[] = { "lfind" };
	uint64_t offset;
	unsigned int i;

	open_libc();
	for (i = 0; i < file.load_cnt; i++)
		file.loads[i].off = UINT64_MAX - 64;
	assert_int_equal(elf_functions_find(&file, names, &offset, 1), -ENOENT);
	assert_int_equal(offset, 0);
	close(fd);
	open_libc();
	for (i = 0; i < file.load_cnt; i++)
		file.loads[i].executable = false;
	assert_int_equal(elf_functions_find(&file, names, &offset, 1), -ENOENT);
	assert_int_equal(offset, 0);
}

#define TEST(f) cmocka_unit_test_teardown(f, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_a_library_exports), TEST(test_a_program_that_exports_nothing),
		TEST(test_nothing_is_found), TEST(test_a_file_that_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
