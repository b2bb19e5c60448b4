// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_memory_fault.c - page faults: what is sent of them, and what they weigh; moves of pages. */
#include "bpf/abi_memory.h"

#include "world.h"

#define PAGE 4096ull
#define HUGE (512 * PAGE)
#define FAULT_ADDR 0x7fee12345678ull

static struct world w;

static void begin(int minor)
{
	world_init(&w, minor);
	host.regs.period = 47;
	host.regs.addr = FAULT_ADDR;
}

/* The time between two faults that are chosen. */
static u64 apart_ns = 1000000;

/* The event has counted so many faults, and chooses the last of them. Returns the RAW_ALLOC. */
static const struct raw_sample *fault(u64 faults)
{
	const struct raw_sample *s;
	size_t len;
	int i = 0;

	host_drop_records();
	host.event_count += faults;
	host.now_ns += apart_ns;
	on_page_fault((struct bpf_perf_event_data *)&host.regs);
	s = host_record(RAW_ALLOC, &i, &len);
	if (!s)
		return NULL;
	assert_int_equal(s->flags & RAW_WEIGHED, RAW_WEIGHED);
	assert_int_equal(len, raw_sample_bytes(s->nframes, s->flags));
	assert_int_equal(s->h.why, ALLOC_PAGE);
	assert_int_equal(s->h.tgid, 1001);
	assert_int_equal(s->tid, 1001);
	assert_int_equal(s->h.start_ns, 77);
	assert_int_equal(raw_sample_memory(s)->addr, FAULT_ADDR);
	assert_int_equal(raw_sample_memory(s)->bytes, PAGE);
	return s;
}

/* Each fault ends in one way. */
static void check_counters(void)
{
	assert_int_equal(host_counter(CNT_FAULT),
			 host_counter(CNT_FAULT_OTHER) + host_counter(CNT_ALLOC) +
			 host_counter(CNT_ALLOC_LOST));
}

static void test_stack(void **state)
{
	const struct raw_sample *s;
	int minor, i;

	EACH_MINOR(minor) {
		begin(minor);
		world_recurse(&w, 7);
		s = fault(47);
		assert_non_null(s);
		world_check_frames(&w, s, 7);
		assert_int_equal(s->flags, RAW_WEIGHED);
		assert_int_equal(s->h.sysno, CNT_SAMPLE);
		assert_int_equal(raw_sample_memory(s)->weight, 47 * PAGE);
		i = 0;
		assert_non_null(host_record(RAW_CODE, &i, NULL));
		check_counters();
	}
}

/* As deep as a record can be, there is room for what follows the frames. */
static void test_deep(void **state)
{
	const struct raw_sample *s;

	begin(13);
	world_recurse(&w, 300);
	s = fault(47);
	assert_int_equal(s->nframes, ABI_MAX_FRAMES);
	assert_int_equal(s->flags, RAW_WEIGHED | RAW_TRUNCATED);
}

/* read() writes to the page: the kernel was interrupted. */
static void test_in_the_kernel(void **state)
{
	const struct raw_sample *s;

	begin(13);
	world_recurse(&w, 3);
	host.regs.cs = 0x10;
	s = fault(47);
	world_check_frames(&w, s, 3);
}

static u64 faults_of(const struct raw_sample *s)
{
	return raw_sample_memory(s)->weight / PAGE;
}

/* The sum of all weights is what the kernel has counted, whatever changes. */
static void test_period_changes(void **state)
{
	u64 sum;

	begin(13);
	world_recurse(&w, 1);
	host.regs.period = 46;
	sum = faults_of(fault(46));
	sum += faults_of(fault(46));
	/* 11 faults later the period becomes 61: perf chooses the next fault. */
	sum += faults_of(fault(12));
	host.regs.period = 61;
	sum += faults_of(fault(61));
	assert_int_equal(sum, host.event_count);
	assert_int_equal(faults_of(fault(61)), 61);
	/* A shorter period than what the fault before has stood for too much: the next ones pay. */
	sum = host.event_count + faults_of(fault(1));
	host.regs.period = 37;
	sum += faults_of(fault(37));
	assert_true(sum > host.event_count);
	sum += faults_of(fault(1));
	host.regs.period = 61;
	sum += faults_of(fault(61));
	assert_int_equal(sum, host.event_count);
}

