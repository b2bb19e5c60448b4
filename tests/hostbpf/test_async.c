// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_async.c - RAW_ASYNC: who awaits the asyncio task that a thread runs; and what torn and
 * hostile lists of awaiters do to it.
 */
#include "world.h"

#include "bpf/abi_await.h"
#include "bpf/pyasync.bpf.h"
#include "asyncio/section.h"

static struct world w;
static struct task_struct idle_task;
static struct async_layout l;

#define TYPE (W_HEAP + 0x40000000ull)
#define OTHER_TYPE (TYPE + 0x1000)
#define NAME (TYPE + 0x2000)
#define STR_TYPE (TYPE + 0x4000)
#define TASK(i) (W_HEAP + 0x50000000ull + (i) * 0x1000ull)
#define SET(i) (W_HEAP + 0x60000000ull + (i) * 0x10000ull)
#define CORO(i) (W_HEAP + 0x70000000ull + (i) * 0x1000ull)
#define STACK_OF(coro) ((coro) + 0x800)
#define SUSPENDED 77

static void set(const volatile bool *setting, bool v)
{
	host_set(setting, &v, sizeof(v));
}

/* ---- objects ---- */

/* The task i, which has this coroutine; awaited_by 0: nobody. */
static void put_task(u32 i, u64 coro, u64 awaited_by, bool is_set)
{
	host_mem_map(TASK(i), 0x1000);
	host_mem_put64(TASK(i) + l.task.task_coro, coro);
	host_mem_put64(TASK(i) + l.task.task_awaited_by, awaited_by);
	host_mem_put8(TASK(i) + l.task.task_awaited_by_is_set, is_set);
	host_mem_put8(TASK(i) + l.task.task_is_task, 1);
	host_mem_put64(TASK(i) + l.task.task_name, NAME);
}

/* The set i with `slots` slots and an entry in slot `at`; `used` says how many there are. */
static void put_set(u32 i, u64 slots, u64 at, u64 entry, u64 used)
{
	host_mem_map(SET(i), 0x10000);
	host_mem_put64(SET(i) + l.coro.set_used, used);
	host_mem_put64(SET(i) + l.coro.set_mask, slots - 1);
	host_mem_put64(SET(i) + l.coro.set_table, SET(i) + 0x1000);
	host_mem_put64(SET(i) + 0x1000 + 16 * at, entry);
	host_mem_put64(SET(i) + 0x1008 + 16 * at, 1234);
}

static void put_state(u32 i, int state)
{
	host_mem_put8(CORO(i) + l.coro.gen_state, state);
}

/* The suspended coroutine i of this code object; it awaits the object at `awaited`. */
static void put_coro(u32 i, u32 code, u64 awaited)
{
	const struct py_layout *py = &w.img.layout;
	u64 fr = CORO(i) + l.coro.gen_frame, addr = W_CODES + code * W_CODE_STEP;

	host_mem_map(CORO(i), 0x1000);
	host_mem_put64(CORO(i) + l.coro.ob_type, TYPE);
	put_state(i, l.coro.state_yield_from);
	host_mem_put64(fr + py->fr_code, addr | (py->code_tag_mask & 1));
	host_mem_put64(fr + py->fr_ip, addr + py->co_code + 2 * i);
	host_mem_put8(fr + py->fr_owner, OWNER_GENERATOR);
	host_mem_put64(fr + l.coro.fr_stack, STACK_OF(CORO(i)));
	host_mem_put64(STACK_OF(CORO(i)) - l.coro.awaited_below, awaited | 1);
}

static void put_place(void)
{
	struct async_place p = {
		.coro_bytes = l.coro.gen_frame + w.img.layout.fr_bytes, .l = l,
	};
	u32 tgid = host.task.tgid;

	if (p.coro_bytes < l.coro.gen_frame + l.coro.fr_stack + 8u)
		p.coro_bytes = l.coro.gen_frame + l.coro.fr_stack + 8;
	assert_int_equal(bpf_map_update_elem(&async_places, &tgid, &p, BPF_ANY), 0);
}

