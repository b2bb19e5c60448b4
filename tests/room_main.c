// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * room_main.c - main() of a room's test program, which links all test_*.c of a directory.
 *
 *     tests [test_NAME [ARGUMENT...]]
 *
 * Each file keeps a main() of its own, which the Makefile renames to test_NAME_main and lists in
 * TESTS. Without a name all files run, each in a process of its own. Long sleeps are added up and
 * reported at the end, because a test of `make check` may not wait by the clock (tests/check.py).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Sleeps up to this long are steps of a loop that waits for an event. */
#define STEP_NS 100000000ull
#define NS_PER_S 1000000000ull

#define DECLARE(name) int name##_main(int argc, char **argv);
#define ROW(name) { #name, name##_main },

TESTS(DECLARE)

static const struct test {
	const char *name;
	int (*main)(int argc, char **argv);
} tests[] = { TESTS(ROW) };

#define TEST_CNT (sizeof(tests) / sizeof(tests[0]))

/* ---- how long the program slept: the linker leads these calls here (--wrap) ---- */

static unsigned long long slept_ns;

int __real_usleep(useconds_t us);
int __wrap_usleep(useconds_t us);
unsigned int __real_sleep(unsigned int s);
unsigned int __wrap_sleep(unsigned int s);
int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);

static void count_sleep(unsigned long long ns)
{
	if (ns > STEP_NS)
		__atomic_fetch_add(&slept_ns, ns, __ATOMIC_RELAXED);
}

int __wrap_usleep(useconds_t us)
{
	count_sleep(us * 1000ull);
	return __real_usleep(us);
}

unsigned int __wrap_sleep(unsigned int s)
{
	count_sleep(s * NS_PER_S);
	return __real_sleep(s);
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	count_sleep((unsigned long long)t->tv_sec * NS_PER_S + (unsigned long long)t->tv_nsec);
	return __real_nanosleep(t, left);
}

static int run(const struct test *test, int argc, char **argv)
{
	int status = test->main(argc, argv);

	if (slept_ns)
		printf("%s: slept %.1f s\n", test->name, (double)slept_ns / NS_PER_S);
	return status;
}

/* ---- which tests ---- */

static int run_one(const char *name, int argc, char **argv)
{
	size_t i;

	for (i = 0; i < TEST_CNT; i++)
		if (!strcmp(tests[i].name, name))
			return run(&tests[i], argc, argv);
	fprintf(stderr, "there is no %s; the tests are:\n", name);
	for (i = 0; i < TEST_CNT; i++)
		fprintf(stderr, "  %s\n", tests[i].name);
	return 2;
}

/* Returns whether the tests of the file failed. */
static int run_in_child(const struct test *test, char **argv)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		exit(run(test, 1, argv));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "%s: FAILED\n", test->name);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;
	size_t i;

	if (TEST_CNT == 1 && (argc == 1 || strcmp(argv[1], tests[0].name)))
		return run(&tests[0], argc, argv);	/* it may execute itself with arguments */
	if (argc > 1)
		return run_one(argv[1], argc - 1, argv + 1);
	for (i = 0; i < TEST_CNT; i++)
		failed += run_in_child(&tests[i], argv);
	return failed ? 1 : 0;
}
