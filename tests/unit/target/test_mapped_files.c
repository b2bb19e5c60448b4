// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_mapped_files.c - which mapped files can be a Python, however many there are; from texts
 * as /proc/PID/maps has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "target/mapped_files.h"

#define MANY 65000		/* vm.max_map_count is 65,530 */
#define EXE "/usr/bin/app"

static struct mapped_files m;
static char path[] = "/tmp/tachbpf-test-XXXXXX";
static FILE *text;
static uint64_t at;
static unsigned int inode;

static void begin(void)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	text = fdopen(mkstemp(path), "w");
	assert_non_null(text);
	at = 0x10000;
	inode = 1;
}

static void line(const char *perms, unsigned int offset, unsigned int file, const char *name)
{
	fprintf(text, "%08lx-%08lx %s %08x 08:01 %u        %s\n", (unsigned long)at,
		(unsigned long)at + 0x1000, perms, offset, file, name);
	at += 0x1000;
}

static void data(const char *name)
{
	line("r--s", 0, inode++, name);
}

/* As a dynamic linker maps a file. Returns where it begins. */
static uint64_t code(const char *name)
{
	uint64_t start = at;

	line("r--p", 0, inode, name);
	line("r-xp", 0x1000, inode, name);
	line("rw-p", 0x2000, inode++, name);
	return start;
}

static void data_files(unsigned int cnt)
{
	char name[64];
	unsigned int i;

	for (i = 0; i < cnt; i++) {
		snprintf(name, sizeof(name), "/data/part-%u.arrow", i);
		data(name);
	}
}

static void finish(const char *exe, uint64_t phdr)
{
	assert_int_equal(fclose(text), 0);
	assert_int_equal(mapped_files_read_text(&m, path, exe, phdr), 0);
	unlink(path);
}

/* The file's place; MAPPED_NOWHERE: it has none. */
static size_t place(const char *name)
{
	size_t i;

	for (i = 0; i < m.cnt && strcmp(m.files[i].path, name); i++)
		;
	return i == m.cnt ? MAPPED_NOWHERE : i;
}

static void test_data_takes_no_place(void **state)
{
	begin();
	data_files(MANY / 2);
	code(EXE);
	data_files(MANY / 2);
	code("/usr/lib/libpython3.12.so.1.0");
	code("/usr/lib/libc.so.6");
	finish(EXE, 0);
	assert_int_equal(m.cnt, 3);
	assert_int_equal(m.exe_at, 0);
	assert_int_equal(m.libc_at, 2);
	assert_true(m.files[1].libpython && m.files[1].code);
	assert_false(m.cut);
}

/* So much code that not all of it is looked at: what matters has places of its own. */
static void test_what_matters_is_found_behind_any_code(void **state)
{
	char name[64];
	uint64_t start;
	unsigned int i;

	begin();
	for (i = 0; i < MANY / 3; i++) {
		snprintf(name, sizeof(name), "/jit/%u.so", i);
		code(name);
	}
	code(EXE);
	data("/usr/lib/libpython3.12.so.1.0");
	code("/usr/lib/libc.so.6");
	start = code("/new/root" EXE);
	finish(EXE, 0);
	assert_int_equal(m.cnt, MAPPED_CODE_MAX + 3);
	assert_int_equal(place(EXE), m.exe_at);
	assert_int_not_equal(place("/usr/lib/libpython3.12.so.1.0"), MAPPED_NOWHERE);
	assert_int_equal(place("/usr/lib/libc.so.6"), m.libc_at);
	assert_int_equal(m.code_cnt, MAPPED_CODE_MAX);
	/* The same text: the executable has another path, and is found by its program headers. */
	begin();
	for (i = 0; i < MANY / 3; i++) {
		snprintf(name, sizeof(name), "/jit/%u.so", i);
		code(name);
	}
	start = code("/new/root" EXE);
	code("/usr/lib/libc.so.6");
	finish(EXE, start + 0x40);
	assert_int_equal(m.exe_at, place("/new/root" EXE));
	assert_int_not_equal(m.exe_at, MAPPED_NOWHERE);
	assert_int_not_equal(m.libc_at, MAPPED_NOWHERE);
}

static void test_many_called_libpython(void **state)
{
	char name[64];
	unsigned int i;

	begin();
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "/tmp/libpython-%u", i);
		data(name);
	}
	code(EXE);
	code("/usr/lib/libpython3.12.so.1.0");
	finish(EXE, 0);
	assert_int_equal(m.cnt, MAPPED_LIBPYTHON_MAX + 2);
	assert_int_not_equal(m.exe_at, MAPPED_NOWHERE);
	assert_int_not_equal(place("/usr/lib/libpython3.12.so.1.0"), MAPPED_NOWHERE);
}

