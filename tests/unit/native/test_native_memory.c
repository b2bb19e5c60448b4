// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_memory.c - who has which chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi_native.h"
#include "native/native_memory.h"

#define SLAB_BYTES ((size_t)NATIVE_SLAB_CHUNKS * NATIVE_CHUNK)

static uint32_t slabs;
static int slab_err;

static int add_slab(void *ctx, uint32_t slab)
{
	assert_int_equal(slab, slabs);
	if (!slab_err)
		slabs++;
	return slab_err;
}

static struct native_memory *memory(size_t bytes)
{
	struct native_memory *m = native_memory_new(add_slab, NULL, bytes);

	slabs = 0;
	slab_err = 0;
	assert_non_null(m);
	return m;
}

static uint32_t take(struct native_memory *m, uint32_t cnt)
{
	uint32_t chunk;

	assert_int_equal(native_memory_take(m, cnt, &chunk), 0);
	return chunk;
}

static void test_slabs_are_made_when_needed(void **state)
{
	struct native_memory *m = memory(3 * SLAB_BYTES);
	uint32_t chunk;

	assert_int_equal(slabs, 0);
	assert_int_equal(take(m, 1), 0);
	assert_int_equal(slabs, 1);
	assert_int_equal(take(m, NATIVE_SLAB_CHUNKS - 1), 1);
	assert_int_equal(slabs, 1);
	/* One slab at a time; a range may go over their border. */
	assert_int_equal(native_memory_take(m, 2 * NATIVE_SLAB_CHUNKS, &chunk), -EAGAIN);
	assert_int_equal(slabs, 2);
	assert_int_equal(take(m, 2 * NATIVE_SLAB_CHUNKS), NATIVE_SLAB_CHUNKS);
	assert_int_equal(slabs, 3);
	assert_int_equal(native_memory_used(m), 3 * SLAB_BYTES);
	native_memory_free(m);
}

static void test_the_bound(void **state)
{
	struct native_memory *m = memory(SLAB_BYTES + 1);
	uint32_t chunk;

	assert_int_equal(native_memory_take(m, NATIVE_SLAB_CHUNKS + 1, &chunk), -EFBIG);
	assert_int_equal(native_memory_take(m, 0, &chunk), -EFBIG);
	take(m, NATIVE_SLAB_CHUNKS);
	assert_int_equal(native_memory_take(m, 1, &chunk), -ENOSPC);
	assert_int_equal(slabs, 1);
	native_memory_free(m);
}

static void test_given_chunks_are_free_after_a_while(void **state)
{
	struct native_memory *m = memory(SLAB_BYTES);
	uint32_t first = take(m, 10), rest = take(m, NATIVE_SLAB_CHUNKS - 10), chunk;

	native_memory_give(m, first, 10, 1000);
	native_memory_settle(m, 1000 + NATIVE_GRACE_NS - 1);
	assert_true(native_memory_unsettled(m));
	assert_int_equal(native_memory_take(m, 1, &chunk), -ENOSPC);
	native_memory_settle(m, 1000 + NATIVE_GRACE_NS);
	assert_false(native_memory_unsettled(m));
	assert_int_equal(take(m, 10), first);
	native_memory_give(m, rest, 0, 1000);
	assert_false(native_memory_unsettled(m));
	native_memory_free(m);
}

static void test_neighbours_are_merged(void **state)
{
	struct native_memory *m = memory(SLAB_BYTES);
	uint32_t a = take(m, 5), b = take(m, 5), c = take(m, 5), chunk;

	take(m, NATIVE_SLAB_CHUNKS - 15);
	native_memory_give(m, a, 5, 0);
	native_memory_give(m, c, 5, 0);
	native_memory_settle(m, NATIVE_GRACE_NS);
	assert_int_equal(native_memory_take(m, 6, &chunk), -ENOSPC);
	native_memory_give(m, b, 5, 0);
	native_memory_settle(m, NATIVE_GRACE_NS);
	assert_int_equal(take(m, 15), a);
	native_memory_free(m);
}

static void test_no_slab_to_be_had(void **state)
{
	struct native_memory *m = memory(SLAB_BYTES);
	uint32_t chunk;

	slab_err = -ENOMEM;
	assert_int_equal(native_memory_take(m, 1, &chunk), -ENOMEM);
	slab_err = 0;
	assert_int_equal(take(m, 1), 0);
	native_memory_free(m);
}

/* Any order of takes and gives: nobody gets a chunk that somebody has. */
static void test_nobody_gets_what_another_has(void **state)
{
	static uint8_t owner[4 * NATIVE_SLAB_CHUNKS];
	struct { uint32_t chunk, cnt; } held[100] = { { 0, 0 } };
	struct native_memory *m = memory(4 * SLAB_BYTES);
	uint64_t now = 0;
	uint32_t i, turn;

	srand(1);
	memset(owner, 0, sizeof(owner));
	for (turn = 0; turn < 20000; turn++) {
		uint32_t h = (uint32_t)rand() % 100, cnt = 1 + (uint32_t)rand() % 80;

		now += NATIVE_GRACE_NS / 4;
		native_memory_settle(m, now);
		for (i = 0; i < held[h].cnt; i++)
			owner[held[h].chunk + i] = 0;
		native_memory_give(m, held[h].chunk, held[h].cnt, now);
		held[h].cnt = 0;
		if (native_memory_take(m, cnt, &held[h].chunk))
			continue;
		held[h].cnt = cnt;
		for (i = 0; i < cnt; i++) {
			assert_int_equal(owner[held[h].chunk + i], 0);
			owner[held[h].chunk + i] = 1;
		}
	}
	native_memory_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slabs_are_made_when_needed),
		cmocka_unit_test(test_the_bound),
		cmocka_unit_test(test_given_chunks_are_free_after_a_while),
		cmocka_unit_test(test_neighbours_are_merged),
		cmocka_unit_test(test_no_slab_to_be_had),
		cmocka_unit_test(test_nobody_gets_what_another_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
