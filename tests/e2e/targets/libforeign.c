/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libforeign.c - the body of a thread that C starts: burns, calls Python, burns again. */
#include <time.h>

struct job {
	void (*call)(void);	/* into Python; NULL: it never does */
	double seconds;		/* of CPU time, before and behind the call */
};

static void burn(double seconds)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec + t.tv_nsec / 1e9 + seconds;
	while (t.tv_sec + t.tv_nsec / 1e9 < end)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
}

void *foreign(void *arg)
{
	const struct job *job = arg;

	burn(job->seconds);
	if (job->call) {
		job->call();
		burn(job->seconds);
		job->call();
	}
	return NULL;
}
