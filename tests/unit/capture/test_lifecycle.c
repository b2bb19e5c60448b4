// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_lifecycle.c - after any sequence of events, a process' entry in py_procs, the calls that
 * its observer got, and its state agree.
 */
#include "capture/lifecycle.h"
#include "tests/unit/capture/fake_table.h"
#include "tests/unit/memory_observer.h"
#include "tests/unit/resolve/fake_code.h"

#define TGID 4000
#define START 77

static struct memory_observer observer;
static struct lifecycle life;
static struct fake_codes fake;

static int set_up(void **state)
{
	observer = (struct memory_observer)MEMORY_OBSERVER;
	life = (struct lifecycle){ .observer = &observer.observer };
	memset(&fake_table, 0, sizeof(fake_table));
	fake_codes_init(&fake, 1);
	return 0;
}

static int tear_down(void **state)
{
	lifecycle_free(&life);
	memory_observer_free(&observer);
	fake_codes_free(&fake);
	return 0;
}

static struct process_args args_of(pid_t tgid)
{
	return (struct process_args){
		.tgid = tgid, .start_ns = START, .comm = "python3", .command = "python3 x.py",
		.image = &fake.img, .observer = &observer.observer,
		.py = { .state = PY_PROC_PYTHON, .ident = lifecycle_new_ident(tgid) },
	};
}

static int step(enum proc_event event)
{
	struct tracked *t = lifecycle_find(&life, TGID);
	struct process_args args = args_of(TGID);
	struct step with = { .args = &args, .inspected_ns = 5, .unselected = UNSELECTED_NAME };

	assert_non_null(t);
	return lifecycle_step(&life, t, event, &with);
}

static enum proc_state state_now(void)
{
	const struct tracked *t = lifecycle_find(&life, TGID);

	assert_true(!t || t->state != PROC_UNKNOWN);
	return t ? t->state : PROC_UNKNOWN;
}

/* A new process in this state. */
static void bring_to(enum proc_state state)
{
	static const enum proc_event event[PROC_STATE_CNT] = {
		[PROC_OTHER] = PROC_EV_FOUND_NOTHING, [PROC_UNREADY] = PROC_EV_FOUND_UNREADY,
		[PROC_REFUSED] = PROC_EV_FOUND_UNSUPPORTED, [PROC_PROFILED] = PROC_EV_FOUND,
		[PROC_PAUSED] = PROC_EV_FOUND,
	};

	assert_non_null(lifecycle_ask(&life, TGID, START));
	if (state != PROC_SEEN)
		assert_int_equal(step(event[state]), 0);
	if (state == PROC_PAUSED)
		assert_int_equal(step(PROC_EV_EXCLUDED), 0);
	assert_int_equal(state_now(), state);
}

static void test_a_life(void **state)
{
	struct tracked *t = lifecycle_ask(&life, TGID, 0);

	assert_non_null(t);
	assert_int_equal(t->state, PROC_SEEN);
	assert_int_equal(t->schedule.next_ns, 0);	/* due at once */
	assert_int_equal(step(PROC_EV_FOUND_NOTHING), 0);
	assert_int_equal(fake_table_state(TGID), PY_PROC_OTHER);
	assert_int_equal(step(PROC_EV_FOUND), 0);
	assert_int_equal(fake_table_state(TGID), PY_PROC_PYTHON);
	assert_true(lifecycle_confirm_start(t, START));	/* as the first record does */
	assert_int_equal(process_start_ns(t->process), START);
	assert_false(lifecycle_confirm_start(t, START + 1));
	assert_int_equal(life.live_cnt, 1);
	assert_int_equal(step(PROC_EV_EXEC), 0);
	assert_int_equal(state_now(), PROC_SEEN);
	assert_int_equal(step(PROC_EV_ADMITTED), 0);
	assert_int_equal(step(PROC_EV_ENDED), 0);
	assert_null(lifecycle_find(&life, TGID));
	assert_int_equal(life.begun_cnt, 2);
	assert_int_equal(life.live_cnt, 0);
	assert_string_equal(observer.calls, "begin 4000\nend 4000\nbegin 4000\nend 4000\n");
}

