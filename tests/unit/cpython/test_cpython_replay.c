// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_replay.c - walks that are remembered by what they have read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "cpython/replay.h"

static uint8_t memory[1 << 18];
static uint32_t reads, gathers;

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	reads++;
	if (addr > sizeof(memory) || len > sizeof(memory) - addr)
		return -EFAULT;
	memcpy(buf, memory + addr, len);
	return 0;
}

static int gather(void *ctx, const struct replay_read *places, uint32_t cnt, uint8_t *buf,
		  size_t len)
{
	uint32_t i;

	gathers++;
	assert_ptr_equal(ctx, memory);
	for (i = 0; i < cnt; i++) {
		if (read_memory(ctx, places[i].addr, buf, places[i].len))
			return -EFAULT;
		buf += places[i].len;
		len -= places[i].len;
	}
	assert_int_equal(len, 0);
	return 0;
}

static struct replay r;
static struct replay_kept kept;
static uint8_t buf[1 << 18];

static void begin(void)
{
	const struct target_mem mem = { read_memory, memory };

	memset(memory, 7, sizeof(memory));
	replay_begin(&r, &mem);
	reads = gathers = 0;
}

static int get(uint64_t addr, size_t len)
{
	return replay_read_mem(&r, addr, buf, len);
}

static bool is_same(void)
{
	return replay_is_same(&kept, gather, memory);
}

static void test_same(void **state)
{
	begin();
	memory[100] = 1;
	assert_int_equal(get(100, 8), 0);
	assert_int_equal(buf[0], 1);
	assert_int_equal(get(500, 32), 0);
	assert_true(replay_keep(&r, &kept));
	assert_true(is_same());
	assert_int_equal(gathers, 1);
	memory[108] = memory[499] = memory[532] = 9;	/* next to what was read */
	assert_true(is_same());
	memory[531] = 9;
	assert_false(is_same());
	memory[531] = 7;
	assert_true(is_same());
	memory[100] = 0;
	assert_false(is_same());
	replay_drop(&kept);
	assert_false(is_same());
	replay_drop(&kept);
}

/* What is read twice is remembered once, if it was the same both times. */
static void test_twice(void **state)
{
	begin();
	assert_true(!get(100, 8) && !get(100, 8) && !get(100, 4));
	assert_int_equal(reads, 3);
	assert_true(replay_keep(&r, &kept));
	assert_int_equal(kept.read_cnt, 1);
	replay_drop(&kept);
	memory[101] = 0;
	assert_int_equal(get(100, 4), 0);
	assert_false(replay_keep(&r, &kept));
	assert_int_equal(kept.read_cnt, 0);
}

/* A longer read of the same place is another one. */
static void test_longer(void **state)
{
	begin();
	assert_true(!get(100, 4) && !get(100, 8));
	assert_true(replay_keep(&r, &kept));
	memory[107] = 0;
	assert_false(is_same());
	replay_drop(&kept);
}

static void test_not_whole(void **state)
{
	uint32_t i;

	begin();
	assert_false(replay_keep(&r, &kept));	/* nothing was read */
	assert_int_equal(get(sizeof(memory), 1), -EFAULT);
	assert_int_equal(get(0, 8), 0);
	assert_false(replay_keep(&r, &kept));
	/* As many reads, and bytes, as there is space for, and one more. */
	begin();
	for (i = 0; i < REPLAY_READS_MAX; i++)
		assert_int_equal(get(i, 1), 0);
	assert_true(replay_keep(&r, &kept));
	assert_true(is_same());
	replay_drop(&kept);
	assert_int_equal(get(i, 1), 0);
	assert_false(replay_keep(&r, &kept));
	begin();
	assert_int_equal(get(0, REPLAY_BYTES_MAX), 0);
	assert_true(replay_keep(&r, &kept));
	assert_true(is_same());
	replay_drop(&kept);
	assert_int_equal(get(REPLAY_BYTES_MAX, 1), 0);
	assert_int_equal(buf[0], 7);
	assert_false(replay_keep(&r, &kept));
	begin();
	assert_int_equal(get(0, REPLAY_BYTES_MAX + 1), 0);
	assert_false(replay_keep(&r, &kept));
	assert_true(!kept.reads && !is_same());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same), cmocka_unit_test(test_twice),
		cmocka_unit_test(test_longer), cmocka_unit_test(test_not_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
