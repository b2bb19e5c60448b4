// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_known_chains.c - the tree of known chains: known_chains.c, with a map in memory in place of
 * the BPF side's, and what that would find in it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <bpf/libbpf.h>

#include "bpf/abi_await.h"

static int fake_lookup(const struct bpf_map *map, const void *key, size_t key_bytes, void *value,
		       size_t value_bytes, uint64_t flags);
static int fake_update(const struct bpf_map *map, const void *key, size_t key_bytes,
		       const void *value, size_t value_bytes, uint64_t flags);
static int fake_delete(const struct bpf_map *map, const void *key, size_t key_bytes,
		       uint64_t flags);

#define bpf_map__lookup_elem fake_lookup
#define bpf_map__update_elem fake_update
#define bpf_map__delete_elem fake_delete
#include "capture/known_chains.c"

/* ---- the map ---- */

static struct {
	struct async_chain_key key;
	struct async_chain value;
	bool used;
} elems[KNOWN_CHAINS_MAX];
static uint32_t elem_cnt, elem_max;

static uint32_t elem_of(const struct async_chain_key *key)
{
	uint32_t i;

	for (i = 0; i < KNOWN_CHAINS_MAX; i++)
		if (elems[i].used && !memcmp(&elems[i].key, key, sizeof(*key)))
			break;
	return i;
}

static int fake_lookup(const struct bpf_map *map, const void *key, size_t key_bytes, void *value,
		       size_t value_bytes, uint64_t flags)
{
	uint32_t i = elem_of(key);

	assert_true(key_bytes == sizeof(struct async_chain_key));
	assert_true(value_bytes == sizeof(struct async_chain) && !flags);
	if (i == KNOWN_CHAINS_MAX)
		return -ENOENT;
	memcpy(value, &elems[i].value, value_bytes);
	return 0;
}

static int fake_update(const struct bpf_map *map, const void *key, size_t key_bytes,
		       const void *value, size_t value_bytes, uint64_t flags)
{
	uint32_t i = elem_of(key);

	if (i == KNOWN_CHAINS_MAX) {
		if (elem_cnt == elem_max)
			return -E2BIG;
		for (i = 0; elems[i].used; i++)
			;
		elem_cnt++;
	}
	elems[i].used = true;
	memcpy(&elems[i].key, key, key_bytes);
	memcpy(&elems[i].value, value, value_bytes);
	return 0;
}

static int fake_delete(const struct bpf_map *map, const void *key, size_t key_bytes,
		       uint64_t flags)
{
	uint32_t i = elem_of(key);

	if (i == KNOWN_CHAINS_MAX)
		return -ENOENT;
	elems[i].used = false;
	elem_cnt--;
	return 0;
}

/* ---- a process ---- */

#define PLACES 8
#define AT(i) (0x7f0000001000ull + 0x1000ull * (i))

static uint64_t memory[PLACES];		/* a word at each AT(i) */
static struct known_chains k;
static struct raw_task q;

static void begin(void)
{
	known_chains_free(&k);
	memset(&k, 0, sizeof(k));
	memset(elems, 0, sizeof(elems));
	memset(memory, 0, sizeof(memory));
	elem_cnt = 0;
	elem_max = KNOWN_CHAINS_MAX;
	q = (struct raw_task){ .callback0 = 0x1110, .callbacks = 0x2220 };
}

/* A chain was read that follows from cnt of the words. Its code object says which it is. */
static void put(uint64_t which, uint32_t cnt)
{
	struct task_chain c = { .raw = { .nframes = 1, .ntasks = 1 }, .ranges = { .cnt = cnt } };
	uint32_t i;

	c.raw.frames[0].code = which;
	for (i = 0; i < cnt && i < PLACES; i++) {
		uint64_t words[CHAIN_RANGE_WORDS] = { memory[i] };

		c.ranges.range[i] = chain_range(AT(i), 1);
		c.ranges.mask[i] = 1;
		c.ranges.sum[i] = chain_range_sum(1, words);
	}
	known_chains_put(&k, NULL, 7, &q, &c);
}

static uint64_t sum_now(const struct async_chain *c, uint32_t i)
{
	uint64_t words[CHAIN_RANGE_WORDS] = { 0 };

	words[0] = memory[(chain_range_addr(c->range[i]) - AT(0)) / 0x1000];
	return chain_range_sum(c->mask[i], words);
}

/* The element that a sample comes to: as bpf/pyhome.bpf.h goes. NULL: none. */
static const struct async_chain *come_to(void)
{
	struct async_chain_key key = {
		.tgid = 7, .pure = q.pure, .first = q.pure ? q.task : q.callback0,
		.second = q.pure ? q.frame : q.callbacks,
	};
	uint32_t forks, i;

	for (forks = 0; forks <= CHAIN_FORKS; forks++) {
		i = elem_of(&key);
		if (i == KNOWN_CHAINS_MAX)
			return NULL;
		if (elems[i].value.cnt != CHAIN_IS_FORK)
			return &elems[i].value;
		key.way = chain_hash(key.way, sum_now(&elems[i].value, 0));
	}
	return NULL;
}

