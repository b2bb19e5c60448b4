// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_budget.c - how much time samples may take: what is left over is kept, by process and by CPU,
 * and nobody gets more in all, whatever a program does.
 */
#include "tests/hostbpf/world.h"

#include "bpf/budget.bpf.h"

#define LIMIT_NS 60000
#define TICK_NS 80000
#define PERIOD_NS 10000000
#define RATE_HZ (1000000000 / PERIOD_NS)
#define SAMPLE_MAX_NS (LIMIT_NS + TICK_MORE_NS)
/* What a sample of the deep stack takes if it is not cut off. */
#define DEEP_NS 300000
#define FRAMES 200

static struct world w;
static u64 step_ns;	/* time between two readings of the clock in it */

static void set(const volatile unsigned int *setting, unsigned int v)
{
	host_set(setting, &v, sizeof(v));
}

/* A process whose samples take DEEP_NS, and which has had none. Its names are known. */
static void begin(void)
{
	u64 before;
	u32 i;

	set(&cfg_limit_ns, 0);
	world_init(&w, 11);
	host.now_ns += 1ull << 32;
	for (i = 0; i < FRAMES; i++)
		world_push(&w, OWNER_GENERATOR, world_code(&w), 2 * i);
	world_expect(&w, FRAMES, 0);
	world_expect(&w, FRAMES, 0);
	before = host.now_ns;
	host.clock_step_ns = 1000;
	world_expect(&w, FRAMES, 0);
	host.clock_step_ns = 0;
	step_ns = DEEP_NS / ((host.now_ns - before) / 1000 - 1);
	assert_in_range(step_ns, 3000, 20000);
	set(&cfg_limit_ns, LIMIT_NS);
	set(&cfg_tick_ns, TICK_NS);
	tick_periods[0].rate_hz = tick_periods[1].rate_hz = RATE_HZ;
}

/* A tick, after the period. Returns how long its sample took. */
static u64 tick_after(u64 period_ns, u64 step)
{
	u64 before;

	host.now_ns += period_ns;
	host.clock_step_ns = step;
	before = host.now_ns;
	assert_non_null(world_sample());
	host.clock_step_ns = 0;
	return host.now_ns - before - step;	/* the first reading is the tick's own */
}

static u64 tick(u64 step)
{
	u64 cut = host_counter(CNT_CUT_OFF), ns = tick_after(PERIOD_NS, step);

	assert_in_range(ns, 0, SAMPLE_MAX_NS + step_ns);
	if (host_counter(CNT_CUT_OFF) == cut && step)
		assert_in_range(ns, DEEP_NS - step, DEEP_NS + step);
	return ns;
}

static u64 cut_of(int ticks, u64 step)
{
	u64 before = host_counter(CNT_CUT_OFF);

	while (ticks--)
		tick(step);
	return host_counter(CNT_CUT_OFF) - before;
}

/* The first sample of a process may take long, and so may each that is far from the next. */
static void test_peaks(void **state)
{
	int i;

	begin();
	for (i = 0; i < 10; i++) {
		assert_int_equal(cut_of(1, step_ns), 0);
		assert_int_equal(cut_of(4, 0), 0);
	}
	assert_in_range(world_proc()->credit_ns, 1, CREDIT_MAX_NS);
}

/* A process that always takes long is cut off, and gets in all what its samples earn. */
static void test_always_long(void **state)
{
	const int ticks = 1000;
	u64 used = 0;
	int i;

	begin();
	for (i = 0; i < ticks; i++) {
		used += tick(step_ns);
		assert_in_range(world_proc()->credit_ns + ADVANCE_NS, 0,
				CREDIT_MAX_NS + ADVANCE_NS);
	}
	assert_in_range(host_counter(CNT_CUT_OFF), ticks * 3 / 4, ticks);
	/* a reading of the clock comes up to step_ns late: more than that does not add up */
	assert_in_range(used, ticks * LIMIT_NS, ticks * (u64)TICK_NS + TICKS_MAX_NS);
	/* it has earned something again when it was short for a while */
	assert_int_equal(cut_of(20, 0), 0);
	assert_int_equal(cut_of(1, step_ns), 0);
}

/*
 * Each tick finds a new process, whose first sample takes long: in all they get what the CPU earns,
 * and not what a process has earned meanwhile.
 */
