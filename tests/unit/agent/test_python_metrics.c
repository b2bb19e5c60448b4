// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_python_metrics.c - what events add to which counter, and which services have rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/python_metrics.h"
#include "base/time.h"
#include "bpf/abi.h"
#include "model/intern.h"
#include "model/python_waits.h"

#define MINUTE (60 * NS_PER_S)
#define ALL PYTHON_METRICS_ALL

static struct python_metrics *m;
static struct intern *names;
static uint32_t line, gc, runnable, futex, kernel, failed;

static uint32_t synthetic(enum frame_kind kind, const char *name)
{
	uint32_t id;

	assert_int_equal(intern_synthetic(names, kind, name, &id), 0);
	return id;
}

static void make(uint32_t rows, unsigned int what)
{
	m = python_metrics_new(rows, what);
	assert_non_null(m);
	names = intern_new();
	assert_non_null(names);
	/* A function that is called like a frame of ours is none. */
	line = synthetic(FRAME_NATIVE, "<GC>");
	gc = synthetic(FRAME_SYNTHETIC, "<GC>");
	runnable = synthetic(FRAME_SYNTHETIC, "<waiting for a CPU>");
	futex = synthetic(FRAME_SYNTHETIC, "<blocked in futex>");
	kernel = synthetic(FRAME_KERNEL, "<kernel schedule>");
	failed = synthetic(FRAME_SYNTHETIC, "<exception ValueError>");
}

static int end(void **state)
{
	python_metrics_free(m);
	intern_free(names);
	m = NULL;
	names = NULL;
	return 0;
}

static struct python_process *begin(const char *service, bool started)
{
	const struct python_process_args args = {
		.service = service, .tables = intern_tables(names), .tgid = getpid(), .major = 3,
		.minor = 12, .started = started,
	};
	struct python_process *p = python_metrics_begin(m, &args);

	assert_non_null(p);
	return p;
}

static void add(struct python_process *p, uint8_t status, uint64_t ns, uint32_t cnt, ...)
{
	struct event ev = { .status = status, .weight = 1, .nframes = cnt };
	uint32_t frames[8], i;
	va_list list;

	va_start(list, cnt);
	for (i = 0; i < cnt; i++)
		frames[i] = va_arg(list, uint32_t);
	va_end(list);
	ev.frames = frames;
	python_metrics_event(p, &ev, ns);
}

/* The value of a sample, as it is written; NULL: it is not there. */
static const char *value(const char *sample)
{
	static char out[64];
	struct metrics_text t;
	const char *at, *end;

	metrics_text_begin(&t, METRICS_PROMETHEUS, 1 << 20);
	python_metrics_render(m, &t);
	assert_int_equal(metrics_text_end(&t), 0);
	assert_int_equal(buf_add(&t.out, "", 1), 0);
	for (at = (char *)t.out.data; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, sample, strlen(sample)) || at[strlen(sample)] != ' ')
			continue;
		at += strlen(sample) + 1;
		end = strchr(at, '\n');
		snprintf(out, sizeof(out), "%.*s", (int)(end - at), at);
		break;
	}
	metrics_text_free(&t);
	return at ? out : NULL;
}

static void check(const char *name, const char *service, const char *label, const char *want)
{
	char sample[256];
	const char *got;

	snprintf(sample, sizeof(sample), "tachbpf_python_%s{service=\"%s\"%s}", name, service,
		 label);
	got = value(sample);
	if (want ? !got || strcmp(got, want) : got != NULL)
		fail_msg("%s is %s, not %s", sample, got ? got : "missing",
			 want ? want : "missing");
}

static void cpu(const char *service, const char *want)
{
	check("cpu_seconds_total", service, "", want);
}