/* The state after each event in each state; NEVER: the event cannot happen there. */
static void test_each_event_in_each_state(void **state)
{
#define NEVER PROC_STATE_CNT
	static const enum proc_state to[PROC_STATE_CNT][PROC_EVENT_CNT] = {
		/* ASKED, EXEC, EXEC_SEEN, ADMITTED, EXCLUDED, DISMISSED, DISPLACED, FOUND, SAME,
		 * NOTHING, UNCHANGED, UNREADY, UNSUPPORTED, INSPECT_FAILED, ENDED */
		[PROC_SEEN] = { PROC_SEEN, PROC_SEEN, NEVER, PROC_PROFILED, PROC_UNKNOWN, NEVER,
				NEVER, PROC_PROFILED, NEVER, PROC_OTHER, PROC_OTHER, PROC_UNREADY,
				PROC_REFUSED, PROC_OTHER, PROC_UNKNOWN },
		[PROC_OTHER] = { PROC_SEEN, PROC_SEEN, NEVER, PROC_PROFILED, PROC_UNKNOWN, NEVER,
				 NEVER, PROC_PROFILED, NEVER, PROC_OTHER, PROC_OTHER, PROC_UNREADY,
				 PROC_REFUSED, PROC_OTHER, PROC_UNKNOWN },
		[PROC_UNREADY] = { PROC_UNREADY, PROC_SEEN, NEVER, PROC_PROFILED, PROC_UNKNOWN,
				   NEVER, NEVER, PROC_PROFILED, NEVER, PROC_OTHER, PROC_UNREADY,
				   PROC_UNREADY, PROC_REFUSED, PROC_OTHER, PROC_UNKNOWN },
		[PROC_REFUSED] = { PROC_REFUSED, PROC_SEEN, NEVER, PROC_PROFILED, PROC_UNKNOWN,
				   NEVER, NEVER, PROC_PROFILED, NEVER, PROC_OTHER, PROC_REFUSED,
				   PROC_UNREADY, PROC_REFUSED, PROC_REFUSED, PROC_UNKNOWN },
		[PROC_PROFILED] = { PROC_PAUSED, PROC_SEEN, PROC_PROFILED, PROC_PROFILED,
				    PROC_PAUSED, NEVER, PROC_SEEN, PROC_PROFILED, PROC_PROFILED,
				    PROC_PROFILED, PROC_PROFILED, PROC_PROFILED, PROC_PROFILED,
				    PROC_PROFILED, PROC_UNKNOWN },
		[PROC_PAUSED] = { PROC_PAUSED, PROC_SEEN, PROC_PAUSED, PROC_PROFILED, PROC_PAUSED,
				  PROC_UNKNOWN, PROC_SEEN, PROC_PROFILED, PROC_PROFILED, PROC_OTHER,
				  PROC_PAUSED, PROC_PAUSED, PROC_REFUSED, PROC_PAUSED,
				  PROC_UNKNOWN },
	};
	int from, event;

	for (from = PROC_SEEN; from < PROC_STATE_CNT; from++) {
		for (event = 0; event < PROC_EVENT_CNT; event++) {
			bring_to(from);
			if (to[from][event] == NEVER) {
				assert_int_equal(step(event), -EINVAL);
				assert_int_equal(state_now(), from);
			} else {
				assert_int_equal(step(event), 0);
				assert_int_equal(state_now(), to[from][event]);
			}
			if (lifecycle_find(&life, TGID))
				step(PROC_EV_ENDED);
			proc_table_remove(NULL, TGID);
			assert_int_equal(life.live_cnt, 0);
		}
	}
#undef NEVER
}

