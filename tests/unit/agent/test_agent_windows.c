// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_agent_windows.c - events of processes that are none, at times that the test chooses: where
 * windows are cut, what samples stand for, who sees them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent_windows.h"
#include "base/time.h"
#include "bpf/abi.h"
#include "config/config.h"
#include "cpython/image.h"
#include "resolve/process.h"

#define MS 1000000ull
#define LENGTH (15 * NS_PER_S)
#define T0 (1700000000 * NS_PER_S)	/* 5 s after a multiple of 15 s */
#define CUT (T0 + 10 * NS_PER_S)

static uint64_t wall, mono;

static uint64_t wall_clock(void)
{
	return wall;
}

static uint64_t mono_clock(void)
{
	return mono;
}

static void pass(uint64_t ns)
{
	wall += ns;
	mono += ns;
}

static const struct service_config no_rules;
static struct agent_windows_args args;

static struct agent_windows *windows_of(uint32_t modes)
{
	struct agent_windows *a;

	wall = T0;
	mono = 77 * NS_PER_S;
	args.modes = modes;
	args.window_ns = LENGTH;
	args.interval_ns = 10 * MS;
	args.services = &no_rules;
	args.wall_ns = wall_clock;
	args.mono_ns = mono_clock;
	a = agent_windows_new(&args);
	assert_non_null(a);
	return a;
}

static const struct observer_ops nobody = { .event = NULL };
static struct observer no_observer = { &nobody };
static const struct cpython_image image = { .major = 3, .minor = 12 };

/* A process that has ended, so nothing is known of it but its comm. */
static struct process *ended(const char *comm)
{
	static pid_t tgid = 0x7f000000;		/* the kernel gives no such number */
	const struct process_args p = {
		.tgid = tgid++, .comm = comm, .command = "x", .image = &image,
		.observer = &no_observer,
		/* An event's weight counts samples. */
		.unit = UNIT_SAMPLES,
	};
	struct process *process = process_new(&p);

	assert_non_null(process);
	return process;
}

static void begin(struct agent_windows *a, struct process *p)
{
	struct observer *o = agent_windows_observer(a);

	assert_int_equal(o->ops->begin(o, p), 0);
}

static void end(struct agent_windows *a, struct process *p)
{
	struct observer *o = agent_windows_observer(a);

	assert_int_equal(o->ops->end(o, p, mono), 0);
	process_free(p);
}

static void event(struct agent_windows *a, struct process *p, uint8_t status, uint64_t weight,
		  uint32_t tick_ns)
{
	const struct event ev = { .thread_id = 1, .status = status, .weight = weight,
				  .tick_ns = tick_ns };
	struct observer *o = agent_windows_observer(a);

	assert_int_equal(o->ops->event(o, p, &ev), 0);
}

static uint64_t value(const struct window *w, uint32_t service, enum window_kind kind)
{
	return window_series(w, service, kind)->value;
}

static void is_window(const struct window *w, uint64_t begin_ns, uint64_t end_ns)
{
	assert_int_equal(window_begin_ns(w), begin_ns);
	assert_int_equal(window_end_ns(w), end_ns);
}

/* ---- where windows are cut ---- */

static void test_cut(void **state)
{
	struct agent_windows *a = windows_of(AGENT_CPU);
	int i;

	/* The first one is shorter. */
	assert_int_equal(agent_windows_left_ms(a), 10000);
	assert_int_equal(agent_windows_aligned_ns(a), CUT - LENGTH);
	pass(10 * NS_PER_S - 1);
	assert_int_equal(agent_windows_left_ms(a), 1);
	pass(1);
	assert_int_equal(agent_windows_left_ms(a), 0);
	is_window(agent_windows_finish(a), T0, CUT);
	agent_windows_next(a);
	/* Each begins where the last one ended, though the loop was a bit late. */
	for (i = 0; i < 3; i++) {
		pass(LENGTH + 20 * MS);
		assert_int_equal(agent_windows_left_ms(a), 0);
		is_window(agent_windows_finish(a), CUT + i * LENGTH, CUT + (i + 1) * LENGTH);
		pass(30 * MS);
		agent_windows_next(a);
	}
	/* One that is cut ends now, and the next one at a multiple all the same. */
	pass(NS_PER_S);
	is_window(agent_windows_finish(a), CUT + 3 * LENGTH, wall);
	agent_windows_next(a);
	assert_int_equal(agent_windows_aligned_ns(a), CUT + 3 * LENGTH);
	assert_int_equal(agent_windows_left_ms(a), 15000 - 1000 - 150);
	/* Another length: of the minute. */
	agent_windows_finish(a);
	agent_windows_set_length(a, 60 * NS_PER_S);
	agent_windows_next(a);
	pass(60 * NS_PER_S);
	assert_int_equal(window_end_ns(agent_windows_finish(a)) % (60 * NS_PER_S), 0);
	agent_windows_free(a);
}

