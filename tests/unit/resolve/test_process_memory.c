// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_process_memory.c - page faults of a process become events with the stacks of samples. */
#include "tests/unit/resolve/process_test.h"

#include <errno.h>

#include "memory/page_check.h"
#include "resolve/other_frames.h"

#define PAGE ((uint64_t)sysconf(_SC_PAGESIZE))
#define WEIGHT (16 * PAGE)
#define KEPT_MAX 64

static struct kept_memory {
	struct memory_event ev;
	uint32_t frames[EVENT_MAX_FRAMES];
} kept[KEPT_MAX];
static unsigned int kept_cnt, fail_after;
static uint64_t now;

static int keep(struct observer *o, struct process *of, const struct memory_event *ev)
{
	uint32_t i;

	assert_ptr_equal(of, p);
	if (fail_after && !--fail_after)
		return -EIO;
	if (kept_cnt && kept_cnt < KEPT_MAX)
		assert_true(ev->time_us >= kept[kept_cnt - 1].ev.time_us);
	if (kept_cnt >= KEPT_MAX)
		return 0;
	kept[kept_cnt].ev = *ev;
	if (ev->change != MEMORY_COLLECTION && ev->change != MEMORY_CHECK) {
		assert_in_range(ev->nframes, 1, EVENT_MAX_FRAMES);
		for (i = 0; i < ev->nframes; i++)
			assert_in_range(ev->frames[i], 0, process_tables(p)->frame_cnt - 1);
		memcpy(kept[kept_cnt].frames, ev->frames, ev->nframes * sizeof(*ev->frames));
	}
	kept[kept_cnt].ev.frames = kept[kept_cnt].frames;
	kept_cnt++;
	return 0;
}

static struct observer_ops ops;

static void begin_memory(void)
{
	more_args = (struct process_args){ .memory = true, .unit = UNIT_BYTES };
	begin();
	ops = *observer.observer.ops;
	ops.memory = keep;
	observer.observer.ops = &ops;
	kept_cnt = fail_after = 0;
	now = 1000000000;
}

/* The record that stack() has filled becomes a fault's. */
static int fault(uint64_t addr)
{
	struct raw_memory *m = (struct raw_memory *)(raw.frames + raw.nframes);

	raw.h.kind = RAW_ALLOC;
	raw.h.why = ALLOC_PAGE;
	raw.h.time_ns = now += 1000000;
	raw.flags |= RAW_WEIGHED;
	*m = (struct raw_memory){ addr, PAGE, WEIGHT };
	return process_take(p, &raw, raw_len());
}

static void answer(const struct page_state *states, size_t cnt, enum pages_tag tag, uint64_t anon)
{
	struct page_answer a = {
		.tgid = getpid(), .start_ns = 9, .frames_known = true, .rss_anon = anon,
		.swapped = 3 * PAGE, .tag = tag, .cnt = cnt, .states = states,
	};

	a.asked_ns = a.read_ns = now += 1000000;
	assert_int_equal(process_pages_take(p, &a), 0);
}

static void answer_one(uint64_t addr, enum page_kind kind)
{
	const struct page_state s = { .addr = addr, .kind = (uint8_t)kind, .frame = 5 };

	answer(&s, 1, PAGES_NEW, 100 * PAGE);
}

static void check_kept(unsigned int i, enum memory_change change, uint64_t addr, uint64_t bytes)
{
	assert_true(i < kept_cnt);
	assert_int_equal(kept[i].ev.change, change);
	assert_int_equal(kept[i].ev.addr, addr);
	assert_int_equal(kept[i].ev.bytes, bytes);
}

static struct event frames_of(unsigned int i)
{
	assert_true(i < kept_cnt);
	return (struct event){ .frames = kept[i].frames, .nframes = kept[i].ev.nframes };
}

static void test_a_fault_becomes_events(void **state)
{
	struct event ev;

	begin_memory();
	stack(77, 3, 10);
	assert_int_equal(fault(0x10000), 0);
	assert_int_equal(kept_cnt, 0);
	answer_one(0x10000, PAGE_ANON);
	check_kept(0, MEMORY_ALLOC, 0x10000, WEIGHT);
	assert_int_equal(kept[0].ev.thread_id, 77);
	assert_int_equal(kept[0].ev.time_us, 1001000);
	assert_int_equal(kept[0].ev.stack, 0);
	ev = frames_of(0);
	check_stack(&ev, 3, 10);
	answer_one(0x10000, PAGE_GONE);
	check_kept(1, MEMORY_FREE, 0x10000, WEIGHT);
	ev = frames_of(1);
	check_stack(&ev, 3, 10);
	assert_int_equal(kept[1].ev.time_us, now / 1000);
	assert_int_equal(stats_now().allocs, 1);
	assert_int_equal(stats_now().alloc_bytes, WEIGHT);
	assert_int_equal(stats_now().held_bytes, 0);
	assert_int_equal(observer.events.cnt, 0);	/* no sample */
	end();
}

