// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_page_book.c - what becomes of pages: each rule by itself, and random lives of pages against
 * a machine that knows all of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "memory/page_book.h"

#define PAGE 4096u
#define HUGE (2u << 20)
#define WEIGHT (16 * PAGE)

/* What is held, by name: nothing is got twice, or gone twice. */
struct block {
	uint64_t name, bytes;
	uint32_t stack;
};

static struct {
	struct block *blocks;
	size_t cnt, cap;
	uint64_t got, gone;	/* bytes */
	unsigned int got_cnt, gone_cnt;
	int err;		/* what got() returns */
} seen;
static struct page_book *book;
static uint64_t now;

static int got(void *ctx, uint64_t addr, uint64_t bytes, const struct page_touch *touch)
{
	size_t i;

	assert_true(bytes > 0);
	for (i = 0; i < seen.cnt; i++)
		assert_true(seen.blocks[i].name != addr);
	if (seen.cnt == seen.cap)
		seen.blocks = array_grow(seen.blocks, seen.cnt, &seen.cap, sizeof(*seen.blocks));
	seen.blocks[seen.cnt++] = (struct block){ addr, bytes, touch->stack };
	seen.got += bytes;
	seen.got_cnt++;
	return seen.err;
}

static int gone(void *ctx, uint64_t addr, uint64_t bytes, uint32_t stack)
{
	size_t i = 0;

	while (i < seen.cnt && seen.blocks[i].name != addr)
		i++;
	assert_true(i < seen.cnt);
	assert_int_equal(seen.blocks[i].bytes, bytes);
	assert_int_equal(seen.blocks[i].stack, stack);
	seen.blocks[i] = seen.blocks[--seen.cnt];
	seen.gone += bytes;
	seen.gone_cnt++;
	return 0;
}

static const struct page_book_fns fns = { got, gone };

static int set_up(void **state)
{
	memset(&seen, 0, sizeof(seen));
	now = 1000000;
	book = page_book_new(PAGE, &fns, NULL);
	return book ? 0 : -1;
}

static int tear_down(void **state)
{
	page_book_free(book);
	free(seen.blocks);
	return 0;
}

static int touch(uint64_t addr, uint32_t stack)
{
	struct page_touch t = { .addr = addr, .weight = WEIGHT, .time_ns = now += 1000000,
				.stack = stack, .tid = 7 };

	return page_book_touch(book, &t);
}

static void answer_with(const struct page_state *s, size_t cnt)
{
	assert_int_equal(page_book_take(book, s, cnt, now += 1000000), 0);
}

static void answer(uint64_t addr, enum page_kind kind, uint64_t frame)
{
	const struct page_state s = { .addr = addr, .kind = (uint8_t)kind, .frame = frame };

	answer_with(&s, 1);
}

static void answer_huge(uint64_t addr, uint64_t frame, unsigned int before, unsigned int after)
{
	const struct page_state s = {
		.addr = addr, .kind = PAGE_HUGE, .frame = frame, .huge_bytes = HUGE,
		.huge_before = (uint16_t)before, .huge_after = (uint16_t)after,
	};

	answer_with(&s, 1);
}

static void expect(unsigned int got_cnt, unsigned int gone_cnt, uint64_t held)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < seen.cnt; i++)
		sum += seen.blocks[i].bytes;
	assert_int_equal(seen.got_cnt, got_cnt);
	assert_int_equal(seen.gone_cnt, gone_cnt);
	assert_int_equal(page_book_held(book), held);
	assert_int_equal(sum, held);
	assert_int_equal(seen.got - seen.gone, held);
}

/* ---- one page ---- */

static void test_a_page_counts_from_its_first_answer(void **state)
{
	assert_int_equal(touch(0x10123, 3), 0);
	expect(0, 0, 0);
	assert_int_equal(page_book_waiting_bytes(book, UINT64_MAX), WEIGHT);
	answer(0x10000, PAGE_ANON, 5);
	expect(1, 0, WEIGHT);
	assert_int_equal(seen.blocks[0].stack, 3);
	assert_int_equal(page_book_waiting_bytes(book, UINT64_MAX), 0);
	answer(0x10000, PAGE_ANON, 5);
	expect(1, 0, WEIGHT);
	answer(0x10000, PAGE_GONE, 0);
	expect(1, 1, 0);
	assert_int_equal(page_book_pages(book), 0);
	answer(0x10000, PAGE_ANON, 5);	/* nobody has touched it */
	expect(1, 1, 0);
}

