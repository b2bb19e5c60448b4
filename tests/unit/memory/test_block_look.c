// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_block_look.c - what glibc's and musl's words say of a block, in images of their memory:
 * tests have another allocator under a sanitizer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "memory/block_look.h"

#define BASE 0x55d012340000ull
#define WORDS 8192u
#define IN_USE 1u		/* of the chunk before: PREV_INUSE */

static uint64_t memory[WORDS];

static int read_image(void *ctx, uint64_t addr, void *buf, size_t len)
{
	if (addr < BASE || addr - BASE > sizeof(memory) - len)
		return -EFAULT;
	memcpy(buf, (const char *)memory + (addr - BASE), len);
	return 0;
}

static const struct target_mem mem = { read_image, NULL };

static uint64_t *word(uint64_t addr)
{
	return &memory[(addr - BASE) / sizeof(memory[0])];
}

static bool looks_gone(enum block_allocator allocator, uint64_t addr, uint64_t bytes)
{
	const struct block_place place = { .addr = addr, .bytes = bytes };
	struct block_words words;

	block_words_read(&mem, &place, 1, &words);
	return block_is_gone(allocator, &place, &words);
}

static int set_up(void **state)
{
	memset(memory, 0, sizeof(memory));
	return 0;
}

/* A chunk of glibc's for a block at addr. */
static void put_chunk(uint64_t addr, uint64_t size, uint64_t flags, bool used)
{
	*word(addr - 8) = size | flags;
	*word(addr - 8 + size) = 0x100 | (used ? IN_USE : 0);
}

static void test_a_chunk_in_use_and_free(void **state)
{
	const uint64_t at = BASE + 0x110;

	put_chunk(at, 0x400, IN_USE, true);
	assert_false(looks_gone(ALLOCATOR_GLIBC, at, 1000));
	assert_false(looks_gone(ALLOCATOR_GLIBC, at, 1016));
	put_chunk(at, 0x400, IN_USE, false);
	assert_true(looks_gone(ALLOCATOR_GLIBC, at, 1000));
}

/* A remainder of 16 bytes stays with the block; with more, the chunk is another one. */
static void test_a_chunk_of_another_size(void **state)
{
	const uint64_t at = BASE + 0x110;

	put_chunk(at, 0x3f0, IN_USE, true);
	assert_false(looks_gone(ALLOCATOR_GLIBC, at, 1000));
	put_chunk(at, 0x410, IN_USE, true);
	assert_true(looks_gone(ALLOCATOR_GLIBC, at, 1000));
	put_chunk(at, 0x3e0, IN_USE, true);
	assert_true(looks_gone(ALLOCATOR_GLIBC, at, 1000));
	assert_true(looks_gone(ALLOCATOR_GLIBC, at, UINT64_MAX));
}

/* glibc 2.32: the next entry is mangled by the place; the key is not 0. */
static void test_a_chunk_in_a_cache(void **state)
{
	const uint64_t at = BASE + 0x110;

	put_chunk(at, 0x400, IN_USE, true);
	*word(at) = at >> 12;
	*word(at + 8) = 0x1234567890abcdef;
	assert_true(looks_gone(ALLOCATOR_GLIBC, at, 1000));
	*word(at) = at >> 12 ^ (BASE + 0x2010);
	assert_true(looks_gone(ALLOCATOR_GLIBC, at, 1000));
	/* malloc() clears the key */
	*word(at + 8) = 0;
	assert_false(looks_gone(ALLOCATOR_GLIBC, at, 1000));
	/* a list of objects */
	*word(at) = BASE + 0x2010;
	*word(at + 8) = BASE + 0x3010;
	assert_false(looks_gone(ALLOCATOR_GLIBC, at, 1000));
}

/* A large block has a mapping of its own, and nothing after it. */
static void test_a_mapped_chunk(void **state)
{
	*word(BASE + 8) = 0x41000 | 2;
	assert_false(looks_gone(ALLOCATOR_GLIBC, BASE + 0x10, 0x40000));
	assert_true(looks_gone(ALLOCATOR_GLIBC, BASE - 0x10000, 0x40000));
}

