// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_job_thread.c - jobs are done once, in their order, by another thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>

#include "base/job_thread.h"
#include "base/util.h"

#define JOBS 100

/* A job that notes what it sees, once it may. */
struct note {
	struct job job;
	pthread_mutex_t *gate;	/* NULL: none */
	pthread_t thread;
	bool takes_signals;
	int done_as;		/* 1: the first one; 0: not done */
};

static int done_cnt;

static void take_note(struct job *job)
{
	struct note *n = (struct note *)job;
	sigset_t blocked;

	if (n->gate) {
		pthread_mutex_lock(n->gate);
		pthread_mutex_unlock(n->gate);
	}
	n->thread = pthread_self();
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	n->takes_signals = !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGTERM);
	n->done_as = ++done_cnt;
}

static struct note new_note(void)
{
	return (struct note){ .job.run = take_note };
}

/* However many jobs wait, nobody waits to give another one. */
static void test_order(void **state)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	struct job_thread *t = job_thread_new();
	struct note notes[JOBS];
	int i;

	assert_non_null(t);
	done_cnt = 0;
	pthread_mutex_lock(&gate);
	for (i = 0; i < JOBS; i++) {
		notes[i] = new_note();
		notes[i].gate = &gate;
		job_put(t, &notes[i].job);
	}
	assert_int_equal(done_cnt, 0);
	pthread_mutex_unlock(&gate);
	job_wait(t, &notes[JOBS / 2].job);
	assert_int_equal(notes[JOBS / 2].done_as, JOBS / 2 + 1);
	job_wait(t, &notes[JOBS / 2].job);	/* it is done: nothing to wait for */
	job_wait(t, &notes[JOBS - 1].job);
	for (i = 0; i < JOBS; i++) {
		assert_int_equal(notes[i].done_as, i + 1);
		assert_false(pthread_equal(notes[i].thread, pthread_self()));
		assert_false(notes[i].takes_signals);
	}
	job_put(t, &notes[0].job);	/* again, when the queue was empty */
	job_wait(t, &notes[0].job);
	assert_int_equal(notes[0].done_as, JOBS + 1);
	job_thread_free(t);
}

/* What was given is done before the thread ends. */
static void test_end(void **state)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	struct job_thread *t = job_thread_new();
	struct note first = new_note(), second = new_note();

	done_cnt = 0;
	first.gate = &gate;
	pthread_mutex_lock(&gate);
	job_put(t, &first.job);
	job_put(t, &second.job);
	pthread_mutex_unlock(&gate);
	job_thread_free(t);
	assert_int_equal(second.done_as, 2);
	job_thread_free(job_thread_new());	/* never started */
	job_thread_free(NULL);
}

static void test_no_thread(void **state)
{
	struct note n = new_note();

	done_cnt = 0;
	job_put(NULL, &n.job);
	assert_int_equal(n.done_as, 1);
	assert_true(pthread_equal(n.thread, pthread_self()));
	job_wait(NULL, &n.job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_no_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
