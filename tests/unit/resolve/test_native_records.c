// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_records.c - a RAW_NATIVE is kept until its record comes, one of each CPU. */
#include "tests/unit/tach_test.h"

#include "resolve/native_records.h"

static struct native_records records;
static struct raw_native taken, record;

/* A record with one frame and one entry, as it is in the ring buffer. */
static int put(uint32_t tid, uint64_t time_ns, uint16_t cpu)
{
	struct {
		uint8_t head[offsetof(struct raw_native, slots)];
		struct raw_entry entry;
		struct raw_native_frame frame;
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
	assert_int_equal(native_records_take(&records, time_ns, tid, cpu, &taken), 0);
	assert_int_equal(taken.tid, tid);
	assert_int_equal(taken.frames[0].addr, tid);
	assert_int_equal(taken.entries[0].at, time_ns);
	assert_int_equal(native_records_take(&records, time_ns, tid, cpu, &taken), -ENOENT);
}

static void expect_none(uint32_t tid, uint64_t time_ns, uint16_t cpu)
{
	assert_int_equal(native_records_take(&records, time_ns, tid, cpu, &taken), -ENOENT);
}

static void test_records(void **state)
{
	expect_none(1, 1, 1);
	assert_int_equal(put(1, 10, 0), 0);
	assert_int_equal(put(2, 10, 1), 0);
	assert_int_equal(put(3, 11, 2), 0);
	expect(2, 10, 1);
	expect_none(1, 12, 0);
	expect_none(2, 10, 0);
	expect_none(1, 10, 3);
	expect(1, 10, 0);
	/* What the first was for was lost. */
	assert_int_equal(put(4, 20, 2), 0);
	expect_none(3, 11, 2);
	expect(4, 20, 2);
	assert_int_equal(put(5, 30, 7), 0);
	native_records_free(&records);
	expect_none(5, 30, 7);
}

/* A record of a walk of so many frames, as the BPF side sends it. Returns its length. */
static size_t deep(uint32_t walked, uint32_t entries)
{
	uint32_t i, at;

	record = (struct raw_native){ .h = { .time_ns = 5 }, .tid = 1 };
	record.nentries = (uint16_t)entries;
	record.nframes = (uint16_t)(walked < RAW_NATIVE_FRAMES ? walked : RAW_NATIVE_FRAMES);
	record.left_out = walked - record.nframes;
	for (i = 0; i < entries; i++)
		record.entries[i].frames = i + 1;
	for (i = 0; i < walked; i++) {
		at = i < RAW_NATIVE_INNER ? i : RAW_NATIVE_INNER + i % RAW_NATIVE_OUTER;
		record.slots[entries + at] = (struct raw_native_frame){ i + 1, 16 * i, 3 };
	}
	return offsetof(struct raw_native, slots) + (entries + record.nframes) * 16ul;
}

static void check_frame(uint32_t at, uint32_t i)
{
	assert_int_equal(taken.frames[at].addr, i + 1);
	assert_int_equal(taken.frames[at].below, 16 * i);
	assert_int_equal(taken.frames[at].file, 3);
}

static void take_deep(uint32_t walked, uint32_t entries)
{
	uint32_t left_out = walked - (RAW_NATIVE_FRAMES - 1), i;

	assert_int_equal(native_records_put(&records, &record, deep(walked, entries)), 0);
	assert_int_equal(native_records_take(&records, 5, 1, 0, &taken), 0);
	for (i = 0; i < entries; i++)
		assert_int_equal(taken.entries[i].frames, i + 1);
	if (walked <= RAW_NATIVE_FRAMES) {
		assert_int_equal(taken.nframes, walked);
		assert_int_equal(taken.left_out, 0);
		for (i = 0; i < walked; i++)
			check_frame(i, i);
		return;
	}
	assert_int_equal(taken.nframes, RAW_NATIVE_FRAMES);
	assert_int_equal(taken.left_out, left_out);
	for (i = 0; i < RAW_NATIVE_INNER; i++)
		check_frame(i, i);
	assert_int_equal(taken.frames[i].addr, 0);
	assert_int_equal(taken.frames[i].file, 0);
	assert_int_equal(taken.frames[i].below, 16 * (i + left_out - 1));
	while (++i < RAW_NATIVE_FRAMES)
		check_frame(i, i + left_out - 1);
}

/* Of a deep stack both ends are there, in their order, and what stands for the others. */
static void test_deep(void **state)
{
	static const uint32_t walked[] = { 0, 1, 256, 257, 511, 512, 513, 514, 767, 768, 769, 1023,
					   1024, 2000, NATIVE_STEPS };
	uint32_t i, entries;

	for (i = 0; i < ARRAY_SIZE(walked); i++)
		for (entries = 0; entries <= RAW_NATIVE_ENTRIES; entries += 128)
			take_deep(walked[i], entries);
	native_records_free(&records);
}

static void test_bad(void **state)
{
	size_t len = deep(600, 10);

	assert_int_equal(native_records_put(&records, &record, len - 1), -EBADMSG);
	record.left_out = NATIVE_STEPS;
	assert_int_equal(native_records_put(&records, &record, len), -EBADMSG);
	record.left_out = 1;
	record.nframes--;
	assert_int_equal(native_records_put(&records, &record, len), -EBADMSG);
	record.nframes = RAW_NATIVE_FRAMES + 1;
	assert_int_equal(native_records_put(&records, &record, sizeof(record)), -EBADMSG);
	deep(10, 10);
	record.nentries = RAW_NATIVE_ENTRIES + 1;
	assert_int_equal(native_records_put(&records, &record, sizeof(record)), -EBADMSG);
	record.nentries = 0;
	record.end = NATIVE_END_CNT;
	assert_int_equal(native_records_put(&records, &record, sizeof(record)), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
