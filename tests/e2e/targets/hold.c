// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * hold.c - time spent in C, for waits.py: through ctypes.PyDLL with the GIL, through
 * ctypes.CDLL without it. Each returns when it was over, by CLOCK_MONOTONIC in ns: what
 * passes from then until Python goes on is the wait for the GIL.
 */
#include <errno.h>
#include <time.h>

long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* On the CPU. */
long long compute(long long ns)
{
	long long end = now() + ns, t;

	do
		t = now();
	while (t < end);
	return t;
}

/* Off it. */
long long nap(long long ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
	return now();
}