static void test_clock_jumps(void **state)
{
	struct agent_windows *a = windows_of(AGENT_CPU);
	struct agent_windows_counts counts;
	uint64_t day = 86400 * NS_PER_S;

	/* Forwards, by a day: what was measured took 2 s. */
	pass(2 * NS_PER_S);
	assert_int_not_equal(agent_windows_left_ms(a), 0);
	wall += day;
	assert_int_equal(agent_windows_left_ms(a), 0);
	is_window(agent_windows_finish(a), T0, T0 + 2 * NS_PER_S);
	agent_windows_next(a);
	is_window(agent_windows_finish(a), wall, wall);
	agent_windows_next(a);
	/* And back. */
	pass(3 * NS_PER_S);
	wall -= day;
	assert_int_equal(agent_windows_left_ms(a), 0);
	is_window(agent_windows_finish(a), wall + day - 3 * NS_PER_S, wall + day);
	agent_windows_next(a);
	assert_int_equal(agent_windows_left_ms(a), 5000);
	/* Half a second is no jump: that is how clocks are set right. */
	pass(NS_PER_S);
	wall -= NS_PER_S / 2;
	assert_int_equal(agent_windows_left_ms(a), 4500);
	agent_windows_counts(a, &counts);
	assert_int_equal(counts.clock_jumps, 2);
	assert_int_equal(counts.finished, 3);
	agent_windows_free(a);
}

/* The agent was stopped, or the disk held it up: the next window begins now. */
static void test_halt(void **state)
{
	struct agent_windows *a = windows_of(AGENT_CPU);
	struct agent_windows_counts counts;

	pass(100 * NS_PER_S);
	is_window(agent_windows_finish(a), T0, CUT);
	agent_windows_next(a);
	assert_int_equal(agent_windows_left_ms(a), 15000 - (100 - 10) % 15 * 1000);
	is_window(agent_windows_finish(a), wall, wall);
	agent_windows_counts(a, &counts);
	assert_int_equal(counts.clock_jumps, 0);
	agent_windows_free(a);
}

/* ---- what samples stand for ---- */

static void test_values(void **state)
{
	struct agent_windows *a = windows_of(AGENT_CPU | AGENT_OFFCPU | AGENT_EXCEPTION);
	struct process *p = ended("web");
	struct agent_windows_counts counts;
	const struct window *w;

	begin(a, p);
	/* A tick's time, and that of a wait: its weight of nominal intervals. */
	event(a, p, STATUS_ON_CPU, 1, 20 * MS);
	event(a, p, STATUS_ON_CPU, 3, 60 * MS);
	event(a, p, 0, 7, 0);
	event(a, p, STATUS_ON_CPU | STATUS_HAS_EXCEPTION, 1, 5 * MS);
	w = agent_windows_finish(a);
	assert_int_equal(value(w, 1, WINDOW_CPU), 85 * MS);
	assert_int_equal(window_series(w, 1, WINDOW_CPU)->samples, 5);
	assert_int_equal(value(w, 1, WINDOW_OFF_CPU), 70 * MS);
	assert_int_equal(value(w, 1, WINDOW_EXCEPTION), 5 * MS);
	assert_string_equal(agent_services_name(agent_windows_services(a), 1), "web");
	agent_windows_next(a);
	/* One window of three is profiled. */
	agent_windows_set_weight(a, 3, 1);
	event(a, p, STATUS_ON_CPU, 1, 20 * MS);
	assert_int_equal(value(agent_windows_finish(a), 1, WINDOW_CPU), 60 * MS);
	agent_windows_next(a);
	/* Two of three: what a division leaves is not lost. */
	agent_windows_set_weight(a, 3, 2);
	event(a, p, STATUS_ON_CPU, 1, 1);
	event(a, p, STATUS_ON_CPU, 1, 1);
	assert_int_equal(value(agent_windows_finish(a), 1, WINDOW_CPU), 3);
	agent_windows_next(a);
	agent_windows_set_weight(a, 3, 0);
	event(a, p, STATUS_ON_CPU, 1, 1);
	assert_int_equal(value(agent_windows_finish(a), 1, WINDOW_CPU), 3);
	agent_windows_next(a);
	/* Whatever comes, sums stay. */
	agent_windows_set_weight(a, UINT64_MAX, 1);
	event(a, p, 0, UINT64_MAX, 0);
	event(a, p, STATUS_ON_CPU, 0, 7);
	w = agent_windows_finish(a);
	assert_int_equal(value(w, 1, WINDOW_OFF_CPU), UINT64_MAX);
	assert_int_equal(value(w, 1, WINDOW_CPU), 0);
	agent_windows_counts(a, &counts);
	assert_int_equal(counts.samples[WINDOW_EXCEPTION], 1);
	assert_int_equal(counts.no_memory, 0);
	end(a, p);
	agent_windows_free(a);
}

