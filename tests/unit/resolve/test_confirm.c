// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_confirm.c - which records wait, what makes their names certain, and what they lose. */
#include "resolve/confirm.h"

#include <errno.h>

#include "base/util.h"
#include "bpf/abi.h"
#include "tests/unit/tach_test.h"

#define MS 1000000ull
#define TAKEN_MAX 4096

static struct raw_sample taken[TAKEN_MAX], raw;
static uint8_t kinds[TAKEN_MAX];
static uint32_t taken_cnt, checks;
static uint64_t has_code, has_id;	/* what check() finds there; all others it cannot read */
static int check_err;			/* 0: as above */
static struct confirm *c;

static int take(void *ctx, const void *record, size_t len)
{
	assert_true(taken_cnt < TAKEN_MAX && len <= sizeof(raw));
	memcpy(&taken[taken_cnt], record, len);
	kinds[taken_cnt++] = ((const struct raw_header *)record)->kind;
	return 0;
}

static int check(void *ctx, uint64_t code, uint32_t id)
{
	checks++;
	if (check_err || code != has_code)
		return check_err ? check_err : -EFAULT;
	return id == has_id ? 0 : -ESTALE;
}

static int begin(void **state)
{
	static const struct confirm_ops ops = { take, check };

	taken_cnt = checks = 0;
	has_code = has_id = 0;
	check_err = 0;
	c = confirm_new(&ops, NULL);
	return !c;
}

static int end(void **state)
{
	confirm_free(c);
	return 0;
}

/* A stack of code objects 16, 32, ..., with fingerprints first, first + 2, ... */
static size_t stack(uint64_t time_ms, uint64_t codes_ms, uint32_t n, uint32_t first)
{
	uint32_t i;

	raw = (struct raw_sample){ .h = { .kind = RAW_SAMPLE, .time_ns = time_ms * MS } };
	raw.codes_ns = codes_ms * MS;
	raw.nframes = n;
	for (i = 0; i < n; i++)
		raw.frames[i] = (struct raw_frame){ .code = 16 * (i + 1),
						    .lasti = codes_ms ? 2 | RAW_FRAME_UNREAD : 2,
						    .id = first + 2 * i };
	return raw_sample_bytes(n, 0);
}

static void put(uint64_t time_ms, uint64_t codes_ms, uint32_t n, uint32_t first)
{
	assert_int_equal(confirm_record(c, &raw, stack(time_ms, codes_ms, n, first)), 0);
}

static void test_certain_stacks_do_not_wait(void **state)
{
	put(100, 0, 5, 1);
	put(101, 0, 5, 1);
	assert_int_equal(taken_cnt, 2);
	assert_false(confirm_holds(c));
	stack(1, 0, 1, 1);
	assert_false(confirm_is_unread(&raw, raw_sample_bytes(1, 0)));
	raw.codes_ns = 1;
	assert_true(confirm_is_unread(&raw, raw_sample_bytes(1, 0)));
	assert_false(confirm_is_unread(&raw, raw_sample_bytes(1, 0) - 1));
	raw.nframes = ABI_MAX_FRAMES + 1;
	assert_false(confirm_is_unread(&raw, sizeof(raw)));
}

static void test_confirmed_by_the_next_window(void **state)
{
	uint32_t i;

	put(100, 0, 5, 1);
	for (i = 1; i < 8; i++)
		put(100 + i, 100, 5, 1);
	assert_int_equal(taken_cnt, 1);
	put(108, 0, 5, 1);
	assert_int_equal(taken_cnt, 9);
	for (i = 0; i < taken_cnt; i++) {
		assert_int_equal(taken[i].h.time_ns, (100 + i) * MS);
		assert_int_equal(taken[i].frames[4].id, 9);
	}
	assert_int_equal(confirm_unconfirmed(c), 0);
	assert_int_equal(checks, 0);
}

/* What was read before the stack, if only by a moment, does not confirm it. */
static void test_only_later_reads_confirm(void **state)
{
	put(101, 100, 5, 1);
	put(102, 100, 5, 1);
	assert_int_equal(taken_cnt, 0);
	put(109, 101, 5, 1);	/* a window that began when the first was made */
	assert_int_equal(taken_cnt, 1);
	put(117, 109, 5, 1);
	assert_int_equal(taken_cnt, 3);
}