/* A CPU was offline: its event is another one, with another period or with the same. */
static void test_new_event(void **state)
{
	int i;

	begin(13);
	world_recurse(&w, 1);
	for (i = 0; i < 9; i++)
		assert_int_equal(faults_of(fault(47)), 47);
	host.event_count = 0;
	assert_int_equal(faults_of(fault(47)), 47);
	host.event_count = 0;
	host.regs.period = 50;
	for (i = 0; i < 9; i++)
		assert_int_equal(faults_of(fault(50)), 50);
	host.event_count = 0;
	host.regs.period = 47;
	assert_int_equal(faults_of(fault(47)), 47);
}

/* The faults of other processes since the last one count, too: whose is chosen is chance. */
static void test_faults_of_others_count(void **state)
{
	begin(13);
	world_recurse(&w, 1);
	fault(47);
	host.task.tgid = 4000;
	assert_null(fault(47));
	host.task.tgid = 1001;
	assert_int_equal(raw_sample_memory(fault(47))->weight, 47 * PAGE);
}

static void test_each_fault(void **state)
{
	int i;

	begin(13);
	world_recurse(&w, 1);
	host.regs.period = 1;
	for (i = 0; i < 9; i++)
		assert_int_equal(raw_sample_memory(fault(1))->weight, PAGE);
}

/* There is no stack: the bytes count, and the record says why. */
static void test_no_stack(void **state)
{
	const struct raw_sample *s;

	begin(13);
	s = fault(47);		/* a thread state without a frame */
	assert_int_equal(s->nframes, 0);
	assert_int_equal(s->h.sysno, CNT_NO_FRAMES);
	assert_int_equal(s->flags, RAW_WEIGHED);
	assert_int_equal(raw_sample_memory(s)->weight, 47 * PAGE);
	host_mem_unmap(W_TSTATE, 4096);
	s = fault(47);
	assert_int_equal(s->h.sysno, CNT_TSTATE_UNREADABLE);
	host_mem_put64(W_TP + W_TSS + 16 * 3 + 8, 0);
	s = fault(47);
	assert_int_equal(s->h.sysno, CNT_NATIVE_THREAD);
	assert_int_equal(host_counter(CNT_ALLOC), 3);
	check_counters();
}

static void test_others(void **state)
{
	begin(13);
	world_recurse(&w, 2);
	host.task.tgid = 4000;		/* not admitted */
	assert_null(fault(47));
	host.task.tgid = 1001;
	host.leader.start_boottime++;	/* the pid was used again */
	assert_null(fault(47));
	host.leader.start_boottime--;
	host.task.flags = PF_EXITING;
	assert_null(fault(47));
	host.task.flags = 0;
	host.mm.start_code = 0;		/* an exec */
	assert_null(fault(47));
	host.mm.start_code = 0x401000;
	world_proc()->state = PY_PROC_OTHER;
	assert_null(fault(47));
	world_proc()->state = PY_PROC_PYTHON;
	capture_paused = 1;
	assert_null(fault(47));
	capture_paused = 0;
	assert_non_null(fault(47));
	assert_int_equal(host_counter(CNT_FAULT_OTHER), 6);
	check_counters();
}

static void test_ring_full(void **state)
{
	begin(13);
	world_recurse(&w, 2);
	host.ring_room = 0;
	assert_null(fault(47));
	assert_int_equal(host_counter(CNT_ALLOC_LOST), 1);
	check_counters();
}

/* Each walk takes long: soon there is no budget left, but the bytes count. */
static void test_budget(void **state)
{
	const struct raw_sample *s;
	int i, walked = 0;

	begin(13);
	world_recurse(&w, 2);
	apart_ns = 0;
	host.clock_step_ns = 100000;
	for (i = 0; i < 100; i++) {
		s = fault(47);
		walked += s->nframes != 0;
		assert_int_equal(raw_sample_memory(s)->weight, 47 * PAGE);
		assert_int_equal(s->flags, RAW_WEIGHED | (s->nframes ? 0 : RAW_NOT_WALKED));
		assert_int_equal(s->h.sysno, s->nframes ? CNT_SAMPLE : CNT_FAULT_NOT_WALKED);
	}
	assert_in_range(walked, 1, 99);
	assert_int_equal(host_counter(CNT_FAULT_NOT_WALKED), 100 - walked);
	check_counters();
	apart_ns = 1000000;
}

/*
 * Walks take no time here, and faults come so fast that counting and choosing them takes more than
 * the budget: a storm pays for them first. When it is over, there are walks again at once.
 */
