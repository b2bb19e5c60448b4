// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_page_content.c - blocks of pymalloc and of glibc in memory that is made here, and what has
 * become of them; memory of random and of hostile content.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "memory/page_content.h"
#include "memory/page_look.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define PAGE 4096u
#define AT 0x7f0000100000ull	/* where the memory pretends to be */
#define BYTES (2u << 20)
#define POOL 16384u
#define TYPE 0x7f1234567890ull

static uint8_t *memory;
static uint64_t missing;	/* a page that is not there; 0: none */
static struct page_area area;
static struct page_content first, now;
static uint32_t process;

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	(void)ctx;
	assert_true(len);
	if (addr < AT || addr + len > AT + BYTES || addr + len < addr ||
	    (missing && addr + len > missing && addr < missing + PAGE))
		return -EFAULT;
	memcpy(buf, memory + (addr - AT), len);
	return 0;
}

static uint64_t first_there(void *ctx, uint64_t addr, uint64_t floor)
{
	(void)ctx;
	assert_true(floor >= AT && floor <= addr);
	return missing && missing + PAGE > floor && missing < addr ? missing + PAGE : floor;
}

/* Each test is another process, for the anchors of page_blocks.c. */
static int set_up(void **state)
{
	(void)state;
	memory = calloc(1, BYTES);
	missing = 0;
	area = (struct page_area){ AT, AT + BYTES, false };
	process++;
	return memory ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(memory);
	return 0;
}

static void look(uint64_t off, struct page_content *out)
{
	const struct page_memory mem = { read_memory, first_there, NULL, PAGE, process };
	unsigned int i;

	page_content_read(&mem, &area, AT + off, out);
	assert_int_equal(out->addr, AT + off);
	for (i = 0; i < PAGE_PLACES; i++)
		assert_in_range(out->states[i], 0, PLACE_STATES - 1);
}

static void put_word(uint64_t off, uint64_t value)
{
	memcpy(memory + off, &value, sizeof(value));
}

static void expect_fate(unsigned int own, unsigned int reused, unsigned int unused)
{
	struct page_fate f = page_content_compare(&first, &now);

	assert_int_equal(f.own, own);
	assert_int_equal(f.reused, reused);
	assert_int_equal(f.unused, unused);
}

static unsigned int count_of(const struct page_content *c, enum place_state state)
{
	unsigned int i, n = 0;

	for (i = 0; i < PAGE_PLACES; i++)
		n += c->states[i] == state;
	return n;
}

/* ---- pymalloc ---- */

#define BLOCK 256u	/* a place in each block: they are as far apart */
#define HEADER 48u

static uint64_t block_at(unsigned int i)
{
	return HEADER + (uint64_t)i * BLOCK;
}

/* A pool of this many bytes at the start, `carved` blocks given, all in use. */
static void make_pool(uint32_t bytes, uint32_t carved)
{
	uint32_t size_class = BLOCK / 16 - 1, tail[4] = { 0, size_class, HEADER + carved * BLOCK,
							  bytes - BLOCK };

	put_word(0, carved);
	put_word(8, 0);
	memcpy(memory + 32, tail, sizeof(tail));
}

/* The blocks are freed, the last one first, so that the list begins with the first. */
static void free_blocks(unsigned int from, unsigned int cnt)
{
	uint64_t head = 0, count;
	unsigned int i;

	memcpy(&head, memory + 8, sizeof(head));
	memcpy(&count, memory, sizeof(count));
	for (i = from + cnt; i-- > from;) {
		put_word(block_at(i), head);
		head = AT + block_at(i);
	}
	put_word(8, head);
	put_word(0, count - cnt);
}

static void make_object(unsigned int i, uint64_t type, uint64_t value)
{
	put_word(block_at(i), 1);
	put_word(block_at(i) + 8, type);
	put_word(block_at(i) + 16, 3);
	put_word(block_at(i) + 40, value);
}

/* A container with a head of the garbage collector, and four fields. */
static void make_container(unsigned int i, uint64_t type, const uint64_t fields[4])
{
	unsigned int f;

	put_word(block_at(i), AT + 0x1000);
	put_word(block_at(i) + 8, AT + 0x2000);
	put_word(block_at(i) + 16, 1);
	put_word(block_at(i) + 24, type);
	for (f = 0; f < 28; f++)
		put_word(block_at(i) + 32 + 8 * f, fields[f / 7]);
}

