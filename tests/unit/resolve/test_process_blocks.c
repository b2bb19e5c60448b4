// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_process_blocks.c - blocks of an allocator, and mappings, become events with exact bytes. */
#include "tests/unit/resolve/process_test.h"

#include <errno.h>

#include "memory/block_book.h"

#define KEPT_MAX 16

static struct memory_event kept[KEPT_MAX];
static unsigned int kept_cnt;
static uint64_t now;
static int fail;

static int keep(struct observer *o, struct process *of, const struct memory_event *ev)
{
	assert_ptr_equal(of, p);
	if (kept_cnt < KEPT_MAX)
		kept[kept_cnt] = *ev;
	kept_cnt++;
	return fail;
}

static struct observer_ops ops;

static void begin_blocks(void)
{
	more_args = (struct process_args){ .memory = true, .unit = UNIT_BYTES };
	begin();
	ops = *observer.observer.ops;
	ops.memory = keep;
	observer.observer.ops = &ops;
	kept_cnt = 0;
	fail = 0;
	now = 1000000000;
}

/* The record that stack() has filled becomes a block's. */
static int given(enum raw_alloc_why why, uint64_t addr, uint64_t bytes)
{
	struct raw_memory *m = (struct raw_memory *)(raw.frames + raw.nframes);

	raw.h.kind = RAW_ALLOC;
	raw.h.why = why;
	raw.h.time_ns = now += 1000000;
	raw.flags |= RAW_WEIGHED;
	*m = (struct raw_memory){ addr, bytes, bytes };
	return process_take(p, &raw, raw_len());
}

static int freed_at(enum raw_alloc_why why, uint64_t addr, uint64_t bytes, uint64_t time_ns)
{
	const struct raw_free r = {
		.h = { .kind = RAW_FREE, .why = why, .tgid = getpid(), .time_ns = time_ns,
		       .start_ns = 9 },
		.tid = 7, .addr = addr, .bytes = bytes,
	};

	return process_take(p, &r, sizeof(r));
}

static int freed(enum raw_alloc_why why, uint64_t addr, uint64_t bytes)
{
	return freed_at(why, addr, bytes, now += 1000000);
}

static void check_kept(unsigned int i, enum memory_change change, uint64_t addr, uint64_t bytes)
{
	assert_true(i < kept_cnt);
	assert_int_equal(kept[i].change, change);
	assert_int_equal(kept[i].addr, addr);
	assert_int_equal(kept[i].bytes, bytes);
}

static void test_a_block_and_its_free(void **state)
{
	begin_blocks();
	stack(77, 3, 10);
	assert_int_equal(given(ALLOC_BLOCK, 0x10010, 777), 0);
	check_kept(0, MEMORY_ALLOC, 0x10010, 777);
	assert_int_equal(kept[0].thread_id, 77);
	assert_int_equal(kept[0].time_us, now / 1000);
	assert_int_equal(stats_now().held_bytes, 777);
	assert_int_equal(freed(ALLOC_BLOCK, 0x10010, 0), 0);
	check_kept(1, MEMORY_FREE, 0x10010, 777);
	assert_int_equal(kept[1].stack, kept[0].stack);
	assert_int_equal(stats_now().held_bytes, 0);
	assert_int_equal(stats_now().alloc_bytes, 777);
	end();
}

static void test_what_was_there_before(void **state)
{
	begin_blocks();
	assert_int_equal(freed(ALLOC_BLOCK, 0x10010, 0), 0);
	assert_int_equal(freed(ALLOC_MAP, 0x10000, 4096), 0);
	assert_int_equal(kept_cnt, 0);
	end();
}

/* The address was given again before the record of the free came. */
static void test_a_free_that_comes_late(void **state)
{
	begin_blocks();
	stack(77, 3, 10);
	assert_int_equal(given(ALLOC_BLOCK, 0x10010, 600), 0);
	assert_int_equal(freed_at(ALLOC_BLOCK, 0x10010, 0, now - 1), 0);
	assert_int_equal(kept_cnt, 1);
	end();
}

/* A free was lost: the block at an address is the youngest. */
static void test_an_address_that_comes_twice(void **state)
{
	begin_blocks();
	stack(77, 3, 10);
	assert_int_equal(given(ALLOC_BLOCK, 0x10010, 600), 0);
	assert_int_equal(given(ALLOC_BLOCK, 0x10010, 900), 0);
	check_kept(1, MEMORY_FREE, 0x10010, 600);
	check_kept(2, MEMORY_ALLOC, 0x10010, 900);
	assert_int_equal(stats_now().held_bytes, 900);
	end();
}

static void test_a_part_of_a_mapping(void **state)
{
	begin_blocks();
	stack(77, 3, 10);
	assert_int_equal(given(ALLOC_MAP, 0x10000, 0x8000), 0);
	assert_int_equal(freed(ALLOC_MAP, 0x12000, 0x1000), 0);
	assert_int_equal(stats_now().held_bytes, 0x7000);
	assert_int_equal(freed(ALLOC_MAP, 0, UINT64_MAX), 0);
	assert_int_equal(stats_now().held_bytes, 0);
	end();
}

static void test_so_many_mappings(void **state)
{
	unsigned int i;

	begin_blocks();
	stack(77, 3, 10);
	for (i = 0; i < BLOCK_BOOK_MAPS_MAX; i++)
		assert_int_equal(given(ALLOC_MAP, (2 + 2 * i) * 4096ull, 4096), 0);
	assert_int_equal(given(ALLOC_MAP, (2 + 2 * i) * 4096ull, 4096), 0);
	assert_int_equal(kept_cnt, BLOCK_BOOK_MAPS_MAX);
	assert_int_equal(stats_now().held_bytes, BLOCK_BOOK_MAPS_MAX * 4096ull);
	end();
}

static void test_an_observer_that_fails(void **state)
{
	begin_blocks();
	stack(77, 3, 10);
	fail = -EIO;
	assert_int_equal(given(ALLOC_BLOCK, 0x10010, 600), -EIO);
	fail = 0;
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_block_and_its_free),
		cmocka_unit_test(test_what_was_there_before),
		cmocka_unit_test(test_a_free_that_comes_late),
		cmocka_unit_test(test_an_address_that_comes_twice),
		cmocka_unit_test(test_a_part_of_a_mapping),
		cmocka_unit_test(test_so_many_mappings),
		cmocka_unit_test(test_an_observer_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
