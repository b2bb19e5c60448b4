// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_block_book.c - blocks and mappings: each rule by itself, random lives of both against a
 * model that knows each byte, and how many there may be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/memory/block_book.c"

#define ROUNDS 200000
#define PLACES 512		/* of the random tests: blocks, or units of the address space */
#define UNIT 4096u

static struct block_book *book;
static struct {
	uint64_t gone, left;	/* bytes */
	unsigned int gone_cnt, left_cnt;
	struct block last;
	int err;		/* what gone() returns */
} seen;
/* The model: whose each unit is, and what was given of it. 0: nobody's. */
static struct block model[PLACES];

static int gone(void *ctx, const struct block *b)
{
	seen.gone += b->bytes;
	seen.gone_cnt++;
	seen.last = *b;
	return seen.err;
}

static int left(void *ctx, const struct block *b)
{
	seen.left += b->bytes;
	seen.left_cnt++;
	return 0;
}

static const struct block_book_fns fns = { gone, left };

static int set_up(void **state)
{
	memset(&seen, 0, sizeof(seen));
	memset(model, 0, sizeof(model));
	book = block_book_new(&fns, NULL);
	return book ? 0 : -1;
}

static int tear_down(void **state)
{
	block_book_free(book);
	return 0;
}

static struct block block(uint64_t addr, uint64_t bytes, uint64_t time_ns)
{
	return (struct block){ .addr = addr, .bytes = bytes, .time_ns = time_ns,
			       .stack = (uint32_t)time_ns };
}

static int add(uint64_t addr, uint64_t bytes, uint64_t time_ns)
{
	struct block b = block(addr, bytes, time_ns);

	return block_book_add(book, &b);
}

static int map(uint64_t addr, uint64_t bytes, uint64_t time_ns)
{
	struct block b = block(addr, bytes, time_ns);

	return block_book_map(book, &b);
}

static void has(size_t cnt, uint64_t held)
{
	assert_int_equal(book->blocks.cnt + book->map_cnt, cnt);
	assert_int_equal(book->held, held);
}

/* ---- blocks ---- */

static void test_a_block_lives_and_goes(void **state)
{
	assert_int_equal(add(0x1000, 700, 5), 0);
	has(1, 700);
	assert_int_equal(block_book_remove(book, 0x1000, 6), 0);
	has(0, 0);
	assert_int_equal(seen.gone, 700);
	assert_int_equal(seen.last.stack, 5);
	assert_int_equal(block_book_remove(book, 0x1000, 7), 0);
	assert_int_equal(seen.gone_cnt, 1);
}

static void test_what_no_record_may_say(void **state)
{
	assert_int_equal(add(0, 700, 5), -EBADMSG);
	assert_int_equal(add(0x1000, 0, 5), -EBADMSG);
	assert_int_equal(map(0, UNIT, 5), -EBADMSG);
	assert_int_equal(map(UNIT, 0, 5), -EBADMSG);
	assert_int_equal(block_book_remove(book, 0, 5), 0);
	has(0, 0);
}

/* realloc() sends its free later than the block that was given the address meanwhile. */
static void test_a_free_is_of_an_older_block(void **state)
{
	assert_int_equal(add(0x1000, 700, 5), 0);
	assert_int_equal(add(0x1000, 800, 9), 0);	/* the free of the first one was lost */
	has(1, 800);
	assert_int_equal(seen.gone, 700);
	assert_int_equal(block_book_remove(book, 0x1000, 7), 0);
	has(1, 800);
	assert_int_equal(block_book_remove(book, 0x1000, 9), 0);
	has(0, 0);
}

static void test_errors_of_the_taker(void **state)
{
	assert_int_equal(add(0x1000, 700, 5), 0);
	seen.err = -EIO;
	assert_int_equal(block_book_remove(book, 0x1000, 6), -EIO);
	has(0, 0);
}

static void test_random_blocks(void **state)
{
	uint64_t held = 0, cnt = 0, time_ns = 1;
	unsigned int i;

	srandom(1);
	for (i = 0; i < ROUNDS; i++, time_ns++) {
		uint64_t place = (uint64_t)random() % PLACES, bytes = 1 + random() % 9999;
		struct block *m = &model[place];
		bool give = random() % 2;
		/* Now and then a free that is late */
		uint64_t at = time_ns - (uint64_t)random() % 4 * PLACES;

		if (give) {
			held += bytes - m->bytes;
			cnt += !m->bytes;
			*m = block(16 * (place + 1), bytes, time_ns);
			assert_int_equal(block_book_add(book, m), 0);
		} else {
			at = at > time_ns ? time_ns : at;
			assert_int_equal(block_book_remove(book, 16 * (place + 1), at), 0);
			if (m->bytes && m->time_ns <= at) {
				held -= m->bytes;
				cnt--;
				assert_memory_equal(&seen.last, m, sizeof(*m));
				*m = (struct block){ 0 };
			}
		}
		has(cnt, held);
	}
}

