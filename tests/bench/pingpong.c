// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* pingpong.c SECONDS: two processes hand a byte to each other: context switches and little else. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, end;
	int there[2], back[2];
	long rounds = 0;
	char c = 0;

	if (pipe(there) || pipe(back))
		return 1;
	if (!fork()) {
		close(there[1]);
		while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	close(there[0]);
	for (end = now() + seconds; now() < end; rounds++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return 1;
	printf("%ld\n", rounds);
	return 0;
}