static void test_what_is_no_memory(void **state)
{
	touch(0x10000, 1);
	touch(0x20000, 1);
	touch(0x30000, 1);
	answer(0x10000, PAGE_ZERO, 1);
	answer(0x20000, PAGE_OTHER, 2);
	expect(0, 0, 0);
	answer(0x30000, PAGE_GONE, 0);	/* it was memory for a moment */
	expect(1, 1, 0);
	assert_int_equal(page_book_pages(book), 0);
}

static void test_held_until_it_is_something_else(void **state)
{
	static const enum page_kind ends[] = { PAGE_GONE, PAGE_ZERO, PAGE_OTHER };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		touch(0x10000, 1);
		answer(0x10000, PAGE_ANON, 5);
		answer(0x10000, ends[i], 9);
		expect(i + 1, i + 1, 0);
	}
	touch(0x10000, 1);
	answer(0x10000, PAGE_ANON, 5);
	answer(0x10000, PAGE_ANON, 6);	/* another page, whose fault was not sampled */
	expect(4, 4, 0);
}

/* Compaction: each gets another frame, and no event chose a fault of theirs. */
static void test_the_kernel_moves_pages(void **state)
{
	unsigned int i;

	for (i = 1; i <= 100; i++) {
		touch(i * PAGE, 1);
		answer(i * PAGE, PAGE_ANON, i);
	}
	for (i = 1; i <= 100; i++)
		answer(i * PAGE, PAGE_ANON, 1000 + i);
	expect(100, 15, 85 * WEIGHT);	/* 15 faults of 16 are not chosen, so they may be new */
	for (i = 16; i <= 100; i++)
		answer(i * PAGE, PAGE_ANON, 1000 + i);
	expect(100, 15, 85 * WEIGHT);
	touch(50 * PAGE, 2);		/* new, and so may be 30 others */
	answer(50 * PAGE, PAGE_ANON, 3000);
	for (i = 60; i <= 100; i++)
		answer(i * PAGE, PAGE_ANON, 3000 + i);
	expect(101, 46, 55 * WEIGHT);
	for (i = 16; i <= 100; i++)
		answer(i * PAGE, PAGE_GONE, 0);
	expect(101, 101, 0);
}

static void test_each_fault_is_chosen_so_pages_are_moved(void **state)
{
	const struct page_touch t = { .addr = 0x10000, .weight = PAGE, .time_ns = now, .tid = 7 };

	assert_int_equal(page_book_touch(book, &t), 0);
	answer(0x10000, PAGE_ANON, 5);
	answer(0x10000, PAGE_ANON, 6);
	expect(1, 0, PAGE);
	touch(0x10000, 2);
	answer(0x10000, PAGE_ANON, 7);
	expect(2, 1, WEIGHT);
}

static void test_without_frames_only_gone_counts(void **state)
{
	touch(0x10000, 1);
	answer(0x10000, PAGE_ANON, 0);
	answer(0x10000, PAGE_ANON, 0);
	expect(1, 0, WEIGHT);
	touch(0x10000, 2);		/* a fault is a new page's */
	answer(0x10000, PAGE_ANON, 0);
	expect(2, 1, WEIGHT);
	assert_int_equal(seen.blocks[0].stack, 2);
}

static void test_swapped_is_held(void **state)
{
	touch(0x10000, 1);
	answer(0x10000, PAGE_ANON, 5);
	answer(0x10000, PAGE_SWAPPED, 0);
	answer(0x10000, PAGE_ANON, 8);	/* it has come back elsewhere */
	expect(1, 0, WEIGHT);
	answer(0x10000, PAGE_ANON, 9);
	expect(1, 1, 0);
	touch(0x20000, 1);
	answer(0x20000, PAGE_SWAPPED, 0);
	expect(2, 1, WEIGHT);
}