static void test_stacks_have_dense_numbers(void **state)
{
	unsigned int i;

	begin_memory();
	for (i = 0; i < 6; i++) {
		stack(77 + i, 3, i % 3);
		assert_int_equal(fault((i + 1) * PAGE), 0);
		answer_one((i + 1) * PAGE, PAGE_ANON);
		assert_int_equal(kept[i].ev.stack, i % 3);
	}
	end();
}

/* As in a sample: test_process.c has the rules. */
static void test_frames_that_are_no_python(void **state)
{
	struct event ev;

	begin_memory();
	stack(7, 3, 10);
	raw.flags = RAW_GC | RAW_TRUNCATED;
	raw.gc_at = 1;
	fault(0x10000);
	answer_one(0x10000, PAGE_ANON);
	ev = frames_of(0);
	assert_int_equal(ev.nframes, 5);
	check_code(&ev, 0, 10);
	check_name(&ev, 1, "<GC>");
	check_name(&ev, 4, "<truncated>");
	end();
}

static void without_stack(uint8_t flags, enum counter end, const char *name)
{
	unsigned int before = kept_cnt;
	struct event ev;

	stack(7, 0, 0);
	raw.flags = flags;
	raw.h.sysno = (uint16_t)end;
	assert_int_equal(fault(0x10000), 0);
	answer_one(0x10000, PAGE_GONE);
	assert_int_equal(kept_cnt, before + 2);
	ev = frames_of(before);
	assert_int_equal(ev.nframes, 1);
	check_name(&ev, 0, name);
}

static void test_without_a_stack(void **state)
{
	begin_memory();
	rename_thread(p, 7, "blas");
	without_stack(0, CNT_NATIVE_THREAD, "<native thread blas>");
	without_stack(0, CNT_NO_FRAMES, "<no Python frame>");
	without_stack(0, CNT_NOT_READY, "<no Python frame>");
	without_stack(RAW_NOT_WALKED, 0, "<not walked>");
	assert_int_equal(stats_now().alloc_unwalked, 1);
	assert_int_equal(stats_now().alloc_bytes, 4 * WEIGHT);
	end();
}

static void test_bad_records(void **state)
{
	begin_memory();
	stack(7, 3, 10);
	assert_int_equal(fault(0x10000), 0);
	assert_int_equal(process_take(p, &raw, raw_len() - 1), -EBADMSG);
	assert_int_equal(process_take(p, &raw, sizeof(struct raw_head) - 1), -EBADMSG);
	raw.flags = 0;
	assert_int_equal(process_take(p, &raw, raw_len()), -EBADMSG);
	raw.flags = RAW_WEIGHED;
	raw.nframes = ABI_MAX_FRAMES + 1;
	assert_int_equal(process_take(p, &raw, sizeof(raw)), -EBADMSG);
	end();
	more_args = (struct process_args){ 0 };
	begin();
	stack(7, 3, 10);
	assert_int_equal(fault(0x10000), -EBADMSG);	/* not in this mode */
	end();
}

static void test_looks(void **state)
{
	const struct page_state s[] = { { .addr = PAGE, .kind = PAGE_ANON, .frame = 5 },
					{ .addr = 2 * PAGE, .kind = PAGE_OTHER, .frame = 6 } };
	uint64_t addrs[4], pos = 0;

	begin_memory();
	assert_false(process_pages_due(p));
	assert_false(process_pages_round(p)->begun);
	stack(7, 3, 10);
	fault(2 * PAGE + 5);
	fault(PAGE);
	assert_true(process_pages_due(p));
	assert_int_equal(process_pages_ask(p, false, &pos, addrs, 4), 2);
	assert_int_equal(addrs[0], PAGE);
	assert_int_equal(addrs[1], 2 * PAGE);
	assert_int_equal(process_pages_ask(p, true, &pos, addrs, 4), 2);
	answer(s, 2, PAGES_LAST, 50 * PAGE);
	assert_int_equal(kept_cnt, 2);
	assert_int_equal(kept[1].ev.change, MEMORY_CHECK);
	assert_int_equal(kept[1].ev.check.held, WEIGHT);
	assert_int_equal(kept[1].ev.check.rss_anon, 50 * PAGE);
	assert_int_equal(kept[1].ev.check.swapped, 3 * PAGE);
	assert_int_equal(kept[1].ev.check.unchecked, 0);
	assert_true(process_pages_due(p));
	process_pages_round(p)->touched = false;
	answer_one(PAGE, PAGE_GONE);
	answer(NULL, 0, PAGES_LAST, 50 * PAGE);
	assert_int_equal(kept[3].ev.check.held, 0);
	assert_false(process_pages_due(p));
	end();
}

