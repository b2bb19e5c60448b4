// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_cpython_mimalloc.c - pages and blocks of mimalloc's segments, of each version and build, and
 * of hostile ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/cpython/fake_mimalloc.h"

#define HEAD_BYTES 256
#define EACH_LAYOUT(l) \
	for (const struct fake_layout *l = fake_layouts; l < fake_layouts + FAKE_LAYOUTS; l++)

static struct fake_segment f;
static struct mimalloc_segment s;
static struct mimalloc_blocks b;
static int found;
static uint8_t buf[MIMALLOC_SLICE_BYTES];
static const struct target_mem mem = { fake_segment_read, &f };

/* Returns true if it is a segment; s has its pages. */
static bool parse(void)
{
	found = mimalloc_layout_find(f.bytes, MIMALLOC_HEADER_BYTES, FAKE_SEGMENT,
				     f.l->free_threaded);
	return found >= 0 &&
	       !mimalloc_segment_read(found, f.bytes, MIMALLOC_HEADER_BYTES, FAKE_SEGMENT, &s);
}

static int read_blocks(uint32_t page)
{
	return mimalloc_page_read(&mem, found, &s.pages[page], buf, HEAD_BYTES, &b);
}

/* One page of 100 blocks of 48 bytes. */
static void make(const struct fake_layout *l)
{
	fake_segment_make(&f, l, 0);
	fake_page_make(&f, f.info, 1, 48, 100, l->free_threaded ? MIMALLOC_GC : 0);
}

static void test_pages_of_each_layout(void **state)
{
	EACH_LAYOUT(l) {
		uint8_t tag = l->free_threaded ? MIMALLOC_GC_PRE : 0;

		make(l);
		fake_page_make(&f, f.info + 1, 1, 1024, 60, 0);
		fake_page_make(&f, f.info + 2, 8, 16384, 20, tag);
		fake_page_make(&f, f.info + 10, 5, 5 * 65536, 1, 0);
		assert_true(parse());
		assert_int_equal(s.page_cnt, 4);
		assert_int_equal(s.bad_pages, 0);
		assert_true(s.key == FAKE_KEY && s.bytes == MIMALLOC_SEGMENT_BYTES && !s.abandoned);
		assert_int_equal(s.pages[0].start, FAKE_SEGMENT + fake_block(&f, f.info, 48, 0));
		assert_int_equal(s.pages[0].block_bytes, 48);
		assert_int_equal(s.pages[0].tag, l->free_threaded ? MIMALLOC_GC : 0);
		assert_int_equal(s.pages[1].capacity, 60);
		assert_int_equal(s.pages[2].tag, tag);
		assert_int_equal(s.pages[2].bytes, 8 * MIMALLOC_SLICE_BYTES);
		assert_int_equal(s.pages[3].block_bytes, 5 * 65536);
	}
}

static void test_blocks_in_use(void **state)
{
	EACH_LAYOUT(l) {
		make(l);
		memset(f.bytes + fake_block(&f, f.info, 48, 0), 'x', 100 * 48);
		fake_free(&f, f.info, 48, 99, 16);
		fake_free(&f, f.info, 48, 3, 16);
		fake_free(&f, f.info, 48, 40, l->local_free);
		fake_free(&f, f.info, 48, 0, l->local_free);
		fake_free(&f, f.info, 48, 77, l->thread_free);
		fake_free(&f, f.info, 48, 78, l->thread_free);
		assert_true(parse());
		assert_int_equal(read_blocks(0), 0);
		assert_int_equal(b.cnt, 100);
		assert_int_equal(b.used, 94);
		/* mimalloc counts what other threads have freed as used. */
		assert_int_equal(s.pages[0].used, 96);
		for (uint32_t i = 0; i < 100; i++)
			assert_int_equal(mimalloc_in_use(&b, i), i != 99 && i != 3 && i != 40 &&
					 i && i != 77 && i != 78);
		assert_int_equal(b.stride, 48);
		assert_memory_equal(buf + 50 * b.stride, "xxxxxxxx", 8);
	}
}

/* Of pages of more than a slice, only heads are read. */
static void test_larger_blocks(void **state)
{
	EACH_LAYOUT(l) {
		make(l);
		fake_page_make(&f, f.info + 1, 8, 20480, 20, 0);
		fake_page_make(&f, f.info + 9, 12, 12 * 65536, 1, 0);
		fake_put(&f, fake_block(&f, f.info + 1, 20480, 19), 0x77, 8);
		fake_put(&f, fake_block(&f, f.info + 9, 12 * 65536, 0) + 248, 0x88, 8);
		fake_free(&f, f.info + 1, 20480, 5, 16);
		fake_free(&f, f.info + 1, 20480, 6, l->thread_free);
		assert_true(parse());
		assert_int_equal(read_blocks(1), 0);
		assert_int_equal(b.used, 18);
		assert_int_equal(b.len, HEAD_BYTES);
		assert_int_equal(buf[19 * b.stride], 0x77);
		assert_int_equal(read_blocks(2), 0);
		assert_int_equal(b.used, 1);
		assert_int_equal(buf[248], 0x88);
	}
}

