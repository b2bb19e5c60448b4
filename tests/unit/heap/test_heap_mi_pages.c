// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_heap_mi_pages.c - the pages of mimalloc as units of a census: this process is the one that
 * is read, with segments made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap/units.h"
#include "tests/unit/cpython/fake_mimalloc.h"

#define SECOND_NS 1000000000ull
#define SIZE MIMALLOC_SEGMENT_BYTES

static struct fake_segment f;
static struct heap_mem m;
static struct heap_map map;
static const struct heap_maps maps = { .list = &map, .cnt = 1 };
static struct heap_units units;
static struct heap_blocks b;
static struct heap_target target;

/* Memory of this process for so many segments; only what is written is there. */
static void make_room(size_t segments)
{
	void *at = mmap((void *)FAKE_SEGMENT, segments * SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(at, (void *)FAKE_SEGMENT);
	assert_int_equal(heap_mem_open(&m, getpid(), 1u << 30, 60 * SECOND_NS), 0);
	map = (struct heap_map){ FAKE_SEGMENT, FAKE_SEGMENT + segments * SIZE };
	units = (struct heap_units){ .cnt = 0 };
	target = (struct heap_target){ .tgid = getpid(), .minor = 13, .free_threaded = true };
}

static void end(size_t segments)
{
	heap_units_free(&units);
	heap_mem_close(&m);
	munmap((void *)FAKE_SEGMENT, segments * SIZE);
}

/* Put the segment f, which was made for FAKE_SEGMENT, at the place of this number. */
static void put(size_t number, size_t bytes)
{
	uint64_t addr = FAKE_SEGMENT + number * SIZE;

	fake_put(&f, f.l->cookie, addr ^ FAKE_KEY, 8);
	memcpy((void *)addr, f.bytes, bytes);
}

static void find(void)
{
	uint64_t seed = 1;

	heap_units_free(&units);
	assert_int_equal(heap_mimalloc.find(&m, &maps, &target, &seed, &units), 0);
}

static const struct heap_unit *unit_at(uint64_t slice)
{
	size_t i;

	for (i = 0; i < units.cnt; i++)
		if (units.list[i].addr == FAKE_SEGMENT + slice * MIMALLOC_SLICE_BYTES)
			return &units.list[i];
	return NULL;
}

static int read_unit(uint64_t slice)
{
	const struct heap_unit *u = unit_at(slice);

	assert_non_null(u);
	return heap_mimalloc.read(&m, &target, u, &b);
}

static bool in_use(uint32_t i)
{
	return b.used[i / 64] >> i % 64 & 1;
}

static void test_units_and_blocks(void **state)
{
	make_room(3);
	for (size_t i = 0; i < FAKE_LAYOUTS; i++) {
		bool ft = fake_layouts[i].free_threaded;

		target.free_threaded = ft;
		fake_segment_make(&f, &fake_layouts[i], 0);
		fake_page_make(&f, f.info, 1, 48, 100, ft ? MIMALLOC_GC_PRE : 0);
		fake_page_make(&f, f.info + 1, 8, 20480, 20, ft ? MIMALLOC_OBJECT : 0);
		fake_page_make(&f, f.info + 9, 1, 512, 30, 0);
		fake_free(&f, f.info, 48, 7, 16);
		fake_free(&f, f.info + 9, 512, 29, f.l->local_free);
		put(0, sizeof(f.bytes));
		find();
		assert_int_equal(units.cnt, 3);
		assert_int_equal(units.granule, MIMALLOC_SLICE_BYTES);
		assert_true(units.scale == 1);
		assert_int_equal(unit_at(f.info)->used, 99 * 48);
		assert_int_equal(unit_at(f.info + 1)->bytes, 8 * MIMALLOC_SLICE_BYTES);
		assert_int_equal(read_unit(f.info), 0);
		assert_int_equal(b.addr, FAKE_SEGMENT + fake_block(&f, f.info, 48, 0));
		assert_true(b.cnt == 100 && b.block == 48 && b.look == 48 && !b.raw);
		assert_true(in_use(6) && !in_use(7) && in_use(99));
		assert_int_equal(b.before, ft ? 16 : HEAP_BEFORE_UNKNOWN);
		assert_int_equal(read_unit(f.info + 1), 0);
		assert_true(b.cnt == 20 && b.block == 20480 && b.look == 1024 && !b.raw);
		assert_int_equal(b.before, ft ? 0 : HEAP_BEFORE_UNKNOWN);
		assert_int_equal(read_unit(f.info + 9), 0);
		assert_true(b.cnt == 30 && b.block == 512 && b.raw == ft && in_use(28));
		assert_false(in_use(29));
	}
	end(3);
}

static void test_strata_separate_sizes_and_heaps(void **state)
{
	static const uint64_t sizes[] = { 8, 16, 64, 80, 96, 128, 320, 512, 640, 1024, 2048, 8192 };
	bool seen[HEAP_STRATA] = { false };
	uint32_t slice;

	make_room(1);
	fake_segment_make(&f, &fake_layouts[0], 0);
	for (size_t i = 0; i < 12; i++)
		for (uint8_t tag = 0; tag < MIMALLOC_TAGS; tag++)
			fake_page_make(&f, 1 + i * 4 + tag, 1, sizes[i], 2, tag);
	/* Blocks of their own, from 1 MiB on of one stratum. */
	fake_page_make(&f, 49, 5, 5 << 16, 1, MIMALLOC_OBJECT);
	fake_page_make(&f, 54, 32, 32 << 16, 1, MIMALLOC_OBJECT);
	fake_page_make(&f, 86, 200, 200 << 16, 1, MIMALLOC_OBJECT);
	put(0, sizeof(f.bytes));
	find();
	assert_int_equal(units.cnt, 51);
	for (slice = 1; slice <= 54; slice += slice < 49 ? 1 : 5) {
		const struct heap_unit *u = unit_at(slice);

		assert_true(u->stratum < HEAP_STRATA);
		/* 640 and 1024 are of one: a step for each doubling. */
		if (slice >= 37 && slice <= 40)
			assert_true(seen[u->stratum]);
		else
			assert_false(seen[u->stratum]);
		seen[u->stratum] = true;
	}
	assert_int_equal(unit_at(54)->stratum, unit_at(86)->stratum);
	end(1);
}

/* A large block of memory without objects is known from its page's description. */
static void test_known_pages(void **state)
{
	make_room(1);
	for (size_t i = 0; i < FAKE_LAYOUTS; i++) {
		bool ft = fake_layouts[i].free_threaded;

		target.free_threaded = ft;
		fake_segment_make(&f, &fake_layouts[i], 0);
		fake_page_make(&f, f.info, 5, 5 << 16, 1, MIMALLOC_MEM);
		fake_page_make(&f, f.info + 5, 5, 5 << 16, 1, ft ? MIMALLOC_OBJECT : 0);
		/* Freed, and not yet given back. */
		fake_page_make(&f, f.info + 10, 5, 5 << 16, 1, MIMALLOC_MEM);
		fake_put(&f, fake_page(&f, f.info + 10) + f.l->page_used, 0, 2);
		fake_page_make(&f, f.info + 15, 8, 20480, 20, MIMALLOC_MEM);
		put(0, sizeof(f.bytes));
		find();
		assert_int_equal(units.cnt, 4);
		assert_int_equal(unit_at(f.info)->stratum == HEAP_KNOWN, ft);
		assert_int_equal(unit_at(f.info)->used, 5 << 16);
		for (uint32_t at = 5; at <= 15; at += 5)
			assert_true(unit_at(f.info + at)->stratum < HEAP_WINDOWS);
	}
	end(1);
}

/* A huge segment hides what looks like another one inside it. */
static void test_segments_side_by_side(void **state)
{
	make_room(5);
	fake_segment_make(&f, &fake_layouts[4], 0);
	fake_page_make(&f, f.info, 1, 64, 5, MIMALLOC_GC);
	put(0, sizeof(f.bytes));
	put(2, sizeof(f.bytes));
	find();
	/* page_start is wrong in the copy at another place. */
	assert_int_equal(units.cnt, 1);
	assert_int_equal(units.bad, 1);
	fake_segment_make(&f, &fake_layouts[0], 0);
	fake_page_make(&f, f.info, 1, 64, 5, MIMALLOC_GC);
	put(0, sizeof(f.bytes));
	put(2, sizeof(f.bytes));
	put(4, sizeof(f.bytes));
	find();
	assert_int_equal(units.cnt, 3);
	fake_segment_make(&f, &fake_layouts[0], 600);
	fake_page_make(&f, f.info, 599, 599ull << 16, 1, MIMALLOC_OBJECT);
	put(1, sizeof(f.bytes));
	find();
	assert_int_equal(units.cnt, 3);
	assert_non_null(unit_at(512 + 1));
	assert_int_equal(unit_at(512 + 1)->bytes, 599ull << 16);
	assert_null(unit_at(1024 + 1));
	assert_int_equal(read_unit(512 + 1), 0);
	assert_true(b.cnt == 1 && b.block == 599ull << 16 && in_use(0));
	end(5);
}

/* Segments of one process have one key. */
static void test_a_forged_segment(void **state)
{
	make_room(2);
	fake_segment_make(&f, &fake_layouts[0], 0);
	fake_page_make(&f, f.info, 1, 64, 5, MIMALLOC_GC);
	put(0, sizeof(f.bytes));
	put(1, sizeof(f.bytes));
	*(uint64_t *)(FAKE_SEGMENT + SIZE + f.l->cookie) ^= 2;
	find();
	assert_int_equal(units.cnt, 1);
	assert_int_equal(units.bad, 1);
	end(2);
}

static void test_a_page_that_went(void **state)
{
	make_room(1);
	fake_segment_make(&f, &fake_layouts[0], 0);
	fake_page_make(&f, f.info, 1, 64, 5, MIMALLOC_GC);
	put(0, sizeof(f.bytes));
	find();
	memset((void *)(FAKE_SEGMENT + fake_page(&f, f.info)), 0, f.l->page);
	assert_int_equal(read_unit(f.info), -EBADMSG);
	/* A list that leads nowhere. */
	put(0, sizeof(f.bytes));
	*(uint64_t *)(FAKE_SEGMENT + fake_page(&f, f.info) + 16) = 8;
	assert_int_equal(read_unit(f.info), -EBADMSG);
	munmap((void *)FAKE_SEGMENT, SIZE);
	assert_int_equal(read_unit(f.info), -EFAULT);
	end(1);
}

static void test_no_mimalloc(void **state)
{
	make_room(4);
	memset((void *)(FAKE_SEGMENT + SIZE), 0xff, MIMALLOC_HEADER_BYTES);
	memset((void *)(FAKE_SEGMENT + 2 * SIZE), 1, MIMALLOC_HEADER_BYTES);
	find();
	assert_int_equal(units.cnt, 0);
	/* Nothing was read of what is not in memory. */
	assert_int_equal(m.bytes_read, 2 * 1024);
	end(4);
}

/* What is reserved and never used costs no reads; and there is an end to it. */
static void test_endless_mappings(void **state)
{
	make_room(1);
	fake_segment_make(&f, &fake_layouts[0], 0);
	fake_page_make(&f, f.info, 1, 64, 5, MIMALLOC_GC);
	put(0, sizeof(f.bytes));
	map.end = map.start + (1ull << 40);
	find();
	assert_int_equal(units.cnt, 1);
	assert_int_equal(m.bytes_read, 1024 + MIMALLOC_HEADER_BYTES);
	map.end += 4096;
	find();
	assert_int_equal(units.cnt, 0);
	end(1);
}

/* Of more pages than can be kept, a random half. */
static void test_many_pages(void **state)
{
	const size_t segments = HEAP_UNITS_MAX / 500 + 30;
	uint64_t halves[2] = { 0 };

	make_room(segments);
	fake_segment_make(&f, &fake_layouts[0], 0);
	for (uint32_t i = 0; i < 511; i++)
		fake_page_make(&f, 1 + i, 1, 64, 5, MIMALLOC_GC);
	fake_page_make(&f, 500, 12, 12 << 16, 1, MIMALLOC_MEM);
	for (size_t i = 0; i < segments; i++)
		put(i, MIMALLOC_HEADER_BYTES);
	find();
	assert_true(units.scale == 2);
	/* Not all are there: those without objects are sampled, too. */
	for (size_t i = 0; i < units.cnt; i++)
		assert_true(units.list[i].stratum < HEAP_WINDOWS);
	/* 1,000 is three standard deviations of the number of pages that are kept. */
	assert_in_range(units.cnt, segments * 500 / 2 - 1000, segments * 500 / 2 + 1000);
	for (size_t i = 0; i < units.cnt; i++)
		halves[units.list[i].addr >= FAKE_SEGMENT + segments / 2 * SIZE]++;
	assert_in_range(halves[0], halves[1] - 2000, halves[1] + 2000);
	end(segments);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units_and_blocks),
		cmocka_unit_test(test_strata_separate_sizes_and_heaps),
		cmocka_unit_test(test_known_pages),
		cmocka_unit_test(test_segments_side_by_side),
		cmocka_unit_test(test_a_forged_segment),
		cmocka_unit_test(test_a_page_that_went),
		cmocka_unit_test(test_no_mimalloc),
		cmocka_unit_test(test_endless_mappings),
		cmocka_unit_test(test_many_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
