// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_library_path.c - libraries and programs by their names: the system's cache, and ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "probe/event_probes.c"
#include "probe/prober.h"

static char path[PATH_MAX];

static void test_names(void **state)
{
	assert_true(prober_is_called("/lib/x/libc.so.6", "libc"));
	assert_true(prober_is_called("/lib/x/libc.so.6", "libc.so.6"));
	assert_true(prober_is_called("/lib/x/libc-2.31.so", "libc"));
	assert_true(prober_is_called("/usr/bin/python3.11", "python"));
	assert_true(prober_is_called("/usr/bin/python3.11", "python3"));
	assert_true(prober_is_called("libssl.so.3", "libssl"));
	assert_false(prober_is_called("/lib/x/libcap.so.2", "libc"));
	assert_false(prober_is_called("/lib/libc/x.so", "libc"));
	assert_false(prober_is_called("/lib/x/libc.so.6", "bc"));
}

/* The C library that this program has loaded is the one that the cache knows. */
static void test_this_system(void **state)
{
	struct stat mine, found;
	Dl_info info;

	assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info), 0);
	assert_int_equal(library_path("libc", path, sizeof(path)), 0);
	assert_int_equal(stat(info.dli_fname, &mine), 0);
	assert_int_equal(stat(path, &found), 0);
	assert_int_equal(mine.st_ino, found.st_ino);
	assert_int_equal(library_path("sh", path, sizeof(path)), 0);
	assert_non_null(strstr(path, "/sh"));
	assert_int_equal(library_path("/any/path", path, sizeof(path)), 0);
	assert_string_equal(path, "/any/path");
	assert_int_equal(library_path("no-such-library", path, sizeof(path)), -ENOENT);
}

/* A relative directory in PATH is not looked into. */
static void test_path_is_absolute(void **state)
{
	char *before = strdup(getenv("PATH"));

	setenv("PATH", ".:bin::/nowhere", 1);
	assert_int_equal(library_path("sh", path, sizeof(path)), -ENOENT);
	setenv("PATH", before, 1);
	free(before);
}

/* A cache cut anywhere, and one with any byte changed: never more than its bytes is read. */
static void test_broken_cache(void **state)
{
	struct {
		char magic[20];
		uint32_t cnt, strings, rest[5];
		struct { uint32_t flags, name, path, version; uint64_t hwcap; } e[1];
		char text[32];
	} cache = {
		.magic = { 'g', 'l', 'i', 'b', 'c', '-', 'l', 'd', '.', 's', 'o', '.', 'c', 'a',
			   'c', 'h', 'e', '1', '.', '1' },
		.cnt = 1,
	};
	uint8_t *copy;
	size_t len, i;

#if defined(__aarch64__)
	cache.e[0].flags = 0x0a03;
#else
	cache.e[0].flags = 0x0303;
#endif
	cache.e[0].name = offsetof(typeof(cache), text);
	cache.e[0].path = cache.e[0].name + 10;
	memcpy(cache.text, "libx.so.1\0/l/libx.so.1", 23);
	assert_int_equal(library_path_in((uint8_t *)&cache, sizeof(cache), "libx", path,
					 sizeof(path)), 0);
	assert_string_equal(path, "/l/libx.so.1");
	assert_int_equal(library_path_in((uint8_t *)&cache, sizeof(cache), "libx", path, 5),
			 -ENAMETOOLONG);
	for (len = 0; len <= sizeof(cache); len++) {
		copy = malloc(len + 1);		/* what is behind it, ASan sees */
		memcpy(copy, &cache, len);
		library_path_in(copy, len, "libx", path, sizeof(path));
		for (i = 20; len == sizeof(cache) && i < len; i++) {
			copy[i] ^= 0xff;
			library_path_in(copy, len, "libx", path, sizeof(path));
			copy[i] ^= 0xff;
		}
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names), cmocka_unit_test(test_this_system),
		cmocka_unit_test(test_path_is_absolute), cmocka_unit_test(test_broken_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