static void test_a_huge_block(void **state)
{
	/* 2.1 has the size of blocks of 2 GiB and more from the slices. */
	static const uint64_t slices[] = { 300, 600, 0x10000 };

	EACH_LAYOUT(l) {
		for (size_t i = 0; i < 3; i++) {
			uint64_t bytes, at;

			fake_segment_make(&f, l, slices[i]);
			bytes = (slices[i] - f.info) * MIMALLOC_SLICE_BYTES;
			fake_page_make(&f, f.info, slices[i] - f.info, bytes, 1, 0);
			at = fake_page(&f, f.info) + l->size;
			if (l->size_len == 4 && bytes >= 1ull << 31)
				fake_put(&f, at, 1ull << 31, 4);
			assert_true(parse());
			assert_int_equal(s.bytes, slices[i] * MIMALLOC_SLICE_BYTES);
			assert_int_equal(s.page_cnt, 1);
			assert_int_equal(s.pages[0].block_bytes, bytes);
			assert_int_equal(read_blocks(0), 0);
			assert_int_equal(b.used, 1);
			/* Freed: the slices are marked. */
			fake_put(&f, at, 0, l->size_len);
			assert_false(parse());
		}
	}
}

static void test_an_abandoned_segment(void **state)
{
	EACH_LAYOUT(l) {
		make(l);
		fake_put(&f, l->thread, 0, 8);
		assert_true(parse());
		assert_true(s.abandoned);
		assert_int_equal(read_blocks(0), 0);
		assert_int_equal(b.used, 100);
	}
}

/* Each field of a segment's header, made wrong. */
static void test_no_segment(void **state)
{
	EACH_LAYOUT(l) {
		const struct { uint64_t off, value, len; } wrong[] = {
			{ 20, 7, 4 }, { 32, 1ull << 60, 8 }, { l->used, 513, 8 },
			{ l->slices_cnt, 511, 8 }, { l->slices_cnt, 1ull << 60, 8 },
			{ l->info, 0, 8 }, { l->info, 3, 8 }, { l->info, 1ull << 32 | 1, 8 },
			{ l->kind, 2, 4 }, { l->entries, 511, 8 }, { l->entries, UINT64_MAX, 8 },
			{ l->slices, 7, 4 }, { l->slices + 4, 8, 4 }, { l->slices + l->size, 3, 4 },
		};

		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			make(l);
			assert_true(parse());
			fake_put(&f, wrong[i].off, wrong[i].value, wrong[i].len);
			assert_false(parse());
		}
		make(l);
		assert_int_equal(mimalloc_layout_find(f.bytes, MIMALLOC_HEADER_BYTES,
						      FAKE_SEGMENT + 4096, l->free_threaded),
				 -ENOENT);
		assert_int_equal(mimalloc_layout_find(f.bytes, 64, FAKE_SEGMENT,
						      l->free_threaded), -ENOENT);
		assert_int_equal(mimalloc_layout_find(f.bytes, l->slices, FAKE_SEGMENT,
						      l->free_threaded), -ENOENT);
		memset(f.bytes, 0xff, MIMALLOC_HEADER_BYTES);
		assert_false(parse());
		memset(f.bytes, 0, MIMALLOC_HEADER_BYTES);
		assert_false(parse());
		assert_int_equal(mimalloc_segment_read(-1, f.bytes, MIMALLOC_HEADER_BYTES,
						       FAKE_SEGMENT, &s), -ENOENT);
		assert_int_equal(mimalloc_segment_read(8, f.bytes, MIMALLOC_HEADER_BYTES,
						       FAKE_SEGMENT, &s), -ENOENT);
	}
}

/* A page by the address of any of its blocks, if it has only one slice. */
static void test_a_page_by_its_address(void **state)
{
	struct mimalloc_page p;

	EACH_LAYOUT(l) {
		make(l);
		fake_page_make(&f, f.info + 1, 8, 16384, 20, 0);
		assert_true(parse());
		assert_int_equal(mimalloc_page_at(&mem, found, s.pages[0].start + 480, &p), 0);
		assert_memory_equal(&p, &s.pages[0], sizeof(p));
		assert_int_equal(mimalloc_page_at(&mem, found, s.pages[1].addr, &p), 0);
		assert_memory_equal(&p, &s.pages[1], sizeof(p));
		assert_int_equal(mimalloc_page_at(&mem, found, s.pages[1].addr + 65536, &p),
				 -ENOENT);
		assert_int_equal(mimalloc_page_at(&mem, found, FAKE_SEGMENT - 1, &p), -EFAULT);
		assert_int_equal(mimalloc_page_at(&mem, 99, s.pages[0].addr, &p), -ENOENT);
	}
}