/* Where asyncio of this minor version has its fields. */
static void read_layout(int minor)
{
	uint8_t bytes[ASYNCIO_SECTION_BYTES];
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/asyncio_3.%d.bin", GOLDEN_DIR, minor);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_int_equal(fread(bytes, 1, sizeof(bytes), f), sizeof(bytes));
	fclose(f);
	memset(&l, 0, sizeof(l));
	assert_int_equal(asyncio_section_parse(bytes, sizeof(bytes), &l.task), 0);
	l.coro = w.img.coro;
	l.valid = 1;
}

/*
 * A thread in the task 0: two functions of the loop, the task's coroutine, and two functions that
 * it has called. Nobody awaits it.
 */
static void make_world(int build)
{
	u64 coro;
	u32 i;

	world_init(&w, build);
	host_map_size(&async_places, 16);
	read_layout(build % FREE_THREADED);
	for (i = 0; i < 40; i++)
		world_code(&w);
	world_push(&w, OWNER_THREAD, 0, 4);
	world_push(&w, OWNER_THREAD, 1, 6);
	world_push(&w, OWNER_GENERATOR, 2, 8);
	coro = w.top - l.coro.gen_frame;
	world_push(&w, OWNER_THREAD, 3, 10);
	world_push(&w, OWNER_THREAD, 4, 12);
	host_mem_map(coro, 64);
	host_mem_put64(coro + l.coro.ob_type, TYPE);
	host_mem_map(TYPE, 0x8000);
	host_mem_map(W_TSTATE, 3 * 4096);
	host_mem_put64(W_TSTATE + l.task.ts_running_task, TASK(0));
	put_task(0, coro, 0, false);
	put_place();
	set(&cfg_async, true);
}

/* ---- records ---- */

static const struct raw_async *record(size_t *len)
{
	int i = 0;

	return host_record(RAW_ASYNC, &i, len);
}

/* Runs a tick, whose sample must be whole. Returns its RAW_ASYNC, or NULL. */
static const struct raw_async *tick(void)
{
	const struct raw_sample *s = world_expect(&w, w.want_cnt, 0);
	const struct raw_async *r;
	size_t len;

	r = record(&len);
	if (!r)
		return NULL;
	assert_int_equal(len, offsetof(struct raw_async, frames) +
				      r->nframes * sizeof(struct raw_frame));
	assert_int_equal(r->h.time_ns, s->h.time_ns);
	assert_int_equal(r->h.tgid, s->h.tgid);
	assert_int_equal(r->h.start_ns, s->h.start_ns);
	assert_int_equal(r->tid, s->tid);
	assert_int_equal(r->cpu, s->cpu);
	assert_int_equal(r->interp_id, s->interp_id);
	assert_int_equal(r->at, 2);
	return r;
}

static const struct raw_async *expect_end(enum async_end end, u32 ntasks, u32 nframes)
{
	const struct raw_async *r = tick();

	assert_non_null(r);
	assert_int_equal(r->end, end);
	assert_int_equal(r->ntasks, ntasks);
	assert_int_equal(r->nframes, nframes);
	return r;
}

static void expect_frame(const struct raw_async *r, u32 i, u32 code, u32 coro)
{
	assert_int_equal(r->frames[i].code, W_CODES + code * W_CODE_STEP);
	assert_int_equal(r->frames[i].id, w.code_ids[code]);
	assert_int_equal(r->frames[i].lasti, 2 * coro);
}

/* ---- tests ---- */