static void test_another_fault_at_the_same_address(void **state)
{
	touch(0x10000, 1);
	answer(0x10000, PAGE_ANON, 5);
	touch(0x10000, 2);		/* it may be written again after a fork */
	answer(0x10000, PAGE_ANON, 5);
	expect(1, 0, WEIGHT);
	assert_int_equal(seen.blocks[0].stack, 1);
	touch(0x10000, 2);		/* given back and touched again, or copied */
	answer(0x10000, PAGE_ANON, 6);
	expect(2, 1, WEIGHT);
	assert_int_equal(seen.blocks[0].stack, 2);
	touch(0x10000, 3);
	touch(0x10000, 4);		/* nobody saw the one before */
	expect(3, 2, WEIGHT);
	answer(0x10000, PAGE_ANON, 7);
	expect(4, 3, WEIGHT);
	assert_int_equal(seen.blocks[0].stack, 4);
	touch(0x10000, 5);
	answer(0x10000, PAGE_GONE, 0);
	expect(5, 5, 0);
}

static void test_events_that_chose_the_same_fault(void **state)
{
	struct page_touch t = { .addr = 0x10000, .weight = WEIGHT, .time_ns = 50000000,
				.stack = 1, .tid = 7 };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		t.time_ns += 20000;
		assert_int_equal(page_book_touch(book, &t), 0);
	}
	expect(0, 0, 0);
	t.time_ns += 20000;		/* there are three events */
	assert_int_equal(page_book_touch(book, &t), 0);
	expect(1, 1, 0);
	assert_int_equal(seen.got, 3 * WEIGHT);
	t.time_ns += 2000000;
	assert_int_equal(page_book_touch(book, &t), 0);
	expect(2, 2, 0);
	t.stack = 2;
	assert_int_equal(page_book_touch(book, &t), 0);
	expect(3, 3, 0);
}

static void test_a_fault_after_the_question(void **state)
{
	const struct page_state there = { .addr = 0x10000, .kind = PAGE_GONE };

	touch(0x10000, 1);
	assert_int_equal(page_book_take(book, &there, 1, now - 1), 0);
	expect(0, 0, 0);
	assert_int_equal(page_book_waiting_bytes(book, UINT64_MAX), WEIGHT);
	assert_int_equal(page_book_take(book, &there, 1, now), 0);
	expect(1, 1, 0);
}

/* ---- asking ---- */

static void test_new_pages_are_asked_about_once(void **state)
{
	uint64_t addrs[4], pos = 0;

	touch(0x30000, 1);
	touch(0x10000, 1);
	touch(0x20000, 1);
	touch(0x10000, 2);
	assert_int_equal(page_book_ask(book, false, &pos, addrs, 2), 2);
	assert_int_equal(addrs[0], 0x10000);
	assert_int_equal(addrs[1], 0x30000);
	assert_int_equal(page_book_ask(book, false, &pos, addrs, 4), 1);
	assert_int_equal(addrs[0], 0x20000);
	assert_int_equal(page_book_ask(book, false, &pos, addrs, 4), 0);
	touch(0x20000, 3);
	assert_int_equal(page_book_ask(book, false, &pos, addrs, 4), 1);
}

static void test_all_pages_in_order(void **state)
{
	uint64_t addrs[64], pos = 0, last = 0;
	size_t i, n, sum = 0;

	for (i = 0; i < 1000; i++)
		touch((i * 7919 % 1000 + 1) * PAGE, 1);
	while (pos != UINT64_MAX) {
		n = page_book_ask(book, true, &pos, addrs, ARRAY_SIZE(addrs));
		for (i = 0; i < n; i++) {
			assert_true(addrs[i] > last);
			last = addrs[i];
			answer(last, PAGE_ANON, last);	/* answers may come meanwhile */
		}
		sum += n;
	}
	assert_int_equal(sum, 1000);
	assert_int_equal(page_book_ask(book, false, &pos, addrs, 64), 0);
	assert_int_equal(page_book_waiting_bytes(book, UINT64_MAX), 0);
	expect(1000, 0, 1000 * WEIGHT);
}

static void test_nothing_to_ask(void **state)
{
	uint64_t addr, pos = 0;

	assert_int_equal(page_book_ask(book, true, &pos, &addr, 1), 0);
	assert_true(pos == UINT64_MAX);
}

/* ---- moves ---- */

static void test_moved_pages_stay_who_they_were(void **state)
{
	touch(0x100000, 1);
	touch(0x101000, 2);
	touch(0x105000, 3);
	answer(0x100000, PAGE_ANON, 5);
	answer(0x105000, PAGE_ANON, 6);
	assert_int_equal(page_book_move(book, 0x100000, 0x2000, 0x900000, now += 1000), 0);
	expect(2, 0, 2 * WEIGHT);
	answer(0x900000, PAGE_ANON, 5);
	answer(0x901000, PAGE_ANON, 7);
	expect(3, 0, 3 * WEIGHT);
	touch(0x100000, 4);		/* something else, where it was */
	answer(0x100000, PAGE_ANON, 8);
	expect(4, 0, 4 * WEIGHT);
	answer(0x900000, PAGE_GONE, 0);
	answer(0x901000, PAGE_GONE, 0);
	expect(4, 2, 2 * WEIGHT);
}