/* Two processes, 100,000 events in random order: begin and end alternate and fit the state. */
static void test_any_order(void **state)
{
	uint64_t seed = 5;
	int i;

	for (i = 0; i < 100000; i++) {
		struct tracked *t;
		pid_t tgid = TGID + rnd(&seed) % 2;
		struct process_args args = args_of(tgid);
		struct step with = {
			.args = &args, .inspected_ns = 5, .unselected = UNSELECTED_UID,
		};
		size_t begins = 0, ends = 0, pos = 0;
		const char *call = observer.calls;
		uint32_t live = 0;

		if (rnd(&seed) % 16 == 0)	/* with a new start the pid was used again */
			lifecycle_ask(&life, tgid, START + rnd(&seed) % 2);
		t = lifecycle_find(&life, tgid);
		if (t)
			lifecycle_step(&life, t, rnd(&seed) % PROC_EVENT_CNT, &with);
		else
			lifecycle_admit(&life, &with);
		while ((t = lifecycle_next_profiled(&life, &pos))) {
			assert_true(t->state == PROC_PROFILED || t->state == PROC_PAUSED);
			live++;
		}
		assert_int_equal(life.live_cnt, live);
		t = lifecycle_find(&life, tgid);
		if (t)
			assert_int_equal(t->process != NULL, t->state == PROC_PROFILED ||
							     t->state == PROC_PAUSED);
		while ((call = strstr(call, "begin ")))
			call++, begins++;
		for (call = observer.calls; (call = strstr(call, "end ")); call++)
			ends++;
		assert_int_equal(begins - ends, live);
		if (!live)
			observer.calls[0] = '\0';
		if (strlen(observer.calls) > sizeof(observer.calls) / 2 && t && t->process)
			lifecycle_step(&life, t, PROC_EV_ENDED, NULL);
	}
	assert_int_equal(life.err, 0);
}

/* Entries in py_procs that are not simply "walk it". */
static void test_entries(void **state)
{
	struct py_proc py;

	/* The exclusion of a profiled process keeps its layout and addresses. */
	bring_to(PROC_PAUSED);
	assert_int_equal(fake_table_state(TGID), PY_PROC_PYTHON);
	assert_true(proc_table_get(NULL, TGID, &py));
	assert_int_equal(py.unselected, UNSELECTED_NAME);
	assert_int_equal(step(PROC_EV_FOUND_SAME), 0);
	assert_true(proc_table_get(NULL, TGID, &py));
	assert_int_equal(py.unselected, 0);
	/* The BPF side has lost the entry, and asks. The process does not end. */
	proc_table_remove(NULL, TGID);
	assert_non_null(lifecycle_ask(&life, TGID, START));
	assert_int_equal(state_now(), PROC_PAUSED);
	assert_int_equal(step(PROC_EV_FOUND_SAME), 0);
	assert_int_equal(fake_table_state(TGID), PY_PROC_PYTHON);
	assert_string_equal(observer.calls, "begin 4000\n");
	/* It is not Python any more: the record of its exec was lost. */
	assert_non_null(lifecycle_ask(&life, TGID, START));
	assert_int_equal(step(PROC_EV_FOUND_NOTHING), 0);
	assert_int_equal(fake_table_state(TGID), PY_PROC_OTHER);
	assert_string_equal(observer.calls, "begin 4000\nend 4000\n");
	/* It is excluded and was not inspected: a new entry in state UNSEEN. */
	assert_non_null(lifecycle_ask(&life, TGID, START));
	assert_int_equal(step(PROC_EV_EXCLUDED), 0);
	assert_int_equal(fake_table_state(TGID), PY_PROC_UNSEEN);
	/* It is excluded and was profiled: it keeps its entry until its last records were taken. */
	bring_to(PROC_PROFILED);
	assert_int_equal(step(PROC_EV_EXCLUDED), 0);
	assert_int_equal(fake_table_state(TGID), PY_PROC_PYTHON);
	assert_int_equal(step(PROC_EV_DISMISSED), 0);
	assert_int_equal(fake_table_state(TGID), PY_PROC_UNSEEN);
	assert_null(lifecycle_find(&life, TGID));
	assert_int_equal(life.live_cnt, 0);
	/* The BPF side has admitted it meanwhile: that entry is not overwritten. */
	bring_to(PROC_SEEN);
	py = (struct py_proc){ .start_ns = START, .exe = 9, .ident = 1, .state = PY_PROC_LINKING };
	proc_table_put(NULL, TGID, &py);
	assert_int_equal(step(PROC_EV_FOUND_NOTHING), 0);
	assert_int_equal(fake_table_state(TGID), PY_PROC_LINKING);
}

