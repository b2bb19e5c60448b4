// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_pythons.c - what `ps` says of a Python, whatever its inspection found. */
#include "target/pythons.c"
#include "tests/unit/tach_test.h"

static struct cpython_image image = { .version = "3.11.2" };

static struct python described(int err, enum ready ready, const char *also)
{
	struct discovered found = { .image = err ? NULL : &image, .ready = ready };
	struct python p = { .tgid = 1 };

	snprintf(found.also, sizeof(found.also), "%s", also);
	snprintf(found.why, sizeof(found.why), "%s", err ? "it is too old" : "left over");
	python_describe(&p, err, &found);
	/* There is a reason exactly if it cannot be profiled. */
	assert_int_equal(p.profilable, !*p.why);
	assert_true(p.profilable || !*p.remark);
	return p;
}

static void test_ready(void **state)
{
	struct python p = described(0, READY_YES, "");

	assert_true(p.profilable);
	assert_string_equal(p.remark, "");
	assert_string_equal(p.version, "3.11.2");
	p = described(0, READY_YES, "a second one runs, too");
	assert_true(p.profilable);
	assert_string_equal(p.remark, "a second one runs, too");
}

static void test_not_ready(void **state)
{
	struct python p = described(0, READY_NO, "");

	assert_false(p.profilable);
	assert_non_null(strstr(p.why, "not initialised"));
	assert_string_equal(p.version, "3.11.2");
}

/* That nothing could be read says nothing of the interpreter. */
static void test_busy_is_not_unready(void **state)
{
	struct python busy = described(0, READY_BUSY, ""), secret = described(0, READY_UNKNOWN, "");

	assert_true(busy.profilable);
	assert_non_null(strstr(busy.remark, "busy"));
	assert_null(strstr(busy.remark, "initialised"));
	assert_true(secret.profilable);
	assert_non_null(strstr(secret.remark, "unknown"));
}

static void test_refused(void **state)
{
	struct python p = described(-ENOTSUP, READY_YES, "a second one runs, too");

	assert_false(p.profilable);
	assert_string_equal(p.why, "it is too old");
	assert_string_equal(p.version, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready),
		cmocka_unit_test(test_not_ready),
		cmocka_unit_test(test_busy_is_not_unready),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
