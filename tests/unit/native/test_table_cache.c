// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_table_cache.c - tables on disk, and what others have put there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/unwind_file.h"
#include "native/table_cache.h"

static char base[64], path[128];
static int dir;

static int set_up(void **state)
{
	snprintf(base, sizeof(base), "/tmp/tachbpf-cache-XXXXXX");
	if (!mkdtemp(base))
		return -1;
	snprintf(path, sizeof(path), "%s/tachbpf/unwind", base);
	dir = table_cache_open(path);
	return dir < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	char command[256];

	close(dir);
	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	return system(command);
}

static int table_of(size_t bytes, char fill)
{
	int fd = memfd_create("table", MFD_CLOEXEC);
	char *text = malloc(bytes);

	assert_non_null(text);
	memset(text, fill, bytes);
	assert_int_equal(write(fd, text, bytes), bytes);
	free(text);
	return fd;
}

static void store(uint64_t hash, size_t bytes)
{
	const uint64_t both[2] = { hash, 1 };
	int fd = table_of(bytes, 'x');

	assert_int_equal(table_cache_store(dir, both, fd), 0);
	close(fd);
}

static int find(uint64_t hash)
{
	const uint64_t both[2] = { hash, 1 };
	int fd = table_cache_find(dir, both);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : fd;
}

static void test_a_directory_of_ours(void **state)
{
	struct stat st;
	int again;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	again = table_cache_open(path);
	assert_true(again >= 0);
	close(again);
}

static void test_a_directory_that_others_write(void **state)
{
	char link[128];

	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(table_cache_open(path), -EPERM);
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(table_cache_open(path), -EPERM);
	assert_int_equal(chmod(path, 0700), 0);
	snprintf(link, sizeof(link), "%s/link", base);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(table_cache_open(link), -ENOTDIR);
	if (geteuid())
		return;
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(table_cache_open(path), -EPERM);
}

static void test_the_secret_stays(void **state)
{
	uint8_t a[NATIVE_SECRET_BYTES], b[NATIVE_SECRET_BYTES];
	struct stat st;

	assert_int_equal(table_cache_secret(dir, a), 0);
	assert_int_equal(table_cache_secret(dir, b), 0);
	assert_memory_equal(a, b, sizeof(a));
	assert_int_equal(fstatat(dir, "secret", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* One that was cut, or that others can write, is made anew. */
	assert_int_equal(truncate((snprintf(path, sizeof(path), "%s/tachbpf/unwind/secret", base),
				   path), 10), 0);
	assert_int_equal(table_cache_secret(dir, b), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	assert_int_equal(fchmodat(dir, "secret", 0666, 0), 0);
	assert_int_equal(table_cache_secret(dir, a), 0);
	assert_memory_not_equal(a, b, sizeof(a));
}

static void test_store_and_find(void **state)
{
	const uint64_t hash[2] = { 0xabc, 0xdef };
	char bytes[8];
	int fd = table_of(UNWIND_FILE_HEAD + 100000, 'y');

	assert_int_equal(table_cache_find(dir, hash), -ENOENT);
	assert_int_equal(table_cache_store(dir, hash, fd), 0);
	close(fd);
	fd = table_cache_find(dir, hash);
	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), UNWIND_FILE_HEAD + 100000);
	assert_int_equal(pread(fd, bytes, 8, UNWIND_FILE_HEAD + 99992), 8);
	assert_memory_equal(bytes, "yyyyyyyy", 8);
	close(fd);
	assert_int_equal(faccessat(dir, "0000000000000abc0000000000000def", F_OK, 0), 0);
	fd = table_of(10, 'z');
	assert_int_equal(table_cache_store(dir, hash, fd), -EFBIG);
	close(fd);
}

#define NAME "00000000000000050000000000000001"

static void test_entries_that_are_not_ours(void **state)
{
	store(5, UNWIND_FILE_HEAD);
	assert_int_equal(find(5), 0);
	assert_int_equal(fchmodat(dir, NAME, 0622, 0), 0);
	assert_int_equal(find(5), -EPERM);
	assert_int_equal(unlinkat(dir, NAME, 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", dir, NAME), 0);
	assert_int_equal(find(5), -ELOOP);
	assert_int_equal(unlinkat(dir, NAME, 0), 0);
	assert_int_equal(mkfifoat(dir, NAME, 0600), 0);
	assert_int_equal(find(5), -EPERM);
	/* A store takes the place of whatever has the name. */
	store(5, UNWIND_FILE_HEAD);
	assert_int_equal(find(5), 0);
	if (geteuid())
		return;
	assert_int_equal(fchownat(dir, NAME, 12345, 12345, 0), 0);
	assert_int_equal(find(5), -EPERM);
}

static void used(const char *name, time_t when)
{
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };

	assert_int_equal(utimensat(dir, name, times, 0), 0);
}

static void test_pruning_takes_what_was_not_used_for_longest(void **state)
{
	char name[40];
	uint64_t i;

	for (i = 0; i < 6; i++) {
		store(i, UNWIND_FILE_HEAD * (i + 1));
		snprintf(name, sizeof(name), "%016x%016x", (unsigned int)i, 1);
		used(name, 1000 + (time_t)i);
	}
	assert_int_equal(find(1), 0);	/* is use */
	table_cache_prune(dir, 1 << 20, 4);
	assert_int_equal(find(0), -ENOENT);
	assert_int_equal(find(2), -ENOENT);
	assert_int_equal(find(1), 0);
	assert_int_equal(find(3), 0);
	assert_int_equal(find(5), 0);
	/* By bytes: 1 and 3 and 5 were used last; 4 goes. */
	table_cache_prune(dir, UNWIND_FILE_HEAD * (2 + 4 + 6), 100);
	assert_int_equal(find(4), -ENOENT);
	assert_int_equal(find(5), 0);
	assert_int_equal(find(1), 0);
}

static void test_pruning_leaves_the_secret(void **state)
{
	uint8_t secret[NATIVE_SECRET_BYTES];

	assert_int_equal(table_cache_secret(dir, secret), 0);
	close(openat(dir, ".new-1", O_CREAT | O_WRONLY, 0600));
	table_cache_prune(dir, 0, 0);
	assert_int_equal(faccessat(dir, "secret", F_OK, 0), 0);
	assert_int_equal(faccessat(dir, ".new-1", F_OK, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_directory_of_ours, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_directory_that_others_write, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_secret_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_store_and_find, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_entries_that_are_not_ours, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pruning_takes_what_was_not_used_for_longest,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pruning_leaves_the_secret, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