static void test_no_room(void **state)
{
	bring_to(PROC_SEEN);
	fake_table.full_err = -E2BIG;
	assert_int_equal(step(PROC_EV_FOUND), -E2BIG);
	assert_int_equal(state_now(), PROC_SEEN);
	assert_int_equal(life.table_full, 1);
	assert_int_equal(life.err, 0);
	fake_table.full_err = 0;
	assert_int_equal(step(PROC_EV_FOUND), 0);
	assert_string_equal(observer.calls, "begin 4000\n");
}

/* py_procs is full of programs that are no Python: a Python takes the place of one of them. */
static void test_a_python_takes_the_place_of_another_program(void **state)
{
	struct process_args args;
	struct tracked *t;
	struct step with;
	pid_t tgid;

	fake_table.room = 8;
	for (tgid = 1; tgid <= 12; tgid++)
		lifecycle_step(&life, lifecycle_ask(&life, tgid, START), PROC_EV_FOUND_NOTHING,
			       NULL);
	assert_int_equal(fake_table_cnt(), 8);
	for (tgid = 101; tgid <= 108; tgid++) {
		args = args_of(tgid);
		t = lifecycle_ask(&life, tgid, START);
		with = (struct step){ .args = &args, .inspected_ns = 5 };
		assert_int_equal(lifecycle_step(&life, t, PROC_EV_FOUND, &with), 0);
		assert_int_equal(fake_table_state(tgid), PY_PROC_PYTHON);
		assert_int_equal(fake_table_cnt(), 8);
	}
	assert_int_equal(life.table_full, 0);
	bring_to(PROC_SEEN);		/* now it is full of Pythons */
	assert_int_equal(step(PROC_EV_FOUND), -E2BIG);
	assert_int_equal(life.table_full, 1);
}

/* py_procs is full of excluded processes, which user space does not track. */
static void test_a_python_takes_the_place_of_an_excluded_process(void **state)
{
	const struct py_proc unseen = { .state = PY_PROC_UNSEEN, .unselected = UNSELECTED_UID };
	pid_t tgid;

	fake_table.room = 8;
	for (tgid = 1; tgid <= 8; tgid++)
		proc_table_put(NULL, tgid, &unseen);
	bring_to(PROC_PROFILED);
	assert_int_equal(fake_table_state(TGID), PY_PROC_PYTHON);
	assert_int_equal(fake_table_cnt(), 8);
	assert_int_equal(life.table_full, 0);
}

/* A Python of this user is found. The result of the step. */
static int find_of(pid_t tgid, uint32_t uid)
{
	struct process_args args = args_of(tgid);
	struct step with = { .args = &args, .inspected_ns = 5 };

	args.identity.uid = uid;
	return lifecycle_step(&life, lifecycle_ask(&life, tgid, START), PROC_EV_FOUND, &with);
}

static size_t profiled_of(uint32_t uid)
{
	size_t pos = 0, cnt = 0;
	struct tracked *t;

	while ((t = lifecycle_next_profiled(&life, &pos)))
		if (process_identity(t->process)->uid == uid) {
			assert_int_equal(fake_table_state(t->tgid), PY_PROC_PYTHON);
			cnt++;
		}
	return cnt;
}