static void test_time(void **state)
{
	struct python_process *p;

	make(10, ALL);
	p = begin("a", true);
	add(p, STATUS_ON_CPU | STATUS_HAS_GIL, NS_PER_S, 1, line);
	add(p, STATUS_ON_CPU, NS_PER_S / 2, 1, line);
	add(p, STATUS_ON_CPU | STATUS_HAS_GIL, NS_PER_S / 4, 3, line, gc, line);
	add(p, STATUS_HAS_GIL, 2 * NS_PER_S, 2, runnable, line);
	add(p, STATUS_GIL_REQUESTED, 3 * NS_PER_S, 1, line);
	add(p, STATUS_GIL_REQUESTED | STATUS_HAS_EXCEPTION, NS_PER_S, 1, line);
	add(p, 0, 4 * NS_PER_S, 2, futex, line);
	add(p, 0, 5 * NS_PER_S, 5, kernel, kernel, futex, failed, line);
	add(p, STATUS_HAS_EXCEPTION, 6 * NS_PER_S, 3, failed, line, futex);
	add(p, STATUS_UNKNOWN, 7 * NS_PER_S, 0);
	cpu("a", "1.75");
	check("gil_held_seconds_total", "a", ",state=\"on_cpu\"", "1.25");
	check("gil_held_seconds_total", "a", ",state=\"off_cpu\"", "2");
	check("gil_wait_seconds_total", "a", "", "4");
	check("off_cpu_seconds_total", "a", ",kind=\"runnable\"", "2");
	check("off_cpu_seconds_total", "a", ",kind=\"lock\"", "9");
	check("off_cpu_seconds_total", "a", ",kind=\"io\"", "0");
	check("off_cpu_seconds_total", "a", ",kind=\"sleep\"", "0");
	check("off_cpu_seconds_total", "a", ",kind=\"held\"", "0");
	check("off_cpu_seconds_total", "a", ",kind=\"other\"", "13");
	check("gc_seconds_total", "a", "", "0.25");
	check("exception_seconds_total", "a", "", "7");
	check("exception_samples_total", "a", "", "2");
	check("starts_total", "a", "", "1");
	check("processes", "a", ",python=\"3.12\"", "1");
	cpu("other", "0");
	python_metrics_end(p);
	check("processes", "a", ",python=\"3.12\"", NULL);
	cpu("a", "1.75");
}

static void test_kinds_of_waits(void **state)
{
	static const struct {
		const char *name;
		enum python_wait wait;
	} cases[] = {
		{ "<blocked in futex>", PYTHON_WAIT_LOCK },
		{ "<blocked in flock>", PYTHON_WAIT_LOCK },
		{ "<blocked in read>", PYTHON_WAIT_IO },
		{ "<blocked in epoll_wait>", PYTHON_WAIT_IO },
		{ "<blocked in accept>", PYTHON_WAIT_IO },
		{ "<blocked in writev>", PYTHON_WAIT_IO },
		{ "<blocked in page fault>", PYTHON_WAIT_IO },
		{ "<blocked in clock_nanosleep>", PYTHON_WAIT_SLEEP },
		{ "<blocked in wait4>", PYTHON_WAIT_OTHER },
		{ "<blocked in system call 999>", PYTHON_WAIT_OTHER },
		{ "<blocked in rea>", PYTHON_WAIT_OTHER },
		{ "<blocked in readx>", PYTHON_WAIT_OTHER },
		{ "<blocked in the kernel>", PYTHON_WAIT_OTHER },
		{ "<waiting for a CPU>", PYTHON_WAIT_RUNNABLE },
		{ "<stopped by SIGSTOP>", PYTHON_WAIT_HELD },
		{ "<traced by 4711 (gdb)>", PYTHON_WAIT_HELD },
		{ "<frozen>", PYTHON_WAIT_HELD },
		{ "<stopped", PYTHON_WAITS },
		{ "<waiting for the GIL>", PYTHON_WAITS },
		{ "<GC>", PYTHON_WAITS },
		{ "<blocked in ", PYTHON_WAITS },
		{ "", PYTHON_WAITS },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct string_ref name = string_of(cases[i].name);

		if (python_wait_of(&name) != cases[i].wait)
			fail_msg("%s", cases[i].name);
	}
}