/* The code object of the chain that a sample has now; 0: it is unknown. */
static uint64_t known(void)
{
	const struct async_chain *c = come_to();
	const struct known_chain *found;
	uint64_t hash = 0;
	uint32_t i;

	if (!c)
		return 0;
	for (i = 0; i < c->cnt; i++) {
		hash = chain_hash(hash, sum_now(c, i));
		if ((uint32_t)hash != c->range_check[i])
			return 0;
	}
	if (c->check != chain_check(c->id, hash))
		return 0;
	found = known_chains_get(&k, c->id);
	return found ? found->raw->frames[0].code : 0;
}

/* ---- tests ---- */

static void test_one(void **state)
{
	begin();
	assert_int_equal(known(), 0);
	put(1, 3);
	assert_int_equal(known(), 1);
	memory[3] = 5;			/* not used */
	assert_int_equal(known(), 1);
	memory[2] = 5;
	assert_int_equal(known(), 0);
	memory[2] = 0;
	q.callbacks++;
	assert_int_equal(known(), 0);
	q.callbacks--;
	assert_int_equal(known(), 1);
	/* What cannot be recognised is not kept. */
	begin();
	put(1, USED_NOT_KNOWN);
	assert_int_equal(elem_cnt, 0);
	/* A task that nobody awaits and nothing is called for. */
	q.callback0 = q.callbacks = 0;
	put(2, 0);
	assert_int_equal(known(), 2);
	assert_null(known_chains_get(&k, 0));
	assert_null(known_chains_get(&k, 1 + KNOWN_CHAINS_MAX));
}

/* Tasks of Python's classes are found by their own address and frame. */
static void test_pure(void **state)
{
	begin();
	q.pure = 1;
	q.task = 0x100;
	q.frame = 0x200;
	put(1, 2);
	q.callback0 = 9;
	assert_int_equal(known(), 1);
	q.frame = 0x208;
	assert_int_equal(known(), 0);
	q.pure = 0;
	q.callback0 = 0x100;
	q.callbacks = 0x200;
	assert_int_equal(known(), 0);
}

/* The same addresses have a callback after another: each place differs, then two at once. */
static void test_forks(void **state)
{
	uint64_t i, all = 1;

	begin();
	for (i = 0; i < 5; i++)		/* each place has three values, and then a fourth one */
		for (memory[i] = 0; memory[i] < 3; memory[i]++)
			put(all++, 5);
	assert_int_equal(all, 16);
	memset(memory, 0, sizeof(memory));
	for (i = 0, all = 1; i < 5; i++)
		for (memory[i] = 0; memory[i] < 3; memory[i]++)
			assert_int_equal(known(), all++);
	assert_int_equal(known(), 0);
	assert_int_equal(elem_cnt, 15 + 5);
}

/* More places differ than there may be forks: the last ones have room for one chain. */
static void test_too_many_forks(void **state)
{
	uint32_t i, found = 0;

	begin();
	for (i = 0; i < 1u << PLACES; i++) {
		uint32_t bit;

		for (bit = 0; bit < PLACES; bit++)
			memory[bit] = i >> bit & 1;
		put(i + 1, PLACES);
		assert_int_equal(known(), i + 1);
	}
	for (i = 0; i < 1u << PLACES; i++) {
		uint32_t bit;

		for (bit = 0; bit < PLACES; bit++)
			memory[bit] = i >> bit & 1;
		assert_true(!known() || known() == i + 1);
		found += known() != 0;
	}
	assert_in_range(found, 1u << CHAIN_FORKS, 1u << PLACES);
}

/* The same memory, and another chain: the later one counts. So if it lacks a fork's range. */
static void test_again(void **state)
{
	begin();
	put(1, 3);
	put(2, 3);
	assert_int_equal(known(), 2);
	memory[2] = 1;
	put(3, 3);
	assert_int_equal(known(), 3);
	put(4, 2);
	assert_int_equal(known(), 4);
	memory[2] = 0;
	assert_int_equal(known(), 4);
}

/* The oldest entries make room, also those that have no place in the map any more. */
static void test_oldest(void **state)
{
	uint64_t i;

	begin();
	put(1, 1);
	put(2, 1);			/* in its place */
	for (i = 0; i < KNOWN_CHAINS_MAX - 2; i++) {
		q.callback0++;
		put(10 + i, 1);
	}
	assert_int_equal(elem_cnt, KNOWN_CHAINS_MAX - 1);
	q.callback0 = 0x1110;
	assert_int_equal(known(), 2);
	q.callback0 = 0x9990;
	put(5, 1);			/* instead of 1 */
	assert_int_equal(known(), 5);
	q.callback0 = 0x1110;
	assert_int_equal(known(), 2);
	q.callback0 = 0x9991;
	put(6, 1);			/* instead of 2 */
	q.callback0 = 0x1110;
	assert_int_equal(known(), 0);
	assert_int_equal(elem_cnt, KNOWN_CHAINS_MAX);
	/* A full map keeps what it has. */
	begin();
	elem_max = 1;
	put(1, 1);
	q.callback0++;
	put(2, 1);
	assert_int_equal(known(), 0);
	q.callback0--;
	assert_int_equal(known(), 1);
	begin();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one), cmocka_unit_test(test_pure),
		cmocka_unit_test(test_forks), cmocka_unit_test(test_too_many_forks),
		cmocka_unit_test(test_again), cmocka_unit_test(test_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
