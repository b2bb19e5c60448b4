// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_events.c - events of -e: what is sent of them, and that each ends in one way. */
#include "tests/hostbpf/world.h"

extern const volatile unsigned int cfg_event_every;

static struct world w;
static u64 apart_ns = 1000000;	/* the time between two events */

static void begin(int minor)
{
	const bool wanted = true;
	const unsigned int every = 1;

	world_init(&w, minor);
	host_set(&cfg_native_threads, &wanted, sizeof(wanted));
	host_set(&cfg_event_every, &every, sizeof(every));
}

static void happen(void)
{
	host_drop_records();
	host.now_ns += apart_ns;
	on_event_tracepoint(NULL);
}

/* The RAW_SAMPLE of an event; NULL: none. */
static const struct raw_sample *sample(void)
{
	const struct raw_sample *s;
	size_t len;
	int i = 0;

	happen();
	s = host_record(RAW_SAMPLE, &i, &len);
	if (!s)
		return NULL;
	assert_int_equal(len, raw_sample_bytes(s->nframes, s->flags));
	assert_int_equal(s->h.tgid, 1001);
	assert_int_equal(s->h.start_ns, 77);
	assert_int_equal(raw_tick_ns(&s->h), 0);	/* it is no time */
	return s;
}

static void check_counters(void)
{
	assert_int_equal(host_counter(CNT_EVENT),
			 host_counter(CNT_EVENT_OTHER) + host_counter(CNT_EVENT_UNKNOWN) +
			 host_counter(CNT_EVENT_PASSED) + host_counter(CNT_EVENT_BEYOND) +
			 host_counter(CNT_SAMPLE) + host_counter(CNT_NATIVE_THREAD) +
			 host_counter(CNT_NO_FRAMES) + host_counter(CNT_BUSY) +
			 host_counter(CNT_RING_FULL) + host_counter(CNT_TSTATE_UNREADABLE));
}

/* By a tracepoint, a probe and an event that perf counts, in the kernel and outside. */
static void test_stack(void **state)
{
	const struct raw_sample *s;
	int minor, how, i;

	EACH_MINOR(minor) {
		begin(minor);
		world_recurse(&w, 7);
		for (how = 0; how < 4; how++) {
			host_drop_records();
			host.now_ns += apart_ns;
			host.regs.cs = how == 3 ? 0x10 : 0x33;
			if (how == 0)
				on_event_tracepoint(NULL);
			else if (how == 1)
				on_event_probe(NULL);
			else
				on_event_counted((struct bpf_perf_event_data *)&host.regs);
			i = 0;
			s = host_record(RAW_SAMPLE, &i, NULL);
			assert_non_null(s);
			world_check_frames(&w, s, 7);
		}
		check_counters();
	}
}

static void test_others(void **state)
{
	begin(13);
	world_recurse(&w, 2);
	host.task.flags = PF_KTHREAD;
	assert_null(sample());
	host.task.flags = 0;
	host.mm.start_code = 0;		/* an exec */
	assert_null(sample());
	host.mm.start_code = 0x401000;
	world_proc()->state = PY_PROC_OTHER;
	assert_null(sample());
	world_proc()->state = PY_PROC_PYTHON;
	capture_paused = 1;
	assert_null(sample());
	capture_paused = 0;
	host.task.tgid = 4000;		/* not chosen */
	assert_null(sample());
	assert_int_equal(host_counter(CNT_EVENT_OTHER), 5);
	host.task.tgid = 1001;
	assert_non_null(sample());
	check_counters();
}

/* User space is asked about a process that it does not know, within the budget. */
static void test_unknown(void **state)
{
	const bool all = true;
	int i, at;

	begin(13);
	host_set(&cfg_all, &all, sizeof(all));
	host.task.tgid = 4000;
	happen();
	at = 0;
	assert_non_null(host_record(RAW_UNKNOWN, &at, NULL));
	assert_int_equal(host_counter(CNT_EVENT_UNKNOWN), 1);
	apart_ns = 0;
	for (i = 0; i < 1000; i++)
		happen();
	apart_ns = 1000000;
	assert_in_range(host_counter(CNT_EVENT_UNKNOWN), 2, 600);
	assert_int_equal(host_counter(CNT_EVENT_UNKNOWN) + host_counter(CNT_EVENT_BEYOND), 1001);
	check_counters();
}

static void test_no_stack(void **state)
{
	const bool unwanted = false;
	int i = 0;

	begin(13);
	host.task.flags |= PF_EXITING;	/* the thread has no state any more */
	happen();
	assert_non_null(host_record(RAW_NO_STACK, &i, NULL));
	assert_int_equal(host_counter(CNT_NATIVE_THREAD), 1);
	assert_int_equal(host_counter(CNT_NO_STACK), 1);
	host_set(&cfg_native_threads, &unwanted, sizeof(unwanted));
	happen();
	assert_int_equal(host.record_cnt, 0);
	assert_int_equal(host_counter(CNT_NATIVE_THREAD), 2);
	check_counters();
}

static void test_one_of_seven(void **state)
{
	const unsigned int every = 7;
	int i, walked = 0;

	begin(13);
	world_recurse(&w, 2);
	host_set(&cfg_event_every, &every, sizeof(every));
	for (i = 1; i <= 70; i++) {
		walked += sample() != NULL;
		assert_int_equal(walked, i / 7);
	}
	assert_int_equal(host_counter(CNT_EVENT_PASSED), 60);
	check_counters();
}

/* Walks take long: those beyond the budget are losses, and of whom is noted. */
static void test_budget(void **state)
{
	int i, walked = 0;

	begin(13);
	world_recurse(&w, 2);
	apart_ns = 0;
	host.clock_step_ns = 100000;
	for (i = 0; i < 100; i++)
		walked += sample() != NULL;
	apart_ns = 1000000;
	assert_in_range(walked, 1, 99);
	assert_int_equal(host_counter(CNT_EVENT_BEYOND), 100 - walked);
	check_counters();
}

static void test_ring_full(void **state)
{
	begin(13);
	world_recurse(&w, 2);
	host.ring_room = 0;
	assert_null(sample());
	assert_int_equal(host_counter(CNT_RING_FULL), 1);
	check_counters();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack), cmocka_unit_test(test_others),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_no_stack),
		cmocka_unit_test(test_one_of_seven), cmocka_unit_test(test_budget),
		cmocka_unit_test(test_ring_full),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
