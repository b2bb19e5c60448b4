// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_collections.c - what an interpreter counts of its collections is sent when it changes. */
#include "bpf/abi_memory.h"
#include "tests/hostbpf/world.h"

#define STATS 0x7777000000ull	/* 3.15's struct gc_stats */
#define MS 1000000ull
#define SECOND_INTERP (W_INTERP + 0x10000000ull)

static struct world w;
static int build;
static u64 now;	/* of the last tick: each reading of the clock advances it */

#define EACH_BUILD(b)                                                                              \
	for ((b) = LAYOUT_MINOR_MIN; (b) <= 15 + FREE_THREADED; (b)++)                             \
		if ((b) <= LAYOUT_MINOR_MAX || (b) >= 13 + FREE_THREADED)

static void set(bool ticks, bool gc_stats)
{
	const unsigned int period = 10 * MS;

	host_set(&cfg_ticks, &ticks, sizeof(ticks));
	host_set(&cfg_gc_stats, &gc_stats, sizeof(gc_stats));
	host_set(&cfg_period_ns, &period, sizeof(period));
}

static bool has_rings(void)
{
	return w.img.layout.gc_stats_how == PY_GC_STATS_RINGS;
}

static u64 stats_of(u64 interp)
{
	return w.proc.gc_stats ? w.proc.gc_stats : interp + w.img.layout.interp_gc_stats;
}

/* Does the thread hold the GIL? */
static void set_gil(bool on)
{
	const struct py_layout *l = &w.proc.l;
	u32 others = l->ts_gil == l->ts_status ? TS_BOUND_GILSTATE : 0;

	if (l->gil_how == PY_GIL_TS_MASK)
		host_mem_put32(W_TSTATE + l->ts_gil, others | (on ? l->ts_gil_mask & 0xff : 0));
	else
		host_mem_put64(w.proc.current, on ? W_TSTATE : 0);
}

/* Address of a generation's ring. */
static u64 ring_of(u32 generation)
{
	u64 young = gc_ring_bytes(w.img.layout.gc_young_items);

	return STATS + (generation ? young + (generation - 1) *
						    gc_ring_bytes(w.img.layout.gc_old_items) : 0);
}

static u64 updates_at(void)
{
	return STATS + gc_rings_bytes(w.img.layout.gc_young_items, w.img.layout.gc_old_items) - 8;
}

/* A collection of this generation has ended: its sums are now these, in the next item of a ring. */
static void collected(u32 generation, u64 collections, u64 cnt, u64 bad)
{
	u64 items = generation ? w.img.layout.gc_old_items : w.img.layout.gc_young_items;
	u64 at = stats_of(W_INTERP) + 24 * generation;
	double seconds = collections / 8.0;
	static u32 updates;
	u64 bits;

	if (has_rings()) {
		memcpy(&bits, &seconds, sizeof(bits));
		at = ring_of(generation);
		host_mem_put8(at + items * GC_ITEM_BYTES, collections % items);
		at += collections % items * GC_ITEM_BYTES + 16;
		host_mem_put64(at + 32, bits);
		host_mem_put32(updates_at(), updates += 2);
	}
	host_mem_put64(at, collections);
	host_mem_put64(at + 8, cnt);
	host_mem_put64(at + 16, bad);
}

static void start(int b)
{
	build = b;
	world_init(&w, b);
	if (has_rings()) {
		host_mem_map(STATS, 4096);
		host_mem_put64(stats_of(W_INTERP), STATS);
	}
	set_gil(false);
	set(false, true);
	now = 1000 * MS;
}

/* The only RAW_GC_DONE of a tick, a period after the last one; NULL: none. Valid until the next. */
static const struct raw_gc *tick(void)
{
	static struct raw_gc last;
	const struct raw_gc *r;
	size_t len;
	int i = 0;

	now += 10 * MS;
	host.now_ns = now;
	host_tick();
	r = host_record(RAW_GC_DONE, &i, &len);
	if (!r)
		return NULL;
	assert_int_equal(len, sizeof(*r));
	assert_int_equal(r->h.tgid, host.task.tgid);
	assert_int_equal(r->tid, host.task.pid);
	assert_int_equal(r->h.start_ns, host.leader.start_boottime);
	assert_in_range(r->h.time_ns, now, now + 100);
	assert_null(host_record(RAW_GC_DONE, &i, &len));
	last = *r;	/* the next tick frees its record */
	return &last;
}