/* The kernel counts a page before we know that it is one. */
static void test_a_check_waits_for_pages_before_it(void **state)
{
	begin_memory();
	stack(77, 3, 10);
	assert_int_equal(fault(0x10000), 0);
	assert_int_equal(fault(0x20000), 0);
	answer(NULL, 0, PAGES_LAST, 50 * PAGE);
	assert_int_equal(kept_cnt, 0);
	assert_int_equal(fault(0x30000), 0);
	answer_one(0x30000, PAGE_ANON);		/* after the check: does not count */
	answer_one(0x10000, PAGE_ANON);
	assert_int_equal(kept_cnt, 2);
	answer_one(0x20000, PAGE_ZERO);		/* none after all */
	assert_int_equal(kept_cnt, 3);
	assert_int_equal(kept[2].ev.change, MEMORY_CHECK);
	assert_int_equal(kept[2].ev.check.held, WEIGHT);
	assert_int_equal(kept[2].ev.check.rss_anon, 50 * PAGE);
	end();
}

static void test_a_check_does_not_wait_for_long(void **state)
{
	begin_memory();
	stack(77, 3, 10);
	assert_int_equal(fault(0x10000), 0);
	answer(NULL, 0, PAGES_LAST, 50 * PAGE);
	now += 300000000;
	assert_int_equal(fault(0x20000), 0);
	answer(NULL, 0, PAGES_NEW, 50 * PAGE);
	assert_int_equal(kept_cnt, 1);
	assert_int_equal(kept[0].ev.check.held, WEIGHT);
	answer(NULL, 0, PAGES_LAST, 50 * PAGE);
	assert_int_equal(kept_cnt, 1);
	assert_int_equal(process_pages_end(p), 0);
	assert_int_equal(kept_cnt, 4);
	assert_int_equal(kept[3].ev.change, MEMORY_CHECK);
	assert_int_equal(kept[3].ev.check.held, 2 * WEIGHT);
	end();
}

static void test_denied(void **state)
{
	const struct page_answer a = {
		.err = -EACCES, .tag = PAGES_LAST, .rss_anon = PAGE, .read_ns = now + 1,
	};

	begin_memory();
	stack(7, 3, 10);
	fault(PAGE);
	assert_int_equal(process_pages_take(p, &a), 0);
	check_kept(0, MEMORY_ALLOC, PAGE, WEIGHT);
	assert_int_equal(kept[1].ev.check.unchecked, WEIGHT);
	assert_int_equal(kept[1].ev.check.rss_anon, PAGE);
	end();
}

static void test_the_end(void **state)
{
	begin_memory();
	stack(7, 3, 10);
	fault(PAGE);
	answer(NULL, 0, PAGES_NEW, 0);
	assert_int_equal(kept_cnt, 0);
	assert_int_equal(process_pages_take(p, &(struct page_answer){ .err = -ESRCH }), 0);
	assert_int_equal(process_pages_end(p), 0);
	check_kept(0, MEMORY_ALLOC, PAGE, WEIGHT);
	assert_int_equal(kept_cnt, 1);
	end();
}

/* A page in one malloc'ed block, by the hash of its address. */
static void look(enum pages_tag tag, uint64_t addr, uint32_t block)
{
	struct page_content c = { .addr = addr };
	struct page_answer a = { .tgid = getpid(), .what = PAGES_CONTENTS, .tag = tag, .cnt = 1,
				 .contents = &c, .asked_ns = now, .read_ns = now + 1 };
	unsigned int i;

	for (i = 0; i < PAGE_PLACES; i++) {
		c.states[i] = PLACE_MALLOC;
		c.marks[i].id = block;
	}
	assert_int_equal(process_pages_take(p, &a), 0);
}