/* Each field of a page, made wrong: the page is left out and counted, the others are not. */
static void test_pages_that_do_not_fit(void **state)
{
	EACH_LAYOUT(l) {
		const struct { uint64_t off, value, len; } wrong[] = {
			{ 10, 65535, 2 }, { 12, 65535, 2 }, { 12, 0, 2 },
			{ l->page_used, 101, 2 },
			{ l->size, 3, l->size_len }, { l->size, 44, l->size_len },
			{ l->size, 0xfffffff8, 4 }, { l->size, 65536 + 8, l->size_len },
			{ l->tag, 0xff, 1 },
			{ l->tag, (l->free_threaded ? 4u : 1u) << l->tag_shift, 1 },
		};

		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			make(l);
			fake_page_make(&f, f.info + 1, 1, 64, 7, 0);
			fake_page_make(&f, f.info + 2, 1, 80, 8, 0);
			assert_true(parse());
			fake_put(&f, fake_page(&f, f.info) + wrong[i].off, wrong[i].value,
				 wrong[i].len);
			assert_true(parse());
			assert_int_equal(s.page_cnt, 2);
			assert_int_equal(s.bad_pages, 1);
			assert_int_equal(s.pages[0].capacity, 7);
		}
	}
}

static void test_a_start_elsewhere(void **state)
{
	static const uint64_t starts[] = { 0, FAKE_SEGMENT, UINT64_MAX, FAKE_SEGMENT + (2 << 16),
					   FAKE_SEGMENT + (4 << 16) };

	EACH_LAYOUT(l) {
		for (size_t i = 0; l->start && i < 5; i++) {
			make(l);
			fake_page_make(&f, f.info + 1, 1, 64, 7, 0);
			fake_page_make(&f, f.info + 2, 1, 64, 7, 0);
			fake_put(&f, fake_page(&f, f.info) + l->start, starts[i] + 4, 8);
			assert_true(parse());
			assert_int_equal(s.page_cnt, 2);
		}
	}
}

static void test_slices_that_lead_nowhere(void **state)
{
	static const uint64_t counts[] = { 0, 512, UINT32_MAX };

	EACH_LAYOUT(l) {
		for (size_t i = 0; i < 3; i++) {
			make(l);
			fake_page_make(&f, f.info + 1, 1, 64, 7, 0);
			fake_page_make(&f, f.info + 2, 1, 64, 7, 0);
			assert_true(parse());
			fake_put(&f, fake_page(&f, f.info), counts[i], 4);
			/* The layout is known from another segment. */
			assert_int_equal(mimalloc_segment_read(found, f.bytes,
							       MIMALLOC_HEADER_BYTES,
							       FAKE_SEGMENT, &s), 0);
			assert_int_equal(s.page_cnt, 2);
			assert_int_equal(s.bad_pages, 1);
		}
	}
}

/* Nothing is read beyond the header's copy. */
static void test_a_short_header(void **state)
{
	static uint8_t copy[2 * 128 + 288];

	EACH_LAYOUT(l) {
		size_t len = fake_page(&f, 2);

		make(l);
		assert_true(parse());
		len = fake_page(&f, f.info);
		assert_true(len <= sizeof(copy));
		memcpy(copy + sizeof(copy) - len, f.bytes, len);
		assert_int_equal(mimalloc_segment_read(found, copy + sizeof(copy) - len, len,
						       FAKE_SEGMENT, &s), 0);
		assert_int_equal(s.page_cnt, 0);
	}
}

/* The word of a free block, or the head of a list, made wrong. */
static void test_lists_that_do_not_fit(void **state)
{
	EACH_LAYOUT(l) {
		const uint16_t lists[] = { 16, l->local_free, l->thread_free };
		uint64_t block, wrong[7];

		for (size_t i = 0; i < 7 * 3 * 2; i++) {
			uint16_t list = lists[i % 3];

			make(l);
			fake_free(&f, f.info, 48, 10, list);
			fake_free(&f, f.info, 48, 20, list);
			block = FAKE_SEGMENT + fake_block(&f, f.info, 48, 0);
			wrong[0] = block + 20 * 48;		/* itself */
			wrong[1] = block + 20 * 48 + 8;		/* within a block */
			wrong[2] = block + 100 * 48;		/* beyond the capacity */
			wrong[3] = block - 48;
			wrong[4] = 8;
			wrong[5] = 1ull << 63;
			wrong[6] = UINT64_MAX & ~7ull;
			if (i < 21)
				fake_put(&f, fake_block(&f, f.info, 48, 20),
					 fake_encode(&f, fake_page(&f, f.info), wrong[i / 3]), 8);
			else if (i / 3 != 7)
				fake_put(&f, fake_page(&f, f.info) + list, wrong[i / 3 - 7], 8);
			else
				continue;
			assert_true(parse());
			assert_int_equal(read_blocks(0), -EAGAIN);
		}
	}
}