/* What is not recorded is not shown as 0. */
static void test_what_is_shown(void **state)
{
	struct python_process *p;

	make(10, PYTHON_METRICS_GIL);
	p = begin("a", false);
	check("starts_total", "a", "", "0");
	cpu("a", NULL);
	check("exception_seconds_total", "a", "", NULL);
	check("gil_held_seconds_total", "a", ",state=\"on_cpu\"", "0");
	check("gil_held_seconds_total", "a", ",state=\"off_cpu\"", NULL);
	check("gil_wait_seconds_total", "a", "", NULL);
	check("off_cpu_seconds_total", "a", ",kind=\"lock\"", NULL);
	check("gc_seconds_total", "a", "", NULL);
	python_metrics_set_what(m, PYTHON_METRICS_GIL_WAIT | PYTHON_METRICS_GIL);
	check("gil_wait_seconds_total", "a", "", "0");
	check("gil_held_seconds_total", "a", ",state=\"off_cpu\"", "0");
	check("gc_seconds_total", "a", "", NULL);
	python_metrics_end(p);
}

static void test_one_name_is_one_service(void **state)
{
	struct python_process *a, *b, *c;

	make(10, ALL);
	a = begin("a\n", false);
	b = begin("a\x01", false);
	c = begin("other", false);
	add(a, STATUS_ON_CPU, NS_PER_S, 1, line);
	add(b, STATUS_ON_CPU, NS_PER_S, 1, line);
	add(c, STATUS_ON_CPU, NS_PER_S, 1, line);
	cpu("a\xef\xbf\xbd", "2");
	cpu("other", "1");
	check("processes", "a\xef\xbf\xbd", ",python=\"3.12\"", "2");
	check("processes", "other", ",python=\"3.12\"", "1");
	python_metrics_rename(b, "b", NULL);
	add(b, STATUS_ON_CPU, NS_PER_S, 1, line);
	cpu("b", "1");
	check("processes", "a\xef\xbf\xbd", ",python=\"3.12\"", "1");
	python_metrics_end(a);
	python_metrics_end(b);
	python_metrics_end(c);
}

/* A process is named later: its start counts where it belongs, once. */
static void test_a_start_waits_for_the_name(void **state)
{
	struct python_process *a, *b;

	make(10, ALL);
	a = begin(NULL, true);
	b = begin(NULL, true);
	check("starts_total", "other", "", "0");
	python_metrics_rename(a, "a", NULL);
	check("starts_total", "a", "", "1");
	python_metrics_rename(a, "c", NULL);
	check("starts_total", "c", "", "0");
	python_metrics_end(b);
	check("starts_total", "other", "", "1");
	check("starts_total", "a", "", "1");
	python_metrics_end(a);
}

static double sum_of_cpu(void)
{
	struct metrics_text t;
	const char *at;
	double sum = 0;

	metrics_text_begin(&t, METRICS_PROMETHEUS, 1 << 22);
	python_metrics_render(m, &t);
	metrics_text_end(&t);
	assert_int_equal(buf_add(&t.out, "", 1), 0);
	for (at = (char *)t.out.data; (at = strstr(at, "\ntachbpf_python_cpu_seconds_total{"));)
		sum += strtod(strchr(++at, ' '), NULL);
	metrics_text_free(&t);
	return sum;
}

/* More services than rows: the rest is other, and nothing is counted twice or lost. */
static void test_rows_are_bounded(void **state)
{
	struct python_process *p[8];
	char name[8];
	size_t i;

	make(3, ALL);
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		snprintf(name, sizeof(name), "s%zu", i);
		p[i] = begin(name, true);
		add(p[i], STATUS_ON_CPU, (i + 1) * NS_PER_S, 1, line);
	}
	cpu("s0", "1");
	cpu("s2", "3");
	cpu("s3", NULL);
	cpu("other", "30");
	check("processes", "other", ",python=\"3.12\"", "5");
	check("threads", "other", "", "5");
	check("starts_total", "other", "", "5");
	assert_string_equal(value("tachbpf_agent_services_in_other"), "5");
	assert_true(sum_of_cpu() == 36);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		python_metrics_end(p[i]);
	assert_true(sum_of_cpu() == 36);
	assert_string_equal(value("tachbpf_agent_services_in_other"), "0");
}