static void expect(const struct raw_gc *r, u32 generation, u64 collections, u64 cnt, u64 bad)
{
	double seconds;

	assert_non_null(r);
	assert_int_equal(r->generations[generation].collections, collections);
	assert_int_equal(r->generations[generation].collected, cnt);
	assert_int_equal(r->generations[generation].uncollectable, bad);
	memcpy(&seconds, &r->seconds[generation], sizeof(seconds));
	assert_true(seconds == (has_rings() ? collections / 8.0 : 0));
}

/* Each build: the first look, each generation, and nothing while nothing changes. */
static void test_changes_are_sent(void **state)
{
	const struct raw_gc *r;
	u64 since;
	u32 i;

	EACH_BUILD(build) {
		start(build);
		r = tick();
		expect(r, 0, 0, 0, 0);
		assert_int_equal(r->interp_id, w.proc.gc_stats ? 0 : world_interp_id(&w));
		assert_int_equal(r->since_ns, 0);
		since = r->h.time_ns;
		assert_null(tick());
		assert_in_range(host.reads, 4, 7);	/* so little costs a tick */
		for (i = 1; i <= 14; i++) {	/* more than a ring has */
			collected(i % 3, i, 100 * i, i > 10);
			r = tick();
			expect(r, i % 3, i, 100 * i, i > 10);
			assert_int_equal(r->since_ns, since);
			assert_int_equal(r->seen_ns, 0);
			since = r->h.time_ns;
			assert_null(tick());
		}
		expect(r, 0, 12, 1200, 1);
		expect(r, 1, 13, 1300, 1);
		assert_int_equal(host_counter(CNT_GC_DONE), 15);
		assert_int_equal(host_counter(CNT_UNWANTED), 30);
	}
}

/* Each tick that interrupts a collection stands for its period, in the thread that collects. */
static void test_time_that_ticks_saw(void **state)
{
	const struct raw_gc *r;
	u64 flag;

	EACH_BUILD(build) {
		start(build);
		flag = w.proc.collecting ? w.proc.collecting :
		       has_rings() ? world_collecting(&w) : stats_of(W_INTERP) + 72;
		assert_int_equal(tick()->seen_ns, 0);
		set_gil(true);
		assert_null(tick());
		host_mem_put32(flag, 1);
		assert_null(tick());
		assert_null(tick());
		set_gil(false);		/* another thread collects */
		assert_null(tick());
		set_gil(true);
		collected(2, 1, 5, 0);
		r = tick();		/* at its end, or in the next one already */
		expect(r, 2, 1, 5, 0);
		assert_int_equal(r->seen_ns, 30 * MS);
		host_mem_put32(flag, 0);
		collected(2, 2, 5, 0);
		r = tick();
		expect(r, 2, 2, 5, 0);
		assert_int_equal(r->seen_ns, 0);
	}
}

/* A record that does not fit is sent by a later tick, and nothing is missing then. */
static void test_ring_full(void **state)
{
	start(14);
	host.ring_room = 0;
	assert_null(tick());
	host.ring_room = 100;
	expect(tick(), 0, 0, 0, 0);
	collected(0, 1, 10, 0);
	host.ring_room = 0;
	assert_null(tick());
	assert_null(tick());
	collected(0, 2, 20, 0);
	host.ring_room = 100;
	expect(tick(), 0, 2, 20, 0);
	assert_int_equal(host_counter(CNT_GC_DONE), 2);
}

/* 3.15: while the interpreter writes, and with an index or a pointer that leads nowhere. */
static void test_rings_that_cannot_be_read(void **state)
{
	start(15);
	expect(tick(), 0, 0, 0, 0);
	collected(0, 1, 10, 0);
	host_mem_put32(updates_at(), 0x7fffffff);	/* odd: it is being written */
	assert_null(tick());
	host_mem_put32(updates_at(), 0x7ffffffe);
	host_mem_put8(ring_of(0) + 11 * GC_ITEM_BYTES, 11);
	assert_null(tick());
	host_mem_put8(ring_of(0) + 11 * GC_ITEM_BYTES, 0xff);
	assert_null(tick());
	host_mem_put8(ring_of(0) + 11 * GC_ITEM_BYTES, 1);
	expect(tick(), 0, 1, 10, 0);
	collected(0, 2, 10, 0);
	host_mem_put64(stats_of(W_INTERP), 0);
	assert_null(tick());
	host_mem_put64(stats_of(W_INTERP), 0xdead000000);
	assert_null(tick());
}

