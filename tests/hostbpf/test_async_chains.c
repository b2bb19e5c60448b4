// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_async_chains.c - chains of tasks that user space has read: recognised if all of their memory
 * is the same, through forks, and never if it is not.
 */
#include "async_world.h"

#define PLACE(i) (W_HEAP + 0x60000000ull + (i) * 0x1000ull)

static struct async_chain chain;
static struct async_chain_key key;

static u64 word_now(u64 addr)
{
	u64 v;

	memcpy(&v, host_mem_at(addr), sizeof(v));
	return v;
}

static void put_value(const struct async_chain_key *k, const struct async_chain *c)
{
	assert_int_equal(bpf_map_update_elem(&async_chains, k, c, BPF_ANY), 0);
}

static u64 content(const struct async_chain *c, u32 i)
{
	u64 words[CHAIN_RANGE_WORDS] = { 0 };
	u32 k;

	for (k = 0; k < chain_range_words(c->range[i]); k++)
		words[k] = word_now(chain_range_addr(c->range[i]) + 8 * k);
	return chain_range_sum(c->mask[i], words);
}

/* The chain follows from what its ranges have now. */
static void seal(struct async_chain *c)
{
	u64 hash = 0;
	u32 i;

	for (i = 0; i < c->cnt; i++) {
		hash = chain_hash(hash, content(c, i));
		c->range_check[i] = (u32)hash;
	}
	c->check = chain_check(c->id, hash);
}

/* The task's chain follows from cnt ranges of three words, of which two are used. */
static void make_chain(u32 cnt)
{
	u32 i;

	make_world(12);
	chain = (struct async_chain){ .id = 77, .cnt = cnt };
	for (i = 0; i < cnt; i++) {
		host_mem_map(PLACE(i), 0x1000);
		host_mem_put64(PLACE(i) + 8, 0x1000 + i);
		chain.range[i] = chain_range(PLACE(i), 3);
		chain.mask[i] = 5;
	}
	key = (struct async_chain_key){
		.tgid = host.task.tgid, .first = CALLBACK0, .second = CALLBACKS,
	};
	seal(&chain);
	put_value(&key, &chain);
}

static void expect_known(u64 id)
{
	const struct raw_task *r = tick();

	assert_non_null(r);
	assert_int_equal(r->known, id);
	assert_int_equal(r->task, TASK(0));
}

static void test_known(void **state)
{
	static const u32 cnts[] = { 0, 1, 5, CHAIN_RANGES };
	u32 i;

	for (i = 0; i < 4; i++) {
		make_chain(cnts[i]);
		expect_known(77);
		set(&cfg_task_names, true);	/* its name must be read */
		expect_known(0);
		set(&cfg_task_names, false);
		put_task(0, coro);
		host_mem_put64(TASK(0) + l.callbacks, CALLBACKS + 16);
		expect_known(0);
		host_reset();
	}
}

/* Each used word counts, in each range; no other one does. */
static void test_changed(void **state)
{
	u32 i, k;

	make_chain(6);
	for (i = 0; i < 6; i++)
		for (k = 0; k < 4; k++) {
			u64 at = PLACE(i) + 8 * k, was = word_now(at);

			host_mem_put64(at, was + 1);
			expect_known(k == 0 || k == 2 ? 0 : 77);
			host_mem_put64(at, was);
		}
	expect_known(77);
	host_mem_unmap(PLACE(3), 0x1000);
	expect_known(0);
}

/* The value is replaced while it is read: the id of one chain and the ranges of another. */
static void test_replaced(void **state)
{
	make_chain(2);
	chain.id = 78;
	put_value(&key, &chain);
	expect_known(0);
	seal(&chain);
	put_value(&key, &chain);
	expect_known(78);
	chain.cnt = 1;
	put_value(&key, &chain);
	expect_known(0);
	chain.cnt = CHAIN_RANGES + 1;
	put_value(&key, &chain);
	expect_known(0);
}

static struct async_chain fork_of(u32 place)
{
	return (struct async_chain){
		.id = 5, .cnt = CHAIN_IS_FORK, .range = { chain_range(PLACE(place), 1) },
		.mask = { 1 },
	};
}

/* So many forks lie before the chain. */
static void test_forks(void **state)
{
	struct async_chain fork;
	u32 i;

	for (i = 1; i <= CHAIN_FORKS + 1; i++) {
		u32 k;

		make_chain(CHAIN_FORKS + 1);
		for (k = 0; k < i; k++) {
			fork = fork_of(k);
			put_value(&key, &fork);
			key.way = chain_hash(key.way, content(&fork, 0));
		}
		expect_known(0);		/* the last fork leads to nothing */
		put_value(&key, &chain);
		expect_known(i <= CHAIN_FORKS ? 77 : 0);
		host_mem_put64(PLACE(0), 9);	/* another way */
		expect_known(0);
		host_mem_unmap(PLACE(0), 0x1000);
		expect_known(0);
		host_reset();
	}
}

/* A task of Python's classes is found by itself and its frame. */
static void test_pure(void **state)
{
	make_chain(2);
	assert_int_equal(bpf_map_delete_elem(&async_chains, &key), 0);
	put_entry(8, 0, 0);
	l.home[1].step = W_CODES + 1 * W_CODE_STEP;
	put_place();
	host_mem_put64(w.at[1] + w.img.layout.fr_locals, TASK(0));
	expect_known(0);
	key = (struct async_chain_key){
		.tgid = host.task.tgid, .pure = 1, .first = TASK(0), .second = w.at[2],
	};
	put_value(&key, &chain);
	expect_known(77);
	host_mem_put64(PLACE(1), 1);
	expect_known(0);
}

static int end(void **state)
{
	set(&cfg_async, false);
	set(&cfg_task_names, false);
	host_reset();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_known, end),
		cmocka_unit_test_teardown(test_changed, end),
		cmocka_unit_test_teardown(test_replaced, end),
		cmocka_unit_test_teardown(test_forks, end),
		cmocka_unit_test_teardown(test_pure, end),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
