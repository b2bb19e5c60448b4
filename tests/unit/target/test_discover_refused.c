// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_discover_refused.c - a process cannot be inspected, because no inspector can be started. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/discover.h"
#include "tests/unit/tach_test.h"

/* What /proc says of us is read before; then we may open nothing more. */
static void test_no_inspector_is_no_answer(void **state)
{
	struct discovery *d = discovery_new();
	struct discovered found = { .why = "" };
	struct rlimit before, none;
	struct proc_info who;
	uint64_t files = 7;

	assert_non_null(d);
	assert_int_equal(proc_info_read(getpid(), &who), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(discovery_inspect(d, &who, &files, 0, &found), -EBUSY);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_non_null(strstr(found.why, "cannot be inspected now: "));
	assert_non_null(strstr(found.why, strerror(EMFILE)));
	assert_int_equal(files, 7);
	/* No process was started. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	discovery_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_inspector_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
