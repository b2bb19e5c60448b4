/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* liboutside.c - threads that C starts, with names of their own, and that never call Python. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct job {
	char name[16];
	double seconds;		/* of CPU time */
	long tid;		/* set by the thread */
	double cpu_s;		/* what it used, set when it ends */
	pthread_t thread;
};

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void *burn(void *arg)
{
	struct job *job = arg;

	pthread_setname_np(pthread_self(), job->name);
	job->tid = syscall(SYS_gettid);
	while (used() < job->seconds)
		;
	job->cpu_s = used();
	return NULL;
}

int begin(struct job *job)
{
	return pthread_create(&job->thread, NULL, burn, job);
}

int end(struct job *job)
{
	return pthread_join(job->thread, NULL);
}
