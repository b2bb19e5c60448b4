// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_pprof_read.c - what test_readers does not see of profile.proto: gzip, the value that counts,
 * services, threads, times, libraries, hostile sizes.
 */
#include "tests/unit/formats/reader_test.h"

#include "base/gzip.h"
#include "base/proto.h"
#include "formats/formats.h"
#include "formats/input.h"
#include "formats/sample_store.h"
#include "model/intern.h"
#include "model/native_library.h"
#include "model/profile_service.h"
#include "model/thread_names.h"

static struct reader *open_golden(const char *name, const struct reader_args *args)
{
	return open_format("pprof", name, args);
}

static void assert_refused(const char *name, const struct reader_args *args, const char *reason)
{
	char path[512], why[256] = "";

	assert_null(reader_open(format_path("pprof", name, path), args, why, sizeof(why)));
	if (!strstr(why, reason))
		fail_msg("'%s', wanted '%s'", why, reason);
}

static void test_gzip(void **state)
{
	assert_same_samples("pprof", "ours.pb", "ours.pb.gz");
}

static uint64_t weight_of(const char *name, const struct reader_args *args)
{
	struct reader *r = open_golden(name, args);
	uint64_t sum = reader_info(r)->weight_sum;

	reader_free(r);
	return sum;
}

static void test_values(void **state)
{
	static const struct {
		const char *name;
		struct reader_args args;
		uint64_t sum;
	} cases[] = {
		{ "heap.pb", { 0 }, 1024 },
		{ "heap.pb", { .value = VALUE_LIVE }, 1024 },
		{ "heap.pb", { .value = VALUE_ALLOCATED }, 5120 },
		{ "heap.pb", { .value = VALUE_BOTH }, 5120 },
		{ "heap.pb", { .type = "alloc_objects" }, 5 },
		{ "ours.pb", { 0 }, 60000000 },
		{ "ours.pb", { .value = VALUE_SAMPLES }, 6 },
		{ "ours.pb", { .type = "samples" }, 6 },
		{ "go.pb", { 0 }, 60000 },
	};
	const struct reader_args wrong = { .type = "off_cpu" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(weight_of(cases[i].name, &cases[i].args), cases[i].sum);
	assert_refused("heap.pb", &wrong, "alloc_objects, alloc_space, inuse_objects, inuse_space");
}

/* What is held is an event of its own, with what is not. */
static int check_held(void *ctx, const struct event *ev)
{
	uint64_t *sums = ctx;

	sums[ev->status == STATUS_HELD] += ev->weight;
	return 0;
}

static void test_held(void **state)
{
	const struct reader_args args = { .value = VALUE_BOTH };
	struct reader *r = open_golden("heap.pb", &args);
	uint64_t sums[2] = { 0 };
	char why[256];

	assert_true(reader_info(r)->meta.held_apart);
	assert_int_equal(reader_run(r, check_held, sums, why, sizeof(why)), 0);
	assert_int_equal(sums[0], 4096);
	assert_int_equal(sums[1], 1024);
	reader_free(r);
}

static void test_facts(void **state)
{
	struct reader *r = open_golden("ours.pb", NULL);
	const struct profile_meta *meta = &reader_info(r)->meta;
	struct native_library *libraries;

	assert_int_equal(meta->mode, MODE_CPU);
	assert_int_equal(meta->interval_us, 10000);
	assert_string_equal(meta->type, "cpu");
	assert_string_equal(meta->type_unit, "nanoseconds");
	assert_null(meta->service);
	assert_string_equal(thread_names_find(meta->thread_names, 13), "worker");
	assert_int_equal(native_libraries(reader_tables(r), &libraries), 1);
	assert_true(ref_is(libraries->path, "/usr/lib/libc.so.6"));
	assert_int_equal(libraries->build_id_bytes, 3);
	free(libraries);
	reader_free(r);
}

static void test_services(void **state)
{
	struct reader *r = open_golden("services.pb", NULL);
	const struct profile_service *s = reader_info(r)->meta.service;

	assert_int_equal(reader_profile_cnt(r), 2);
	assert_int_equal(reader_info(r)->meta.mode, MODE_OFFCPU);
	assert_string_equal(service_part_of(s, SERVICE_NAME), "checkout");
	assert_string_equal(service_part_of(s, SERVICE_VERSION), "1.2");
	assert_null(service_part_of(s, SERVICE_HOST));
	reader_select(r, 1);
	s = reader_info(r)->meta.service;
	assert_string_equal(service_part_of(s, SERVICE_NAME), "cart");
	reader_free(r);
}

/* ---- hostile files ---- */

static void assert_bytes_refused(const struct buf *b, const char *reason)
{
	const struct reader_args args = { .format = "pprof" };
	char path[PATH_BYTES], why[256] = "";
	int fd = memory_file(path);

	set_file(fd, b->data, b->len);
	assert_null(reader_open(path, &args, why, sizeof(why)));
	if (!strstr(why, reason))
		fail_msg("'%s', wanted '%s'", why, reason);
	close(fd);
}

/* 300 MiB of zeros are 300 KiB. */
static void test_bomb(void **state)
{
	const size_t len = (size_t)300 << 20;
	uint8_t *zeros = calloc(1, len);
	struct buf b = { 0 };

	assert_non_null(zeros);
	assert_int_equal(gzip_bytes(zeros, len, 1, &b), 0);
	free(zeros);
	assert_bytes_refused(&b, "more than 256 MiB");
	buf_free(&b);
}

/* As parallel compressors write it; a second member that is cut is damage. */
static void test_gzip_members(void **state)
{
	char path[PATH_BYTES], golden[512], why[256] = "";
	int fd = memory_file(path);
	struct buf b = { 0 };
	struct input *whole = input_map(format_path("pprof", "ours.pb", golden), why, sizeof(why));
	struct reader *r;

	assert_non_null(whole);
	assert_int_equal(gzip_bytes(whole->data, 100, 1, &b), 0);
	assert_int_equal(gzip_bytes(whole->data + 100, whole->size - 100, 1, &b), 0);
	input_unmap(whole);
	set_file(fd, b.data, b.len);
	r = reader_open(path, NULL, why, sizeof(why));
	if (!r)
		fail_msg("%s", why);
	assert_int_equal(reader_info(r)->weight_sum, 60000000);
	reader_free(r);
	b.len -= 20;
	assert_bytes_refused(&b, "it cannot be decompressed");
	buf_free(&b);
	close(fd);
}

static void put_type(struct proto_out *o)
{
	size_t begin = proto_begin(o, 1);

	proto_number(o, 1, 1);
	proto_number(o, 2, 2);
	proto_end(o, begin);
}

/* A sample of a location that has more inlined functions than a stack can have, many times. */
static void test_expansion(void **state)
{
	struct proto_out o = { 0 };
	char path[PATH_BYTES], why[256] = "";
	int fd = memory_file(path), i;
	struct reader *r;
	size_t begin;

	put_type(&o);
	begin = proto_begin(&o, 5);
	proto_number(&o, 1, 1);
	proto_end(&o, begin);
	begin = proto_begin(&o, 4);
	proto_number(&o, 1, 1);
	for (i = 0; i < 10000; i++) {
		size_t line = proto_begin(&o, 4);

		proto_number(&o, 1, 1);
		proto_end(&o, line);
	}
	proto_end(&o, begin);
	for (i = 0; i < 10000; i++) {
		begin = proto_begin(&o, 2);
		proto_packed(&o, 1, (uint32_t[]){ 1, 1, 1 }, 3);
		proto_packed(&o, 2, (uint32_t[]){ 1 }, 1);
		proto_end(&o, begin);
	}
	assert_int_equal(o.err, 0);
	set_file(fd, o.b.data, o.b.len);
	r = reader_open(path, NULL, why, sizeof(why));
	if (!r)
		fail_msg("%s", why);
	assert_int_equal(reader_info(r)->truncated_cnt, 10000);
	reader_free(r);
	proto_out_free(&o);
	close(fd);
}

static void put_sample(struct proto_out *o, uint64_t location, int64_t value, bool twice)
{
	size_t begin = proto_begin(o, 2);

	if (location)
		proto_packed_number(o, 1, location);
	proto_packed_number(o, 2, (uint64_t)value);
	if (twice)
		proto_packed_number(o, 2, 1);
	proto_end(o, begin);
}

/* Entries take more memory than bytes, and hashing a name that many refer to takes time. */
static void test_too_many_entries(void **state)
{
	struct proto_out o = { 0 };
	uint32_t i;

	put_type(&o);
	for (i = 0; i <= 1 << 22; i++)
		proto_entry(&o, 6, "", 0);
	assert_bytes_refused(&o.b, "more than 4194304 entries in a table");
	proto_out_free(&o);
}

static int check_name(void *ctx, const struct event *ev)
{
	const struct profile_tables *t = ctx;

	assert_int_equal(ev->nframes, 1);
	assert_int_equal(t->strings[t->frames[ev->frames[0]].func].len, 4096);
	return 0;
}

static void test_long_name(void **state)
{
	char path[PATH_BYTES], why[256] = "", name[10001];
	int fd = memory_file(path);
	struct proto_out o = { 0 };
	struct reader *r;
	size_t begin, line;

	memset(name, 'n', 10000);
	name[10000] = '\0';
	put_type(&o);
	begin = proto_begin(&o, 5);
	proto_number(&o, 1, 1);
	proto_number(&o, 2, 1);
	proto_end(&o, begin);
	begin = proto_begin(&o, 4);
	proto_number(&o, 1, 1);
	line = proto_begin(&o, 4);
	proto_number(&o, 1, 1);
	proto_end(&o, line);
	proto_end(&o, begin);
	put_sample(&o, 1, 1, false);
	proto_entry(&o, 6, "", 0);
	proto_text(&o, 6, name);
	set_file(fd, o.b.data, o.b.len);
	r = reader_open(path, NULL, why, sizeof(why));
	if (!r)
		fail_msg("%s", why);
	assert_int_equal(reader_run(r, check_name, (void *)reader_tables(r), why, sizeof(why)), 0);
	reader_free(r);
	proto_out_free(&o);
	close(fd);
}

static int add_stack_of(struct sample_store *s, uint32_t frame, const struct reason *why)
{
	const struct stored_thread thread = { 0 };
	uint32_t frames[3] = { frame, frame, frame };
	const struct buf ids = { .data = (void *)frames, .len = sizeof(frames) };

	return sample_store_add(s, 0, &thread, &ids, 1, 0, why);
}

/* Memory grows with distinct stacks, whose frames are limited: a few bytes may name 256. */
static void test_distinct_stacks(void **state)
{
	const struct stored_identity of = { 0 };
	const struct stored_kind kind = { .unit = UNIT_SAMPLES };
	struct sample_store s = { 0 };
	char text[128] = "";
	const struct reason why = { text, sizeof(text) };
	uint32_t profile, i;

	assert_int_equal(sample_store_init(&s, NULL, &why), 0);
	assert_int_equal(sample_store_profile(&s, &of, &kind, &profile, &why), 0);
	s.frames_left = 7;
	for (i = 0; i < 1000; i++)
		assert_int_equal(add_stack_of(&s, i % 2, &why), 0);
	assert_int_equal(s.frames_left, 1);
	assert_int_equal(add_stack_of(&s, 2, &why), -EBADMSG);
	assert_non_null(strstr(text, "distinct stacks of more than"));
	sample_store_free(&s);
}

static void test_refusals(void **state)
{
	static const struct {
		uint64_t location;
		int64_t value;
		bool twice;
		const char *why;
	} cases[] = {
		{ 7, 1, false, "byte 14: a sample of location 7, which is missing" },
		{ 0, -1, false, "a negative value" },
		{ 0, 1, true, "more values than types" },
		{ 0, 0, false, NULL },
		{ 0, INT64_MAX, false, NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proto_out o = { 0 };

		put_type(&o);
		put_sample(&o, cases[i].location, cases[i].value, cases[i].twice);
		if (cases[i].why) {
			assert_bytes_refused(&o.b, cases[i].why);
		} else {
			put_sample(&o, 0, INT64_MAX, false);
			put_sample(&o, 0, 1, false);
			assert_bytes_refused(&o.b, "more than 63 bits");
		}
		proto_out_free(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_gzip_members),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_expansion),
		cmocka_unit_test(test_too_many_entries),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_distinct_stacks),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
