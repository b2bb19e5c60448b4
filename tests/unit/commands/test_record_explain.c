// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_record_explain.c - why there is no Python, or no sample, and what to do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/commands/record_explain.c"

/* What is logged of a command that has ended after ran_s. Valid until the next call. */
static const char *explained(struct record_options opts, struct recording_result result,
			     struct record_end end)
{
	static char text[1024];
	int saved = dup(STDERR_FILENO), fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	ssize_t n;

	assert_true(saved >= 0 && fd >= 0);
	fflush(stderr);
	dup2(fd, STDERR_FILENO);
	record_explain(&opts, &result, &end);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	close(saved);
	return text;
}

static void assert_says(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("'%s' is not in: %s", words, text);
}

static void test_no_python(void **state)
{
	char shim[] = "/tmp/test_explain-XXXXXX";
	struct record_options program = { .command = (char *[]){ (char *)"/bin/true", NULL } };
	struct record_options script = { .command = (char *[]){ shim, NULL } };
	struct recording_result none = { 0 };
	struct record_end end = { .ran_s = 0.04, .rate_hz = 999, .command_status = 3 };
	int fd = mkstemp(shim);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "#!/usr/bin/env \x1b""bash\n", 21), 21);
	assert_int_equal(fchmod(fd, 0755), 0);
	close(fd);
	assert_says(explained(program, none, end), "neither '/bin/true' nor its child processes");
	assert_says(explained(script, none, end),
		    "is a script (/usr/bin/env \\x1bbash) that ended after 40 ms with status 3");
	unlink(shim);
	/* Still running: this process stands for it. */
	end.command_pid = getpid();
	end.ran_s = 2;
	assert_says(explained(program, none, end), "'/bin/true' was still running ");
	assert_says(explained(program, none, end), "after 2.0 s");
	assert_says(explained(program, none, end), "had not started Python yet");
	/* Ended before it was looked at. */
	end = (struct record_end){ .ran_s = 0.012 };
	none.unidentified = 5;
	assert_says(explained(program, none, end),
		    "ended after 12 ms, before it was known whether it is Python");
	assert_says(explained((struct record_options){ 0 }, none, end), "tachbpf ps");
}

static void test_no_samples(void **state)
{
	struct record_options opts = { .command = (char *[]){ (char *)"python3", NULL } };
	struct recording_result result = { .processes = 1, .command_seen = true };
	struct record_end end = { .ran_s = 0.03, .rate_hz = 999 };

	assert_says(explained(opts, result, end),
		    "no samples: 'python3' ran for 30 ms: too short for -r 999; try -r 10khz\n");
	result.lost = 17;
	assert_says(explained(opts, result, end), "ended after 30 ms, before it was recognised as "
		    "Python (17 samples were lost)");
	end.ran_s = 5;
	assert_says(explained(opts, result, end), "no samples: 17 were lost");
	result.lost = 0;
	assert_says(explained(opts, result, end), "-m wall also records waiting");
	end = (struct record_end){ .ran_s = 0.03, .rate_hz = 10000 };
	assert_says(explained(opts, result, end), "-m wall also records waiting");
	end.command_pid = getpid();
	end.rate_hz = 999;
	assert_says(explained(opts, result, end), "-m wall also records waiting");
	result.samples = 1;
	assert_string_equal(explained(opts, result, end), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_python), cmocka_unit_test(test_no_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
