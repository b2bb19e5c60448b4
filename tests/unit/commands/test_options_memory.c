// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_options_memory.c - command lines of --mode mem, good and bad. */
#include "options_test.h"

#include <unistd.h>

static void test_defaults(void **state)
{
	const struct capture_args *args = &o.record.capture;

	assert_int_equal(parse("-m mem -a"), 0);
	assert_int_equal(o.record.mode, RECORD_MEM);
	assert_int_equal(args->every_bytes, 65536);
	assert_true(args->interval_s == 1 && !args->allocations && !args->costly);
	assert_int_equal(parse("-a"), 0);
	assert_true(!args->every_bytes && args->interval_s == 0 && !args->allocations);
}

static void test_values(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} every[] = { { "64K", 65536 }, { "64kib", 65536 }, { "1M", 1 << 20 }, { "1g", 1 << 30 },
		      { "100000", 100000 }, { "1.5M", 3 << 19 } };
	const struct capture_args *args = &o.record.capture;
	char text[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(every); i++) {
		snprintf(text, sizeof(text), "-m mem -a --every %s", every[i].text);
		assert_int_equal(parse(text), 0);
		assert_int_equal(args->every_bytes, every[i].bytes);
	}
	snprintf(text, sizeof(text), "-m mem -a --every %ld", sysconf(_SC_PAGESIZE));
	assert_int_equal(parse(text), 0);
	snprintf(text, sizeof(text), "-m mem -a --every %ld", sysconf(_SC_PAGESIZE) - 1);
	assert_int_equal(parse(text), -EINVAL);

	assert_int_equal(parse("-m mem -a --interval 100ms"), 0);
	assert_true(args->interval_s > 0.0999 && args->interval_s < 0.1001);
	assert_int_equal(parse("-m mem -a --interval 5m"), 0);
	assert_true(args->interval_s == 300);
	assert_int_equal(parse("-m mem -a --interval 1h"), 0);
	assert_true(args->interval_s == 3600);
}

static void test_bad_values(void **state)
{
	static const char *const bad[] = {
		"--every 0", "--every -1", "--every 1025M", "--every 2G", "--every x",
		"--every 1T", "--every=", "--interval 0", "--interval 0.09", "--interval 61m",
		"--interval 10us", "--interval x", "--interval=",
	};
	char text[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), "-m mem -a %s", bad[i]);
		assert_int_equal(parse(text), -EINVAL);
	}
}

static void test_allocations(void **state)
{
	static const char *const bad[] = {
		/* not one process */
		"-m mem -a --allocations", "-m mem -p 1,2 --allocations",
		"-m mem --container c --allocations", "-m mem --comm x --allocations",
		"-m mem -p 1 --children --allocations", "-m mem --children --allocations -- x",
		/* not a size */
		"-m mem -p 1 --allocations=", "-m mem -p 1 --allocations=0",
		"-m mem -p 1 --allocations=2G", "-m mem -p 1 --allocations=x",
		/* sampled and exact at once */
		"-m mem -p 1 --allocations --every 64K",
		/* the value stands behind = */
		"-m mem -p 1 --allocations 4096",
	};
	const struct capture_args *args = &o.record.capture;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse(bad[i]), -EINVAL);
	assert_int_equal(parse("-m mem -p 1 --allocations"), 0);
	assert_true(args->allocations && args->min_block_bytes == 512 && !args->costly);
	assert_int_equal(o.record.select.proc_filter.children, CHILDREN_NO);
	assert_int_equal(parse("-m mem --allocations=4K --accept-cost -- python3 x.py"), 0);
	assert_true(args->min_block_bytes == 4096 && args->costly);
	assert_int_equal(o.record.select.proc_filter.children, CHILDREN_NO);
	assert_int_equal(parse("-m mem --allocations=1 -p 7 --uid root"), 0);
	assert_int_equal(args->min_block_bytes, 1);
	/* --force replaces a recording and nothing else. */
	assert_int_equal(parse("-m mem -p 1 --allocations --force"), 0);
	assert_true(o.record.recording.force && !args->costly);
}

/* Options of time are refused, those of memory in other modes, too. */
static void test_together(void **state)
{
	static const char *const bad[] = {
		"-m mem -a --min-wait 1ms", "-m mem -a --kernel", "-m mem -a --opcodes",
		"-m mem -a --no-native-threads", "-m mem -a -C 0", "-m mem -a --layout draft1",
		"-m mem -a --compression none", "-m mem -p 1 -o x.tach",
		"-m mem -o x.tach -- python3", "-a --every 64K", "-m wall -a --interval 1s",
		"-m cpu -p 1 --allocations", "-m memory -a",
		"-a --accept-cost", "-m mem -p 1 --accept-cost",
	};
	static const char *const good[] = {
		"-m mem -a --native", "-m mem -a --native=full,lines", "-m mem -a --no-gc",
		"-m mem -a -e cpu-clock -r 19", "-m mem --container c", "-m mem -p 1 --children",
		"-m mem -a --self-time", "-m mem -d 5 -p 1 -o x.mlyze", "-m mem -- python3 -m x",
		"-m mem -a --html x.html", "-m mem -a --json", "-m mem -a --split all",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse(bad[i]), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(parse(good[i]), 0);
}

/* A name that ends in .mlyze is a file. */
static void test_place(void **state)
{
	assert_int_equal(parse("-m mem -o x.mlyze -- python3"), 0);
	assert_int_equal(o.record.recording.place, PLACE_COMMAND);
	assert_int_equal(parse("-m mem -o x -- python3"), 0);
	assert_int_equal(o.record.recording.place, PLACE_DIR);
	assert_int_equal(parse("-m cpu -o x.mlyze -- python3"), -EINVAL);
	assert_int_equal(parse("-m mem -p 1 -o x"), 0);
	assert_int_equal(o.record.recording.place, PLACE_FILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_values),
		cmocka_unit_test(test_bad_values), cmocka_unit_test(test_allocations),
		cmocka_unit_test(test_together), cmocka_unit_test(test_place),
	};
	int failed;

	log_set_level(LOG_QUIET);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	options_free(&o);
	return failed;
}
