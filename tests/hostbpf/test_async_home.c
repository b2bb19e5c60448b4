// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_async_home.c - RAW_TASK: the asyncio task that a thread runs in CPython 3.8 to 3.13, and
 * the one of trio, up to 3.15; and what torn and hostile dicts of running tasks do to it.
 */
#include "async_world.h"

/* ---- tests ---- */

static void test_running(void **state)
{
	static const int builds[] = { 8, 9, 10, 11, 12, 13, 13 + FREE_THREADED, 12 + TRACE_REFS };
	u32 i;

	for (i = 0; i < 8; i++) {
		make_world(builds[i]);
		expect_task(0);
		host_reset();
	}
}

/* The last entry of a full table, of each size; the loops of other threads run tasks, too. */
static void test_tables(void **state)
{
	u32 slots, i, last;

	for (slots = 8; slots <= 128; slots *= 2) {
		make_world(slots & 16 ? 10 : 13);
		last = 2 * slots / 3 - 1;
		put_keys(slots, last + 1);
		for (i = 0; i < last; i++)
			put_entry(slots, i, 0);
		put_entry(slots, last, TASK(0));
		expect_task(0);
		for (i = 1; i < ASYNC_CURRENT_MAX && i <= last; i++) {
			put_coro(i);
			put_task(i, CORO(i));
			put_entry(slots, i - 1, TASK(i));
			expect_task(0);
		}
		/* One more, and this thread's is beyond the limit. */
		if (last >= ASYNC_CURRENT_MAX) {
			put_coro(i);
			put_task(i, CORO(i));
			put_entry(slots, i - 1, TASK(i));
			assert_null(tick());
		}
		host_reset();
	}
}

static void test_nothing_to_send(void **state)
{
	struct async_place *p;
	u32 tgid, i;

	make_world(11);
	expect_task(0);
	set(&cfg_async, false);
	assert_null(tick());
	set(&cfg_async, true);
	/* No loop runs a task; the table of a new dict; one that is too large, or lies. */
	put_entry(8, 0, 0);
	assert_null(tick());
	put_entry(8, 0, TASK(0));
	put_keys(1, 0);
	assert_null(tick());
	put_keys(256, 1);
	put_entry(256, 0, TASK(0));
	assert_null(tick());
	put_keys(16, 17);
	put_entry(16, 0, TASK(0));
	assert_null(tick());
	put_keys(16, 16);
	put_entry(16, 0, TASK(0));
	expect_task(0);
	/* The dict, its table, the task, the coroutine cannot be read. */
	host_mem_put64(DICT + l.dict_keys, 0);
	assert_null(tick());
	host_mem_put64(DICT + l.dict_keys, 0x10);
	assert_null(tick());
	put_keys(8, 1);
	put_entry(8, 0, 0x10);
	assert_null(tick());
	put_entry(8, 0, TASK(0));
	put_task(0, 0);
	assert_null(tick());
	put_task(0, CORO(3));
	assert_null(tick());
	/* Another interpreter's. */
	put_task(0, coro);
	l.home[1].interp = INTERP_2;
	put_place();
	assert_null(tick());
	l.home[1].interp = W_INTERP;
	for (i = 0; i < 2; i++) {
		l.cnt = 2 - i;
		put_place();
		if (i)
			assert_null(tick());
		else
			expect_task(0);
	}
	/* The place is of a process that had this tgid; there is none. */
	l.cnt = 2;
	put_place();
	expect_task(0);
	tgid = host.task.tgid;
	p = bpf_map_lookup_elem(&async_places, &tgid);
	assert_int_equal(p->start_ns, host.leader.start_boottime);
	p->start_ns++;
	assert_null(tick());
	assert_int_equal(bpf_map_delete_elem(&async_places, &tgid), 0);
	assert_null(tick());
}

/* Two loops whose tasks are both in the stack: the inner one runs. */
static void test_nested(void **state)
{
	const struct raw_task *r;
	int i = 0;

	make_world(12);
	world_push(&w, OWNER_GENERATOR, 5, 4);
	put_task(1, w.top - l.coro_frame);
	put_keys(8, 2);
	put_entry(8, 0, TASK(0));
	put_entry(8, 1, TASK(1));
	world_expect(&w, w.want_cnt, 0);
	r = host_record(RAW_TASK, &i, NULL);
	assert_non_null(r);
	assert_int_equal(r->task, TASK(1));
	assert_int_equal(r->at, 0);
	assert_int_equal(r->frame, w.top);
	assert_int_equal(r->flags, ASYNC_INSIDE);
}