static void test_unreadable(void **state)
{
	EACH_BUILD(build) {
		start(build);
		host_mem_unmap(stats_of(W_INTERP), 72);
		assert_null(tick());
		start(build);
		w.proc.l.gc_stats_how = PY_GC_STATS_NONE;
		world_put_proc(&w);
		assert_null(tick());
	}
}

/* A thread without a state looks at the first interpreter, once that is known. */
static void test_native_thread(void **state)
{
	EACH_BUILD(build) {
		start(build);
		host.task.flags |= PF_EXITING;	/* it has no state any more */
		if (w.proc.gc_stats)
			expect(tick(), 0, 0, 0, 0);
		else
			assert_null(tick());
		host.task.flags &= ~PF_EXITING;
		if (w.img.layout.interp_id != ABI_NO_OFF32)
			host_mem_put64(W_INTERP + w.img.layout.interp_id, 0);
		tick();
		host.task.flags |= PF_EXITING;
		collected(1, 1, 3, 0);
		expect(tick(), 1, 1, 3, 0);
	}
}

/* From 3.9 on each interpreter counts for itself; the thread's own one is looked at. */
static void test_two_interpreters(void **state)
{
	const struct raw_gc *r;
	int minor;

	EACH_MINOR(minor) {
		start(minor);
		if (w.proc.gc_stats || has_rings())
			continue;
		set_gil(true);
		expect(tick(), 0, 0, 0, 0);
		collected(0, 1, 3, 0);
		expect(tick(), 0, 1, 3, 0);
		host_mem_map(SECOND_INTERP, 256 * 1024);
		host_mem_put64(SECOND_INTERP + w.img.layout.interp_id, 7);
		host_mem_put64(stats_of(SECOND_INTERP), 40);
		host_mem_put64(W_TSTATE + w.img.layout.ts_interp, SECOND_INTERP);
		r = tick();
		expect(r, 0, 40, 0, 0);
		assert_int_equal(r->interp_id, 7);
		assert_int_equal(r->since_ns, 0);
		host_mem_put64(W_TSTATE + w.img.layout.ts_interp, W_INTERP);
		assert_null(tick());
		collected(0, 2, 3, 0);
		r = tick();
		expect(r, 0, 2, 3, 0);
		assert_int_equal(r->interp_id, 6);
		assert_int_not_equal(r->since_ns, 0);
	}
}

/* Another process with the same addresses begins anew. */
static void test_another_process(void **state)
{
	const struct raw_gc *r;

	start(13);
	collected(0, 7, 70, 0);
	expect(tick(), 0, 7, 70, 0);
	assert_null(tick());
	w.proc.ident++;
	world_put_proc(&w);
	r = tick();
	expect(r, 0, 7, 70, 0);
	assert_int_equal(r->since_ns, 0);
}

static void test_other_modes(void **state)
{
	EACH_BUILD(build) {
		start(build);
		set(false, false);
		assert_null(tick());
		set(true, false);
		assert_null(tick());
		assert_int_equal(host_counter(CNT_GC_DONE), 0);
	}
}

static int reset(void **state)
{
	set(true, false);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_changes_are_sent, reset),
		cmocka_unit_test_teardown(test_time_that_ticks_saw, reset),
		cmocka_unit_test_teardown(test_ring_full, reset),
		cmocka_unit_test_teardown(test_rings_that_cannot_be_read, reset),
		cmocka_unit_test_teardown(test_unreadable, reset),
		cmocka_unit_test_teardown(test_native_thread, reset),
		cmocka_unit_test_teardown(test_two_interpreters, reset),
		cmocka_unit_test_teardown(test_another_process, reset),
		cmocka_unit_test_teardown(test_other_modes, reset),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