/* What was asked about before the move is what was there before. */
static void test_an_answer_that_is_older_than_a_move(void **state)
{
	struct page_state s = { .addr = 0x900000, .kind = PAGE_GONE };
	uint64_t asked;
	unsigned int i;

	touch(0x100000, 1);
	answer(0x100000, PAGE_ANON, 5);
	asked = now += 1000;
	page_book_move(book, 0x100000, 0x1000, 0x900000, now += 1000);
	assert_int_equal(page_book_take(book, &s, 1, asked), 0);
	expect(1, 0, WEIGHT);
	touch(0x200000, 1);
	answer(0x200000, PAGE_ANON, 6);
	asked = now += 1000;
	for (i = 0; i < 40; i++)	/* more than are remembered: any answer may be too old */
		page_book_move(book, 0x200000 + i * PAGE, PAGE, 0x201000 + i * PAGE, now += 1000);
	assert_int_equal(page_book_take(book, &s, 1, asked), 0);
	expect(2, 0, 2 * WEIGHT);
	answer(0x900000, PAGE_GONE, 0);
	expect(2, 1, WEIGHT);
}

static void test_a_move_to_where_something_was(void **state)
{
	uint64_t addrs[8], pos = 0;

	touch(0x100000, 1);
	touch(0x200000, 2);
	touch(0x201000, 3);
	answer(0x200000, PAGE_ANON, 5);
	page_book_move(book, 0x100000, 0x2000, 0x200000, now += 1000);
	expect(1, 1, 0);
	assert_int_equal(page_book_pages(book), 2);	/* nothing was moved onto 0x201000 */
	assert_int_equal(page_book_ask(book, false, &pos, addrs, 8), 2);
	assert_int_equal(addrs[0], 0x200000);
	answer(0x200000, PAGE_ANON, 6);
	expect(2, 1, WEIGHT);
	assert_int_equal(seen.blocks[0].stack, 1);
}

static void test_moves_of_terabytes(void **state)
{
	unsigned int i;

	for (i = 0; i < 1000; i++)
		touch((i + 1ull) << 30, 1);
	assert_int_equal(page_book_move(book, 0, 1ull << 46, 1ull << 46, now += 1000), 0);
	answer((1ull << 46) + (1ull << 30), PAGE_ANON, 5);
	expect(1, 0, WEIGHT);
	/* What makes no sense does nothing. */
	assert_int_equal(page_book_move(book, PAGE, UINT64_MAX, 0, now += 1000), 0);
	assert_int_equal(page_book_move(book, 0, PAGE, UINT64_MAX - 1, now += 1000), 0);
	/* So many that the next ones are not followed, until all pages are looked at. */
	for (i = 0; i < 10000; i++)
		page_book_move(book, 1ull << 46, 1ull << 45, 1ull << 46 | PAGE, now += 1000);
	assert_int_equal(page_book_pages(book), 1000);
}

static void test_where_nothing_is_mapped(void **state)
{
	uint64_t then;

	touch(0x100000, 1);
	touch(0x101000, 2);
	touch(0x102000, 2);
	touch(0x105000, 3);
	answer(0x100000, PAGE_ANON, 5);
	answer(0x105000, PAGE_ANON, 6);
	then = now;
	touch(0x100000, 4);		/* in what was mapped there since */
	touch(0x102000, 4);
	expect(3, 1, 2 * WEIGHT);
	assert_int_equal(page_book_unmapped(book, 0x100000, 0x5000, then), 0);
	expect(4, 3, WEIGHT);		/* 0x101000 was never seen */
	answer(0x100000, PAGE_ANON, 5);	/* the same frame: nobody mistakes it for the old page */
	answer(0x102000, PAGE_ANON, 7);
	expect(6, 3, 3 * WEIGHT);
	touch(5 * HUGE, 1);
	answer_huge(5 * HUGE, 1024, 0, 0);
	assert_int_equal(page_book_unmapped(book, 0, 1ull << 46, now), 0);
	expect(7, 7, 0);
	assert_int_equal(page_book_pages(book), 0);
}

