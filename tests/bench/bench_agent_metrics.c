// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bench_agent_metrics.c - what metrics cost: ns an event, ms a text. bench_agent_metrics [DEPTH]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/python_metrics.h"
#include "bpf/abi.h"
#include "model/intern.h"

#define EVENTS 20000000
#define PROCESSES 500
#define SERVICES 50
#define FRAMES 2000

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	static struct python_process *p[PROCESSES];
	uint32_t depth = argc > 1 ? (uint32_t)atoi(argv[1]) : 20, frames[256], gc, blocked, i;
	struct python_metrics *m = python_metrics_new(100, PYTHON_METRICS_ALL);
	struct intern *names = intern_new();
	struct python_process_args args = { .tables = intern_tables(names), .tgid = 1 << 30,
					    .major = 3, .minor = 13 };
	struct metrics_text t;
	uint8_t statuses[] = { STATUS_ON_CPU | STATUS_HAS_GIL, STATUS_ON_CPU, 0,
			       STATUS_GIL_REQUESTED };
	char name[32];
	double begin;
	int kind;

	intern_synthetic(names, FRAME_SYNTHETIC, "<blocked in futex>", &blocked);
	for (i = 0; i < FRAMES; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		intern_synthetic(names, FRAME_NATIVE, name, &gc);
	}
	intern_synthetic(names, FRAME_SYNTHETIC, "<GC>", &gc);
	for (i = 0; i < PROCESSES; i++) {
		snprintf(name, sizeof(name), "service-%u", i % SERVICES);
		args.service = name;
		p[i] = python_metrics_begin(m, &args);
	}
	depth = depth > 256 ? 256 : depth;
	for (i = 0; i < depth; i++)
		frames[i] = i + 1;
	for (kind = 0; kind < 4; kind++) {
		struct event ev = { .frames = frames, .nframes = depth, .weight = 1,
				    .status = statuses[kind] };

		frames[0] = kind == 2 ? blocked : 1;
		begin = cpu_ns();
		for (i = 0; i < EVENTS; i++)
			python_metrics_event(p[i % PROCESSES], &ev, 52631578);
		printf("status %2u, %u frames: %.1f ns an event\n", ev.status, depth,
		       (cpu_ns() - begin) / EVENTS);
	}
	begin = cpu_ns();
	for (i = 0; i < 100; i++) {
		metrics_text_begin(&t, METRICS_PROMETHEUS, 4 << 20);
		python_metrics_render(m, &t);
		metrics_text_end(&t);
		gc = (uint32_t)t.out.len;
		metrics_text_free(&t);
	}
	printf("%u services: %.2f ms a text of %u bytes\n", SERVICES, (cpu_ns() - begin) / 1e8,
	       gc);
	begin = cpu_ns();
	for (i = 0; i < 1000; i++)
		python_metrics_tick(m, i);
	printf("a tick: %.1f us\n", (cpu_ns() - begin) / 1e6);
	for (i = 0; i < PROCESSES; i++)
		python_metrics_end(p[i]);
	python_metrics_free(m);
	intern_free(names);
	return 0;
}