/* A Python task: the first variable of its method; the frame inside is its coroutine's. */
static void test_pure(void **state)
{
	static const int builds[] = { 8, 10, 11, 12, 13, 13 + FREE_THREADED };
	const struct raw_task *r;
	u32 i;

	for (i = 0; i < 6; i++) {
		make_world(builds[i]);
		put_entry(8, 0, 0);
		assert_null(tick());
		l.home[1].step = W_CODES + 1 * W_CODE_STEP;
		put_place();
		host_mem_put64(w.at[1] + w.img.layout.fr_locals, TASK(5));
		r = tick();
		assert_non_null(r);
		assert_int_equal(r->task, TASK(5));
		assert_int_equal(r->frame, w.at[2]);
		assert_int_equal(r->pure, 1);
		assert_int_equal(r->coro, W_CODES + 2 * W_CODE_STEP);
		assert_int_equal(r->callback0 | r->callbacks | r->name, 0);
		host_mem_put64(w.at[1] + w.img.layout.fr_locals, 0);
		assert_null(tick());
		/* The method itself is the innermost function: no coroutine runs. */
		l.home[1].step = W_CODES + 4 * W_CODE_STEP;
		put_place();
		host_mem_put64(w.at[4] + w.img.layout.fr_locals, TASK(5));
		assert_null(tick());
		host_reset();
	}
}

/* ---- trio ---- */

#define TRIO_LOCAL 104

static struct async_place trio_place(u32 code)
{
	return (struct async_place){
		.trio_cnt = 2,
		.trio = { { INTERP_2, 0x1230, 8, 0 },
			  { W_INTERP, W_CODES + code * W_CODE_STEP, TRIO_LOCAL, 0 } },
	};
}

static void put_this(const struct async_place *p)
{
	u32 tgid = host.task.tgid;

	assert_int_equal(bpf_map_update_elem(&async_places, &tgid, p, BPF_ANY), 0);
}

/* A thread in a task of trio, whose loop is the function 1. */
static void make_trio(int build)
{
	u32 i;

	world_init(&w, build);
	host_map_size(&async_places, 16);
	for (i = 0; i < 10; i++)
		world_code(&w);
	world_push(&w, OWNER_THREAD, 0, 4);
	world_push(&w, OWNER_GENERATOR, 1, 6);
	world_push(&w, OWNER_GENERATOR, 2, 8);
	world_push(&w, OWNER_THREAD, 3, 10);
	world_push(&w, OWNER_THREAD, 4, 12);
	put_this(&(struct async_place){ 0 });
	set(&cfg_async, true);
	host_mem_put64(w.at[1] + w.img.layout.fr_locals + TRIO_LOCAL, TASK(5));
}

static void expect_trio(void)
{
	const struct raw_task *r = tick();

	assert_non_null(r);
	assert_true(r->task == TASK(5) && r->trio == 1 && r->pure == 1);
	assert_true(r->frame == w.at[2] && r->coro == W_CODES + 2 * W_CODE_STEP);
	assert_int_equal(r->callback0 | r->callbacks | r->name, 0);
	assert_int_equal(r->flags, 0);		/* the loop itself is a generator, but no task's */
}

static void test_trio(void **state)
{
	static const int builds[] = { 8, 10, 11, 12, 13, 13 + FREE_THREADED, 14, 15 };
	struct async_place p;
	u64 local;
	u32 i;

	for (i = 0; i < 8; i++) {
		make_trio(builds[i]);
		local = w.at[1] + w.img.layout.fr_locals + TRIO_LOCAL;
		assert_null(tick());
		p = trio_place(1);
		put_this(&p);
		expect_trio();
		host_mem_put64(local, TASK(5) | 1);	/* a borrowed reference: 3.14+ */
		expect_trio();
		host_mem_put64(local, 0);
		assert_null(tick());
		host_mem_put64(local, TASK(5));
		/* Another interpreter's; a lying number; the loop is the innermost function. */
		p.trio[1].interp = INTERP_2;
		put_this(&p);
		assert_null(tick());
		p = trio_place(1);
		p.trio_cnt = 1;
		put_this(&p);
		assert_null(tick());
		p = trio_place(4);
		put_this(&p);
		assert_null(tick());
		p = trio_place(1);
		p.trio[1].local = 0x40000000;
		put_this(&p);
		assert_null(tick());
		host_reset();
	}
}

