// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * period_change.c - what it costs to change the period of a CPU's clock.
 *
 * Opens cpu-clock events as the recorder does, and times PERF_EVENT_IOC_PERIOD on this CPU and
 * on another one. Then it prints what the recorder's changes take on machines of several sizes.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/tick_jitter.h"

#define CHANGES 2000
#define RATE 999

static int open_clock(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.exclude_idle = 1,
		.sample_period = 1000000000 / RATE,
	};

	return syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The median of so many changes, in ns; 0: there is no such CPU. */
static uint64_t measure(int cpu)
{
	static uint64_t took[CHANGES];
	int fd = open_clock(cpu), i;

	if (fd < 0)
		return 0;
	for (i = 0; i < CHANGES; i++) {
		uint64_t period = 900000 + i * 100, begin = now_ns();

		if (ioctl(fd, PERF_EVENT_IOC_PERIOD, &period))
			return 0;
		took[i] = now_ns() - begin;
		usleep(200);
	}
	close(fd);
	qsort(took, CHANGES, sizeof(took[0]), by_size);
	return took[CHANGES / 2];
}

/* Changes a second of each CPU, as tick_jitter.c spaces them. */
static double changes_a_second(unsigned int cpus)
{
	struct tick_jitter j;
	double seconds = 0;
	int i;

	tick_jitter_init(&j, 1000000000 / RATE, 1, cpus);
	for (i = 0; i < 1000; i++)
		seconds += tick_jitter_turn(&j) / 1e9;
	return 1000 / seconds;
}

int main(void)
{
	static const unsigned int sizes[] = { 2, 128 };
	cpu_set_t first;
	uint64_t here, there;
	size_t i;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
	here = measure(0);
	there = measure(1);
	if (!here) {
		fprintf(stderr, "period_change: no clock can be opened: run as root\n");
		return 1;
	}
	printf("a change of the period: %llu ns on this CPU, %llu ns on another one (medians)\n",
	       (unsigned long long)here, (unsigned long long)there);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		double each = changes_a_second(sizes[i]), ns = here + (sizes[i] - 1.0) * there;

		printf("%4u CPUs: %.1f changes a second each; the recorder spends %.3f %% of one "
		       "CPU in them, all CPUs %.4f %% of their time\n", sizes[i], each,
		       each * ns / 1e7, each * (ns / sizes[i] + here) / 1e7);
	}
	return 0;
}
