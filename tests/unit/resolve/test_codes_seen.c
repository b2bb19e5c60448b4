// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_codes_seen.c - what is known of a code object, until when, and of how many. */
#include "resolve/codes_seen.h"

#include "tests/unit/tach_test.h"

static struct raw_frame frame(uint64_t code, uint32_t id, uint32_t lasti)
{
	return (struct raw_frame){ .code = code, .id = id, .lasti = lasti };
}

static enum code_verdict unread(const struct codes_seen *c, uint64_t code, uint32_t id, uint64_t ns)
{
	const struct raw_frame f = frame(code, id, 4 | RAW_FRAME_UNREAD);
	uint64_t until = UINT64_MAX;

	return codes_seen_verdict(c, &f, ns, &until);
}

static void test_verdicts(void **state)
{
	struct codes_seen c = { 0 };
	struct raw_frame f = frame(16, 1, 4 | RAW_FRAME_UNREAD);
	uint64_t until = UINT64_MAX;

	assert_int_equal(unread(&c, 16, 1, 0), CODE_UNKNOWN);
	codes_seen_set(&c, 16, 1, 100);
	assert_int_equal(unread(&c, 16, 1, 101), CODE_UNKNOWN);
	assert_int_equal(unread(&c, 16, 3, 100), CODE_OTHER);
	assert_int_equal(codes_seen_verdict(&c, &f, 90, &until), CODE_SAME);
	assert_int_equal(until, 100);
	codes_seen_set(&c, 16, 3, 99);		/* older than what is known */
	assert_int_equal(unread(&c, 16, 1, 100), CODE_SAME);
	codes_seen_set(&c, 16, 0, 200);		/* gone */
	assert_int_equal(unread(&c, 16, 1, 100), CODE_OTHER);
	/* Frames that were read with their stack, or have no fingerprint, need nobody. */
	f = frame(32, 1, 4);
	assert_int_equal(codes_seen_verdict(&c, &f, 100, &until), CODE_SAME);
	f = frame(32, 0, 4 | RAW_FRAME_UNREAD);
	assert_int_equal(codes_seen_verdict(&c, &f, 100, &until), CODE_SAME);
	codes_seen_free(&c);
}

/* What a stack shares with the one before it is known from that one, at the same time only. */
static void test_stacks(void **state)
{
	struct raw_frame frames[20];
	struct codes_seen c = { 0 };
	uint32_t i;

	for (i = 0; i < 20; i++)
		frames[i] = frame(16 * (i + 1), 2 * i + 1, 8);
	frames[5].lasti |= FRAME_KERNEL << RAW_KIND_SHIFT;
	codes_seen_add(&c, frames, 20, 100);
	assert_int_equal(c.table.cnt, 19);
	frames[0] = frame(4096, 7, 8);
	codes_seen_add(&c, frames, 20, 100);
	assert_int_equal(unread(&c, 4096, 7, 100), CODE_SAME);
	assert_int_equal(unread(&c, 16 * 20, 39, 101), CODE_UNKNOWN);
	codes_seen_add(&c, frames, 20, 101);
	assert_int_equal(unread(&c, 16 * 20, 39, 101), CODE_SAME);
	assert_int_equal(unread(&c, 16 * 6, 11, 101), CODE_UNKNOWN);	/* the kernel's */
	codes_seen_free(&c);
}

static void test_full(void **state)
{
	struct codes_seen c = { 0 };
	uint32_t i;

	for (i = 1; i <= 3 * CODES_SEEN_MAX; i++) {
		codes_seen_set(&c, 16ull * i, 1, 100);
		assert_true(c.table.cnt <= CODES_SEEN_MAX);
		assert_int_equal(unread(&c, 16ull * i, 1, 100), CODE_SAME);
	}
	assert_true(c.table.cap <= 4 * CODES_SEEN_MAX);
	codes_seen_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