/* What the loop calls itself is no task's: from 3.11 on that is seen here, before in user space. */
static void test_trio_loop(void **state)
{
	struct async_place p = trio_place(1);
	int i = 0;

	make_trio(12);
	p = trio_place(2);
	put_this(&p);
	host_mem_put64(w.at[2] + w.img.layout.fr_locals + TRIO_LOCAL, TASK(5));
	world_expect(&w, w.want_cnt, 0);
	assert_null(host_record(RAW_TASK, &i, NULL));
}

/* If it is not known whether all was found, it is asked for when code is mapped. */
static void test_trio_later(void **state)
{
	struct async_place p = trio_place(1);
	u32 whole;
	int i;

	make_trio(15);
	host.mm.exec_vm = 10;
	for (whole = 0; whole < 2; whole++) {
		p.whole = whole;
		put_this(&p);
		world_sample();
		i = 0;
		assert_int_equal(host_record(RAW_CHANGED, &i, NULL) == NULL, whole);
		i = 0;
		assert_non_null(host_record(RAW_TASK, &i, NULL));
	}
}

/* ---- lies ---- */

/* Whichever read fails, the sample is sent, and no task is wrong. */
static void test_unreadable(void **state)
{
	const struct raw_task *r;
	u64 reads;
	int i;

	make_world(10);
	world_sample();
	reads = host.reads;
	for (host.fail_read = 1; host.fail_read <= reads; host.fail_read++) {
		world_sample();
		i = 0;
		r = host_record(RAW_TASK, &i, NULL);
		if (r)
			assert_true(r->task == TASK(0) && (!r->coro || r->coro == coro));
	}
	host.fail_read = 0;
}

/* A table of any bytes. */
static void test_random(void **state)
{
	const struct raw_task *r;
	u32 round;
	u64 word;
	int i;

	make_world(9);
	srand(1);
	for (round = 0; round < 20000; round++) {
		u64 at = (rand() & 1 ? KEYS : rand() & 1 ? DICT : TASK(0)) + rand() % 256;

		assert_int_equal(host_mem_read(NULL, at & ~7ull, &word, 8), 0);
		host_mem_put8(at, rand());
		world_sample();
		i = 0;
		r = host_record(RAW_TASK, &i, NULL);
		if (r)
			assert_int_equal(r->frame, w.at[2]);
		host_mem_put64(at & ~7ull, word);
	}
	expect_task(0);
}

/* User space is woken, unless it has used up its time. */
static void test_ring(void **state)
{
	make_world(13);
	for (chains_wait = 0; chains_wait < 2; chains_wait++) {
		host.woken = false;
		assert_non_null(tick());
		assert_int_equal(host.woken, !chains_wait);
	}
	chains_wait = 0;
	host.ring_room = 0;
	assert_null(world_sample());
	assert_int_equal(host_counter(CNT_ASYNC_LOST), 1);
	assert_int_equal(host_counter(CNT_RING_FULL), 1);
}

static int end(void **state)
{
	set(&cfg_async, false);
	host_reset();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_running, end),
		cmocka_unit_test_teardown(test_tables, end),
		cmocka_unit_test_teardown(test_nothing_to_send, end),
		cmocka_unit_test_teardown(test_nested, end),
		cmocka_unit_test_teardown(test_pure, end),
		cmocka_unit_test_teardown(test_trio, end),
		cmocka_unit_test_teardown(test_trio_loop, end),
		cmocka_unit_test_teardown(test_trio_later, end),
		cmocka_unit_test_teardown(test_unreadable, end),
		cmocka_unit_test_teardown(test_random, end),
		cmocka_unit_test_teardown(test_ring, end),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