/* ---- huge pages ---- */

static void test_a_huge_page_counts_its_own_bytes(void **state)
{
	touch(5 * HUGE + 3 * PAGE, 1);
	answer_huge(5 * HUGE + 3 * PAGE, 1003, 0, 0);
	expect(1, 0, HUGE);
	assert_int_equal(seen.blocks[0].name & ~(PAGE - 1ull), 5 * HUGE);
	touch(5 * HUGE + 9 * PAGE, 1);	/* the same one */
	answer_huge(5 * HUGE + 9 * PAGE, 1009, 0, 0);
	expect(1, 0, HUGE);
	answer_huge(5 * HUGE, 1000, 0, 0);
	expect(1, 0, HUGE);
	answer_huge(5 * HUGE, 3000, 0, 0);
	expect(1, 1, 0);
	touch(5 * HUGE, 2);
	answer_huge(5 * HUGE, 1000, 0, 0);
	touch(5 * HUGE, 3);
	answer_huge(5 * HUGE, 2000, 0, 0);	/* it was given back between */
	expect(3, 2, HUGE);
	answer(5 * HUGE, PAGE_ANON, 2000);	/* split */
	expect(3, 2, HUGE);
	answer(5 * HUGE, PAGE_GONE, 0);
	expect(3, 3, 0);
}

static void test_the_kernel_moves_a_huge_page(void **state)
{
	const struct page_touch t = { .addr = 2 * HUGE, .weight = PAGE, .time_ns = now, .tid = 7 };

	assert_int_equal(page_book_touch(book, &t), 0);
	answer_huge(2 * HUGE, 512, 0, 0);
	answer_huge(2 * HUGE, 1024, 0, 0);
	expect(1, 0, HUGE);
	touch(2 * HUGE + 5 * PAGE, 2);		/* given back and touched again */
	answer_huge(2 * HUGE + 5 * PAGE, 2048 + 5, 0, 0);
	expect(2, 1, HUGE);
	answer_huge(2 * HUGE, 4096, 0, 0);
	expect(2, 2, 0);
}

static void test_neighbours_belong_to_the_nearest(void **state)
{
	struct page_state s[2] = {
		{ .addr = 10 * HUGE, .kind = PAGE_HUGE, .frame = 512, .huge_bytes = HUGE,
		  .huge_before = 2, .huge_after = 9 },
		{ .addr = 16 * HUGE, .kind = PAGE_HUGE, .frame = 5120, .huge_bytes = HUGE,
		  .huge_before = 8, .huge_after = 3 },
	};
	size_t i;

	touch(10 * HUGE, 1);
	touch(16 * HUGE, 2);
	answer_with(s, 2);
	expect(12, 0, 12ull * HUGE);	/* 8 to 19 */
	for (i = 0; i < seen.cnt; i++)
		assert_int_equal(seen.blocks[i].stack, seen.blocks[i].name < 14ull * HUGE ? 1 : 2);
	answer_with(s, 2);
	expect(12, 0, 12ull * HUGE);
	s[1].huge_after = 4;		/* it grows */
	answer_with(s, 2);
	expect(13, 0, 13ull * HUGE);
	answer(12 * HUGE, PAGE_GONE, 0);
	expect(13, 1, 12ull * HUGE);
	touch(13 * HUGE, 3);		/* the fault of a neighbour comes late */
	answer_huge(13 * HUGE, 9 * 512, 0, 0);
	expect(14, 2, 12ull * HUGE);
}

static void test_neighbours_are_no_more_than_the_growth(void **state)
{
	page_book_set_growth(book, 3ull * HUGE);
	touch(10 * HUGE, 1);
	answer_huge(10 * HUGE, 512, 5, 50000);
	expect(3, 0, 3ull * HUGE);
	page_book_set_growth(book, 0);
	touch(90000ull * HUGE, 1);	/* what was sampled counts always */
	answer_huge(90000ull * HUGE, 1024, 0, 1);
	expect(4, 0, 4ull * HUGE);
}