/* Once a minute the hottest of the others gets the coldest one's row, and no counter goes back. */
static void test_rows_change_hands(void **state)
{
	struct python_process *a, *b, *c;

	make(2, ALL);
	python_metrics_tick(m, MINUTE);
	a = begin("a", false);
	b = begin("b", false);
	c = begin("c", false);
	add(a, STATUS_ON_CPU, 10 * NS_PER_S, 1, line);
	add(b, STATUS_ON_CPU, 2 * NS_PER_S, 1, line);
	add(c, STATUS_ON_CPU, 3 * NS_PER_S, 1, line);
	/* Not twice as hot. */
	python_metrics_tick(m, 2 * MINUTE);
	cpu("c", NULL);
	add(c, STATUS_ON_CPU, 30 * NS_PER_S, 1, line);
	python_metrics_tick(m, 3 * MINUTE - 1);
	cpu("c", NULL);
	python_metrics_tick(m, 3 * MINUTE);
	cpu("a", "10");
	cpu("b", NULL);
	cpu("c", "0");
	cpu("other", "33");
	add(b, STATUS_ON_CPU, NS_PER_S, 1, line);
	add(c, STATUS_ON_CPU, NS_PER_S, 1, line);
	cpu("c", "1");
	cpu("other", "34");
	python_metrics_end(a);
	python_metrics_end(b);
	python_metrics_end(c);
}

/* The row of a service without processes: for ten minutes, or for an hour if nobody needs it. */
static void test_rows_of_the_dead(void **state)
{
	struct python_process *p;

	make(1, ALL);
	python_metrics_tick(m, MINUTE);
	p = begin("a", false);
	add(p, STATUS_ON_CPU, NS_PER_S, 1, line);
	python_metrics_end(p);
	python_metrics_tick(m, 10 * MINUTE);
	p = begin("b", false);
	cpu("b", NULL);
	python_metrics_end(p);
	/* It comes back, and goes on where it was. */
	p = begin("a", false);
	add(p, STATUS_ON_CPU, NS_PER_S, 1, line);
	cpu("a", "2");
	python_metrics_end(p);
	python_metrics_tick(m, 20 * MINUTE);
	p = begin("b", false);
	cpu("b", "0");
	cpu("a", NULL);
	python_metrics_end(p);
	python_metrics_tick(m, 79 * MINUTE);
	cpu("b", "0");
	python_metrics_tick(m, 80 * MINUTE);
	cpu("b", NULL);
	cpu("other", "0");
}

static void test_the_number_of_rows_changes(void **state)
{
	struct python_process *a, *b;

	make(0, ALL);
	a = begin("a", false);
	b = begin("b", false);
	add(a, STATUS_ON_CPU, NS_PER_S, 1, line);
	add(b, STATUS_ON_CPU, 2 * NS_PER_S, 1, line);
	cpu("other", "3");
	python_metrics_set_rows(m, 1);
	cpu("b", "0");
	cpu("a", NULL);
	python_metrics_set_rows(m, 5);
	cpu("a", "0");
	add(a, STATUS_ON_CPU, NS_PER_S, 1, line);
	python_metrics_set_rows(m, 1);
	/* Both used as much. */
	assert_true((value("tachbpf_python_cpu_seconds_total{service=\"a\"}") != NULL) !=
		    (value("tachbpf_python_cpu_seconds_total{service=\"b\"}") != NULL));
	python_metrics_set_rows(m, 0);
	cpu("a", NULL);
	cpu("other", "3");
	python_metrics_end(b);
	python_metrics_end(a);
}

static void *wait_there(void *barrier)
{
	pthread_barrier_wait(barrier);
	return NULL;
}

static void test_threads(void **state)
{
	struct python_process *p[2 * PYTHON_METRICS_STATS];
	const struct python_process_args gone = { .service = "b", .tgid = 1 << 30 };
	struct python_process *b;
	pthread_barrier_t barrier;
	pthread_t threads[3];
	size_t i;

	make(10, ALL);
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 4), 0);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_there, &barrier), 0);
	b = python_metrics_begin(m, &gone);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = begin("a", false);
	/* A part of the processes at a time. */
	for (i = 0; i < 3; i++)
		python_metrics_tick(m, i);
	check("threads", "a", "", "128");
	check("threads", "b", "", "0");
	pthread_barrier_wait(&barrier);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		python_metrics_end(p[i]);
	python_metrics_end(b);
	check("threads", "a", "", "0");
	python_metrics_tick(m, 9);
}