/* The process takes a block while the page is read: the two descriptions differ. */
static void pop(struct fake_segment *fake)
{
	uint64_t page = fake_page(fake, fake->info);

	/* 20 is in use now, and has an object; 10 is the first free one. */
	fake_put(fake, page + 16, FAKE_SEGMENT + fake_block(fake, fake->info, 48, 10), 8);
	fake_put(fake, fake_block(fake, fake->info, 48, 20), 0x4141414141414141, 8);
}

/* It frees one. */
static void push(struct fake_segment *fake)
{
	fake_free(fake, fake->info, 48, 50, fake->l->local_free);
}

static void grow(struct fake_segment *fake)
{
	fake_put(fake, fake_page(fake, fake->info) + 10, 110, 2);
}

static void end(struct fake_segment *fake)
{
	fake_put(fake, fake_page(fake, fake->info) + fake->l->size, 0, fake->l->size_len);
}

static void use_otherwise(struct fake_segment *fake)
{
	fake_page_make(fake, fake->info, 1, 64, 7, 0);
}

static void test_pages_that_change(void **state)
{
	static const struct {
		void (*change)(struct fake_segment *f);
		unsigned int after;	/* reads: of its description, of its blocks */
		int want;
		uint32_t used;
	} cases[] = {
		{ pop, 1, 0, 98 }, { pop, 2, 0, 98 }, { push, 1, 0, 97 }, { push, 2, 0, 97 },
		{ grow, 1, -EAGAIN, 0 }, { grow, 2, -EAGAIN, 0 },
		{ end, 1, -ENOENT, 0 }, { end, 2, -ENOENT, 0 },
		{ use_otherwise, 1, -ENOENT, 0 }, { use_otherwise, 2, -ENOENT, 0 },
	};

	EACH_LAYOUT(l) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			make(l);
			fake_free(&f, f.info, 48, 10, 16);
			fake_free(&f, f.info, 48, 20, 16);
			fake_free(&f, f.info, 48, 30, l->local_free);
			assert_true(parse());
			f.change = cases[i].change;
			f.change_at = cases[i].after;
			assert_int_equal(read_blocks(0), cases[i].want);
			if (!cases[i].want)
				assert_int_equal(b.used, cases[i].used);
			f.change = NULL;
		}
	}
}

static void test_what_cannot_be_read(void **state)
{
	EACH_LAYOUT(l) {
		make(l);
		fake_page_make(&f, FAKE_SLICES, 1, 64, 7, 0);
		fake_page_make(&f, FAKE_SLICES + 1, 8, 16384, 7, 0);
		fake_span(&f, f.info + 1, FAKE_SLICES - f.info - 1, 0);
		assert_true(parse());
		assert_int_equal(s.page_cnt, 3);
		assert_int_equal(read_blocks(1), -EFAULT);
		assert_int_equal(read_blocks(2), -EFAULT);
		assert_int_equal(read_blocks(0), 0);
	}
}

static void test_bytes_of_blocks(void **state)
{
	static const uint64_t sizes[][2] = {
		{ 0, 8 }, { 1, 8 }, { 8, 8 }, { 57, 64 }, { 64, 64 }, { 65, 80 }, { 81, 96 },
		{ 128, 128 }, { 129, 160 }, { 512, 512 }, { 513, 640 }, { 1000, 1024 },
		{ 1025, 1280 }, { 100000, 114688 }, { 131073, 196608 }, { 40000000, 40042496 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_int_equal(mimalloc_block_bytes(sizes[i][0]), sizes[i][1]);
	assert_true(mimalloc_block_bytes(UINT64_MAX) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_of_each_layout),
		cmocka_unit_test(test_blocks_in_use),
		cmocka_unit_test(test_larger_blocks),
		cmocka_unit_test(test_a_huge_block),
		cmocka_unit_test(test_an_abandoned_segment),
		cmocka_unit_test(test_no_segment),
		cmocka_unit_test(test_a_page_by_its_address),
		cmocka_unit_test(test_pages_that_do_not_fit),
		cmocka_unit_test(test_a_start_elsewhere),
		cmocka_unit_test(test_slices_that_lead_nowhere),
		cmocka_unit_test(test_a_short_header),
		cmocka_unit_test(test_lists_that_do_not_fit),
		cmocka_unit_test(test_pages_that_change),
		cmocka_unit_test(test_what_cannot_be_read),
		cmocka_unit_test(test_bytes_of_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