/* The group's first word leads to metadata whose third one leads back. */
static void put_group(uint64_t group, uint64_t meta)
{
	*word(group) = meta;
	*word(meta + 16) = group;
}

static uint64_t slot_word(uint8_t index, uint16_t offset)
{
	return (uint64_t)offset << 48 | (uint64_t)index << 40;
}

static void test_a_slot_of_musl(void **state)
{
	const uint64_t group = BASE + 0x1000, at = group + 16 + 0x200;

	put_group(group, BASE + 0x4000);
	*word(at - 8) = slot_word(2, 0x20);
	assert_false(looks_gone(ALLOCATOR_MUSL, at, 480));
	*word(at - 8) = slot_word(0xff, 0);	/* free() */
	assert_true(looks_gone(ALLOCATOR_MUSL, at, 480));
	*word(at - 8) = slot_word(2, 0x20);
	*word(BASE + 0x4000 + 16) = 0;		/* the group is gone */
	assert_true(looks_gone(ALLOCATOR_MUSL, at, 480));
}

static void test_a_mapping(void **state)
{
	struct block_place place = { .addr = BASE, .bytes = sizeof(memory), .mapping = true };
	struct block_words words;

	block_words_read(&mem, &place, 1, &words);
	assert_false(block_is_gone(ALLOCATOR_UNKNOWN, &place, &words));
	place.bytes++;		/* its end is unmapped */
	block_words_read(&mem, &place, 1, &words);
	assert_true(block_is_gone(ALLOCATOR_UNKNOWN, &place, &words));
	place.bytes = 0;
	block_words_read(&mem, &place, 1, &words);
	assert_true(block_is_gone(ALLOCATOR_GLIBC, &place, &words));
}

/* What does not fit is not judged, except that it is unmapped. */
static void test_an_unknown_allocator(void **state)
{
	const uint64_t at = BASE + 0x110;

	*word(at - 8) = 0x123456789;
	assert_false(looks_gone(ALLOCATOR_UNKNOWN, at, 1000));
	assert_true(looks_gone(ALLOCATOR_UNKNOWN, BASE - 1000, 1000));
}

static enum block_allocator judged(unsigned int fit, unsigned int other)
{
	struct block_judge judge = { 0 };
	struct block_place place = { .addr = BASE + 0x110, .bytes = 1000 };
	struct block_words words;
	unsigned int i;

	put_chunk(place.addr, 0x400, IN_USE, true);
	for (i = 0; i < fit + other; i++) {
		if (i == fit)
			*word(place.addr - 8) = 3;
		block_words_read(&mem, &place, 1, &words);
		block_judge_take(&judge, &place, &words);
	}
	return block_judge_says(&judge);
}

static void test_which_allocator_it_is(void **state)
{
	assert_int_equal(judged(BLOCK_JUDGE_LEAST - 1, 0), ALLOCATOR_UNKNOWN);
	assert_int_equal(judged(BLOCK_JUDGE_LEAST, 0), ALLOCATOR_GLIBC);
	assert_int_equal(judged(80, 20), ALLOCATOR_GLIBC);
	assert_int_equal(judged(79, 21), ALLOCATOR_UNKNOWN);
	assert_string_equal(block_allocator_name(ALLOCATOR_MUSL), "musl");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_chunk_in_use_and_free, set_up),
		cmocka_unit_test_setup(test_a_chunk_of_another_size, set_up),
		cmocka_unit_test_setup(test_a_chunk_in_a_cache, set_up),
		cmocka_unit_test_setup(test_a_mapped_chunk, set_up),
		cmocka_unit_test_setup(test_a_slot_of_musl, set_up),
		cmocka_unit_test_setup(test_a_mapping, set_up),
		cmocka_unit_test_setup(test_an_unknown_allocator, set_up),
		cmocka_unit_test_setup(test_which_allocator_it_is, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
