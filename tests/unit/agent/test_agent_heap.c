// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_agent_heap.c - whose objects are counted when, and what the window has of it. The censuses
 * are the test's; the processes have ended, so only their comm is known, which is their service.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_heap.h"
#include "agent/heap_sum.h"
#include "base/time.h"
#include "base/util.h"
#include "config/config.h"
#include "cpython/image.h"
#include "resolve/process.h"

#define MS 1000000ull
#define MINUTE (60 * NS_PER_S)
#define T0 (1700000000 * NS_PER_S)

/* ---- processes and the worker ---- */

static uint64_t now;

static uint64_t clock_now(void)
{
	return now;
}

static const struct service_config no_rules;
static const struct observer_ops nobody = { .event = NULL };
static struct observer no_observer = { &nobody };
static const struct cpython_image image = { .major = 3, .minor = 12 };
static pid_t next_tgid = 0x7f000000;	/* the kernel gives no such number */

static struct agent_windows *new_windows(void)
{
	const struct agent_windows_args args = {
		.modes = AGENT_HEAP, .window_ns = 15 * NS_PER_S, .interval_ns = 10 * MS,
		.services = &no_rules, .wall_ns = clock_now, .mono_ns = clock_now,
	};
	struct agent_windows *a;

	now = T0;
	a = agent_windows_new(&args);
	assert_non_null(a);
	return a;
}

/* Begins a process of the service `comm`; one is named at its first event. */
static struct process *start_process(struct agent_windows *a, const char *comm)
{
	struct observer *o = agent_windows_observer(a);
	const struct event ev = { .thread_id = 1, .weight = 1 };
	const struct process_args args = {
		.tgid = next_tgid++, .start_ns = now, .comm = comm, .command = "x",
		.image = &image, .observer = &no_observer, .unit = UNIT_SAMPLES,
	};
	struct process *p = process_new(&args);

	assert_non_null(p);
	assert_int_equal(o->ops->begin(o, p), 0);
	assert_int_equal(o->ops->event(o, p, &ev), 0);
	return p;
}

static void end_process(struct agent_windows *a, struct process *p)
{
	struct observer *o = agent_windows_observer(a);

	assert_int_equal(o->ops->end(o, p, now), 0);
	process_free(p);
}

/* What the worker says, and what it was asked. */
static struct {
	int begin, poll;		/* results */
	uint64_t cpu_ns;
	uint32_t types;			/* "app.T0", "app.T1" ..., of 2 objects and 100 bytes */
	unsigned int begun, open;
	pid_t tgids[256];
	uint64_t seeds[256];
} worker;

static int begin_census(const struct heap_target *target, const struct heap_limits *limits)
{
	assert_int_equal(worker.open, 0);
	assert_true(limits->bytes && limits->time_ns && limits->error > 0);
	assert_int_equal(target->minor, 12);
	if (worker.begin)
		return worker.begin;
	worker.seeds[worker.begun % 256] = limits->seed;
	worker.tgids[worker.begun++ % 256] = target->tgid;
	worker.open = 1;
	return 0;
}

static int poll_census(struct heap_census *out)
{
	uint32_t i;

	assert_int_equal(worker.open, 1);
	if (worker.poll == -EAGAIN)
		return -EAGAIN;
	worker.open = 0;
	if (worker.poll)
		return worker.poll;
	memset(out, 0, sizeof(*out));
	out->cpu_ns = worker.cpu_ns;
	out->row_cnt = worker.types;
	for (i = 0; i < worker.types; i++) {
		snprintf(out->rows[i].name, HEAP_NAME_BYTES, "app.T%u", i);
		out->rows[i].objects = 2;
		out->rows[i].bytes = 100;
	}
	out->other.objects = 1;
	out->other.bytes = 10;
	out->untyped_bytes = 5;
	out->free_bytes = 4;
	out->rss = 1000000;
	return 0;
}

