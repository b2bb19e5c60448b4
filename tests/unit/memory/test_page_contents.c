// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_page_contents.c - which pages of a book are looked at, and sums of what became of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "memory/page_contents.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define PAGE 4096u
#define HUGE (2u << 20)
#define WEIGHT (16 * PAGE)

static struct page_book *book;
static uint64_t now;

static int got(void *ctx, uint64_t addr, uint64_t bytes, const struct page_touch *touch)
{
	return 0;
}

static int gone(void *ctx, uint64_t addr, uint64_t bytes, uint32_t stack)
{
	return 0;
}

static const struct page_book_fns fns = { got, gone };

static int set_up(void **state)
{
	now = 1000000000;
	book = page_book_new(PAGE, &fns, NULL);
	return book ? 0 : -1;
}

static int tear_down(void **state)
{
	page_book_free(book);
	return 0;
}

static void touch(uint64_t addr, uint32_t stack)
{
	struct page_touch t = { .addr = addr, .weight = WEIGHT, .time_ns = now += 1000000,
				.stack = stack, .tid = 7 };

	assert_int_equal(page_book_touch(book, &t), 0);
}

static void answer(uint64_t addr, enum page_kind kind, uint32_t huge_bytes)
{
	const struct page_state s = { .addr = addr, .kind = (uint8_t)kind, .frame = 512,
				      .huge_bytes = huge_bytes };

	assert_int_equal(page_book_take(book, &s, 1, now += 1000000), 0);
}

/* A page with `used` places of malloc'ed blocks that have this name; the others are unknown. */
static struct page_content content(uint64_t addr, unsigned int used, uint32_t name)
{
	struct page_content c = { .addr = addr };
	unsigned int i;

	for (i = 0; i < used; i++) {
		c.states[i] = PLACE_MALLOC;
		c.marks[i].id = name;
	}
	return c;
}

static void look(bool soon, struct page_content c, uint64_t read_ns)
{
	assert_int_equal(page_book_take_contents(book, soon, &c, 1, read_ns), 0);
}

static size_t soon(uint64_t *addrs, size_t max)
{
	return page_book_ask_soon(book, now + 1000, addrs, max);
}

/* How many pages are asked about again. */
static size_t looked_at(void)
{
	uint64_t addrs[64];
	uint32_t pos = 0;
	size_t n, sum = 0;

	while ((n = page_book_ask_again(book, &pos, addrs, 64)))
		sum += n;
	return sum;
}

/* A page that is touched, looked at soon, and held. */
static void begin_page(uint64_t addr, uint32_t stack)
{
	touch(addr, stack);
	look(true, content(addr, 16, 1), now + 1000);
	answer(addr, PAGE_ANON, 0);
}

static void expect_sums(const struct stack_fate *wanted, size_t wanted_cnt)
{
	struct stack_fate *list;
	size_t cnt;

	assert_int_equal(page_book_fates(book, &list, &cnt), 0);
	assert_int_equal(cnt, wanted_cnt);
	if (cnt)
		assert_memory_equal(list, wanted, cnt * sizeof(*list));
	free(list);
}

static void test_faults_that_are_asked_about_soon(void **state)
{
	uint64_t addrs[4];

	touch(0x30000, 1);
	touch(0x10000, 1);
	now += 100;
	/* The first was too long ago by now. */
	assert_int_equal(soon(addrs, 4), 1);
	assert_int_equal(addrs[0], 0x10000);
	assert_int_equal(soon(addrs, 4), 0);
	touch(0x50000, 1);
	answer(0x50000, PAGE_GONE, 0);
	assert_int_equal(soon(addrs, 4), 0);
}