static void memory(struct agent_windows *a, struct process *p, enum memory_change change,
		   uint32_t stack, uint64_t bytes)
{
	const struct memory_event ev = { .change = change, .stack = stack, .bytes = bytes };
	struct observer *o = agent_windows_observer(a);

	assert_int_equal(o->ops->memory(o, p, &ev), 0);
}

/* What was touched is of its window; what is held is of each one until it is gone. */
static void test_memory(void **state)
{
	struct agent_windows *a = windows_of(AGENT_CPU | AGENT_MEMORY);
	struct process *p = ended("web"), *q = ended("api");
	struct agent_windows_counts counts;
	const struct window *w;
	struct observer *o;

	begin(a, p);
	begin(a, q);
	event(a, p, STATUS_ON_CPU, 1, 7);
	memory(a, p, MEMORY_ALLOC, 0, 65536);
	memory(a, p, MEMORY_ALLOC, 0, 65536);
	memory(a, q, MEMORY_ALLOC, 0, 4096);
	memory(a, p, MEMORY_FREE, 0, 65536);
	memory(a, p, MEMORY_CHECK, 0, 0);
	w = agent_windows_finish(a);
	assert_int_equal(value(w, 1, WINDOW_ALLOC_SPACE), 131072);
	assert_int_equal(window_series(w, 1, WINDOW_ALLOC_SPACE)->samples, 2);
	assert_int_equal(value(w, 1, WINDOW_INUSE_SPACE), 65536);
	assert_int_equal(value(w, 2, WINDOW_INUSE_SPACE), 4096);
	assert_int_equal(value(w, 1, WINDOW_CPU), 7);
	agent_windows_counts(a, &counts);
	assert_int_equal(counts.held_bytes, 65536 + 4096);
	agent_windows_next(a);
	/* Nothing happens: it is still held. */
	w = agent_windows_finish(a);
	assert_int_equal(value(w, 1, WINDOW_ALLOC_SPACE), 0);
	assert_int_equal(value(w, 1, WINDOW_INUSE_SPACE), 65536);
	agent_windows_next(a);
	/* A process that ends holds nothing; what it touched is in the window. */
	memory(a, p, MEMORY_ALLOC, 1, 8192);
	end(a, p);
	w = agent_windows_finish(a);
	assert_int_equal(value(w, 1, WINDOW_ALLOC_SPACE), 8192);
	assert_int_equal(value(w, 1, WINDOW_INUSE_SPACE), 0);
	assert_int_equal(value(w, 2, WINDOW_INUSE_SPACE), 4096);
	agent_windows_counts(a, &counts);
	assert_int_equal(counts.samples[WINDOW_ALLOC_SPACE], 4);
	assert_int_equal(counts.no_memory, 0);
	agent_windows_next(a);
	/* The agent ends: the process lives, and holds it in the last window, too. */
	o = agent_windows_observer(a);
	assert_int_equal(o->ops->end(o, q, 0), 0);
	assert_int_equal(value(agent_windows_finish(a), 2, WINDOW_INUSE_SPACE), 4096);
	process_free(q);
	agent_windows_free(a);
}

/* The number of a service whose last process has ended stays for the window that it is in. */
static void test_services(void **state)
{
	struct agent_windows *a = windows_of(AGENT_CPU);
	struct process *web = ended("web"), *api = ended("api"), *silent = ended("silent");
	const struct agent_services *s = agent_windows_services(a);
	const struct window *w;

	begin(a, web);
	begin(a, api);
	begin(a, silent);
	event(a, web, STATUS_ON_CPU, 1, 1);
	event(a, api, STATUS_ON_CPU, 1, 2);
	end(a, web);
	/* It ended without a sample: nobody looked at it. */
	end(a, silent);
	assert_int_equal(agent_services_cnt(s), 2);
	w = agent_windows_finish(a);
	assert_string_equal(agent_services_name(s, 1), "web");
	assert_int_equal(value(w, 1, WINDOW_CPU), 1);
	assert_int_equal(value(w, 2, WINDOW_CPU), 2);
	agent_windows_next(a);
	assert_null(agent_services_get(s, 1));
	web = ended("new");
	begin(a, web);
	event(a, web, STATUS_ON_CPU, 1, 1);
	assert_string_equal(agent_services_name(s, 1), "new");
	assert_string_equal(agent_services_name(s, 2), "api");
	end(a, web);
	end(a, api);
	agent_windows_free(a);
}

