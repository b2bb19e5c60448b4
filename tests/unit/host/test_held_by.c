// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_held_by.c - what /proc says of processes that a signal or a tracer has stopped. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/held_by.h"

/* A child that has stopped itself; traced: by us. */
static pid_t stopped_child(bool traced)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (traced)
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_stopped(void **state)
{
	char text[HELD_BY_BYTES];
	pid_t pid = stopped_child(false);

	held_by_words(pid, text);
	assert_string_equal(text, "stopped by a signal");
	assert_false(held_by_tracer(pid, pid, text));
	end(pid);
}

static void test_traced(void **state)
{
	char text[HELD_BY_BYTES], wanted[HELD_BY_BYTES], words[HELD_BY_BYTES];
	pid_t pid;

	prctl(PR_SET_NAME, "a (b)\n");		/* a name of this kind misleads nobody */
	snprintf(wanted, sizeof(wanted), "%d (a (b)\\x0a)", getpid());
	pid = stopped_child(true);
	assert_true(held_by_tracer(pid, pid, text));
	assert_string_equal(text, wanted);
	held_by_words(pid, text);
	snprintf(words, sizeof(words), "traced by %.100s", wanted);
	assert_string_equal(text, words);
	end(pid);
}

static void test_not_held(void **state)
{
	char text[HELD_BY_BYTES] = "as it was";
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(held_by_tracer(pid, pid, text));	/* it is gone */
	assert_false(held_by_cgroup(pid, text));
	assert_string_equal(text, "as it was");
	held_by_words(pid, text);
	assert_string_equal(text, "");
	held_by_words(getpid(), text);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_traced),
		cmocka_unit_test(test_not_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