static void test_chain(void **state)
{
	static const int builds[] = { 14, 15, 14 + FREE_THREADED, 15 + FREE_THREADED };
	const struct raw_async *r;
	u32 i;

	for (i = 0; i < 4; i++) {
		make_world(builds[i]);
		expect_end(ASYNC_WHOLE, 0, 0);
		/*
		 * Task 1 awaits it in its second coroutine; a future, then task 2 in a set await
		 * it.
		 */
		put_task(0, w.at[2] - l.coro.gen_frame, TASK(1), false);
		put_coro(1, 10, CORO(2));
		put_coro(2, 11, TASK(0));
		put_task(1, CORO(1), TASK(3), false);
		put_task(3, 0xdead, SET(0), true);
		host_mem_put8(TASK(3) + l.task.task_is_task, 0);
		put_set(0, 8, 5, TASK(2), 1);
		put_coro(3, 12, 0);
		put_task(2, CORO(3), 0, false);
		r = expect_end(ASYNC_WHOLE, 3, 3);
		assert_int_equal(r->starts[0], 0);
		assert_int_equal(r->starts[1], 2);
		assert_int_equal(r->starts[2], 2);
		expect_frame(r, 0, 10, 1);
		expect_frame(r, 1, 11, 2);
		expect_frame(r, 2, 12, 3);
		assert_int_equal(r->flags, 0);
		assert_int_equal(r->name_at.len, 0);
		/* Their code objects were sent, too. */
		assert_int_equal(host_counter(CNT_CODE), 5 + 3);
		host_reset();
	}
}

static void test_nothing_to_send(void **state)
{
	struct async_place *p;
	u32 tgid;

	make_world(14);
	assert_non_null(tick());
	set(&cfg_async, false);
	assert_null(tick());
	set(&cfg_async, true);
	/* No task runs; another object runs; its coroutine has no frame in the stack. */
	host_mem_put64(W_TSTATE + l.task.ts_running_task, 0);
	assert_null(tick());
	host_mem_put64(W_TSTATE + l.task.ts_running_task, NAME);
	assert_null(tick());
	host_mem_put64(W_TSTATE + l.task.ts_running_task, 0x10);
	assert_null(tick());
	host_mem_put64(W_TSTATE + l.task.ts_running_task, TASK(0));
	put_coro(1, 10, 0);
	put_task(0, CORO(1), 0, false);
	assert_null(tick());
	put_task(0, 0, 0, false);
	assert_null(tick());
	/* The place is of a process that had this tgid; there is none. */
	put_task(0, w.at[2] - l.coro.gen_frame, 0, false);
	assert_non_null(tick());
	tgid = host.task.tgid;
	p = bpf_map_lookup_elem(&async_places, &tgid);
	assert_int_equal(p->start_ns, host.leader.start_boottime);
	p->start_ns++;
	assert_null(tick());
	assert_int_equal(bpf_map_delete_elem(&async_places, &tgid), 0);
	assert_null(tick());
}

static void test_sets(void **state)
{
	u64 i;

	make_world(14);
	put_task(0, w.at[2] - l.coro.gen_frame, SET(0), true);
	put_coro(1, 10, 0);
	put_task(1, CORO(1), 0, false);
	put_set(0, 8, 7, TASK(1), 1);
	assert_int_equal(expect_end(ASYNC_WHOLE, 1, 1)->flags, 0);
	/* Slots that were emptied have an object, and the hash -1. */
	for (i = 0; i < 7; i++) {
		host_mem_put64(SET(0) + 0x1000 + 16 * i, TASK(9));
		host_mem_put64(SET(0) + 0x1008 + 16 * i, ~0ull);
	}
	expect_end(ASYNC_WHOLE, 1, 1);
	/* Several: the first one. */
	put_set(0, 8, 2, TASK(1), 3);
	assert_int_equal(expect_end(ASYNC_WHOLE, 1, 1)->flags, ASYNC_SEVERAL);
	/* The last slot that is looked at, and the one behind it. */
	host_mem_unmap(SET(0), 0x10000);
	put_set(0, 1024, 255, TASK(1), 1);
	expect_end(ASYNC_WHOLE, 1, 1);
	host_mem_unmap(SET(0), 0x10000);
	put_set(0, 1024, 256, TASK(1), 1);
	expect_end(ASYNC_UNREADABLE, 0, 0);
	/* An entry behind the table's end is none; a set that says nonsense is none. */
	put_set(0, 8, 9, TASK(1), 1);
	expect_end(ASYNC_UNREADABLE, 0, 0);
	put_set(0, 8, 1, TASK(1), 0);
	expect_end(ASYNC_UNREADABLE, 0, 0);
	put_set(0, 8, 1, TASK(1), 1ull << 40);
	expect_end(ASYNC_UNREADABLE, 0, 0);
	put_set(0, 8, 1, TASK(1), 1);
	host_mem_put64(SET(0) + l.coro.set_table, 0x10);
	expect_end(ASYNC_UNREADABLE, 0, 0);
}