/*
 * py_procs is full of one user's Pythons: another user's take their places until both have as many.
 * Those that had to go are inspected again, and profiled when there is room.
 */
static void test_a_user_takes_not_all_places(void **state)
{
	const uint32_t greedy = 1000, other = 1001;
	uint64_t begin = now_ns();
	struct tracked *first;
	pid_t tgid;

	fake_table.room = 16;
	for (tgid = 1; tgid <= 20; tgid++)
		assert_int_equal(find_of(tgid, greedy), tgid <= 16 ? 0 : -E2BIG);
	assert_int_equal(life.table_full, 4);
	for (tgid = 101; tgid <= 110; tgid++)
		assert_int_equal(find_of(tgid, other), tgid <= 108 ? 0 : -E2BIG);
	assert_int_equal(profiled_of(greedy), 8);
	assert_int_equal(profiled_of(other), 8);
	assert_int_equal(life.table_full, 4 + 8 + 2);
	first = lifecycle_find(&life, 1);
	assert_int_equal(first->state, PROC_SEEN);
	assert_true(first->schedule.next_ns > begin && first->schedule.next_ns != INSPECT_NEVER);
	assert_int_equal(find_of(1, greedy), -E2BIG);
	lifecycle_step(&life, lifecycle_find(&life, 108), PROC_EV_ENDED, NULL);
	proc_table_remove(NULL, 108);	/* as the BPF side does */
	assert_int_equal(find_of(1, greedy), 0);
	assert_int_equal(life.err, 0);
}

/* A fork and an exec that the BPF side admits count for their user; root's Pythons give no way. */
static void test_places_of_admitted_and_of_root(void **state)
{
	struct process_args args;
	pid_t tgid;

	fake_table.room = 4;
	for (tgid = 1; tgid <= 4; tgid++) {
		args = args_of(tgid);
		args.identity.uid = tgid <= 2 ? 1000 : 0;
		proc_table_put(NULL, tgid, &args.py);
		assert_non_null(lifecycle_admit(&life, &(struct step){ .args = &args }));
	}
	assert_int_equal(find_of(5, 1001), 0);
	assert_int_equal(find_of(6, 1001), -E2BIG);
	assert_int_equal(find_of(7, 1002), -E2BIG);	/* everybody has one, but root */
	assert_int_equal(find_of(8, 0), -E2BIG);
	assert_int_equal(profiled_of(0), 2);
	assert_int_equal(profiled_of(1000), 1);
	assert_int_equal(profiled_of(1001), 1);
}

/* Processes that have ended and are not inspected again: nothing of them stays. */
static void test_sweep(void **state)
{
	const pid_t gone = 0x20000000;	/* above any pid_max; from here on */
	struct tracked *t;
	int i;

	for (i = 0; i < 50000; i++) {
		t = lifecycle_ask(&life, gone + i, START);
		lifecycle_step(&life, t,
			       i % 2 ? PROC_EV_FOUND_UNSUPPORTED : PROC_EV_FOUND_NOTHING, NULL);
		inspect_no_more(&t->schedule);
		if (i % 40 == 39) {	/* the map has room for as many */
			lifecycle_sweep_gone(&life);
			assert_int_equal(life.tracked.cnt, 0);
			memset(fake_table.tgids, 0, sizeof(fake_table.tgids));
		}
	}
	lifecycle_ask(&life, gone, START)->asked = 3;	/* it was never inspected */
	t = lifecycle_ask(&life, getpid(), START);
	assert_int_equal(lifecycle_sweep_gone(&life), 3);
	assert_ptr_equal(lifecycle_find(&life, getpid()), t);
}