static void test_base_pages_become_a_huge_page(void **state)
{
	touch(5 * HUGE + PAGE, 1);
	touch(5 * HUGE + 7 * PAGE, 2);
	answer(5 * HUGE + PAGE, PAGE_ANON, 77);
	answer(5 * HUGE + 7 * PAGE, PAGE_ANON, 99);
	answer_huge(5 * HUGE + PAGE, 1001, 0, 1);
	answer_huge(5 * HUGE + 7 * PAGE, 1007, 0, 1);
	expect(2, 0, 2 * WEIGHT);	/* not the huge page, too */
	touch(5 * HUGE + 8 * PAGE, 3);	/* before that, and seen after it */
	answer_huge(5 * HUGE + 8 * PAGE, 1008, 0, 1);
	expect(3, 0, 3 * WEIGHT);
	/* Nor as somebody's neighbour. */
	touch(4 * HUGE, 4);
	answer_huge(4 * HUGE, 512, 0, 2);
	expect(5, 0, 3 * WEIGHT + 2ull * HUGE);
	answer(5 * HUGE + PAGE, PAGE_ANON, 1001);
	expect(5, 0, 3 * WEIGHT + 2ull * HUGE);
}

static void test_sizes_that_make_no_sense(void **state)
{
	static const uint32_t sizes[] = { 0, 1, PAGE, 3 * PAGE, 1u << 31 };
	struct page_state s = { .kind = PAGE_HUGE, .frame = 9, .huge_before = UINT16_MAX,
				.huge_after = UINT16_MAX };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		s.addr = (i + 1) * HUGE;
		s.huge_bytes = sizes[i];
		touch(s.addr, 1);
		answer_with(&s, 1);
	}
	expect(5, 0, 5 * WEIGHT);
	/* At both ends of what there is. */
	s.huge_bytes = HUGE;
	s.addr = 0;
	touch(0, 1);
	answer_with(&s, 1);
	s.addr = UINT64_MAX & ~(uint64_t)(HUGE - 1);
	touch(s.addr, 1);
	answer_with(&s, 1);
}

/* ---- bounds, denied, the end ---- */

static void test_the_end(void **state)
{
	touch(0x10000, 1);
	touch(0x20000, 1);
	answer(0x10000, PAGE_ANON, 5);
	touch(0x10000, 2);
	assert_int_equal(page_book_end(book), 0);
	expect(2, 0, 2 * WEIGHT);
	assert_int_equal(page_book_waiting_bytes(book, UINT64_MAX), 0);
}

static void test_denied(void **state)
{
	touch(0x10000, 1);
	assert_int_equal(page_book_deny(book), 0);
	expect(1, 0, WEIGHT);
	touch(0x20000, 1);
	touch(0x10000, 1);
	expect(2, 0, 2 * WEIGHT);
	assert_int_equal(page_book_unchecked(book), 2 * WEIGHT);
}

static void test_a_full_book(void **state)
{
	uint64_t i;

	for (i = 0; i < PAGE_BOOK_MAX; i++)
		assert_int_equal(touch((i + 1) * PAGE, 1), 0);
	assert_int_equal(touch(i * 2 * PAGE, 2), -ENOSPC);
	assert_int_equal(touch(i * 2 * PAGE, 2), -ENOSPC);
	expect(2, 0, 2 * WEIGHT);
	assert_int_equal(page_book_unchecked(book), 2 * WEIGHT);
	assert_int_equal(page_book_pages(book), PAGE_BOOK_MAX);
	answer(PAGE, PAGE_OTHER, 0);
	assert_int_equal(touch(i * 2 * PAGE, 2), 0);
	assert_int_equal(page_book_unchecked(book), 2 * WEIGHT);
}

static void test_an_error_of_who_listens(void **state)
{
	seen.err = -EIO;
	touch(0x10000, 1);
	assert_int_equal(page_book_take(book, &(struct page_state){ .addr = 0x10000,
					.kind = PAGE_ANON }, 1, now), -EIO);
}

/* ---- random lives ---- */

/*
 * A machine with 256 pages of memory addresses: each page has a frame, who touched it last, and
 * whether that fault was sampled. The book is right if it holds what was sampled and is still
 * there.
 */
#define PAGES 256u
#define STEPS 20000

struct machine_page {
	uint64_t frame;		/* 0: nothing is there */
	uint32_t stack;
	bool sampled, asked;	/* asked: with its present content */
};

static struct machine_page machine[PAGES];
static uint64_t frames;

static void machine_touch(size_t i, uint32_t stack, bool sampled)
{
	machine[i] = (struct machine_page){ ++frames, stack, sampled, false };
	if (sampled)
		touch((i + 1) * PAGE, stack);
}

