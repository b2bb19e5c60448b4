// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_records.c - a RAW_NATIVE is kept until its record comes, one of each CPU. */
#include "tests/unit/tach_test.h"

#include "resolve/native_records.h"

static struct native_records records;

/* A record with one frame and one entry, as it is in the ring buffer. */
static int put(uint32_t tid, uint64_t time_ns, uint16_t cpu)
{
	struct {
		uint8_t head[offsetof(struct raw_native, frames)];
		struct raw_native_frame frame;
		struct raw_entry entry;
	} sent = { .frame = { .addr = tid }, .entry = { .at = time_ns } };
	const struct raw_native head = {
		.h = { .time_ns = time_ns }, .tid = tid, .cpu = cpu, .nframes = 1, .nentries = 1,
	};
	size_t i;

	memcpy(sent.head, &head, sizeof(sent.head));
	for (i = 0; i < sizeof(sent); i++)
		assert_int_equal(native_records_put(&records, (const void *)&sent, i), -EBADMSG);
	return native_records_put(&records, (const void *)&sent, sizeof(sent));
}

static void expect(uint32_t tid, uint64_t time_ns, uint16_t cpu)
{
	const struct raw_native *raw = native_records_take(&records, time_ns, tid, cpu);

	assert_non_null(raw);
	assert_int_equal(raw->tid, tid);
	assert_int_equal(raw->frames[0].addr, tid);
	assert_int_equal(raw->entries[0].at, time_ns);
	assert_null(native_records_take(&records, time_ns, tid, cpu));
}

static void test_records(void **state)
{
	assert_null(native_records_take(&records, 1, 1, 1));
	assert_int_equal(put(1, 10, 0), 0);
	assert_int_equal(put(2, 10, 1), 0);
	assert_int_equal(put(3, 11, 2), 0);
	expect(2, 10, 1);
	assert_null(native_records_take(&records, 12, 1, 0));
	assert_null(native_records_take(&records, 10, 2, 0));
	assert_null(native_records_take(&records, 10, 1, 3));
	expect(1, 10, 0);
	/* What the first was for was lost. */
	assert_int_equal(put(4, 20, 2), 0);
	assert_null(native_records_take(&records, 11, 3, 2));
	expect(4, 20, 2);
	assert_int_equal(put(5, 30, 7), 0);
	native_records_free(&records);
	assert_null(native_records_take(&records, 30, 5, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_records) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