static void test_observer_refuses(void **state)
{
	bring_to(PROC_SEEN);
	observer.begin_err = -ENOSPC;
	step(PROC_EV_FOUND);
	assert_int_equal(life.err, -ENOSPC);
	assert_null(lifecycle_admit(&life, &(struct step){ .args = &(struct process_args){
		.tgid = TGID + 1, .comm = "x", .image = &fake.img,
		.observer = &observer.observer } }));
}

/* A pid that is used again is another process, whatever the state of the first one. */
static void test_pid_reuse(void **state)
{
	struct tracked *t;
	int from;

	for (from = PROC_SEEN; from < PROC_STATE_CNT; from++) {
		bring_to(from);
		t = lifecycle_find(&life, TGID);
		t->asked = 4;
		inspect_no_more(&t->schedule);
		t = lifecycle_ask(&life, TGID, START + 1);
		assert_non_null(t);
		assert_int_equal(t->state, PROC_SEEN);
		assert_int_equal(t->asked, 0);
		assert_int_equal(t->schedule.next_ns, 0);
		assert_int_equal(life.live_cnt, 0);
		step(PROC_EV_ENDED);
	}
}

/* Each due process is returned once, while some of them end. */
static void test_end_while_due(void **state)
{
	uint64_t seed = 3;
	int round, i, n;

	for (round = 0; round < 2000; round++) {
		bool returned[64] = { false };
		struct tracked *t;
		size_t pos = 0;

		for (i = 0; i < 64; i++)
			if (rnd(&seed) % 2)
				lifecycle_ask(&life, i + 1, 1);
		n = life.tracked.cnt;
		while ((t = lifecycle_next_due(&life, 0, &pos))) {
			i = t->tgid - 1;
			assert_false(returned[i]);
			returned[i] = true;
			n--;
			if (rnd(&seed) % 2)
				lifecycle_step(&life, t, PROC_EV_ENDED, NULL);
		}
		assert_int_equal(n, 0);
	}
}

static void test_waiting(void **state)
{
	struct tracked *a = lifecycle_ask(&life, 1, 1), *b = lifecycle_ask(&life, 2, 2);

	a->schedule.next_ns = 1000;
	b->schedule.next_ns = 3000;
	assert_int_equal(lifecycle_wait_ns(&life, 500, 10000), 500);
	assert_int_equal(lifecycle_wait_ns(&life, 500, 100), 100);
	inspect_no_more(&a->schedule);
	assert_int_equal(lifecycle_wait_ns(&life, 500, 10000), 2500);
	assert_int_equal(lifecycle_young_cnt(&life), 1);
}

/*
 * Only those that may be due soon are gone through: an old process that waits for a minute is not
 * among them, is due again a minute later, and at once when something was heard of it.
 */
static void test_soon(void **state)
{
	struct tracked *idle = lifecycle_ask(&life, 1, 1), *old = lifecycle_ask(&life, 2, 1), *t;
	const uint64_t s = 1000000000, begin = 5 * s;
	size_t pos = 0;

	inspect_no_more(&idle->schedule);
	old->schedule.tries = INSPECT_YOUNG_TRIES;
	old->schedule.next_ns = begin + 60 * s;
	assert_null(lifecycle_next_due(&life, begin, &pos));
	assert_null(life.soon);
	/* It comes into the list with the second in which it is due. */
	pos = 0;
	assert_null(lifecycle_next_due(&life, begin + 59 * s + s / 2, &pos));
	assert_ptr_equal(life.soon, &old->due);
	assert_null(old->due.next);
	pos = 0;
	assert_ptr_equal(lifecycle_next_due(&life, begin + 60 * s, &pos), old);
	assert_null(lifecycle_next_due(&life, begin + 60 * s, &pos));
	/* Something is heard of the idle one, which has mapped code. */
	t = lifecycle_find(&life, 1);
	assert_ptr_equal(t, idle);
	inspect_changed(&t->schedule);
	t->schedule.next_ns = begin + 60 * s + 5;
	inspect_no_more(&old->schedule);
	assert_int_equal(lifecycle_wait_ns(&life, begin + 60 * s, s), 5);
	pos = 0;
	assert_ptr_equal(lifecycle_next_due(&life, begin + 60 * s + 5, &pos), idle);
	lifecycle_step(&life, idle, PROC_EV_ENDED, NULL);
	assert_null(lifecycle_next_due(&life, begin + 60 * s + 5, &pos));
	assert_null(life.soon);
}