/* The program headers are surer than the path: that file can be mapped as data, too. */
static void test_another_view_of_the_executable(void **state)
{
	uint64_t start;

	begin();
	data(EXE);
	inode = 1;
	start = code(EXE);
	finish(EXE, start + 0x40);
	assert_int_equal(m.files[m.exe_at].map.start, start);
	assert_true(m.files[m.exe_at].code);
	begin();
	code("/a");
	code(EXE);
	finish("", 0);
	assert_int_equal(m.exe_at, 0);	/* loaders place it lowest */
}

/* The hash changes with code, and not with data. */
static void test_hash(void **state)
{
	uint64_t first, start;

	begin();
	start = code(EXE);
	finish(EXE, start);
	first = m.hash;
	begin();
	code(EXE);
	data_files(100);
	finish(EXE, start);
	assert_int_equal(m.hash, first);
	begin();
	code(EXE);
	code("/lib/plugin.so");
	finish(EXE, start);
	assert_int_not_equal(m.hash, first);
}

/* Work is bounded in bytes: paths can have 4 KiB. */
static void test_too_long_a_list(void **state)
{
	static char name[4096];
	unsigned int i;

	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	begin();
	code(EXE);
	for (i = 0; i < PROC_MAPS_BYTES_MAX / sizeof(name) + 10; i++)
		data(name);
	code("/usr/lib/libpython3.12.so.1.0");
	finish(EXE, 0);
	assert_true(m.cut);
	assert_int_equal(m.cnt, 1);
	assert_int_equal(place("/usr/lib/libpython3.12.so.1.0"), MAPPED_NOWHERE);
}

static void test_lines_that_are_none(void **state)
{
	static const char *const lines[] = {
		"", "x", "10000", "10000-", "10000-11000", "10000-11000 r-xp", "-", "- - - -",
		"10000-11000 r-xp 00000000", "10000-11000 r-xp 00000000 08:01",
		"10000-11000 r-xp 00000000 08:01 5", "10000-11000 r-xp 00000000 08:01 0 /a",
		"10000-11000 r-xp 00000000 08:01 5 [heap]", "10000-11000 r", "10000-11000 r-xp  ",
		"10000-11000 r-xp 00000000 08: 5 /a",
	};
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(lines); i++)
		fprintf(text, "%s\n", lines[i]);
	finish("/a", 0);
	assert_int_equal(m.cnt, 0);
}

/* Where a process context may be is seen on the way; it is no file, and changes nothing else. */
static void test_process_contexts(void **state)
{
	uint64_t contexts[3], hash;

	begin();
	code(EXE);
	finish(EXE, 0);
	hash = m.hash;
	assert_int_equal(m.otel.cnt, 0);
	begin();
	code(EXE);
	contexts[0] = at;
	line("rw-p", 0, 0, "[anon:OTEL_CTX]");
	line("rw-p", 0, 0, "[anon:malloc]");
	contexts[1] = at;
	line("rw-s", 0, inode++, "[anon_shmem:OTEL_CTX]");
	contexts[2] = at;
	line("rw-p", 0, inode++, "/memfd:OTEL_CTX (deleted)");
	finish(EXE, 0);
	assert_int_equal(m.otel.cnt, 3);
	assert_memory_equal(m.otel.at, contexts, sizeof(contexts));
	assert_int_equal(m.cnt, 1);
	assert_true(m.hash == hash);
}

/* The program headers alone tell which file is the executable. */
static void test_of_this_process(void **state)
{
	static struct mapped_files mine;
	char exe[PATH_MAX];
	struct stat st, its;

	assert_int_equal(mapped_files_read(&mine, getpid()), 0);
	assert_true(mine.exe_at < mine.cnt);
	assert_string_equal(mine.exe, "");	/* its path was not needed */
	assert_int_equal(proc_exe(getpid(), exe, sizeof(exe)), 0);
	assert_int_equal(stat(exe, &st), 0);
	assert_int_equal(proc_stat_mapped(getpid(), &mine.files[mine.exe_at].map, &its), 0);
	assert_int_equal(its.st_ino, st.st_ino);
	assert_true(mine.libc_at < mine.cnt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data_takes_no_place),
		cmocka_unit_test(test_what_matters_is_found_behind_any_code),
		cmocka_unit_test(test_many_called_libpython),
		cmocka_unit_test(test_another_view_of_the_executable),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_of_this_process),
		cmocka_unit_test(test_process_contexts),
		cmocka_unit_test(test_too_long_a_list),
		cmocka_unit_test(test_lines_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