static void test_cycles(void **state)
{
	make_world(15);
	put_task(0, w.at[2] - l.coro.gen_frame, TASK(0), false);
	expect_end(ASYNC_CYCLE, 0, 0);
	put_task(0, w.at[2] - l.coro.gen_frame, TASK(1), false);
	put_coro(1, 10, 0);
	put_task(1, CORO(1), TASK(0), false);
	expect_end(ASYNC_CYCLE, 1, 1);
	put_task(1, CORO(1), TASK(2), false);
	put_coro(2, 11, 0);
	put_task(2, CORO(2), TASK(1), false);
	expect_end(ASYNC_CYCLE, 2, 2);
	/* A coroutine that awaits itself. */
	put_task(1, CORO(1), 0, false);
	put_coro(1, 10, CORO(1));
	expect_end(ASYNC_DEPTH, 1, RAW_ASYNC_FRAMES);
}

/* A chain of so many awaiting tasks. */
static void await_each_other(u32 tasks)
{
	u32 i;

	for (i = 0; i <= tasks; i++) {
		put_coro(i, 5 + i, 0);
		put_task(i, i ? CORO(i) : w.at[2] - l.coro.gen_frame,
			 i < tasks ? TASK(i + 1) : 0, false);
	}
}

static void test_depth(void **state)
{
	make_world(14);
	await_each_other(RAW_ASYNC_TASKS);
	expect_end(ASYNC_WHOLE, RAW_ASYNC_TASKS, RAW_ASYNC_TASKS);
	await_each_other(RAW_ASYNC_TASKS + 1);
	expect_end(ASYNC_DEPTH, RAW_ASYNC_TASKS, RAW_ASYNC_TASKS);
}

/* Of a torn chain nothing is sent but how it ended, and the frames before. */
static void test_torn(void **state)
{
	make_world(14);
	await_each_other(1);
	expect_end(ASYNC_WHOLE, 1, 1);
	put_state(1, l.coro.state_executing);
	expect_end(ASYNC_NOT_SUSPENDED, 1, 0);
	put_state(1, SUSPENDED);
	expect_end(ASYNC_NOT_SUSPENDED, 1, 0);
	put_state(1, l.coro.state_yield_from);
	host_mem_put64(CORO(1) + l.coro.ob_type, OTHER_TYPE);
	expect_end(ASYNC_FOREIGN, 1, 0);
	host_mem_put64(CORO(1) + l.coro.ob_type, TYPE);
	host_mem_put8(CORO(1) + l.coro.gen_frame + w.img.layout.fr_owner, OWNER_THREAD);
	expect_end(ASYNC_UNREADABLE, 1, 0);
	put_coro(1, 10, 0);
	host_mem_put64(CORO(1) + l.coro.gen_frame + w.img.layout.fr_code, 0x123450);
	expect_end(ASYNC_UNREADABLE, 1, 0);
	put_coro(1, 10, 0);
	put_task(1, 0, 0, false);
	expect_end(ASYNC_NOT_SUSPENDED, 1, 0);
	put_task(1, CORO(5), 0, false);
	expect_end(ASYNC_UNREADABLE, 1, 0);
	put_task(1, CORO(1), 0, false);
	host_mem_put8(TASK(1) + l.task.task_is_task, 2);
	expect_end(ASYNC_UNREADABLE, 0, 0);
	host_mem_unmap(TASK(1), 0x1000);
	expect_end(ASYNC_UNREADABLE, 0, 0);
	/* What it awaits is no coroutine, or cannot be read: then it is the innermost one. */
	await_each_other(1);
	put_coro(1, 10, OTHER_TYPE);
	expect_end(ASYNC_WHOLE, 1, 1);
	put_coro(1, 10, 0x10);
	expect_end(ASYNC_WHOLE, 1, 1);
	host_mem_put64(CORO(1) + l.coro.gen_frame + l.coro.fr_stack, 0x10);
	expect_end(ASYNC_WHOLE, 1, 1);
}