/*
 * Of many processes that are due at any time within two minutes, some of which end or are heard of
 * meanwhile, each is returned in the poll at its time, however far apart the polls are.
 */
static void test_wheel(void **state)
{
	const uint64_t ms = 1000000;
	uint64_t seed = 5, now = 1000 * ms, end = 400000 * ms, i;
	size_t pos, returned = 0;
	struct tracked *t;

	for (i = 1; i <= 300; i++) {
		t = lifecycle_ask(&life, i, 1);
		t->schedule.tries = INSPECT_YOUNG_TRIES;
		t->schedule.next_ns = now + rnd(&seed) % (120000 * ms);
	}
	while ((now += rnd(&seed) % (3000 * ms)) < end) {
		if (rnd(&seed) % 16 == 0)
			lifecycle_find(&life, 1 + rnd(&seed) % 300);
		pos = 0;
		while ((t = lifecycle_next_due(&life, now, &pos))) {
			returned++;
			if (rnd(&seed) % 8 == 0)
				lifecycle_step(&life, t, PROC_EV_ENDED, NULL);
			else if (rnd(&seed) % 4 == 0)
				inspect_no_more(&t->schedule);
			else
				t->schedule.next_ns = now + 1 + rnd(&seed) % (150000 * ms);
		}
		pos = 0;
		while ((t = u64map_next(&life.tracked, &pos)))
			assert_true(t->schedule.next_ns > now);
	}
	assert_in_range(returned, 300, 3000);
}

static size_t heard_now(bool quiet)
{
	struct tracked *t;
	size_t pos = 0, cnt = 0;

	while ((t = lifecycle_next_heard(&life, &pos))) {
		cnt++;
		if (quiet)
			lifecycle_quiet(t);
	}
	return cnt;
}

/* Of thousands of processes, only those are gone through of which something was heard. */
static void test_heard(void **state)
{
	struct tracked *t;
	size_t pos = 0;
	int i;

	for (i = 1; i <= 2000; i++)
		lifecycle_ask(&life, i, 1);
	assert_int_equal(heard_now(false), 2000);	/* they have begun */
	assert_int_equal(heard_now(true), 2000);
	assert_int_equal(heard_now(false), 0);
	lifecycle_find(&life, 7);
	lifecycle_find(&life, 9);
	lifecycle_process(&life, 7);
	assert_int_equal(heard_now(false), 2);
	/* The other one ends while the first one has its turn. */
	t = lifecycle_next_heard(&life, &pos);
	lifecycle_step(&life, lifecycle_find(&life, t->tgid == 7 ? 9 : 7), PROC_EV_ENDED, NULL);
	assert_null(lifecycle_next_heard(&life, &pos));
	assert_int_equal(heard_now(true), 1);
	assert_int_equal(heard_now(false), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_life),
		TEST(test_each_event_in_each_state),
		TEST(test_any_order),
		TEST(test_entries),
		TEST(test_no_room),
		TEST(test_a_python_takes_the_place_of_another_program),
		TEST(test_a_python_takes_the_place_of_an_excluded_process),
		TEST(test_a_user_takes_not_all_places),
		TEST(test_places_of_admitted_and_of_root),
		TEST(test_sweep),
		TEST(test_observer_refuses),
		TEST(test_pid_reuse),
		TEST(test_end_while_due),
		TEST(test_waiting),
		TEST(test_soon),
		TEST(test_wheel),
		TEST(test_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