static void test_what_became_of_pages(void **state)
{
	uint64_t addrs[4];
	unsigned int i;

	begin_memory();
	for (i = 1; i <= 3; i++) {
		stack(7, 3, i > 1 ? 10 : 11);
		fault(i * PAGE);
		assert_int_equal(process_contents_ask(p, false, now, addrs, 4), 1);
		look(PAGES_SOON, i * PAGE, 5);
		answer_one(i * PAGE, PAGE_ANON);
	}
	assert_int_equal(process_contents_ask(p, true, now, addrs, 4), 3);
	look(PAGES_AGAIN, PAGE, 5);
	look(PAGES_AGAIN, 2 * PAGE, 5);
	look(PAGES_AGAIN, 3 * PAGE, 6);
	assert_int_equal(kept_cnt, 3);
	assert_int_equal(process_pages_end(p), 0);
	assert_int_equal(kept_cnt, 5);
	for (i = 3; i < 5; i++) {
		const struct memory_fate *f = &kept[i].ev.fate;
		struct event ev = frames_of(i);

		assert_int_equal(kept[i].ev.change, MEMORY_FATE);
		check_stack(&ev, 3, i == 3 ? 11 : 10);
		assert_true(f->pages == i - 2 && f->own == WEIGHT && !f->unused);
		assert_int_equal(f->reused, i == 3 ? 0 : WEIGHT);
	}
	end();
}

static void test_moved(void **state)
{
	struct raw_moved moved = { .h.kind = RAW_MOVED, .addr = PAGE, .bytes = 4 * PAGE,
				   .to = 100 * PAGE };

	begin_memory();
	stack(7, 3, 10);
	fault(2 * PAGE);
	assert_int_equal(process_take(p, &moved, sizeof(moved)), 0);
	answer_one(101 * PAGE, PAGE_ANON);
	assert_int_equal(kept_cnt, 1);
	assert_int_equal(kept[0].ev.bytes, WEIGHT);
	answer_one(101 * PAGE, PAGE_GONE);
	assert_int_equal(kept[1].ev.addr, kept[0].ev.addr);
	end();
}

static void test_an_observer_that_fails(void **state)
{
	const struct page_state s = { .addr = PAGE, .kind = PAGE_ANON };
	const struct page_answer a = { .cnt = 1, .states = &s, .asked_ns = UINT64_MAX };

	begin_memory();
	stack(7, 3, 10);
	fault(PAGE);
	fail_after = 1;
	assert_int_equal(process_pages_take(p, &a), -EIO);
	assert_int_equal(stats_now().lost[LOSS_WRITE], 1);
	end();
}

/* More stacks than are kept: all others have one number, and their bytes count. */
static void test_too_many_stacks(void **state)
{
	uint32_t i, n, max = 256 * 1024;
	struct event ev;

	begin_memory();
	for (i = 0; i <= max; i++) {
		stack(7, 5, 0);
		for (n = 0; n < 5; n++)	/* i in base 64 */
			raw.frames[n] = fake_frame(&fake, (i >> 6 * n) % 64, 0);
		assert_int_equal(fault(PAGE), 0);	/* the one before was never seen */
		if (stats_now().stacks_not_kept)
			break;
	}
	assert_in_range(i, max - 1, max);
	kept_cnt = 0;
	answer_one(PAGE, PAGE_ANON);
	ev = frames_of(0);
	assert_int_equal(ev.nframes, 1);
	check_name(&ev, 0, "<stacks not kept>");
	assert_int_equal(kept[0].ev.stack, max);
	assert_int_equal(stats_now().alloc_bytes, (i + 1ull) * WEIGHT);
	/* Those that are known still have theirs. */
	stack(7, 5, 0);
	for (n = 0; n < 5; n++)
		raw.frames[n] = fake_frame(&fake, 0, 0);
	fault(2 * PAGE);
	answer_one(2 * PAGE, PAGE_ANON);
	assert_int_equal(kept[1].ev.stack, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_fault_becomes_events),
		cmocka_unit_test(test_stacks_have_dense_numbers),
		cmocka_unit_test(test_frames_that_are_no_python),
		cmocka_unit_test(test_without_a_stack),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_a_check_waits_for_pages_before_it),
		cmocka_unit_test(test_a_check_does_not_wait_for_long),
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_the_end),
		cmocka_unit_test(test_what_became_of_pages),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_an_observer_that_fails),
		cmocka_unit_test(test_too_many_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
