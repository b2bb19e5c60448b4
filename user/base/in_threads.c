// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* in_threads.c - see in_threads.h. An idle thread takes the next job. */
#include "base/in_threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct jobs {
	void (*job)(void *ctx, size_t i);
	void *ctx;
	size_t cnt;
	atomic_size_t next;
};

size_t in_threads_most(void)
{
	size_t cpus;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	cpus = (size_t)CPU_COUNT(&set);
	return cpus < IN_THREADS_MAX ? cpus : IN_THREADS_MAX;
}

static void *do_jobs(void *ctx)
{
	struct jobs *jobs = ctx;
	size_t i;

	while ((i = atomic_fetch_add(&jobs->next, 1)) < jobs->cnt)
		jobs->job(jobs->ctx, i);
	return NULL;
}

void in_threads(size_t cnt, void (*job)(void *ctx, size_t i), void *ctx)
{
	struct jobs jobs = { .job = job, .ctx = ctx, .cnt = cnt };
	size_t most = in_threads_most(), started = 0;
	pthread_t threads[IN_THREADS_MAX];

	while (started + 1 < most && started + 1 < cnt &&
	       !pthread_create(&threads[started], NULL, do_jobs, &jobs))
		started++;
	do_jobs(&jobs);
	while (started)
		pthread_join(threads[--started], NULL);
}