/* A process that makes ever more versions, services and frames. */
static void test_tables_are_bounded(void **state)
{
	struct python_process_args args = { .tables = NULL, .tgid = 1 << 30, .major = 3 };
	static struct python_process *p[17000];
	uint64_t waits[300];
	char name[64];
	size_t i;

	make(5, ALL);
	args.tables = intern_tables(names);
	for (i = 0; i < ARRAY_SIZE(waits); i++) {
		snprintf(name, sizeof(name), "<blocked in %zu>", i);
		synthetic(FRAME_SYNTHETIC, name);
	}
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		snprintf(name, sizeof(name), "s%zu", i);
		args.service = name;
		args.minor = (uint8_t)i;
		p[i] = python_metrics_begin(m, &args);
		add(p[i], 0, NS_PER_S, 1, (uint32_t)(i % 200));
	}
	check("processes", "s0", ",python=\"3.0\"", "1");
	assert_non_null(value("tachbpf_python_processes{service=\"other\",python=\"other\"}"));
	assert_string_equal(value("tachbpf_agent_services_in_other"), "16379");
	for (i = 0; i < ARRAY_SIZE(p); i++)
		python_metrics_end(p[i]);
}

static void test_no_process(void **state)
{
	make(1, ALL);
	add(NULL, STATUS_ON_CPU, 1, 0);
	python_metrics_rename(NULL, "x", NULL);
	python_metrics_end(NULL);
	python_metrics_tick(m, 1);
	cpu("other", "0");
}

static void memory(struct python_process *p, enum memory_change change, uint64_t bytes)
{
	const struct memory_event ev = { .change = change, .bytes = bytes };

	python_metrics_memory(p, &ev);
}

static void checked(struct python_process *p, uint64_t rss_anon, uint64_t swapped, uint64_t held)
{
	const struct memory_event ev = {
		.change = MEMORY_CHECK,
		.check = { .rss_anon = rss_anon, .swapped = swapped, .held = held },
	};

	python_metrics_memory(p, &ev);
}

static void is(const char *family, const char *service, const char *expected)
{
	char sample[128];

	snprintf(sample, sizeof(sample), "%s{service=\"%s\"}", family, service);
	assert_string_equal(value(sample), expected);
}

/* Counters of what was touched and collected; gauges follow the processes. */
static void test_memory(void **state)
{
	const struct memory_event collections = {
		.change = MEMORY_COLLECTION,
		.collection = { .runs = 3, .collected = 40, .uncollectable = 2 },
	};
	struct python_process *a, *b;

	make(1, ALL);
	a = begin("web", false);
	b = begin("web", false);
	memory(a, MEMORY_ALLOC, 65536);
	memory(b, MEMORY_ALLOC, 4096);
	memory(a, MEMORY_FREE, 65536);
	python_metrics_memory(a, &collections);
	checked(a, 1000, 10, 0);
	checked(b, 500, 0, 4096);
	checked(a, 2000, 20, 1);
	is("tachbpf_python_memory_touched_bytes_total", "web", "69632");
	is("tachbpf_python_gc_collections_total", "web", "3");
	is("tachbpf_python_gc_collected_objects_total", "web", "40");
	is("tachbpf_python_gc_uncollectable_objects_total", "web", "2");
	is("tachbpf_python_memory_held_bytes", "web", "4097");
	is("tachbpf_python_memory_anonymous_bytes", "web", "2500");
	is("tachbpf_python_memory_swapped_bytes", "web", "20");
	/* One leaves for a service without a row, the other one ends. */
	python_metrics_rename(a, "api", NULL);
	is("tachbpf_python_memory_anonymous_bytes", "web", "500");
	is("tachbpf_python_memory_anonymous_bytes", "other", "2000");
	python_metrics_end(b);
	is("tachbpf_python_memory_held_bytes", "web", "0");
	python_metrics_end(a);
	is("tachbpf_python_memory_held_bytes", "other", "0");
	python_metrics_memory(NULL, &collections);
	/* Who records no memory has none of these. */
	python_metrics_set_what(m, ALL & ~(unsigned int)PYTHON_METRICS_MEMORY);
	assert_null(value("tachbpf_python_memory_held_bytes{service=\"web\"}"));
	assert_null(value("tachbpf_python_memory_touched_bytes_total{service=\"web\"}"));
	assert_null(value("tachbpf_python_gc_collections_total{service=\"web\"}"));
}