static void begin_at(uint64_t off)
{
	look(off, &first);
	page_content_begin(&first);
}

/* The places of the first page: the first one is the header, then one in each of the blocks. */
static void fill_objects(uint32_t bytes)
{
	unsigned int i;

	make_pool(bytes, 15);
	for (i = 0; i < 15; i++)
		make_object(i, TYPE, 100 + i);
}

static void objects_stay_or_go(uint32_t bytes)
{
	unsigned int i;

	fill_objects(bytes);
	begin_at(0);
	assert_int_equal(count_of(&first, PLACE_OBJECT), 15);
	for (i = 0; i < 15; i++)
		put_word(block_at(i), 7 + i);		/* more references */
	put_word(block_at(3) + 24, 12345);		/* its hash was needed */
	look(0, &now);
	expect_fate(15, 0, 0);
	make_object(0, TYPE, 77);			/* the same type, another value */
	make_object(1, TYPE + 64, 101);			/* another type */
	free_blocks(5, 3);
	look(0, &now);
	expect_fate(10, 2, 3);
	fill_objects(bytes);				/* as they were: but not the same ones */
	look(0, &now);
	expect_fate(10, 5, 0);
}

static void test_objects_in_pools_of_16_kib(void **state)
{
	(void)state;
	objects_stay_or_go(POOL);
}

static void test_objects_in_pools_of_4_kib(void **state)
{
	(void)state;
	objects_stay_or_go(PAGE);
}

static void test_containers_change_while_they_live(void **state)
{
	const uint64_t fields[] = { 1, 2, 3, 4 }, one[] = { 1, 2, 9, 8 }, three[] = { 1, 9, 8, 7 };

	(void)state;
	make_pool(POOL, 3);
	make_container(0, TYPE, fields);
	make_container(1, TYPE, fields);
	make_container(2, TYPE, fields);
	begin_at(0);
	assert_int_equal(count_of(&first, PLACE_CONTAINER), 3);
	make_container(0, TYPE, one);
	make_container(1, TYPE, three);
	make_container(2, TYPE + 64, fields);
	put_word(block_at(0), AT + 0x9000);	/* in another list of the collector */
	look(0, &now);
	expect_fate(1, 2, 0);
}

static void test_blocks_that_nobody_has_used_say_nothing(void **state)
{
	(void)state;
	fill_objects(POOL);
	make_pool(POOL, 8);
	free_blocks(7, 1);	/* the one that pymalloc has prepared */
	memset(memory + block_at(6), 0, BLOCK);	/* given, and nothing was written yet */
	begin_at(0);
	assert_int_equal(count_of(&first, PLACE_OBJECT), 6);
	assert_int_equal(page_content_given(&first), 6);
	fill_objects(POOL);
	look(0, &now);
	expect_fate(6, 0, 0);
}

static void test_free_blocks_beside_used_ones_say_nothing(void **state)
{
	(void)state;
	fill_objects(POOL);
	free_blocks(2, 4);
	begin_at(0);
	fill_objects(POOL);
	look(0, &now);
	expect_fate(11, 0, 0);
}

static void test_a_page_of_which_all_was_freed_at_once(void **state)
{
	(void)state;
	fill_objects(POOL);
	free_blocks(0, 14);	/* the last one is not prepared only, as it is not alone */
	free_blocks(14, 1);
	begin_at(0);
	assert_int_equal(count_of(&first, PLACE_FREE), 15);
	look(0, &now);
	expect_fate(0, 0, 15);
	fill_objects(POOL);
	look(0, &now);
	expect_fate(0, 15, 0);
}

static void test_a_page_in_the_middle_of_a_pool(void **state)
{
	unsigned int i;

	(void)state;
	make_pool(POOL, 60);
	for (i = 0; i < 60; i++)
		make_object(i, TYPE, i);
	begin_at(2 * PAGE);
	assert_int_equal(count_of(&first, PLACE_OBJECT), 16);
	missing = AT + PAGE;	/* the pool cannot be read */
	look(2 * PAGE, &now);
	assert_int_equal(count_of(&now, PLACE_UNKNOWN), 16);
	expect_fate(0, 0, 0);
}

static void test_a_free_list_that_is_a_circle(void **state)
{
	(void)state;
	fill_objects(POOL);
	free_blocks(2, 4);
	put_word(block_at(5), AT + block_at(3));
	look(0, &now);
	assert_int_equal(page_content_given(&now), 0);
}