/* Each code object by itself: other stacks confirm it, too. */
static void test_parts_confirm(void **state)
{
	put(101, 100, 5, 1);
	put(110, 0, 2, 1);
	assert_int_equal(taken_cnt, 0);
	stack(111, 0, 5, 1);
	memmove(raw.frames, raw.frames + 2, 3 * sizeof(*raw.frames));
	assert_int_equal(confirm_record(c, &raw, raw_sample_bytes(5, 0)), 0);
	assert_int_equal(taken_cnt, 3);
	assert_int_equal(confirm_unconfirmed(c), 0);
}

/* A frame that was read with its stack needs nobody else: its function may be gone by now. */
static void test_read_frames_are_certain(void **state)
{
	stack(101, 100, 5, 1);
	raw.frames[0].lasti = 2;
	assert_int_equal(confirm_record(c, &raw, raw_sample_bytes(5, 0)), 0);
	stack(110, 0, 5, 1);
	raw.frames[0].code = 4096;
	assert_int_equal(confirm_record(c, &raw, raw_sample_bytes(5, 0)), 0);
	assert_int_equal(taken_cnt, 2);
	assert_int_equal(taken[0].frames[0].id, 1);
	assert_int_equal(confirm_unconfirmed(c), 0);
}

static void test_another_code_object(void **state)
{
	put(101, 100, 5, 1);
	stack(110, 0, 5, 1);
	raw.frames[3].id = 77;
	assert_int_equal(confirm_record(c, &raw, raw_sample_bytes(5, 0)), 0);
	assert_int_equal(taken_cnt, 2);
	assert_int_equal(taken[0].frames[3].id, 0);
	assert_int_equal(taken[0].frames[3].code, 0);
	assert_int_equal(taken[0].frames[3].lasti, RAW_LASTI_NONE);
	assert_int_equal(taken[0].frames[2].id, 5);
	assert_int_equal(taken[1].frames[3].id, 77);
	assert_int_equal(confirm_unconfirmed(c), 1);
}

/* What does not come again is read from the process, as soon as it is late. */
static void test_late(void **state)
{
	has_code = 16;
	has_id = 1;
	put(101, 100, 1, 1);
	assert_int_equal(confirm_late(c, 150 * MS), 0);
	assert_int_equal(taken_cnt, 0);
	check_err = -EBUSY;
	assert_int_equal(confirm_late(c, 250 * MS), 0);
	assert_int_equal(taken_cnt, 0);
	check_err = 0;
	assert_int_equal(confirm_late(c, 250 * MS), 0);
	assert_int_equal(taken_cnt, 1);
	assert_int_equal(taken[0].frames[0].id, 1);
	/* What was read confirms earlier stacks, too, whatever is there by now. */
	has_id = 3;
	put(301, 300, 1, 1);
	assert_int_equal(taken_cnt, 2);
	assert_int_equal(taken[1].frames[0].id, 1);
}

static void test_settle(void **state)
{
	uint64_t now = now_ns() / MS;

	has_code = 32;
	has_id = 3;
	put(now - 1, now - 5, 3, 1);
	assert_int_equal(confirm_settle(c), 0);
	assert_int_equal(taken_cnt, 1);
	assert_int_equal(taken[0].frames[0].id, 0);
	assert_int_equal(taken[0].frames[1].id, 3);
	assert_int_equal(taken[0].frames[2].id, 0);
	assert_int_equal(confirm_unconfirmed(c), 2);
	/* The process has another code object there now. */
	has_id = 5;
	put(now_ns() / MS + 1, now, 3, 1);
	assert_int_equal(confirm_settle(c), 0);
	assert_int_equal(taken[1].frames[1].id, 0);
	assert_int_equal(confirm_unconfirmed(c), 5);
	assert_false(confirm_holds(c));
}

