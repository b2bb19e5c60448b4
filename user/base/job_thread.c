// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* job_thread.c - see job_thread.h. */
#include "base/job_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

enum { JOB_DONE, JOB_WAITS };

struct job_thread {
	pthread_t thread;
	bool started;		/* only the thread that gives the jobs looks at it */
	/* All others are used with the lock. */
	pthread_mutex_t lock;
	pthread_cond_t put, done;
	struct job *first, **end;	/* the queue; the job that is being done is its first */
	bool over;		/* no more jobs will come */
};

struct job_thread *job_thread_new(void)
{
	struct job_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->put, NULL);
	pthread_cond_init(&t->done, NULL);
	t->end = &t->first;
	return t;
}

static void *do_jobs(void *ctx)
{
	struct job_thread *t = ctx;
	struct job *job;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		while (!t->first && !t->over)
			pthread_cond_wait(&t->put, &t->lock);
		job = t->first;
		if (!job)
			break;
		pthread_mutex_unlock(&t->lock);
		job->run(job);
		pthread_mutex_lock(&t->lock);
		t->first = job->next;
		t->end = t->first ? t->end : &t->first;
		job->state = JOB_DONE;
		pthread_cond_signal(&t->done);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Signals are for the thread that starts this one. */
static bool start(struct job_thread *t)
{
	sigset_t all, before;

	if (t->started)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	t->started = !pthread_create(&t->thread, NULL, do_jobs, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return t->started;
}

void job_thread_free(struct job_thread *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->over = true;
	pthread_cond_signal(&t->put);
	pthread_mutex_unlock(&t->lock);
	if (t->started)
		pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->put);
	pthread_cond_destroy(&t->done);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void job_put(struct job_thread *t, struct job *job)
{
	job->state = JOB_DONE;
	if (!t || !start(t)) {
		job->run(job);
		return;
	}
	job->next = NULL;
	job->state = JOB_WAITS;
	pthread_mutex_lock(&t->lock);
	*t->end = job;
	t->end = &job->next;
	pthread_cond_signal(&t->put);
	pthread_mutex_unlock(&t->lock);
}

void job_wait(struct job_thread *t, struct job *job)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	while (job->state == JOB_WAITS)
		pthread_cond_wait(&t->done, &t->lock);
	pthread_mutex_unlock(&t->lock);
}