/* Tasks add up; of times and queues the largest counts. What nobody knows is left out. */
static void test_event_loops(void **state)
{
	struct python_process *a, *b, *c;

	make(1, ALL);
	a = begin("web", false);
	b = begin("web", false);
	c = begin("api", false);	/* without a row */
	python_metrics_loops(a, (const uint64_t[PYTHON_LOOPS]){ 1, 100, 7, 840000000, 900000000 });
	python_metrics_loops(b, (const uint64_t[PYTHON_LOOPS]){
		2, 20, PYTHON_LOOPS_UNKNOWN, 50000000, 2000000000 });
	python_metrics_loops(c, (const uint64_t[PYTHON_LOOPS]){
		1, 3, PYTHON_LOOPS_UNKNOWN, PYTHON_LOOPS_UNKNOWN, PYTHON_LOOPS_UNKNOWN });
	python_metrics_loops(NULL, NULL);
	python_metrics_tick(m, MINUTE);
	is("tachbpf_python_asyncio_loops", "web", "3");
	is("tachbpf_python_asyncio_tasks", "web", "120");
	is("tachbpf_python_asyncio_ready_callbacks", "web", "7");
	is("tachbpf_python_asyncio_longest_callback_seconds", "web", "0.84");
	is("tachbpf_python_asyncio_lag_seconds", "web", "2");
	is("tachbpf_python_asyncio_tasks", "other", "3");
	assert_null(value("tachbpf_python_asyncio_lag_seconds{service=\"other\"}"));
	python_metrics_loops(a, NULL);	/* it has none any more */
	python_metrics_end(b);
	python_metrics_tick(m, MINUTE);
	assert_null(value("tachbpf_python_asyncio_loops{service=\"web\"}"));
	is("tachbpf_python_asyncio_tasks", "other", "3");
	python_metrics_set_what(m, ALL & ~(unsigned int)PYTHON_METRICS_LOOPS);
	assert_null(value("tachbpf_python_asyncio_tasks{service=\"other\"}"));
	python_metrics_end(a);
	python_metrics_end(c);
}

/* Services of one name with other values are others; a value that is not known is no label. */
static void test_labels(void **state)
{
	static const char *const keys[] = { "service.version", "team-1" };
	static const char *const many[9] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
	const char *values[] = { "1.0", "pay" };
	struct python_process_args args = { .service = "web", .tgid = 1 << 30, .values = values };
	struct python_process *p[4];
	size_t i;

	make(10, ALL);
	assert_int_equal(python_metrics_set_labels(m, many, 9), -E2BIG);
	assert_int_equal(python_metrics_set_labels(m, keys, 2), 0);
	args.tables = intern_tables(names);
	for (i = 0; i < 4; i++) {
		values[0] = i < 2 ? "1.0" : "2\"0";
		values[1] = i == 3 ? NULL : "pay";
		p[i] = python_metrics_begin(m, &args);
		assert_non_null(p[i]);
	}
	check("threads", "web", ",service_version=\"1.0\",team_1=\"pay\"", "2");
	check("threads", "web", ",service_version=\"2\\\"0\",team_1=\"pay\"", "1");
	check("threads", "web", ",service_version=\"2\\\"0\"", "1");
	check("threads", "other", "", "0");
	values[0] = "1.0";
	values[1] = "pay";
	python_metrics_rename(p[3], "web", values);
	check("threads", "web", ",service_version=\"1.0\",team_1=\"pay\"", "3");
	for (i = 0; i < 4; i++)
		python_metrics_end(p[i]);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, NULL, end)
	const struct CMUnitTest tests[] = {
		TEST(test_time),
		cmocka_unit_test(test_kinds_of_waits),
		TEST(test_what_is_shown),
		TEST(test_one_name_is_one_service),
		TEST(test_labels),
		TEST(test_a_start_waits_for_the_name),
		TEST(test_rows_are_bounded),
		TEST(test_rows_change_hands),
		TEST(test_rows_of_the_dead),
		TEST(test_the_number_of_rows_changes),
		TEST(test_memory), TEST(test_event_loops),
		TEST(test_threads),
		TEST(test_tables_are_bounded),
		TEST(test_no_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