static void test_storm_of_processes(void **state)
{
	const int ticks = 1000;
	u64 used = 0, cut;
	int i;

	begin();
	for (i = 0; i < ticks; i++) {
		world_proc()->credit_ns = 0;
		used += tick(step_ns);
	}
	assert_in_range(used, ticks * LIMIT_NS, ticks * (u64)TICK_NS + TICKS_MAX_NS);
	world_proc()->credit_ns = CREDIT_MAX_NS;
	cut = host_counter(CNT_CUT_OFF);
	tick(step_ns);
	tick(step_ns);
	assert_int_equal(host_counter(CNT_CUT_OFF), cut);
}

/*
 * A process has a thread on each of two CPUs, and both see the same credit at the same time: each
 * CPU pays only what it has.
 */
static void test_credit_seen_twice(void **state)
{
	const int ticks = 1000;
	u64 used[HOST_CPUS] = { 0 };
	int i;

	begin();
	for (i = 0; i < ticks; i++) {
		for (host.cpu = 0; host.cpu < HOST_CPUS; host.cpu++) {
			world_proc()->credit_ns = CREDIT_MAX_NS;
			used[host.cpu] += tick_after(PERIOD_NS / HOST_CPUS, step_ns);
		}
		host.cpu = 0;
	}
	for (i = 0; i < HOST_CPUS; i++)
		assert_in_range(used[i], ticks * LIMIT_NS,
				ticks * (u64)(TICK_NS + step_ns) + 2 * TICKS_MAX_NS);
}

/* What a CPU did not use in a long time is limited. */
static void test_a_purse_is_limited(void **state)
{
	u64 long_ones = 0;

	begin();
	tick_after(1ull << 50, 0);
	do {
		world_proc()->credit_ns = CREDIT_MAX_NS;
		long_ones++;
	} while (tick_after(0, step_ns) >= DEEP_NS - step_ns);
	assert_in_range(long_ones, TICKS_MAX_NS / DEEP_NS - 1, TICKS_MAX_NS / DEEP_NS + 1);
}

/* A child has its parent's debt, but not its credit: forks must not multiply it. */
static void test_forks(void **state)
{
	struct task_struct child = { .start_boottime = 99, .cgroups = &host.cgroups,
				     .cred = &host.cred, .thread_pid = &host.pid };
	static const int credit[] = { CREDIT_MAX_NS, 5, 0, -7 };
	const bool all = true;
	struct py_proc *p;
	size_t i;
	u32 tgid;

	begin();
	host_set(&cfg_all, &all, sizeof(all));
	for (i = 0; i < sizeof(credit) / sizeof(credit[0]); i++) {
		tgid = 2000 + i;
		child.tgid = child.pid = tgid;
		world_proc()->credit_ns = credit[i];
		host_on_fork(&host.task, &child);
		p = bpf_map_lookup_elem(&py_procs, &tgid);
		assert_non_null(p);
		assert_int_equal(p->credit_ns, credit[i] < 0 ? credit[i] : 0);
	}
}

/* The walk at an event takes its additional time from the budget of events, and less of it. */
static void test_events(void **state)
{
	const int cnt = 1000;
	u64 begin_ns, used = 0, longest = 0, ns;
	int i;

	begin();
	host.now_ns += 1ull << 40;
	begin_ns = host.now_ns;
	for (i = 0; i < cnt; i++) {
		host_drop_records();
		host.clock_step_ns = step_ns;
		ns = host.now_ns;
		on_event_tracepoint(NULL);
		host.clock_step_ns = 0;
		ns = host.now_ns - ns;
		used += ns;
		longest = ns > longest ? ns : longest;
		host.now_ns += PERIOD_NS / 10;
	}
	assert_in_range(longest, LIMIT_NS + EVENT_MORE_NS - step_ns,
			LIMIT_NS + EVENT_MORE_NS + 4 * step_ns);
	assert_in_range(used, 0, (host.now_ns - begin_ns) / 8 + 2 * BUDGET_MAX_NS + cnt * step_ns);
	assert_int_equal(world_proc()->credit_ns, 0);
}

static int done(void **state)
{
	const bool all = false;

	host_set(&cfg_all, &all, sizeof(all));
	set(&cfg_limit_ns, 0);
	set(&cfg_tick_ns, 0);
	tick_periods[0].rate_hz = tick_periods[1].rate_hz = 0;
	return host_done(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peaks),
		cmocka_unit_test(test_always_long),
		cmocka_unit_test(test_storm_of_processes),
		cmocka_unit_test(test_credit_seen_twice),
		cmocka_unit_test(test_a_purse_is_limited),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
