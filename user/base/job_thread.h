/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * job_thread.h - one thread that does jobs in the order in which they are given, while the thread
 * that gives them goes on.
 *
 * A job is a member of what it works on, so the queue has no size of its own, and at most one job
 * is being done at a time. All functions are for the thread that gives the jobs.
 */
#ifndef TACHBPF_JOB_THREAD_H
#define TACHBPF_JOB_THREAD_H

struct job {
	void (*run)(struct job *job);	/* must not call functions of this file */
	struct job *next;		/* the following ones are job_thread.c's */
	int state;
};

struct job_thread;

/*
 * Its thread is started for the first job: it has the rights and the CPUs that its starter has
 * then, and takes no signals. Returns NULL if memory runs out. Freed by job_thread_free().
 */
struct job_thread *job_thread_new(void);
/* Waits for all jobs, and ends the thread. NULL is ignored. */
void job_thread_free(struct job_thread *t);

/*
 * Gives a job that is neither waiting nor being done. What it works on is the thread's until
 * job_wait(). If t is NULL, or no thread can be started, it is done now.
 */
void job_put(struct job_thread *t, struct job *job);
/* Waits until a job that was put is done. */
void job_wait(struct job_thread *t, struct job *job);

#endif