/* Whichever read fails, the sample is sent, and no frame is wrong. */
static void test_unreadable(void **state)
{
	const struct raw_async *r;
	u64 reads;

	make_world(14);
	await_each_other(3);
	world_sample();
	reads = host.reads;
	for (host.fail_read = 1; host.fail_read <= reads; host.fail_read++) {
		world_sample();
		r = record(NULL);
		if (!r)
			continue;
		assert_true(r->nframes <= 3 && r->ntasks <= 3 && r->end < ASYNC_END_CNT);
		if (r->end == ASYNC_WHOLE)
			assert_int_equal(r->nframes, 3);
	}
	host.fail_read = 0;
}

/* Objects of any bytes. */
static void test_random(void **state)
{
	const struct raw_async *r;
	u32 round, i;
	u64 byte;

	make_world(15);
	await_each_other(4);
	srand(1);
	for (round = 0; round < 20000; round++) {
		u32 which = rand() % 4 + 1;
		u64 at = (rand() & 1 ? TASK(which) : CORO(which)) + rand() % 256;

		assert_int_equal(host_mem_read(NULL, at & ~7ull, &byte, 8), 0);
		host_mem_put8(at, rand());
		world_sample();
		r = record(NULL);
		assert_non_null(r);
		assert_true(r->nframes <= RAW_ASYNC_FRAMES && r->ntasks <= RAW_ASYNC_TASKS);
		for (i = 0; i < r->ntasks; i++)
			assert_true(r->starts[i] <= r->nframes);
		for (i = 0; i < r->nframes; i++)
			assert_true(r->frames[i].id);
		host_mem_put64(at & ~7ull, byte);
	}
}

static void test_late(void **state)
{
	const unsigned int limit = 60000, none = 0;
	const struct raw_async *r;
	u32 i;

	make_world(14);
	for (i = 1; i < 100; i++)
		put_coro(i, 10, CORO(i + 1));
	put_coro(100, 10, 0);
	put_task(1, CORO(1), 0, false);
	put_task(0, w.at[2] - l.coro.gen_frame, TASK(1), false);
	expect_end(ASYNC_WHOLE, 1, 100);
	host_set(&cfg_limit_ns, &limit, sizeof(limit));
	host.clock_step_ns = 20000;
	world_sample();
	r = record(NULL);
	assert_non_null(r);
	assert_int_equal(r->end, ASYNC_TIME);
	assert_true(r->nframes < 100);
	host.clock_step_ns = 0;
	host_set(&cfg_limit_ns, &none, sizeof(none));
}

static void test_name(void **state)
{
	const struct raw_async *r;
	u32 header;

	make_world(14);
	header = w.img.layout.str_length;
	host_mem_map(STR_TYPE, 4096);
	host_mem_put64(STR_TYPE + header + ASYNC_TP_FLAGS, TPFLAGS_UNICODE_SUBCLASS);
	world_string_at(&w, NAME, "reader");
	host_mem_put64(NAME + l.coro.ob_type, STR_TYPE);
	assert_int_equal(tick()->name_at.len, 0);
	set(&cfg_task_names, true);
	r = tick();
	assert_int_equal(r->name_at.addr, NAME);
	assert_int_equal(r->name_at.len, RAW_ASYNC_NAME);
	assert_memory_equal(r->name + w.img.objects.str_ascii_data, "reader", 7);
	/* The number of a task that the program has not named. */
	host_mem_put64(STR_TYPE + header + ASYNC_TP_FLAGS, 1ull << 24);
	assert_int_equal(tick()->name_at.len, 0);
	host_mem_put64(NAME + l.coro.ob_type, 0x10);
	assert_int_equal(tick()->name_at.len, 0);
	set(&cfg_task_names, false);
}