/* All pages, as the worker would say. */
static void machine_answer(void)
{
	uint64_t addrs[PAGES], pos = 0;
	struct page_state s[PAGES];
	size_t i, n = page_book_ask(book, true, &pos, addrs, PAGES);

	assert_true(pos == UINT64_MAX);
	for (i = 0; i < n; i++) {
		const struct machine_page *m = &machine[addrs[i] / PAGE - 1];

		s[i] = (struct page_state){ .addr = addrs[i], .frame = m->frame,
					    .kind = m->frame ? PAGE_ANON : PAGE_GONE };
	}
	answer_with(s, n);
}

static void machine_move(size_t from, size_t cnt, size_t to)
{
	struct machine_page moved[PAGES];

	memcpy(moved, machine + from, cnt * sizeof(*moved));
	memset(machine + from, 0, cnt * sizeof(*moved));
	memcpy(machine + to, moved, cnt * sizeof(*moved));
	page_book_move(book, (from + 1) * PAGE, cnt * PAGE, (to + 1) * PAGE, now += 1000);
}

/* What is sampled, there and answered is held, by its stack; nothing else is. */
static void machine_check(void)
{
	uint64_t by_stack[8] = { 0 }, of_book[8] = { 0 };
	size_t i;

	for (i = 0; i < PAGES; i++)
		if (machine[i].frame && machine[i].sampled)
			by_stack[machine[i].stack] += WEIGHT;
	for (i = 0; i < seen.cnt; i++)
		of_book[seen.blocks[i].stack] += seen.blocks[i].bytes;
	assert_memory_equal(by_stack, of_book, sizeof(by_stack));
	expect(seen.got_cnt, seen.gone_cnt, page_book_held(book));
}

static void test_random_lives(void **state)
{
	unsigned int step;
	size_t i, cnt, to;

	srand(20);
	memset(machine, 0, sizeof(machine));
	for (step = 0; step < STEPS; step++) {
		i = (size_t)rand() % PAGES;
		switch (rand() % 8) {
		case 0: case 1: case 2:
			/* An unsampled fault in place of a sampled page must be seen before the
			 * next sampled one: the machine has no such races. */
			machine_touch(i, (uint32_t)rand() % 8, true);
			break;
		case 3:
			machine_answer();
			machine_touch(i, (uint32_t)rand() % 8, false);
			break;
		case 4: case 5:
			machine[i].frame = 0;
			break;
		case 6:
			cnt = (size_t)rand() % 16 + 1;
			i = (size_t)rand() % (PAGES / 2 - cnt);
			to = PAGES / 2 + (size_t)rand() % (PAGES / 2 - cnt);
			machine_answer();
			machine_move(i, cnt, to);
			break;
		default:
			machine_answer();
			machine_check();
		}
	}
	assert_true(seen.gone_cnt > STEPS / 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_page_counts_from_its_first_answer),
		TEST(test_what_is_no_memory),
		TEST(test_held_until_it_is_something_else),
		TEST(test_the_kernel_moves_pages),
		TEST(test_each_fault_is_chosen_so_pages_are_moved),
		TEST(test_without_frames_only_gone_counts),
		TEST(test_swapped_is_held),
		TEST(test_another_fault_at_the_same_address),
		TEST(test_events_that_chose_the_same_fault),
		TEST(test_a_fault_after_the_question),
		TEST(test_new_pages_are_asked_about_once),
		TEST(test_all_pages_in_order),
		TEST(test_nothing_to_ask),
		TEST(test_moved_pages_stay_who_they_were),
		TEST(test_an_answer_that_is_older_than_a_move),
		TEST(test_a_move_to_where_something_was),
		TEST(test_moves_of_terabytes),
		TEST(test_where_nothing_is_mapped),
		TEST(test_a_huge_page_counts_its_own_bytes),
		TEST(test_the_kernel_moves_a_huge_page),
		TEST(test_neighbours_belong_to_the_nearest),
		TEST(test_neighbours_are_no_more_than_the_growth),
		TEST(test_base_pages_become_a_huge_page),
		TEST(test_sizes_that_make_no_sense),
		TEST(test_the_end),
		TEST(test_denied),
		TEST(test_a_full_book),
		TEST(test_an_error_of_who_listens),
		TEST(test_random_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