static struct agent_heap *new_heap(struct agent_windows *a, uint32_t processes)
{
	const struct agent_heap_args args = {
		.windows = a, .every_ns = 10 * MINUTE, .processes = processes, .cpu_percent = 1,
		.begin = begin_census, .poll = poll_census,
	};
	struct agent_heap *h = agent_heap_new(&args);

	assert_non_null(h);
	memset(&worker, 0, sizeof(worker));
	worker.cpu_ns = 10 * MS;
	worker.types = 1;
	return h;
}

/* Lets time pass, in steps of half a second as in the agent's loop. */
static void pass(struct agent_heap *h, uint64_t ns)
{
	uint64_t end = now + ns;

	for (; now < end; now += NS_PER_S / 2)
		agent_heap_tick(h, now);
}

static uint64_t value(struct agent_windows *a, uint32_t service, enum window_kind kind)
{
	return window_series(agent_windows_so_far(a), service, kind)->value;
}

static bool has_type(struct agent_windows *a, const char *name)
{
	const struct profile_tables *t =
		window_names_tables(window_names(agent_windows_so_far(a)));
	uint32_t i;

	for (i = 0; i < t->string_cnt; i++)
		if (t->strings[i].len == strlen(name) &&
		    !memcmp(t->strings[i].data, name, strlen(name)))
			return true;
	return false;
}

/* ---- turns ---- */

static void test_each_service_every_ten_minutes(void **state)
{
	struct agent_windows *a = new_windows();
	struct agent_heap *h = new_heap(a, 4);
	struct process *p[3] = { start_process(a, "web"), start_process(a, "web"),
				 start_process(a, "jobs") };
	const struct agent_heap_counts *c = agent_heap_counts(h);
	uint32_t i;

	pass(h, 30 * NS_PER_S);
	assert_int_equal(worker.begun, 3);
	assert_int_equal(c->results[AGENT_HEAP_TAKEN], 3);
	assert_int_equal(c->services, 2);
	assert_int_equal(c->cpu_ns, 3 * 10 * MS);
	assert_true(worker.seeds[0] != worker.seeds[1]);
	/* Of "web" the sum of both processes; of "jobs" its only one. */
	assert_int_equal(value(a, 1, WINDOW_HEAP_OBJECTS) + value(a, 2, WINDOW_HEAP_OBJECTS),
			 3 * (2 + 1));
	assert_int_equal(value(a, 1, WINDOW_HEAP_SPACE), 2 * 1000000);
	assert_int_equal(value(a, 2, WINDOW_HEAP_SPACE), 1000000);
	assert_true(has_type(a, "app.T0") && has_type(a, HEAP_SUM_OTHER) &&
		    has_type(a, HEAP_SUM_OUTSIDE));
	pass(h, 9 * MINUTE);
	assert_int_equal(worker.begun, 3);
	assert_int_equal(agent_heap_late_ns(h, now), 0);
	pass(h, 2 * MINUTE);
	assert_int_equal(worker.begun, 6);
	agent_heap_free(h);
	for (i = 0; i < 3; i++)
		end_process(a, p[i]);
	agent_windows_free(a);
}

/* Of many processes some are counted, others each time, and stand for all. */
static void test_many_processes_of_a_service(void **state)
{
	struct agent_windows *a = new_windows();
	struct agent_heap *h = new_heap(a, 3);
	struct process *p[12];
	bool seen[12] = { false };
	uint32_t i, cnt = 0;

	for (i = 0; i < 12; i++)
		p[i] = start_process(a, "web");
	pass(h, 30 * NS_PER_S);
	assert_int_equal(worker.begun, 3);
	assert_int_equal(value(a, 1, WINDOW_HEAP_OBJECTS), 12 * 3);
	assert_int_equal(value(a, 1, WINDOW_HEAP_SPACE), 12 * 1000000);
	pass(h, 30 * 10 * MINUTE);
	assert_true(worker.begun >= 3 * 30);
	for (i = 0; i < worker.begun; i++)
		seen[worker.tgids[i] - process_tgid(p[0])] = true;
	for (i = 0; i < 12; i++)
		cnt += seen[i];
	assert_int_equal(cnt, 12);
	agent_heap_free(h);
	for (i = 0; i < 12; i++)
		end_process(a, p[i]);
	agent_windows_free(a);
}

