// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_process_blocks.c - blocks of an allocator, and mappings, become events with exact bytes. */
#include "tests/unit/resolve/process_test.h"

#include <errno.h>

#include "memory/block_book.h"
#include "memory/block_look.h"

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

/* ---- in bursts ---- */

#define MS 1000000ull
#define WEIGHT 10.0

static struct block_place places[BLOCK_LOOKS_MAX];
static struct block_words words[BLOCK_LOOKS_MAX];
static bool gone[BLOCK_LOOKS_MAX];

static void burst_begins(void)
{
	assert_int_equal(process_burst_begin(p, now, WEIGHT, 1), 0);
}

static void burst_ends(void)
{
	assert_int_equal(process_burst_end(p, now += 100 * MS), 0);
	now += 900 * MS;
}

static void give(uint64_t addr, uint64_t bytes)
{
	assert_int_equal(given(ALLOC_BLOCK, addr, bytes), 0);
}

/* As glibc has a block of this place: in use, or freed. */
static struct block_words chunk_of(const struct block_place *place, bool used)
{
	return (struct block_words){
		.before = ((place->bytes + 8 + 15) & ~15ull) | 1, .next = 0x100 | used,
		.read = true, .has_next = true,
	};
}

/* Looks at all blocks: those below this address are in use. Returns how many were looked at. */
static size_t look(uint64_t used_below)
{
	uint64_t pos = 0;
	size_t n, i, all = 0;

	while (pos != UINT64_MAX) {
		n = process_blocks_ask(p, &pos, places, BLOCK_LOOKS_MAX);
		for (i = 0; i < n; i++)
			words[i] = chunk_of(&places[i], places[i].addr < used_below);
		assert_int_equal(process_blocks_take(p, now, places, words, n, gone), 0);
		for (i = 0; i < n; i++)
			all += !gone[i] || places[i].addr >= used_below;
	}
	return all;
}

static void no_more_come(void)
{
	assert_int_equal(process_pages_end(p), 0);
}

static const struct memory_event *last_kept(void)
{
	assert_in_range(kept_cnt, 1, KEPT_MAX);
	return &kept[kept_cnt - 1];
}

static void test_a_block_stands_for_others(void **state)
{
	begin_blocks();
	stack(77, 3, 10);
	burst_begins();
	assert_int_equal(kept[0].change, MEMORY_BURST);
	give(0x10010, 777);
	check_kept(1, MEMORY_ALLOC, 0x10010, 7770);
	assert_int_equal(freed(ALLOC_BLOCK, 0x10010, 0), 0);
	check_kept(2, MEMORY_FREE, 0x10010, 7770);
	burst_ends();
	no_more_come();
	assert_int_equal(last_kept()->change, MEMORY_SAMPLED);
	assert_int_equal(last_kept()->sampled.bursts, 1);
	assert_int_equal(last_kept()->sampled.looked_used, 0);
	end();
}

/* Between bursts nobody sees the free: it is found. */
static void test_a_free_that_was_not_seen(void **state)
{
	unsigned int i;

	begin_blocks();
	stack(77, 3, 10);
	burst_begins();
	for (i = 0; i < BLOCK_JUDGE_LEAST; i++)
		give(0x10010 + i * 0x1000, 1000);
	burst_ends();
	assert_int_equal(stats_now().held_bytes, BLOCK_JUDGE_LEAST * 10000);
	assert_int_equal(look(0x10010 + 0x6000), BLOCK_JUDGE_LEAST);
	assert_int_equal(stats_now().held_bytes, 6 * 10000);
	no_more_come();
	assert_int_equal(last_kept()->sampled.found, 2 * 10000);
	assert_int_equal(last_kept()->sampled.looked_used, 6 * 10000);
	assert_int_equal(last_kept()->sampled.again, 0);
	assert_string_equal(last_kept()->sampled.allocator, "glibc");
	end();
}

/*
 * In each burst, the blocks of the one before are freed, and given out again at once at the same
 * addresses. Those of the last one look in use, and are not.
 */
static void test_addresses_that_are_used_again(void **state)
{
	const unsigned int blocks = 40, bursts = 10;
	unsigned int i, k;

	begin_blocks();
	stack(77, 3, 10);
	for (k = 0; k < bursts; k++) {
		burst_begins();
		for (i = 0; i < blocks; i++) {
			assert_int_equal(freed_at(ALLOC_BLOCK, 0x10010 + i * 0x1000, 0,
						  now += MS), 0);
			give(0x10010 + i * 0x1000, 1000);
		}
		assert_int_equal(process_burst_end(p, now += MS), 0);
		now += 900 * MS;
		look(UINT64_MAX);
	}
	kept_cnt = 0;
	no_more_come();
	/* of 400,000 bytes that look in use */
	assert_true(stats_now().held_bytes <= 40000);
	end();
}

/* Blocks that were never seen to be freed are held, however long. */
static void test_blocks_that_stay(void **state)
{
	const unsigned int blocks = 40, bursts = 10;
	unsigned int i, k;

	begin_blocks();
	stack(77, 3, 10);
	for (k = 0; k < bursts; k++) {
		burst_begins();
		for (i = 0; i < blocks; i++)
			give(0x10010 + (k * blocks + i) * 0x1000ull, 1000);
		burst_ends();
		look(UINT64_MAX);
	}
	assert_int_equal(stats_now().held_bytes, blocks * bursts * 10000);
	kept_cnt = 0;
	no_more_come();
	assert_int_equal(kept_cnt, 1);
	assert_int_equal(kept[0].sampled.again, 0);
	assert_int_equal(kept[0].sampled.looked_used, blocks * bursts * 10000);
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
		cmocka_unit_test(test_a_block_stands_for_others),
		cmocka_unit_test(test_a_free_that_was_not_seen),
		cmocka_unit_test(test_addresses_that_are_used_again),
		cmocka_unit_test(test_blocks_that_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
