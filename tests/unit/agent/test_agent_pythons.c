// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_agent_pythons.c - from the observer's calls to the metrics of the Pythons. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent_pythons.h"
#include "base/time.h"
#include "bpf/abi.h"
#include "config/config.h"
#include "cpython/image.h"
#include "resolve/observer.h"
#include "resolve/process.h"


static const struct observer_ops nobody = { .event = NULL };
static struct observer observer = { &nobody };
static const struct cpython_image image = { .major = 3, .minor = 11, .micro = 2 };

static const struct service_config config;
static const char *const keys[] = { "my.team", "none" };

static const struct service *service(const char *name, const char *team)
{
	static struct service s;

	attrs_clear(&s.resource);
	attrs_put_text(&s.resource, "service.name", name);
	attrs_put_text(&s.resource, "my.team", team);
	return &s;
}

static struct process *process_of(uint64_t start_ns)
{
	const struct process_args args = {
		.tgid = getpid(), .start_ns = start_ns, .comm = "python3", .command = "a b",
		.image = &image, .observer = &observer,
	};
	struct process *p = process_new(&args);

	assert_non_null(p);
	return p;
}

static void has(const struct agent_pythons *a, const char *line, bool yes)
{
	struct metrics_text t;

	metrics_text_begin(&t, METRICS_PROMETHEUS, 1 << 20);
	agent_pythons_render(a, &t);
	assert_int_equal(metrics_text_end(&t), 0);
	assert_int_equal(buf_add(&t.out, "", 1), 0);
	if (!strstr((char *)t.out.data, line) == yes)
		fail_msg("%s is %s in\n%s", line, yes ? "not" : "", (char *)t.out.data);
	metrics_text_free(&t);
}

static void test_a_process(void **state)
{
	const struct event ev = { .status = STATUS_ON_CPU | STATUS_HAS_GIL, .weight = 1 };
	struct agent_pythons *a = agent_pythons_new(10, AGENT_CPU, false, keys, ARRAY_SIZE(keys),
						    &config);
	struct agent_viewer v = agent_pythons_viewer(a);
	struct agent_process old = { .process = process_of(1) };
	struct agent_process new = { .process = process_of(UINT64_MAX) };
	struct agent_process unnamed = { .process = process_of(UINT64_MAX) };

	agent_pythons_moved(a, &old, service("web", "a"));
	agent_pythons_moved(a, &new, service("web", "a"));
	v.event(v.ctx, &old, &ev, NS_PER_S);
	v.event(v.ctx, &new, &ev, NS_PER_S / 2);
	v.tick(v.ctx);
	has(a, "tachbpf_python_cpu_seconds_total{service=\"web\",my_team=\"a\"} 1.5\n", true);
	has(a, "tachbpf_python_starts_total{service=\"web\",my_team=\"a\"} 1\n", true);
	has(a, "tachbpf_python_processes{service=\"web\",my_team=\"a\",python=\"3.11\"} 2\n", true);
	v.end(v.ctx, &old, 0);
	has(a, "tachbpf_python_processes{service=\"web\",my_team=\"a\",python=\"3.11\"} 1\n", true);
	agent_pythons_moved(a, &new, service("api", ""));
	has(a, "tachbpf_python_processes{service=\"web\"", false);
	has(a, "tachbpf_python_processes{service=\"api\",python=\"3.11\"} 1\n", true);
	v.end(v.ctx, &new, 0);
	/* One that ended before it was named. */
	v.event(v.ctx, &unnamed, &ev, NS_PER_S);
	v.end(v.ctx, &unnamed, 0);
	has(a, "tachbpf_python_starts_total{service=\"other\"} 1\n", true);
	has(a, "tachbpf_python_processes{", false);
	process_free(old.process);
	process_free(new.process);
	process_free(unnamed.process);
	agent_pythons_free(a);
}

/* Each mode has the families that it sees whole: the table in docs/agent-metrics.md. */
static void test_modes(void **state)
{
	static const char *const families[] = {
		"cpu_seconds_total{", "gil_held_seconds_total{service=\"other\",state=\"on_cpu\"}",
		"gil_held_seconds_total{service=\"other\",state=\"off_cpu\"}",
		"gil_wait_seconds_total{", "off_cpu_seconds_total{", "gc_seconds_total{",
		"exception_seconds_total{", "exception_samples_total{", "starts_total{",
	};
	static const struct {
		uint32_t modes;
		const char *there;
	} cases[] = {
		{ AGENT_CPU, "yy...yyyy" },
		{ AGENT_CPU | AGENT_GIL, "yyyy.yyyy" },
		{ AGENT_CPU | AGENT_OFFCPU, "yyyyyyyyy" },
		{ AGENT_CPU | AGENT_EXCEPTION, "yyyy.yyyy" },
		{ AGENT_GIL, ".yyy.y..y" },
		{ AGENT_OFFCPU, "...yy...y" },
		{ AGENT_EXCEPTION, "......yyy" },
	};
	struct agent_pythons *a = agent_pythons_new(0, AGENT_CPU, false, NULL, 0,
						   &config);
	char line[128];
	size_t c, f;

	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		agent_pythons_set(a, 0, cases[c].modes);
		for (f = 0; f < ARRAY_SIZE(families); f++) {
			snprintf(line, sizeof(line), "\ntachbpf_python_%s", families[f]);
			has(a, line, cases[c].there[f] == 'y');
		}
	}
	agent_pythons_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_process),
		cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