/* No time to read the process: it is tried for three seconds. */
static void test_busy_for_long(void **state)
{
	check_err = -EBUSY;
	put(101, 100, 2, 1);
	assert_int_equal(confirm_late(c, 1200 * MS), 0);
	assert_int_equal(confirm_late(c, 3000 * MS), 0);
	assert_int_equal(taken_cnt, 0);
	assert_int_equal(confirm_late(c, 3200 * MS), 0);
	assert_int_equal(taken_cnt, 1);
	assert_int_equal(confirm_unconfirmed(c), 2);
}

/* Other records keep their place behind the stacks that wait. */
static void test_order(void **state)
{
	struct raw_switch_in in = { .h = { .kind = RAW_SWITCH_IN, .time_ns = 102 * MS } };

	put(101, 100, 2, 1);
	assert_int_equal(confirm_record(c, &in, sizeof(in)), 0);
	put(103, 0, 1, 1);
	assert_int_equal(taken_cnt, 0);
	assert_true(confirm_holds(c));
	put(104, 0, 2, 1);
	assert_int_equal(taken_cnt, 4);
	assert_int_equal(kinds[1], RAW_SWITCH_IN);
	assert_int_equal(confirm_record(c, &in, sizeof(in)), 0);
	assert_int_equal(taken_cnt, 5);
}

/* A process that never reads again does not take more and more memory. */
static void test_bounded(void **state)
{
	uint32_t i;

	check_err = -EBUSY;
	for (i = 0; i < 4000; i++)
		put(101, 100, 200, 1);
	assert_true(taken_cnt > 1000);
	assert_int_equal(confirm_settle(c), 0);
	assert_int_equal(taken_cnt, 4000);
	assert_int_equal(confirm_unconfirmed(c), 200 * 4000);
}

/* Against what a simple judge says of the whole history, for random ones. */
static void test_random(void **state)
{
	static struct raw_sample all[2000];
	uint64_t window = 0, given = 0;
	uint32_t i, j, k, f;

	srand(7);
	check_err = -EFAULT;
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		bool fresh = i % 8 == 0;

		if (fresh)
			window = 1000 + i;
		stack(1000 + i, fresh ? 0 : window, 1 + rand() % 6, 1);
		for (f = 0; f < raw.nframes; f++) {
			raw.frames[f].code = 16 * (1 + rand() % 12);
			raw.frames[f].id = 1 + 2 * (rand() % 100 == 0);
		}
		all[i] = raw;
		assert_int_equal(confirm_record(c, &raw, raw_sample_bytes(raw.nframes, 0)), 0);
	}
	assert_int_equal(confirm_settle(c), 0);
	assert_int_equal(taken_cnt, ARRAY_SIZE(all));
	for (i = 0; i < taken_cnt; i++)
		for (f = 0; f < all[i].nframes; f++) {
			const struct raw_frame *was = &all[i].frames[f];
			bool same = !all[i].codes_ns;

			for (j = i + 1; j < taken_cnt && !same; j++)
				for (k = 0; k < all[j].nframes; k++)
					same |= all[j].frames[k].code == was->code &&
						all[j].frames[k].id == was->id &&
						(all[j].codes_ns ? all[j].codes_ns :
						 all[j].h.time_ns) >= all[i].h.time_ns;
			/* It may say less than could be known, never more. */
			if (taken[i].frames[f].id) {
				assert_true(same);
				assert_int_equal(was->code, taken[i].frames[f].code);
				assert_int_equal(was->id, taken[i].frames[f].id);
				assert_int_equal(taken[i].frames[f].lasti, 2);
			} else {
				given++;
			}
		}
	assert_int_equal(given, confirm_unconfirmed(c));
	assert_true(given < 500);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_certain_stacks_do_not_wait),
		TEST(test_confirmed_by_the_next_window),
		TEST(test_only_later_reads_confirm),
		TEST(test_parts_confirm),
		TEST(test_read_frames_are_certain),
		TEST(test_another_code_object),
		TEST(test_late),
		TEST(test_settle),
		TEST(test_busy_for_long),
		TEST(test_order),
		TEST(test_bounded),
		TEST(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
