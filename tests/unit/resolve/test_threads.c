// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_threads.c - records of threads: those that have ended give theirs back, and of those that
 * live there is a number that no process exceeds. Thread ids that do not exist have ended.
 */
#include <malloc.h>
#include <sys/syscall.h>

#include "resolve/threads.h"
#include "tests/unit/resolve/process_test.h"

#define GONE_TID 0x20000000u	/* above any pid_max; from here on */
#define NEVER (UINT64_MAX / 2)	/* for keep_ns: who has ended counts as living */

static struct threads l;
static size_t ended, forgotten;

static void gone(void *ctx, const struct thread *t, bool lives)
{
	(void)ctx;
	assert_non_null(t);
	*(lives ? &forgotten : &ended) += 1;
}

static void begin_list(uint64_t keep_ns)
{
	threads_init(&l, getpid(), keep_ns, gone, NULL);
	ended = forgotten = 0;
}

/* Frames stay at the root's end while the room grows, which is never more than needed. */
static void test_room_grows_with_the_depth(void **state)
{
	struct thread *t;
	uint32_t n, cap, i;

	begin_list(NEVER);
	t = threads_add(&l, 1, 0);
	assert_int_equal(t->cap, 0);
	for (n = 0; n <= ABI_MAX_FRAMES; n++) {
		assert_int_equal(thread_reserve(t, n), 0);
		for (cap = THREAD_FRAMES_MIN; cap < n; cap *= 2)
			;
		assert_int_equal(t->cap, cap);
		for (i = 1; i < n; i++) {	/* frame i is the i-th from the root */
			assert_int_equal((t->raw_end - i)->code, i);
			assert_int_equal(*(t->ids_end - i), 1000 + i);
		}
		if (!n)
			continue;
		*(t->raw_end - n) = (struct raw_frame){ .code = n, .id = n };
		*(t->ids_end - n) = 1000 + n;
		t->nframes = t->known = n;
	}
	assert_int_equal(thread_reserve(t, 1), 0);
	assert_int_equal(t->cap, ABI_MAX_FRAMES);
	threads_free(&l);
}

/* What waits in a shallow stack takes little; only who has had an exception has room for one. */
static void test_a_thread_takes_what_it_needs(void **state)
{
	static const struct raw_extra x = { .exception = "ValueError" };
	struct thread *t;

	begin_list(NEVER);
	t = threads_add(&l, 1, 0);
	assert_int_equal(thread_reserve(t, 7), 0);
	assert_in_range(malloc_usable_size(t) + malloc_usable_size(t->raw_end - t->cap), 1, 768);
	assert_null(t->extra);
	assert_int_equal(thread_set_extra(t, &x, sizeof(x)), 0);
	assert_string_equal(t->extra->raw.exception, "ValueError");
	threads_free(&l);
}

static void test_ended_threads_give_back(void **state)
{
	uint32_t self = syscall(SYS_gettid), i;
	size_t before = mallinfo2().uordblks;

	begin_list(0);
	assert_non_null(threads_add(&l, self, 0));
	for (i = 0; i < 100000; i++) {
		assert_null(threads_find(&l, GONE_TID + i, 0));
		assert_non_null(threads_add(&l, GONE_TID + i, 0));
		assert_true(l.lru.cnt <= THREADS_FEW + 1);
	}
	assert_non_null(threads_find(&l, self, 0));	/* it lives */
	assert_int_equal(forgotten, 0);
	assert_int_equal(ended + l.lru.cnt, 100001);
	assert_in_range(mallinfo2().uordblks - before, 0, 1 << 20);
	threads_free(&l);
}

/* Of living threads, one that is used stays, and one that is not used goes. */
static void test_living_threads_are_bounded(void **state)
{
	uint32_t i;

	begin_list(NEVER);
	threads_add(&l, 1, 0);
	threads_add(&l, 2, 0);
	for (i = 0; i < 3 * THREADS_MAX; i++) {
		assert_non_null(threads_add(&l, GONE_TID + i, i % 3));
		if (i % 1000 == 0)
			assert_non_null(threads_find(&l, 1, 0));
		assert_true(l.lru.cnt <= THREADS_MAX);
	}
	assert_null(threads_find(&l, 2, 0));
	assert_int_equal(ended, 0);
	assert_int_equal(forgotten, 2 * THREADS_MAX + 2);
	threads_remove(&l, 1, 0);
	assert_null(threads_find(&l, 1, 0));
	assert_int_equal(l.lru.cnt, THREADS_MAX - 1);
	threads_free(&l);
}

/* A process that makes thread after thread: each is counted, and few are kept. */
static void test_short_threads_of_a_process(void **state)
{
	size_t before;
	uint32_t i;

	begin();
	stack(7, 3, 1);
	take();
	before = mallinfo2().uordblks;
	for (i = 0; i < 20000; i++) {
		stack(GONE_TID + i, 3, 1);
		assert_int_equal(process_take(p, &raw, raw_len()), 0);
	}
	assert_int_equal(stats_now().threads, 20001);
	assert_int_equal(stats_now().samples, 20001);
	assert_in_range(mallinfo2().uordblks - before, 0, 4 << 20);
	end();
}

static void leave(uint32_t tid)
{
	stack(tid, 3, 1);
	raw.h.kind = RAW_SWITCH_OUT;
	raw.h.why = WHY_BLOCKED;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
}

/*
 * Threads that wait: of more than THREADS_MAX, the waits of those that left first are counted as
 * forgotten. An exit gives the record back at once.
 */
static void test_waits_of_many_threads(void **state)
{
	struct raw_switch_in run = { .h = { .kind = RAW_SWITCH_IN, .time_ns = 1234567 + 5000000 } };
	uint32_t i, more = 1000;
	size_t before;

	more_args = (struct process_args){ .waits = { .interval_ns = 1000000 } };
	begin();
	leave(1);
	before = mallinfo2().uordblks;
	for (i = 0; i < THREADS_MAX + more; i++)
		leave(GONE_TID + i);
	assert_int_equal(stats_now().waits.forgotten, more + 1);
	assert_int_equal(stats_now().threads, THREADS_MAX);
	run.tid = GONE_TID;		/* its wait is forgotten */
	assert_int_equal(process_take(p, &run, sizeof(run)), 0);
	assert_int_equal(stats_now().samples, 0);
	run.tid = GONE_TID + THREADS_MAX;
	assert_int_equal(process_take(p, &run, sizeof(run)), 0);
	assert_int_equal(stats_now().samples, 5);
	for (i = 0; i < THREADS_MAX + more; i++)
		exit_of(GONE_TID + i);
	assert_in_range(mallinfo2().uordblks - before, 0, 2 << 20);
	end();
	memset(&more_args, 0, sizeof(more_args));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_grows_with_the_depth),
		cmocka_unit_test(test_a_thread_takes_what_it_needs),
		cmocka_unit_test(test_ended_threads_give_back),
		cmocka_unit_test(test_living_threads_are_bounded),
		cmocka_unit_test(test_short_threads_of_a_process),
		cmocka_unit_test(test_waits_of_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