static void test_so_many_blocks(void **state)
{
	uint64_t i;

	for (i = 1; i <= BLOCK_BOOK_MAX; i++)
		assert_int_equal(add(16 * i, 1, 1), 0);
	assert_int_equal(add(16 * i, 1, 1), -ENOSPC);
	has(BLOCK_BOOK_MAX, BLOCK_BOOK_MAX);
	/* One of those that are there may come again; and one goes, one comes. */
	assert_int_equal(add(16, 2, 2), 0);
	has(BLOCK_BOOK_MAX, BLOCK_BOOK_MAX + 1);
	assert_int_equal(block_book_remove(book, 16, 3), 0);
	assert_int_equal(add(16 * i, 1, 3), 0);
	has(BLOCK_BOOK_MAX, BLOCK_BOOK_MAX);
}

/* ---- mappings ---- */

static void test_a_hole_in_a_mapping(void **state)
{
	assert_int_equal(map(10 * UNIT, 10 * UNIT, 5), 0);
	assert_int_equal(block_book_unmap(book, 12 * UNIT, 3 * UNIT, 6), 0);
	has(2, 7 * UNIT);
	assert_int_equal(seen.gone, 10 * UNIT);
	assert_int_equal(seen.left, 7 * UNIT);
	assert_int_equal(block_book_unmap(book, 0, UINT64_MAX, 7), 0);
	has(0, 0);
}

static void test_unmapped_before_it_was_mapped(void **state)
{
	assert_int_equal(map(10 * UNIT, UNIT, 5), 0);
	assert_int_equal(block_book_unmap(book, 10 * UNIT, UNIT, 4), 0);
	has(1, UNIT);
}

static void test_the_end_of_addresses(void **state)
{
	assert_int_equal(map(UINT64_MAX - UNIT, UINT64_MAX, 5), 0);
	assert_int_equal(map(UINT64_MAX - 3 * UNIT, UNIT, 5), 0);
	assert_int_equal(block_book_unmap(book, UINT64_MAX - 4 * UNIT, UINT64_MAX, 6), 0);
	assert_int_equal(book->blocks.cnt + book->map_cnt, 0);
}

static void model_set(uint64_t from, uint64_t cnt, uint64_t time_ns, uint64_t until_ns)
{
	uint64_t i;

	for (i = from; i < from + cnt; i++)
		if (model[i].time_ns <= until_ns)
			model[i].time_ns = time_ns;
}

static void test_random_mappings(void **state)
{
	uint64_t time_ns = 1;
	unsigned int i, k;

	srandom(2);
	for (i = 0; i < ROUNDS / 10; i++, time_ns++) {
		uint64_t cnt = 1 + random() % 24, from = random() % (PLACES - cnt), held = 0;
		uint64_t at = time_ns > 40 ? time_ns - random() % 40 : time_ns;

		if (random() % 2) {
			assert_int_equal(map((from + 1) * UNIT, cnt * UNIT, time_ns), 0);
			model_set(from, cnt, time_ns, UINT64_MAX);
		} else {
			assert_int_equal(block_book_unmap(book, (from + 1) * UNIT, cnt * UNIT, at),
					 0);
			model_set(from, cnt, 0, at);
		}
		for (k = 0; k < PLACES; k++)
			held += model[k].time_ns ? UNIT : 0;
		assert_int_equal(book->held, held);
	}
	assert_true(seen.left_cnt > 100);
}

static void test_so_many_mappings(void **state)
{
	uint64_t i;

	for (i = 1; i <= BLOCK_BOOK_MAPS_MAX; i++)
		assert_int_equal(map(2 * i * UNIT, UNIT, 1), 0);
	assert_int_equal(map(2 * i * UNIT, UNIT, 1), -ENOSPC);
	has(BLOCK_BOOK_MAPS_MAX, (uint64_t)BLOCK_BOOK_MAPS_MAX * UNIT);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_block_lives_and_goes), TEST(test_what_no_record_may_say),
		TEST(test_a_free_is_of_an_older_block), TEST(test_errors_of_the_taker),
		TEST(test_random_blocks), TEST(test_so_many_blocks),
		TEST(test_a_hole_in_a_mapping), TEST(test_unmapped_before_it_was_mapped),
		TEST(test_the_end_of_addresses), TEST(test_random_mappings),
		TEST(test_so_many_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