/* Asyncio is not loaded yet: each time that code was mapped, and first at once, that is said. */
static void test_not_loaded(void **state)
{
	struct async_place *p;
	const struct raw_tick *t;
	u32 tgid;
	int i = 0;

	make_world(14);
	tgid = host.task.tgid;
	p = bpf_map_lookup_elem(&async_places, &tgid);
	p->l.valid = 0;
	host.mm.exec_vm = 10;
	assert_null(tick());
	t = host_record(RAW_CHANGED, &i, NULL);
	assert_non_null(t);
	assert_int_equal(t->h.why, CHANGED_ASYNC);
	assert_int_equal(t->h.tgid, tgid);
	assert_int_equal(t->h.start_ns, host.leader.start_boottime);
	i = 0;
	assert_null(tick());
	assert_null(host_record(RAW_CHANGED, &i, NULL));
	host.mm.exec_vm = 11;
	host.ring_room = 0;
	world_sample();
	host.ring_room = HOST_RECORDS_MAX;
	assert_null(tick());
	i = 0;
	assert_non_null(host_record(RAW_CHANGED, &i, NULL));
}

static void test_ring_full(void **state)
{
	make_world(14);
	tick();
	host.ring_room = 0;
	assert_null(world_sample());
	assert_int_equal(host_counter(CNT_ASYNC_LOST), 1);
	assert_int_equal(host_counter(CNT_RING_FULL), 1);
}

/* A task that blocks its thread: the switch-out has its awaiters, too. */
static void test_switch_out(void **state)
{
	const struct raw_async *r;
	const struct raw_sample *s;
	int i = 0;

	make_world(14);
	await_each_other(2);
	host.user_regs.orig_ax = host.user_regs.syscallno = 0;
	host.task.__state = 1;
	host_drop_records();
	host_on_switch(false, &host.task, &idle_task);
	s = host_record(RAW_SWITCH_OUT, &i, NULL);
	assert_non_null(s);
	r = record(NULL);
	assert_non_null(r);
	assert_int_equal(r->h.time_ns, s->h.time_ns);
	assert_int_equal(r->ntasks, 2);
}

/* A child has its parent's tasks; after an exec and an exit there are none. */
static void test_lifecycle(void **state)
{
	u32 tgid = 4242, own, children = WATCH_CHILDREN;
	struct task_struct child;
	struct async_place *p;

	make_world(14);
	own = host.task.tgid;
	assert_int_equal(bpf_map_update_elem(&watched, &own, &children, BPF_ANY), 0);
	tick();
	child = host.task;
	child.tgid = child.pid = tgid;
	child.start_boottime = 987654321;
	host_on_fork(&host.task, &child);
	p = bpf_map_lookup_elem(&async_places, &tgid);
	assert_non_null(p);
	assert_int_equal(p->start_ns, 987654321);
	assert_true(p->l.valid);
	host_on_exec(&host.task, own, &host.bprm);
	assert_null(bpf_map_lookup_elem(&async_places, &own));
	put_place();
	host_on_exit(&host.task);
	assert_null(bpf_map_lookup_elem(&async_places, &own));
}

static int end(void **state)
{
	set(&cfg_async, false);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_chain, end),
		cmocka_unit_test_teardown(test_nothing_to_send, end),
		cmocka_unit_test_teardown(test_sets, end),
		cmocka_unit_test_teardown(test_cycles, end),
		cmocka_unit_test_teardown(test_depth, end),
		cmocka_unit_test_teardown(test_torn, end),
		cmocka_unit_test_teardown(test_unreadable, end),
		cmocka_unit_test_teardown(test_random, end),
		cmocka_unit_test_teardown(test_late, end),
		cmocka_unit_test_teardown(test_name, end),
		cmocka_unit_test_teardown(test_not_loaded, end),
		cmocka_unit_test_teardown(test_ring_full, end),
		cmocka_unit_test_teardown(test_switch_out, end),
		cmocka_unit_test_teardown(test_lifecycle, end),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