/* Half a second of CPU time is followed by fifty seconds without; the service waits longer. */
static void test_the_limit_of_cpu_time(void **state)
{
	struct agent_windows *a = new_windows();
	struct agent_heap *h = new_heap(a, 64);
	struct process *p[64];
	uint32_t i;

	for (i = 0; i < 64; i++)
		p[i] = start_process(a, i % 2 ? "web" : "jobs");
	worker.cpu_ns = 500 * MS;
	pass(h, 10 * MINUTE);
	assert_in_range(worker.begun, 11, 13);
	pass(h, 50 * MINUTE);
	assert_in_range(worker.begun, 66, 74);
	assert_true(agent_heap_late_ns(h, now) > 0);
	/* Nor is it believed that one takes an hour. */
	worker.cpu_ns = UINT64_MAX;
	pass(h, 21 * MINUTE);
	assert_in_range(worker.begun, 66 + 5, 74 + 8);
	agent_heap_free(h);
	for (i = 0; i < 64; i++)
		end_process(a, p[i]);
	agent_windows_free(a);
}

static void test_failures(void **state)
{
	static const struct {
		int err;
		enum agent_heap_result result;
	} cases[] = {
		{ -ESRCH, AGENT_HEAP_ENDED }, { -EPERM, AGENT_HEAP_DENIED },
		{ -ENOENT, AGENT_HEAP_NO_POOLS }, { -ETIMEDOUT, AGENT_HEAP_BLOCKED },
		{ -EBUSY, AGENT_HEAP_BUSY }, { -EIO, AGENT_HEAP_FAILED },
	};
	struct agent_windows *a = new_windows();
	struct process *p = start_process(a, "web");
	struct agent_heap *h;
	size_t i;
	int at;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (at = 0; at < 2; at++) {
			h = new_heap(a, 4);
			worker.begin = at ? 0 : cases[i].err;
			worker.poll = at ? cases[i].err : 0;
			pass(h, 5 * MINUTE);
			assert_int_equal(agent_heap_counts(h)->results[cases[i].result], 1);
			assert_int_equal(agent_heap_counts(h)->services, 0);
			worker.begin = worker.poll = 0;
			pass(h, 6 * MINUTE);
			assert_int_equal(agent_heap_counts(h)->results[AGENT_HEAP_TAKEN], 1);
			agent_heap_free(h);
		}
	end_process(a, p);
	agent_windows_free(a);
}

/* Services and processes that end before, during and after their census. */
static void test_ends(void **state)
{
	struct agent_windows *a = new_windows();
	struct agent_heap *h = new_heap(a, 4);
	struct process *one = start_process(a, "web"), *two = start_process(a, "web");
	const struct agent_heap_counts *c = agent_heap_counts(h);

	worker.poll = -EAGAIN;
	pass(h, 2 * NS_PER_S);
	assert_int_equal(worker.open, 1);
	end_process(a, one);
	end_process(a, two);
	worker.poll = 0;
	pass(h, 5 * NS_PER_S);
	/* The second one is not there any more, and nobody whose objects these would be. */
	assert_int_equal(c->results[AGENT_HEAP_TAKEN], 1);
	assert_int_equal(c->results[AGENT_HEAP_ENDED], 1);
	assert_int_equal(c->services, 0);
	assert_int_equal(value(a, 1, WINDOW_HEAP_SPACE), 0);
	/* Another service gets its number: it was never counted. */
	agent_windows_finish(a);
	agent_windows_next(a);
	one = start_process(a, "jobs");
	pass(h, 5 * NS_PER_S);
	assert_int_equal(c->services, 1);
	assert_int_equal(value(a, 1, WINDOW_HEAP_SPACE), 1000000);
	end_process(a, one);
	agent_heap_free(h);
	agent_windows_free(a);
}