static void test_what_a_stack_holds(void **state)
{
	const struct stack_fate sums[] = {
		{ 3, 2, WEIGHT, WEIGHT, 0 },
		{ 5, 1, WEIGHT / 4, WEIGHT / 2, WEIGHT / 4 },
	};
	struct page_content part = content(0x50000, 12, 2);
	unsigned int i;

	begin_page(0x10000, 3);
	begin_page(0x30000, 3);
	begin_page(0x50000, 5);
	begin_page(0x70000, 9);
	expect_sums(NULL, 0);	/* nothing was looked at again */
	look(false, content(0x10000, 16, 1), now);
	look(false, content(0x30000, 16, 2), now);
	for (i = 0; i < 4; i++) {
		part.marks[i].id = 1;
		part.states[12 + i] = PLACE_FREE;
	}
	look(false, part, now);
	look(false, content(0x70000, 0, 0), now);	/* nobody knows what it is now */
	expect_sums(sums, 2);
	look(false, content(0x30000, 0, 0), now);	/* what was known stays */
	expect_sums(sums, 2);
	assert_int_equal(looked_at(), 4);
}

static void test_a_first_look_that_is_too_late_or_says_nothing(void **state)
{
	touch(0x10000, 3);
	look(true, content(0x10000, 16, 1), now + PAGE_SOON_NS + 1);
	look(true, content(0x10000, 16, 1), now - 1);
	look(true, content(0x10000, 0, 1), now + 1);
	look(true, content(0x20000, 16, 1), now + 1);	/* no such page */
	look(false, content(0x10000, 16, 1), now + 1);
	assert_int_equal(looked_at(), 0);
}

static void test_pages_that_are_gone_or_were_touched_again(void **state)
{
	begin_page(0x10000, 3);
	begin_page(0x30000, 3);
	begin_page(0x50000, 3);
	answer(0x10000, PAGE_GONE, 0);
	touch(0x30000, 4);
	look(false, content(0x10000, 16, 1), now);
	look(false, content(0x30000, 16, 1), now);
	assert_int_equal(looked_at(), 1);
	assert_int_equal(page_book_move(book, 0x50000, PAGE, 0x90000, now), 0);
	look(false, content(0x50000, 16, 1), now);
	assert_int_equal(looked_at(), 0);
}

static void test_a_huge_page(void **state)
{
	const struct stack_fate sum = { 3, 1, HUGE, 0, 0 };

	touch(HUGE + 5 * PAGE, 3);
	look(true, content(HUGE + 5 * PAGE, 16, 1), now + 1);
	answer(HUGE + 5 * PAGE, PAGE_HUGE, HUGE);
	look(false, content(HUGE + 5 * PAGE, 16, 1), now);
	expect_sums(&sum, 1);
}

static void test_each_page_has_its_turn(void **state)
{
	uint64_t addrs[3], sum = 0;
	uint32_t pos = 0;
	size_t i, n;

	for (i = 1; i <= 7; i++)
		begin_page(i << 16, 3);
	while ((n = page_book_ask_again(book, &pos, addrs, 3))) {
		for (i = 0; i < n; i++) {
			assert_true(!i || addrs[i] > addrs[i - 1]);
			sum += addrs[i] >> 16;
		}
	}
	assert_int_equal(sum, 28);
	assert_int_equal(pos, 0);
}

/* Of too many, about as many of the last as of the first are kept. */
static void test_too_many_pages(void **state)
{
	uint64_t addrs[64], i, n, late = 0, all = 0;
	uint32_t pos = 0;

	for (i = 1; i <= 2 * PAGE_LOOKS_MAX; i++)
		begin_page(i << 16, 3);
	assert_int_equal(looked_at(), PAGE_LOOKS_MAX);
	while ((n = page_book_ask_again(book, &pos, addrs, 64)))
		for (i = 0; i < n; i++, all++)
			late += addrs[i] >> 16 > PAGE_LOOKS_MAX;
	assert_int_equal(all, PAGE_LOOKS_MAX);
	/* Half of 4,096, and ten times its standard deviation of 32. */
	assert_in_range(late, PAGE_LOOKS_MAX / 2 - 320, PAGE_LOOKS_MAX / 2 + 320);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_faults_that_are_asked_about_soon),
		TEST(test_what_a_stack_holds),
		TEST(test_a_first_look_that_is_too_late_or_says_nothing),
		TEST(test_pages_that_are_gone_or_were_touched_again),
		TEST(test_a_huge_page),
		TEST(test_each_page_has_its_turn),
		TEST(test_too_many_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
