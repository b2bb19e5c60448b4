// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_otel_signs.c - which mappings may hold a process context, and that of an environment two
 * values are seen and nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "host/otel_signs.h"

static int take(void *ctx, const struct proc_map *map)
{
	otel_mappings_take(ctx, map);
	return 0;
}

static struct otel_mappings mappings_of(const char *text)
{
	struct otel_mappings m = { .cnt = 0 };
	int fd = memfd_create("maps", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	assert_int_equal(proc_maps_file(path, take, &m), 0);
	close(fd);
	return m;
}

static void test_mappings(void **state)
{
	struct otel_mappings m = mappings_of(
		"1000-2000 r-xp 00000000 fe:00 17 /usr/bin/python3.11\n"
		"2000-3000 rw-p 00000000 00:00 0 \n"
		"3000-4000 rw-p 00000000 00:00 0 [heap]\n"
		"4000-5000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n"
		"5000-6000 rw-p 00000000 00:00 0 [anon:malloc]\n"
		"6000-7000 rw-p 00000000 00:00 0 [anon:OTEL]\n"
		"7000-8000 rw-s 00000000 00:01 9 [anon_shmem:OTEL_CTX]\n"
		"8000-9000 rw-p 00000000 00:01 10 /memfd:OTEL_CTX (deleted)\n"
		"9000-a000 rw-p 00000000 fe:00 18 /mnt/memfd:OTEL_CTX\n"
		"a000-b000 r--p 00000000 00:00 0 [vvar]\n");

	assert_int_equal(m.cnt, 3);
	assert_int_equal(m.at[0], 0x4000);
	assert_int_equal(m.at[1], 0x7000);
	assert_int_equal(m.at[2], 0x8000);
	m = mappings_of("1000-2000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n"
			"3000-4000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n"
			"5000-6000 rw-p 00000000 00:00 0 [anon:OTEL_CTX] x\n"
			"7000-8000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n"
			"9000-a000 rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n");
	assert_int_equal(m.cnt, OTEL_MAPPINGS_MAX);
	assert_int_equal(m.at[3], 0x7000);
}

/* text: with "|" for NUL, in memory of its own size. */
static struct otel_environ environ_of(const char *text)
{
	size_t len = strlen(text), i;
	char *copy = malloc(len + !len);
	struct otel_environ e;

	for (i = 0; i < len; i++)
		copy[i] = text[i] == '|' ? '\0' : text[i];
	otel_environ_find(copy, len, &e);
	free(copy);
	return e;
}

static void test_environ(void **state)
{
	static const struct { const char *text, *name, *resource; } table[] = {
		{ "", "", "" }, { "||", "", "" },
		{ "PATH=/bin|OTEL_SERVICE_NAME=shop|HOME=/|", "shop", "" },
		{ "OTEL_SERVICE_NAME=a|OTEL_SERVICE_NAME=b|", "a", "" },
		{ "OTEL_SERVICE_NAME=|OTEL_SERVICE_NAME=b|", "", "" },
		{ "OTEL_RESOURCE_ATTRIBUTES=k=v,x=y|OTEL_SERVICE_NAME=s", "s", "k=v,x=y" },
		{ "XOTEL_SERVICE_NAME=a|OTEL_SERVICE_NAME|OTEL_SERVICE_NAMES=b|", "", "" },
		{ "OTEL_|OTEL_RESOURCE_ATTRIBUTES|A=OTEL_SERVICE_NAME=x|", "", "" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct otel_environ e = environ_of(table[i].text);

		assert_string_equal(e.service_name, table[i].name);
		assert_string_equal(e.resource, table[i].resource);
		assert_false(e.cut);
	}
}

static void test_environ_is_cut(void **state)
{
	static char text[OTEL_ENVIRON_BYTES_MAX + 64];
	struct otel_environ e;
	size_t at;

	/* A pair that does not fit is left out, not half of it. */
	at = (size_t)sprintf(text, "OTEL_RESOURCE_ATTRIBUTES=");
	while (at < 2 * OTEL_RESOURCE_BYTES)
		at += (size_t)sprintf(text + at, "key%zu=value,", at);
	otel_environ_find(text, at, &e);
	assert_true(e.cut);
	assert_true(strlen(e.resource) > OTEL_RESOURCE_BYTES - 32);
	assert_string_equal(e.resource + strlen(e.resource) - 6, "=value");
	memset(text + 25, 'x', 2 * OTEL_RESOURCE_BYTES);
	otel_environ_find(text, at, &e);
	assert_string_equal(e.resource, "");
	memset(text, 'x', sizeof(text));
	memcpy(text, "OTEL_SERVICE_NAME=", 18);
	otel_environ_find(text, 1000, &e);
	assert_int_equal(strlen(e.service_name), OTEL_SERVICE_NAME_BYTES - 1);
	assert_true(e.cut);
	/* What ends behind the bound is not believed. */
	memset(text, '\0', sizeof(text));
	strcpy(text + OTEL_ENVIRON_BYTES_MAX - 20, "OTEL_SERVICE_NAME=shop");
	otel_environ_find(text, OTEL_ENVIRON_BYTES_MAX, &e);
	assert_string_equal(e.service_name, "");
	assert_true(e.cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_environ),
		cmocka_unit_test(test_environ_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