/* ---- sums ---- */

static struct heap_census *new_census(void)
{
	struct heap_census *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	return c;
}

static void name_row(struct heap_census *c, uint32_t row, const char *name, uint64_t objects,
		     uint64_t bytes)
{
	snprintf(c->rows[row].name, HEAP_NAME_BYTES, "%s", name);
	c->rows[row].objects = objects;
	c->rows[row].bytes = bytes;
}

static struct window *put(struct heap_sum *s, uint64_t mul, uint64_t div, uint32_t *left_out)
{
	const struct window_place at = { .samples = 1, .mul = mul, .div = div };
	struct window *w = window_new(&window_limits_default, T0, T0 + 15 * NS_PER_S);
	uint64_t added[2] = { 0 };

	assert_non_null(w);
	*left_out = heap_sum_put(s, w, &at, added);
	assert_int_equal(added[0], window_series(w, 0, WINDOW_HEAP_OBJECTS)->samples);
	assert_int_equal(added[1], window_series(w, 0, WINDOW_HEAP_SPACE)->samples);
	return w;
}

static void test_sums(void **state)
{
	struct heap_census *c = new_census();
	struct heap_sum s = { .censuses = 0 };
	struct window *w;
	uint32_t left_out;

	heap_sum_reset(&s);
	name_row(c, 0, "app.Session", 10, 1000);
	name_row(c, 1, "dict", 4, 600);
	c->row_cnt = 2;
	c->rss = 1700;
	heap_sum_add(&s, c);
	name_row(c, 0, "dict", 6, 400);
	c->row_cnt = 1;
	c->rss = 100;		/* less than the estimate: nothing is outside */
	heap_sum_add(&s, c);
	assert_int_equal(s.censuses, 2);
	w = put(&s, 6, 2, &left_out);
	assert_int_equal(left_out, 0);
	assert_int_equal(window_series(w, 0, WINDOW_HEAP_OBJECTS)->value, 3 * 20);
	assert_int_equal(window_series(w, 0, WINDOW_HEAP_SPACE)->value, 3 * (2000 + 100));
	assert_int_equal(window_series(w, 0, WINDOW_HEAP_SPACE)->samples, 3);
	window_free(w);
	heap_sum_reset(&s);
	free(c);
}

/* Names without an end, too many rows, and sums beyond all numbers. */
static void test_a_hostile_census(void **state)
{
	struct heap_census *c = new_census();
	struct heap_sum s = { .censuses = 0 };
	struct window *w;
	uint32_t left_out, i;
	int again;

	heap_sum_reset(&s);
	for (again = 0; again < 3; again++) {
		c->row_cnt = UINT32_MAX;
		for (i = 0; i < HEAP_TYPES_MAX; i++) {
			memset(c->rows[i].name, 'x', HEAP_NAME_BYTES);
			memcpy(c->rows[i].name, &(uint32_t){ 0x01010101 + i * 3 + again }, 4);
			c->rows[i].objects = c->rows[i].bytes = UINT64_MAX / 2;
		}
		c->rss = c->free_bytes = c->untyped_bytes = c->other.bytes = UINT64_MAX;
		heap_sum_add(&s, c);
	}
	assert_true(s.rows.len <= HEAP_SUM_TYPES_MAX * sizeof(struct heap_sum_row));
	w = put(&s, UINT64_MAX, 1, &left_out);
	assert_true(left_out >= HEAP_SUM_TYPES_MAX - HEAP_SUM_TYPES_SENT - 100);
	assert_true(window_series(w, 0, WINDOW_HEAP_SPACE)->value == UINT64_MAX);
	assert_true(window_series(w, 0, WINDOW_HEAP_SPACE)->samples <= HEAP_SUM_TYPES_SENT + 4);
	window_free(w);
	heap_sum_reset(&s);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_service_every_ten_minutes),
		cmocka_unit_test(test_many_processes_of_a_service),
		cmocka_unit_test(test_the_limit_of_cpu_time),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_a_hostile_census),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