static void test_privacy(void **state)
{
	const struct window_privacy hidden = { .no_directories = true, .no_exceptions = true };
	struct agent_windows *a = windows_of(AGENT_CPU);
	struct process *p = ended("web");

	begin(a, p);
	event(a, p, STATUS_ON_CPU, 1, 1);
	agent_windows_finish(a);
	agent_windows_set_privacy(a, &hidden);
	agent_windows_next(a);
	/* The map of the process knows names of before; they are not used any more. */
	event(a, p, STATUS_ON_CPU, 1, 1);
	assert_int_equal(value(agent_windows_finish(a), 1, WINDOW_CPU), 1);
	agent_windows_next(a);
	end(a, p);
	agent_windows_free(a);
}

/* ---- who else sees it ---- */

static char seen[256];

static void note(void *ctx, const char *what)
{
	size_t len = strlen(seen);

	snprintf(seen + len, sizeof(seen) - len, "%s%s ", (const char *)ctx, what);
}

static void see_begin(void *ctx, struct agent_process *p)
{
	assert_int_equal(p->service, SERVICE_NUMBER_OTHER);
	note(ctx, "begin");
}

static void see_event(void *ctx, struct agent_process *p, const struct event *ev,
		      uint64_t value_ns)
{
	char text[32];

	/* It is named before anyone sees it. */
	assert_int_equal(p->service, 1);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value_ns);
	note(ctx, text);
}

static void see_end(void *ctx, struct agent_process *p, uint64_t end_ns)
{
	assert_int_equal(end_ns, mono);
	note(ctx, "end");
}

static void see_tick(void *ctx)
{
	note(ctx, "tick");
}

static void see_remark(void *ctx, pid_t tgid, uint32_t uid, const char *comm, const char *text)
{
	note(ctx, text);
}

static void test_viewers(void **state)
{
	struct agent_windows *a;
	struct process *p = ended("web");
	struct observer *o;

	args.viewers[0] = (struct agent_viewer){ .begin = see_begin, .event = see_event,
						 .end = see_end, .tick = see_tick,
						 .remark = see_remark, .ctx = "1" };
	args.viewers[1] = (struct agent_viewer){ .ctx = "nothing" };
	args.viewers[2] = args.viewers[0];
	args.viewers[2].ctx = "2";
	args.viewer_cnt = 3;
	a = windows_of(AGENT_CPU);
	o = agent_windows_observer(a);
	seen[0] = '\0';
	begin(a, p);
	agent_windows_set_weight(a, 2, 1);
	event(a, p, STATUS_ON_CPU, 2, 8);
	/* No mode wants it, but viewers see all. */
	event(a, p, 0, 1, 0);
	assert_int_equal(o->ops->tick(o), 0);
	assert_false(o->ops->remark(o, 1, 0, "web", "!"));
	end(a, p);
	assert_string_equal(seen, "1begin 2begin 116 216 120000000 220000000 1tick 2tick 1! 2! "
			    "1end 2end ");
	assert_int_equal(window_service_cnt(agent_windows_finish(a)), 2);
	agent_windows_free(a);
	memset(args.viewers, 0, sizeof(args.viewers));
	args.viewer_cnt = 0;
}

/* A process for which there was no memory has nothing attached; its samples are counted. */
static void test_no_memory(void **state)
{
	struct agent_windows *a = windows_of(AGENT_CPU);
	struct agent_windows_counts counts;
	struct process *p = ended("web");
	struct observer *o = agent_windows_observer(a);

	event(a, p, STATUS_ON_CPU, 4, 1);
	assert_int_equal(o->ops->end(o, p, 0), 0);
	agent_windows_counts(a, &counts);
	assert_int_equal(counts.no_memory, 4);
	assert_int_equal(counts.samples[WINDOW_CPU], 0);
	assert_int_equal(window_service_cnt(agent_windows_finish(a)), 0);
	process_free(p);
	agent_windows_free(a);
	agent_windows_free(NULL);
}

static int group_setup(void **state)
{
	log_set_level(LOG_QUIET);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_clock_jumps),
		cmocka_unit_test(test_halt),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_privacy),
		cmocka_unit_test(test_viewers),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, group_setup, NULL);
}
