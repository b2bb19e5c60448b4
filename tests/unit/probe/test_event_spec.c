// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_event_spec.c - the words of -e, and those that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "probe/event_spec.h"

static struct event_spec spec;
static char why[256];

static int parse(const char *word)
{
	return event_spec_parse(word, &spec, why, sizeof(why));
}

static void test_counted(void **state)
{
	static const struct {
		const char *word, *name;
		enum event_kind kind;
		uint64_t config;
	} words[] = {
		{ "page-faults", "page-faults", EVENT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
		{ "faults", "page-faults", EVENT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
		{ "minor-faults", "minor-faults", EVENT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
		{ "cs", "context-switches", EVENT_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
		{ "migrations", "cpu-migrations", EVENT_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
		{ "instructions", "instructions", EVENT_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
		{ "cache-misses", "cache-misses", EVENT_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
		{ "branches", "branch-instructions", EVENT_HARDWARE,
		  PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		assert_int_equal(parse(words[i].word), 0);
		assert_int_equal(spec.kind, words[i].kind);
		assert_int_equal(spec.config, words[i].config);
		assert_string_equal(spec.name, words[i].name);
		assert_true(event_is_counted(&spec));
	}
}

static void test_tracepoints(void **state)
{
	static const char *const words[] = {
		"tracepoint:syscalls:sys_enter_openat", "syscalls:sys_enter_openat",
		"t:syscalls:sys_enter_openat",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		assert_int_equal(parse(words[i]), 0);
		assert_int_equal(spec.kind, EVENT_TRACEPOINT);
		assert_string_equal(spec.group, "syscalls");
		assert_string_equal(spec.what, "sys_enter_openat");
		assert_string_equal(spec.name, "syscalls:sys_enter_openat");
		assert_false(event_is_counted(&spec));
	}
}

static void test_probes(void **state)
{
	assert_int_equal(parse("uprobe:libc:fsync"), 0);
	assert_int_equal(spec.kind, EVENT_UPROBE);
	assert_string_equal(spec.file, "libc");
	assert_string_equal(spec.what, "fsync");
	assert_int_equal(parse("u:/opt/a:b/lib.so:f"), 0);	/* a path may have a ':' */
	assert_string_equal(spec.file, "/opt/a:b/lib.so");
	assert_string_equal(spec.name, "uprobe:/opt/a:b/lib.so:f");

	assert_int_equal(parse("usdt:python:gc__start"), 0);
	assert_int_equal(spec.kind, EVENT_USDT);
	assert_string_equal(spec.file, "");
	assert_string_equal(spec.group, "python");
	assert_string_equal(spec.what, "gc__start");
	assert_string_equal(spec.name, "usdt:python:gc__start");
	assert_int_equal(parse("U:/lib/a:b.so:p:n"), 0);
	assert_string_equal(spec.file, "/lib/a:b.so");
	assert_string_equal(spec.group, "p");
	assert_string_equal(spec.what, "n");
	assert_string_equal(spec.name, "usdt:/lib/a:b.so:p:n");
}

static void test_what_is_none(void **state)
{
	static const struct {
		const char *word, *why;
	} words[] = {
		{ "page-fault", "did you mean page-faults?" },
		{ "cache-mises", "did you mean cache-misses?" },
		{ "uprobes", "did you mean uprobe?" },
		{ "nonsense", "tachbpf(1) lists all" },
		{ "", "tachbpf(1) lists all" },
		{ "kprobe:vfs_read", "kprobe is not supported" },
		{ "uretprobe:libc:read", "uretprobe is not supported" },
		{ "software:faults:1", "expected the name alone" },
		{ "profile:hz:99", "use -r for the rate" },
		{ "syscalls:", "expected tracepoint:CATEGORY:NAME" },
		{ ":x", "expected tracepoint:CATEGORY:NAME" },
		{ "tracepoint:syscalls", "expected tracepoint:CATEGORY:NAME" },
		{ "tracepoint:a:b:c", "expected tracepoint:CATEGORY:NAME" },
		{ "..:x", "expected tracepoint:CATEGORY:NAME" },	/* they become paths */
		{ "a/b:c", "expected tracepoint:CATEGORY:NAME" },
		{ "a:..", "expected tracepoint:CATEGORY:NAME" },
		{ "uprobe:libc", "expected uprobe:FILE:FUNCTION" },
		{ "uprobe:libc:", "expected uprobe:FILE:FUNCTION" },
		{ "uprobe::f", "expected uprobe:FILE:FUNCTION" },
		{ "usdt:python", "expected usdt:PROVIDER:NAME" },
		{ "usdt:python:", "expected usdt:PROVIDER:NAME" },
		{ "usdt::p:n", "expected usdt:PROVIDER:NAME" },
		{ "usdt:f::n", "expected usdt:PROVIDER:NAME" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		why[0] = '\0';
		assert_int_equal(parse(words[i].word), -EINVAL);
		if (!strstr(why, words[i].why))
			fail_msg("'%s': %s", words[i].word, why);
	}
}

/* What is too long is refused and never cut: it would be another name. */
static void test_long_words(void **state)
{
	char word[2048];
	size_t len;

	for (len = 1; len < sizeof(word) - 10; len++) {
		snprintf(word, sizeof(word), "uprobe:%0*d:f", (int)len, 0);
		assert_int_equal(parse(word), len < EVENT_FILE_BYTES ? 0 : -EINVAL);
		snprintf(word, sizeof(word), "usdt:p:%0*d", (int)len, 0);
		assert_int_equal(parse(word), len < EVENT_PART_BYTES ? 0 : -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counted), cmocka_unit_test(test_tracepoints),
		cmocka_unit_test(test_probes), cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_long_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