/* ---- glibc ---- */

static uint64_t chunk_end;	/* where the next one begins */

static uint64_t add_chunk(uint64_t bytes)
{
	uint64_t at = chunk_end;

	put_word(at + 8, bytes | 1);	/* the previous one is in use */
	chunk_end += bytes;
	return at;
}

/* A heap of n chunks of this size in use, up to one of `large` bytes, and the rest of it. */
static uint64_t make_heap(unsigned int n, uint64_t bytes, uint64_t large)
{
	uint64_t at;

	memset(memory, 0, BYTES);
	area.heap = true;
	chunk_end = 0;
	while (n--)
		add_chunk(bytes);
	at = add_chunk(large);
	put_word(at + 16, 0x1111);
	add_chunk(BYTES - chunk_end);
	return at;
}

static void test_a_block_of_the_heap(void **state)
{
	uint64_t at = make_heap(40, 1040, 20016), page = (at + PAGE - 1) & ~(uint64_t)(PAGE - 1);

	(void)state;
	begin_at(page + PAGE);
	assert_int_equal(count_of(&first, PLACE_MALLOC), 16);
	look(page + PAGE, &now);
	expect_fate(16, 0, 0);
	/* realloc() has made it larger in its place. */
	make_heap(40, 1040, 40016);
	look(page + PAGE, &now);
	expect_fate(16, 0, 0);
	/* It was freed, and a larger one is there. */
	make_heap(40, 1040, 40016);
	put_word(at + 16, 0x2222);
	look(page + PAGE, &now);
	expect_fate(0, 16, 0);
}

static void test_blocks_of_other_sizes(void **state)
{
	uint64_t at = make_heap(40, 1040, 20016), page = (at + PAGE - 1) & ~(uint64_t)(PAGE - 1);

	(void)state;
	begin_at(page + PAGE);
	make_heap(38, 1040, 32016);
	look(page + PAGE, &now);
	expect_fate(0, 16, 0);
}

static void test_a_block_is_freed(void **state)
{
	uint64_t at = make_heap(40, 1040, 20016), page = (at + PAGE - 1) & ~(uint64_t)(PAGE - 1);

	(void)state;
	begin_at(page + PAGE);
	put_word(at + 20016, 20016);
	put_word(at + 20016 + 8, BYTES - at - 20016);	/* the previous one is not in use */
	look(page + PAGE, &now);
	expect_fate(0, 0, 16);
}

/* The rest of the heap: nobody has used the page of its head, but those behind it. */
static void test_the_rest_of_the_heap(void **state)
{
	uint64_t at = make_heap(40, 1040, 20016), page = (at + 20016) & ~(uint64_t)(PAGE - 1);

	(void)state;
	look(page, &now);
	assert_int_equal(count_of(&now, PLACE_FRESH) + count_of(&now, PLACE_MALLOC), 16);
	assert_true(count_of(&now, PLACE_FRESH) > 0 && count_of(&now, PLACE_MALLOC) > 0);
	look(page + 3 * PAGE, &now);
	assert_int_equal(count_of(&now, PLACE_FREE), 16);
}

/* So large that no other chunk begins in the memory before the page. */
static void test_a_large_block_of_the_heap(void **state)
{
	uint64_t at = make_heap(10, 1040, 1000016);

	(void)state;
	area.start = AT + 0x1000;	/* not where chunks begin */
	begin_at((at + 900000) & ~(uint64_t)(PAGE - 1));
	assert_int_equal(count_of(&first, PLACE_MALLOC), 16);
	/* By what is remembered of the block. */
	look((at + 950000) & ~(uint64_t)(PAGE - 1), &now);
	assert_int_equal(count_of(&now, PLACE_MALLOC), 16);
	missing = AT + PAGE * 3;	/* remembered, but not there any more */
	look((at + 950000) & ~(uint64_t)(PAGE - 1), &now);
	assert_int_equal(count_of(&now, PLACE_MALLOC), 16);
}