static void test_a_storm_pays_for_its_faults(void **state)
{
	int i, walked = 0;

	begin(13);
	world_recurse(&w, 2);
	apart_ns = 47 * 500;
	for (i = 0; i < 10000; i++)
		walked += fault(47)->nframes != 0;
	assert_in_range(walked, 1, 5000);
	apart_ns = 1000000;
	for (i = 0; i < 50; i++)	/* the debt is at most 5 ms, which are saved up in 40 */
		fault(47);
	assert_int_not_equal(fault(47)->nframes, 0);
	check_counters();
}

/* ---- mremap() ---- */

/* The kernel has found `at` for so many bytes in mremap(0x7f0000005000, 10 pages, new_bytes). */
static const struct raw_moved *find_room(u64 at, u64 length, u64 flags, u64 new_bytes)
{
	struct vm_unmapped_area_info info = { .flags = flags, .length = length };
	int i = 0;

	host_drop_records();
	host.user_regs.orig_ax = host.user_regs.syscallno = NR_MREMAP;
	host.user_regs.di = host.user_regs.orig_x0 = 0x7f0000005000;
	host.user_regs.si = host.user_regs.regs[1] = 10 * PAGE;
	host.user_regs.dx = host.user_regs.regs[2] = new_bytes;
	host_on_unmapped_area(at, &info);
	return host_record(RAW_MOVED, &i, NULL);
}

static void test_moved(void **state)
{
	const struct raw_moved *r;

	begin(13);
	r = find_room(0x7e0000001000, 20 * PAGE, 1, 20 * PAGE);
	assert_non_null(r);
	assert_int_equal(r->h.tgid, 1001);
	assert_int_equal(r->tid, 1001);
	assert_int_equal(r->h.start_ns, 77);
	assert_int_equal(r->addr, 0x7f0000005000);
	assert_int_equal(r->bytes, 10 * PAGE);
	assert_int_equal(r->to, 0x7e0000001000);
}

/* The kernel aligns what it has found. */
static void test_moved_to_huge_pages(void **state)
{
	begin(13);
	assert_int_equal(find_room(0x7e0000001000, 3 * HUGE, 1, 2 * HUGE)->to, 0x7e0000200000);
	assert_int_equal(find_room(0x7e0000001000, 3 * HUGE, 0, 2 * HUGE - 5)->to, 0x7e0000200000);
	assert_int_equal(find_room(0x7e0000200000, 3 * HUGE, 0, 2 * HUGE)->to, 0x7e0000200000);
	assert_int_equal(find_room(0x7e0000200000, 3 * HUGE, 1, 2 * HUGE)->to, 0x7e0000400000);
	assert_int_equal(find_room(0x7e0000001000, 3 * HUGE, 1, 3 * HUGE)->to, 0x7e0000001000);
}

static void test_not_moved(void **state)
{
	struct vm_unmapped_area_info info = { .length = PAGE };
	const struct raw_free *r;
	int i = 0;

	begin(13);
	assert_null(find_room(-12ul, 20 * PAGE, 1, 20 * PAGE));	/* -ENOMEM */
	host.user_regs.orig_ax = host.user_regs.syscallno = 9;
	host_on_unmapped_area(0x7e0000001000, &info);
	assert_int_equal(host.record_cnt, 1);	/* mmap(): what was there is gone */
	r = host_record(RAW_FREE, &i, NULL);
	assert_non_null(r);
	assert_int_equal(r->h.why, ALLOC_PAGE);
	assert_int_equal(r->addr, 0x7e0000001000);
	assert_int_equal(r->bytes, PAGE);
	host.task.tgid = 4000;
	assert_null(find_room(0x7e0000001000, 20 * PAGE, 1, 20 * PAGE));
	host.task.tgid = 1001;
	host.ring_room = 0;
	assert_null(find_room(0x7e0000001000, 20 * PAGE, 1, 20 * PAGE));
	assert_int_equal(host_counter(CNT_FREE_LOST), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_in_the_kernel),
		cmocka_unit_test(test_period_changes),
		cmocka_unit_test(test_new_event),
		cmocka_unit_test(test_faults_of_others_count),
		cmocka_unit_test(test_each_fault),
		cmocka_unit_test(test_no_stack),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_ring_full),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_a_storm_pays_for_its_faults),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_moved_to_huge_pages),
		cmocka_unit_test(test_not_moved),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
