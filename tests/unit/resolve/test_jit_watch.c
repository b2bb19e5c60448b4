// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* jit_watch.c: how much is read, and that a process that has ended is asked once. */
#include <errno.h>
#include <string.h>

#include "resolve/jit_watch.h"
#include "tests/unit/tach_test.h"

#define EXECUTORS 264
#define TGID 4000
#define THREADS 6
#define DEPTH 6

static struct {
	int err;		/* of each read */
	uint64_t executors;	/* what each read brings */
	unsigned int reads;
} fake;

static int read_fake(void *ctx, uint64_t addr, void *buf, size_t len)
{
	(void)ctx;
	(void)addr;
	fake.reads++;
	if (fake.err)
		return fake.err;
	memset(buf, 0, len);
	if (len == sizeof(fake.executors))
		memcpy(buf, &fake.executors, len);
	return 0;
}

static struct cpython_image image;
static struct threads threads;
static struct jit_watch watch;
static const struct target_mem mem = { read_fake, NULL };

static int set_up(void **state)
{
	uint32_t i, k;

	memset(&fake, 0, sizeof(fake));
	memset(&watch, 0, sizeof(watch));
	memset(&image, 0, sizeof(image));
	image.objects.co_executors = EXECUTORS;
	threads_init(&threads, TGID, 0, NULL, NULL);
	for (i = 0; i < THREADS; i++) {
		struct thread *t = threads_add(&threads, TGID + i, 0);

		assert_non_null(t);
		assert_int_equal(thread_reserve(t, DEPTH), 0);
		for (k = 1; k <= DEPTH; k++)
			t->raw_end[-(int)k] = (struct raw_frame){
				.code = 0x1000 * k, .lasti = FRAME_PYTHON << RAW_KIND_SHIFT, .id = k
			};
		t->known = DEPTH;
	}
	return 0;
}

static int tear_down(void **state)
{
	threads_free(&threads);
	return 0;
}

static void look(void)
{
	jit_watch_look(&watch, &mem, &image, &threads);
}

static void test_some_frames_of_some_threads(void **state)
{
	look();
	assert_int_equal(fake.reads, 16);
	assert_false(watch.found);
}

static void test_pages_that_are_not_there(void **state)
{
	fake.err = -EFAULT;
	look();
	assert_int_equal(fake.reads, 16);
	assert_false(watch.found);
}

static void test_a_process_that_has_ended_is_asked_once(void **state)
{
	fake.err = -ESRCH;
	look();
	assert_int_equal(fake.reads, 1);
	assert_false(watch.found);
}

static void test_without_traces_nothing_is_read(void **state)
{
	image.objects.co_executors = 0;
	look();
	assert_int_equal(fake.reads, 0);
}

static void test_ever_more_seldom(void **state)
{
	unsigned int i, turns = 0;

	for (i = 0; i < 64; i++) {
		fake.reads = 0;
		look();
		turns += fake.reads != 0;
	}
	assert_int_equal(turns, 4 + 4);		/* 1 to 4, 8, 16, 32, 64 */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_some_frames_of_some_threads),
		TEST(test_pages_that_are_not_there),
		TEST(test_a_process_that_has_ended_is_asked_once),
		TEST(test_without_traces_nothing_is_read),
		TEST(test_ever_more_seldom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