static void test_blocks_of_their_own_mappings(void **state)
{
	unsigned int i;

	(void)state;
	put_word(8, 0x41000 | 2);
	put_word(0x41000 + 8, (0x82000 - 16) | 2);	/* as glibc 2.43 has it */
	for (i = 0; i < 4; i++) {
		look(i * 0x20000, &now);
		assert_int_equal(count_of(&now, PLACE_MALLOC), 16);
	}
	begin_at(0x50000);
	look(0x50000, &now);
	expect_fate(16, 0, 0);
	put_word(0x41000 + 8, 0x92000 | 2);	/* another one, of the same beginning */
	look(0x50000, &now);
	expect_fate(0, 16, 0);
	/* Behind memory that is none: found from behind. */
	put_word(8, 0);
	look(0x50000, &now);
	assert_int_equal(count_of(&now, PLACE_MALLOC), 16);
}

/* ---- memory that is nothing, or hostile ---- */

static void test_memory_of_nobody(void **state)
{
	(void)state;
	memset(memory, 'x', BYTES);
	look(BYTES / 2, &now);
	assert_int_equal(count_of(&now, PLACE_UNKNOWN), 16);
	memset(memory, 0, BYTES);
	look(BYTES / 2, &now);
	assert_int_equal(count_of(&now, PLACE_UNKNOWN), 16);
	area = (struct page_area){ AT + PAGE, AT + 2 * PAGE, true };
	look(5 * PAGE, &now);
	assert_int_equal(count_of(&now, PLACE_UNKNOWN), 16);
}

/* Small numbers everywhere: sizes, flags and offsets that fit by chance. */
static void test_random_memory(void **state)
{
	static const uint64_t masks[] = { UINT64_MAX, 0xffff, 0x3ff, 0x71 };
	unsigned int round;
	uint64_t i;

	(void)state;
	srandom(1);
	for (round = 0; round < 24; round++) {
		for (i = 0; i < BYTES; i += 8)
			put_word(i, ((uint64_t)random() << 31 ^ (uint64_t)random()) &
				    masks[round % 4]);
		missing = round & 4 ? AT + (uint64_t)random() % BYTES / PAGE * PAGE : 0;
		area.heap = round & 8;
		i = (uint64_t)random() % BYTES / PAGE * PAGE;
		begin_at(i);
		look(i, &now);
		page_content_compare(&first, &now);
	}
}

/* ---- this process ---- */

static void test_memory_of_a_process(void **state)
{
	struct page_content c[3];
	uint8_t *at = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t addrs[3] = { (uintptr_t)at, (uintptr_t)at + PAGE,
			      (uintptr_t)test_memory_of_a_process & ~(uint64_t)(PAGE - 1) };
	uint32_t tail[4] = { 0, 15, HEADER + 15 * BLOCK, PAGE - BLOCK };
	uint64_t count = 15, i;

	(void)state;
	assert_true(at != MAP_FAILED && fd >= 0);
	if (sysconf(_SC_PAGESIZE) != PAGE || addrs[2] < addrs[1])
		addrs[2] = addrs[1];
	memcpy(at, &count, sizeof(count));
	memcpy(at + 32, tail, sizeof(tail));
	for (i = 0; i < 15; i++)
		at[block_at((unsigned int)i)] = 1;
	assert_int_equal(page_look(getpid(), fd, PAGE, addrs, 3, true, c), 0);
	if (sysconf(_SC_PAGESIZE) == PAGE)
		assert_int_equal(page_content_given(&c[0]), 15);
	/* A page that was not touched is not read: that would bring it. */
	assert_int_equal(page_content_given(&c[1]), 0);
	assert_int_equal(page_content_given(&c[2]), 0);
	close(fd);
	munmap(at, 8 * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_objects_in_pools_of_16_kib),
		TEST(test_objects_in_pools_of_4_kib),
		TEST(test_containers_change_while_they_live),
		TEST(test_blocks_that_nobody_has_used_say_nothing),
		TEST(test_free_blocks_beside_used_ones_say_nothing),
		TEST(test_a_page_of_which_all_was_freed_at_once),
		TEST(test_a_page_in_the_middle_of_a_pool),
		TEST(test_a_free_list_that_is_a_circle),
		TEST(test_a_block_of_the_heap),
		TEST(test_blocks_of_other_sizes),
		TEST(test_a_block_is_freed),
		TEST(test_the_rest_of_the_heap),
		TEST(test_a_large_block_of_the_heap),
		TEST(test_blocks_of_their_own_mappings),
		TEST(test_memory_of_nobody),
		TEST(test_random_memory),
		TEST(test_memory_of_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
