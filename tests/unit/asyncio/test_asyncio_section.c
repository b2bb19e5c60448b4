// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_asyncio_section.c - asyncio's own offsets: the real ones and hostile ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "asyncio/section.h"
#include "tests/unit/cpython/fake_elf.h"

static uint8_t golden[ASYNCIO_SECTION_BYTES + 1];

static void load(unsigned int minor)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/asyncio_3.%u.bin", GOLDEN_DIR, minor);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_int_equal(fread(golden, 1, sizeof(golden), f), ASYNCIO_SECTION_BYTES);
	fclose(f);
}

static int parse(struct async_tasks_layout *out)
{
	return asyncio_section_parse(golden, ASYNCIO_SECTION_BYTES, out);
}

static int parse_with(unsigned int word, uint64_t value)
{
	struct async_tasks_layout out;
	uint64_t before;
	int err;

	memcpy(&before, golden + 8 * word, 8);
	memcpy(golden + 8 * word, &value, 8);
	err = parse(&out);
	memcpy(golden + 8 * word, &before, 8);
	return err;
}

/* What readelf -x .AsyncioDebug shows of Debian's 3.14.10 and 3.15.2. */
static void test_real(void **state)
{
	static const struct {
		unsigned int minor;
		struct async_tasks_layout want;
	} all[] = {
		{ 14, { 10880, 864, 872, 880, 136, 96, 108, 109, 128, 152, 168 } },
		{ 15, { 10856, 1024, 1032, 1048, 136, 96, 108, 109, 128, 152, 168 } },
	};
	struct async_tasks_layout out;
	size_t i;

	for (i = 0; i < 2; i++) {
		load(all[i].minor);
		memset(&out, 0xff, sizeof(out));
		assert_int_equal(parse(&out), 0);
		assert_memory_equal(&out, &all[i].want, sizeof(out));
	}
}

static void test_cut(void **state)
{
	struct async_tasks_layout out;
	size_t len;

	load(14);
	for (len = 0; len < ASYNCIO_SECTION_BYTES; len++)
		assert_int_equal(asyncio_section_parse(golden, len, &out), -EBADMSG);
}

/* Each field must lie in its struct, and each struct must be of a possible size. */
static void test_hostile(void **state)
{
	static const struct {
		unsigned int word;
		uint64_t good, bad;	/* the last value that passes, the first that does not */
	} edges[] = {
		{ 0, ASYNCIO_TASK_BYTES_MAX, ASYNCIO_TASK_BYTES_MAX + 1 },
		{ 7, ASYNCIO_INTERP_BYTES_MAX, ASYNCIO_INTERP_BYTES_MAX + 1 },
		{ 9, ASYNCIO_TSTATE_BYTES_MAX, ASYNCIO_TSTATE_BYTES_MAX + 1 },
		{ 1, 160, 168 }, { 2, 160, 168 }, { 3, 167, 168 }, { 4, 167, 168 },
		{ 5, 160, 168 }, { 6, 152, 160 }, { 8, 225848, 225856 },
		{ 10, 928, 936 }, { 11, 928, 936 }, { 12, 920, 928 },
	};
	size_t i;

	load(14);
	for (i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
		assert_int_equal(parse_with(edges[i].word, edges[i].good), 0);
		assert_int_equal(parse_with(edges[i].word, edges[i].bad), -EBADMSG);
		assert_int_equal(parse_with(edges[i].word, 0), -EBADMSG);
		assert_int_equal(parse_with(edges[i].word, UINT64_MAX), -EBADMSG);
		assert_int_equal(parse_with(edges[i].word, 1ull << 63), -EBADMSG);
	}
	assert_int_equal(parse_with(1, 132), -EBADMSG);		/* no pointer is there */
	assert_int_equal(parse_with(8, 10881), -EBADMSG);
	assert_int_equal(parse_with(3, 107), 0);		/* a byte may be anywhere */
}

static int read_file(size_t len)
{
	static struct fake_elf f;
	struct async_tasks_layout out;
	struct elf_file elf;
	int fd, err;

	f = (struct fake_elf){ .asyncio = len ? golden : NULL, .asyncio_len = len };
	fake_elf_build(&f);
	fd = fake_file(f.image, sizeof(f.image));
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(&elf, fd), 0);
	err = asyncio_section_read(&elf, &out);
	close(fd);
	if (!err)
		assert_int_equal(out.task_node, 152);
	return err;
}

static void test_file(void **state)
{
	load(15);
	assert_int_equal(read_file(ASYNCIO_SECTION_BYTES), 0);
	assert_int_equal(read_file(0), -ENOENT);
	assert_int_equal(read_file(ASYNCIO_SECTION_BYTES - 8), -EBADMSG);
	golden[8] = 1;
	assert_int_equal(read_file(ASYNCIO_SECTION_BYTES), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
