// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_life.c - how long a process' end waits for the names of its machine code. The
 * functions of native.h and process.h are replaced, and the clock.
 */
#include "capture/native_life.h"

#include "base/util.h"
#include "native/native.h"
#include "resolve/process.h"
#include "tests/unit/tach_test.h"

#define TGID 4000
#define MS 1000000ull

static struct {
	uint64_t now;		/* ns */
	bool waits;		/* the process has names that are not there yet */
	uint32_t takes_ms;	/* until they are there */
	int settled, settled_ms, idle_ms, caught_up_ms, retried, begun, ended, stale;
	bool last;		/* no other process is profiled */
	pid_t parent;
	size_t debug_files;	/* awaited from servers; one comes each time */
	bool debug_comes, hurry, hurried;
} fake;
static int object;		/* only its address counts */
#define NATIVE ((struct native *)(void *)&object)
#define PROCESS ((struct process *)(void *)&object)

uint64_t now_ns(void)
{
	return fake.now;
}

int native_begin(struct native *n, pid_t tgid, uint64_t start_ns, uint32_t uid, pid_t parent)
{
	assert_true(tgid == TGID && start_ns == 77 && uid == 1000);
	fake.begun++;
	fake.parent = parent;
	return 0;
}

void native_end(struct native *n, pid_t tgid)
{
	assert_int_equal(fake.retried, 1);	/* names need the process' files */
	fake.ended++;
}

void native_stale(struct native *n, pid_t tgid)
{
	fake.stale++;
}

void native_settle(struct native *n, int idle_ms, int timeout_ms)
{
	fake.settled++;
	fake.idle_ms = idle_ms;
	fake.settled_ms = timeout_ms;
	fake.now += MS * ((uint32_t)timeout_ms < fake.takes_ms ? (uint32_t)timeout_ms :
				 fake.takes_ms);
}

void native_catch_up(struct native *n, int timeout_ms)
{
	fake.caught_up_ms = timeout_ms;
}

size_t native_debug_files(const struct native *n)
{
	return fake.debug_files;
}

void native_settle_debug(struct native *n, int timeout_ms)
{
	fake.now += MS * (uint32_t)timeout_ms;
	fake.debug_files -= fake.debug_comes;
}

void native_hurry(struct native *n, bool on)
{
	fake.hurry = on;
}

pid_t process_tgid(const struct process *p)
{
	return TGID;
}

uint64_t process_start_ns(const struct process *p)
{
	return 77;
}

const struct identity *process_identity(const struct process *p)
{
	static const struct identity who = { .uid = 1000 };

	return &who;
}

bool process_waits_for_names(const struct process *p)
{
	return fake.waits;
}

void process_retry_names(struct process *p)
{
	fake.retried++;
	fake.hurried = fake.hurry;
}

static struct native_life life;

static int set_up(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.now = 1ull << 50;
	life = (struct native_life){ .native = NATIVE };
	return 0;
}

/* How long the end of a process has waited, in ms. */
static uint64_t end_one(void)
{
	uint64_t begin = fake.now;

	fake.retried = 0;
	fake.hurried = false;
	native_life_end(&life, PROCESS, fake.last);
	assert_int_equal(fake.retried, 1);
	return (fake.now - begin) / MS;
}

static void test_without_native_only_names_are_read(void **state)
{
	life.native = NULL;
	fake.waits = true;
	assert_int_equal(native_life_begin(&life, PROCESS, 0), 0);
	native_life_stale(&life, PROCESS);
	assert_int_equal(end_one(), 0);
	native_life_stop(&life);
	assert_int_equal(fake.settled + fake.begun + fake.ended + fake.stale, 0);
}

static void test_a_life(void **state)
{
	assert_int_equal(native_life_begin(&life, PROCESS, 3999), 0);
	assert_true(fake.begun == 1 && fake.parent == 3999);
	native_life_stale(&life, NULL);		/* it is tracked, and not profiled */
	assert_int_equal(fake.stale, 0);
	native_life_stale(&life, PROCESS);
	assert_int_equal(fake.stale, 1);
	assert_int_equal(end_one(), 0);
	assert_true(!fake.settled && fake.ended == 1);
}

static void test_names_that_come_soon_cost_no_more(void **state)
{
	int i;

	fake.waits = true;
	fake.takes_ms = 3;
	for (i = 0; i < 10; i++)
		assert_int_equal(end_one(), 3);
}

static void test_names_that_do_not_come(void **state)
{
	int i;

	fake.waits = true;
	fake.takes_ms = UINT32_MAX;
	assert_int_equal(end_one(), 100);
	assert_int_equal(end_one(), 100);
	for (i = 0; i < 1000; i++)
		assert_int_equal(end_one(), 0);
	fake.now += 800 * MS;		/* the next second */
	assert_int_equal(end_one(), 100);
}

/* Nobody's samples wait: it waits for as long as somebody works. Of all processes, others begin. */
static void test_the_last_process(void **state)
{
	fake.waits = fake.last = true;
	fake.takes_ms = 1500;
	assert_int_equal(end_one(), 100);
	life.chosen = true;
	fake.takes_ms = 1500;
	assert_int_equal(end_one(), 1500);
	assert_int_equal(fake.idle_ms, 100);
	fake.takes_ms = UINT32_MAX;
	assert_int_equal(end_one(), 2000);
	native_life_stop(&life);
	assert_int_equal(end_one(), 0);
}

static void test_at_the_stop(void **state)
{
	fake.waits = true;
	fake.takes_ms = UINT32_MAX;
	native_life_catch_up(&life);
	assert_int_equal(fake.caught_up_ms, 1000);
	native_life_stop(&life);
	assert_int_equal(fake.settled_ms, 2000);
	assert_int_equal(end_one(), 0);
	assert_int_equal(fake.ended, 1);
}

/* A process that ends does not wait for servers; the end of the capture does, for a minute. */
static void test_debug_files(void **state)
{
	uint64_t begin;

	fake.debug_files = 3;
	assert_int_equal(end_one(), 0);
	assert_true(fake.hurried && !fake.hurry);
	fake.debug_comes = true;
	native_life_stop(&life);
	assert_int_equal(fake.debug_files, 0);
	assert_true(fake.hurry);
	set_up(NULL);
	fake.debug_files = 3;
	begin = fake.now;
	log_set_level(LOG_QUIET);
	native_life_stop(&life);
	log_set_level(LOG_NORMAL);
	assert_int_equal((fake.now - begin) / MS, 60000);
	assert_int_equal(end_one(), 0);
	assert_true(fake.hurried && fake.hurry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_without_native_only_names_are_read, set_up),
		cmocka_unit_test_setup(test_a_life, set_up),
		cmocka_unit_test_setup(test_names_that_come_soon_cost_no_more, set_up),
		cmocka_unit_test_setup(test_names_that_do_not_come, set_up),
		cmocka_unit_test_setup(test_the_last_process, set_up),
		cmocka_unit_test_setup(test_at_the_stop, set_up),
		cmocka_unit_test_setup(test_debug_files, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
