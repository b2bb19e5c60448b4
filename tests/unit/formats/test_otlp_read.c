// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_otlp_read.c - what test_readers does not see of OTLP profiles: gzip, the type that counts,
 * services and threads, streams that are cut, files that are another format, hostile sizes.
 * What our encoder writes: tests/unit/telemetry/test_otlp_reread.c.
 */
#include "tests/unit/formats/reader_test.h"

#include "base/gzip.h"
#include "base/proto.h"
#include "formats/formats.h"
#include "formats/input.h"
#include "formats/otlp/otlp_fields.h"
#include "model/native_library.h"
#include "model/profile_service.h"
#include "model/thread_names.h"

static struct reader *open_golden(const char *name, const struct reader_args *args)
{
	return open_format("otlp", name, args);
}

static const char *part_of(const struct reader *r, enum service_part part)
{
	return service_part_of(reader_info(r)->meta.service, part);
}

static void test_gzip(void **state)
{
	assert_same_samples("otlp", "ours.otlp", "ours.otlp.gz");
}

static void test_values(void **state)
{
	static const struct {
		const char *name;
		struct reader_args args;
		uint64_t sum;
		const char *type;
	} cases[] = {
		{ "ours.otlp", { 0 }, 40000000, "cpu" },
		{ "ours.otlp", { .value = VALUE_BOTH }, 40000000, "cpu" },
		{ "ours.otlp", { .value = VALUE_LIVE }, 40000000, "cpu" },
		{ "ours.otlp", { .value = VALUE_SAMPLES }, 4, "samples" },
		{ "ours.otlp", { .type = "samples" }, 4, "samples" },
		{ "ours.otlp", { .type = "off_cpu" }, 500000000, "off_cpu" },
		{ "habits.otlp", { .type = "samples" }, 3, "samples" },
		{ "memory.otlp", { 0 }, 4096, "alloc_space" },
		{ "memory.otlp", { .value = VALUE_LIVE }, 1024, "inuse_space" },
		{ "memory.otlp", { .value = VALUE_BOTH }, 4096, "alloc_space" },
	};
	const struct reader_args wrong = { .type = "gil_wait" };
	char path[512], why[256] = "";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct reader *r = open_golden(cases[i].name, &cases[i].args);

		assert_int_equal(reader_info(r)->weight_sum, cases[i].sum);
		assert_string_equal(reader_info(r)->meta.type, cases[i].type);
		assert_false(reader_info(r)->meta.held_apart);
		reader_free(r);
	}
	assert_null(reader_open(format_path("otlp", "ours.otlp", path), &wrong, why, sizeof(why)));
	assert_int_equal(errno, ENODATA);
	assert_non_null(strstr(why, "its types: cpu, off_cpu"));
}

static void test_facts(void **state)
{
	struct reader *r = open_golden("ours.otlp", NULL);
	const struct reader_info *info = reader_info(r);
	struct native_library *libraries;

	assert_int_equal(reader_profile_cnt(r), 2);
	assert_int_equal(info->meta.mode, MODE_CPU);
	assert_int_equal(info->meta.interval_us, 10000);
	assert_string_equal(info->meta.type_unit, "nanoseconds");
	assert_int_equal(info->meta.start_utc_ns, 1790000000ULL * 1000000000);
	assert_true(info->stats.duration_s == 1);
	assert_string_equal(part_of(r, SERVICE_NAME), "cart");
	assert_string_equal(part_of(r, SERVICE_VERSION), "1.2");
	assert_null(part_of(r, SERVICE_HOST));
	reader_select(r, 1);
	assert_string_equal(part_of(r, SERVICE_NAME), "pay");
	assert_int_equal(native_libraries(reader_tables(r), &libraries), 1);
	assert_true(ref_is(libraries->path, "/usr/lib/libc.so.6"));
	assert_int_equal(libraries->build_id_bytes, 3);
	free(libraries);
	reader_free(r);
}

/* Attributes of all kinds; a stream's time is that of all its messages. */
static void test_attributes(void **state)
{
	struct reader *r = open_golden("habits.otlp", NULL);

	assert_string_equal(thread_names_find(reader_info(r)->meta.thread_names, 13), "worker");
	assert_string_equal(reader_info(r)->meta.container, "c0ffee");
	assert_string_equal(part_of(r, SERVICE_HOST), "h1");
	reader_free(r);
	r = open_golden("times.otlp", NULL);
	assert_string_equal(part_of(r, SERVICE_NAME), "true");
	assert_string_equal(part_of(r, SERVICE_VERSION), "2");
	assert_string_equal(part_of(r, SERVICE_TEAM), "1.5");
	reader_free(r);
	r = open_golden("stream.otlp", NULL);
	assert_true(reader_info(r)->stats.duration_s == 3);
	reader_free(r);
}

/* ---- streams ---- */

static int count_event(void *ctx, const struct event *ev)
{
	*(uint64_t *)ctx += ev->weight / 10000000;
	return 0;
}

/* What is in the messages that are whole, and whether damage is reported. */
static uint64_t read_cut(const struct buf *whole, size_t len, bool *reported)
{
	char path[PATH_BYTES], why[256] = "";
	int fd = memory_file(path), err;
	uint64_t samples = 0;
	struct reader *r;

	set_file(fd, whole->data, len);
	r = reader_open(path, &(struct reader_args){ .format = "otlp" }, why, sizeof(why));
	close(fd);
	*reported = !r;
	if (!r) {
		assert_non_null(strstr(why, "byte "));
		return 0;
	}
	err = reader_run(r, count_event, &samples, why, sizeof(why));
	*reported = err;
	assert_true(!err || (err == -EBADMSG && strstr(why, "byte ")));
	reader_free(r);
	return samples;
}

static void test_cut_stream(void **state)
{
	static const uint64_t sums[] = { 0, 2, 5, 9 };
	struct buf whole;
	size_t ends[4] = { 0 }, i, n = 0, at = 0;
	char path[512];
	bool reported;

	whole = file_bytes(format_path("otlp", "stream.otlp", path));
	while (at < whole.len) {
		uint32_t len = (uint32_t)whole.data[at + 2] << 8 | whole.data[at + 3];

		at += 4 + len;
		if (len)
			ends[++n] = at;
	}
	assert_int_equal(n, 3);
	for (i = 1; i <= whole.len; i++) {
		size_t complete = 0;

		while (complete < 3 && ends[complete + 1] <= i)
			complete++;
		assert_int_equal(read_cut(&whole, i, &reported), sums[complete]);
		/* An empty message follows the second one. */
		assert_int_equal(reported, i != ends[complete] && i != ends[2] + 4);
	}
	/* Damage inside of the second message: the first one counts. */
	whole.data[ends[1] + 4] = 0xff;
	assert_int_equal(read_cut(&whole, whole.len, &reported), sums[1]);
	assert_true(reported);
	buf_free(&whole);
}

/* ---- files that are another format ---- */

/* No bytes are of two formats, whatever single byte of a file changes. */
static void check_apart(const char *format, const char *name)
{
	static const uint8_t flips[] = { 0, 0x01, 0x02, 0x08, 0x80, 0xff };
	char path[512];
	struct buf b = file_bytes(format_path(format, name, path));
	size_t i, k;

	for (i = 0; i < b.len; i++) {
		for (k = 0; k < ARRAY_SIZE(flips); k++) {
			struct input in = { path, b.data, b.len };

			b.data[i] ^= flips[k];
			assert_false(reader_pprof.probe(&in) && reader_otlp.probe(&in));
			in.size = i + 1;
			assert_false(reader_pprof.probe(&in) && reader_otlp.probe(&in));
			b.data[i] ^= flips[k];
		}
	}
	buf_free(&b);
}

static void test_never_both(void **state)
{
	static const char *const names[][2] = {
		{ "pprof", "ours.pb" }, { "pprof", "go.pb" }, { "pprof", "heap.pb" },
		{ "pprof", "services.pb" }, { "otlp", "ours.otlp" }, { "otlp", "habits.otlp" },
		{ "otlp", "stream.otlp" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		check_apart(names[i][0], names[i][1]);
}

static void assert_probe(const struct buf *b, bool want)
{
	const struct input in = { "x", b->data, b->len };

	assert_int_equal(reader_otlp.probe(&in), want);
}

/* What is seen of a large message is enough, wherever its fields end. */
static void test_large_is_recognised(void **state)
{
	size_t padding, begin;

	for (padding = 4060; padding < 4110; padding++) {
		struct proto_out o = { 0 };
		char *text = calloc(1, padding);

		begin = proto_begin(&o, REQUEST_RESOURCE_PROFILES);
		proto_bytes(&o, RESOURCE_PROFILES_SCHEMA_URL, text, padding);
		proto_end(&o, begin);
		begin = proto_begin(&o, REQUEST_RESOURCE_PROFILES);
		proto_bytes(&o, RESOURCE_PROFILES_SCHEMA_URL, text, padding);
		proto_end(&o, begin);
		proto_bytes(&o, REQUEST_DICTIONARY, text, padding);
		assert_probe(&o.b, true);
		free(text);
		proto_out_free(&o);
	}
}

/* ---- hostile files ---- */

static struct reader *open_bytes(const void *data, size_t len, char why[256])
{
	const struct reader_args args = { .format = "otlp" };
	char path[PATH_BYTES];
	int fd = memory_file(path);
	struct reader *r;

	set_file(fd, data, len);
	r = reader_open(path, &args, why, 256);
	close(fd);
	return r;
}

static void assert_refused(const struct buf *b, const char *reason)
{
	char why[256] = "";

	assert_null(open_bytes(b->data, b->len, why));
	if (!strstr(why, reason))
		fail_msg("'%s', wanted '%s'", why, reason);
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
	assert_refused(&b, "more than 256 MiB");
	buf_free(&b);
}

/* A request that is written from the outside in. */
struct request {
	struct proto_out o;
	size_t begins[4], depth;
};

static void enter(struct request *q, uint32_t field)
{
	q->begins[q->depth++] = proto_begin(&q->o, field);
}

static void leave(struct request *q)
{
	proto_end(&q->o, q->begins[--q->depth]);
}

/* Inside of a profile without a type. */
static struct request begin_profile(void)
{
	struct request q = { .depth = 0 };

	enter(&q, REQUEST_RESOURCE_PROFILES);
	enter(&q, RESOURCE_PROFILES_SCOPE_PROFILES);
	enter(&q, SCOPE_PROFILES_PROFILES);
	return q;
}

static void begin_dictionary(struct request *q)
{
	leave(q);
	leave(q);
	leave(q);
	enter(q, REQUEST_DICTIONARY);
}

static void put_sample(struct request *q, uint64_t stack, int64_t value)
{
	enter(q, PROFILE_SAMPLES);
	proto_number(&q->o, SAMPLE_STACK, stack);
	proto_packed_number(&q->o, SAMPLE_VALUES, (uint64_t)value);
	leave(q);
}

static void put_zero(struct request *q, enum otlp_table table)
{
	proto_entry(&q->o, table, NULL, 0);
}

/* Samples of a stack of locations that have more inlined functions than a stack can have. */
static void test_expansion(void **state)
{
	struct request q = begin_profile();
	char why[256] = "";
	struct reader *r;
	int i;

	for (i = 0; i < 10000; i++)
		put_sample(&q, 1, 1);
	begin_dictionary(&q);
	put_zero(&q, TABLE_FUNCTION);
	put_zero(&q, TABLE_FUNCTION);
	put_zero(&q, TABLE_LOCATION);
	enter(&q, TABLE_LOCATION);
	for (i = 0; i < 10000; i++) {
		enter(&q, LOCATION_LINES);
		proto_number(&q.o, LINE_FUNCTION, 1);
		leave(&q);
	}
	leave(&q);
	put_zero(&q, TABLE_STACK);
	enter(&q, TABLE_STACK);
	for (i = 0; i < 10000; i++)
		proto_packed_number(&q.o, STACK_LOCATIONS, 1);
	leave(&q);
	leave(&q);
	r = open_bytes(q.o.b.data, q.o.b.len, why);
	if (!r)
		fail_msg("%s", why);
	assert_int_equal(reader_info(r)->truncated_cnt, 10000);
	reader_free(r);
	proto_out_free(&q.o);
}

static void test_refused_samples(void **state)
{
	static const struct {
		uint64_t stack;
		int64_t value;
		const char *why;
	} cases[] = {
		{ 7, 1, "byte 13: a sample of stack 7, which is missing" },
		{ UINT64_MAX, 1, "a sample of stack -1, which is missing" },
		{ 0, -1, "a negative value" },
		{ 0, INT64_MAX, "more than 63 bits" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct request q = begin_profile();

		put_sample(&q, cases[i].stack, cases[i].value);
		put_sample(&q, 0, 1);
		begin_dictionary(&q);
		put_zero(&q, TABLE_STRING);
		leave(&q);
		assert_refused(&q.o.b, cases[i].why);
		proto_out_free(&q.o);
	}
}

/* An entry of a table with one number in a field, after the zero value. */
static void test_refused_tables(void **state)
{
	static const struct {
		enum otlp_table table;
		uint32_t field, inner;
		const char *why;
	} cases[] = {
		{ TABLE_STACK, STACK_LOCATIONS, 0, "a stack of location 9, which is missing" },
		{ TABLE_LOCATION, LOCATION_MAPPING, 0,
		  "a location of mapping 9, which is missing" },
		{ TABLE_LOCATION, LOCATION_LINES, LINE_FUNCTION,
		  "a location of function 9, which is missing" },
		{ TABLE_LOCATION, LOCATION_LINES, 0, "a line that is no message" },
		{ TABLE_MAPPING, MAPPING_ATTRIBUTES, 0,
		  "a mapping of attribute 9, which is missing" },
		{ TABLE_ATTRIBUTE, ATTRIBUTE_VALUE, 0, "an attribute that is no message" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct request q = begin_profile();

		put_sample(&q, 0, 1);
		begin_dictionary(&q);
		put_zero(&q, cases[i].table);
		enter(&q, cases[i].table);
		if (cases[i].inner)
			enter(&q, cases[i].field);
		proto_number(&q.o, cases[i].inner ? cases[i].inner : cases[i].field, 9);
		if (cases[i].inner)
			leave(&q);
		leave(&q);
		leave(&q);
		assert_refused(&q.o.b, cases[i].why);
		proto_out_free(&q.o);
	}
}

/* Messages that are numbers, at each depth. */
static void test_wrong_wire_types(void **state)
{
	static const uint32_t path[] = {
		REQUEST_RESOURCE_PROFILES, RESOURCE_PROFILES_SCOPE_PROFILES,
		SCOPE_PROFILES_PROFILES, PROFILE_SAMPLES,
	};
	static const char *const why[] = { "a resource that is no", "a scope that is no",
					   "a profile that is no", "a sample that is no" };
	size_t depth, i;

	for (depth = 0; depth < ARRAY_SIZE(path); depth++) {
		struct request q = { .depth = 0 };

		for (i = 0; i < depth; i++)
			enter(&q, path[i]);
		proto_number(&q.o, path[depth], 1);
		while (q.depth)
			leave(&q);
		enter(&q, REQUEST_DICTIONARY);
		leave(&q);
		assert_refused(&q.o.b, why[depth]);
		proto_out_free(&q.o);
	}
}

static void test_too_many_types(void **state)
{
	struct request q = { .depth = 0 };
	char name[16];
	uint32_t i;

	enter(&q, REQUEST_RESOURCE_PROFILES);
	enter(&q, RESOURCE_PROFILES_SCOPE_PROFILES);
	for (i = 0; i < 65; i++) {
		enter(&q, SCOPE_PROFILES_PROFILES);
		enter(&q, PROFILE_SAMPLE_TYPE);
		proto_number(&q.o, VALUE_TYPE_TYPE, i);
		leave(&q);
		leave(&q);
	}
	leave(&q);
	leave(&q);
	enter(&q, REQUEST_DICTIONARY);
	for (i = 0; i < 65; i++) {
		snprintf(name, sizeof(name), "type%u", i);
		proto_text(&q.o, TABLE_STRING, name);
	}
	leave(&q);
	assert_refused(&q.o.b, "more than 64 sample types");
	proto_out_free(&q.o);
}

/* Entries take more memory than bytes. */
static void test_too_many_entries(void **state)
{
	static const enum otlp_table tables[] = { TABLE_STRING, TABLE_MAPPING };
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		struct request q = begin_profile();

		put_sample(&q, 0, 1);
		begin_dictionary(&q);
		for (k = 0; k <= 1 << 22; k++)
			put_zero(&q, tables[i]);
		leave(&q);
		assert_refused(&q.o.b, "more than 4194304 entries in a table");
		proto_out_free(&q.o);
	}
}

/* OTLP's traces look the same from outside; a request may have nothing in it. */
static void test_no_profiles(void **state)
{
	struct request q = { .depth = 0 };

	enter(&q, REQUEST_RESOURCE_PROFILES);
	enter(&q, RESOURCE_PROFILES_SCOPE_PROFILES);
	leave(&q);
	leave(&q);
	assert_probe(&q.o.b, true);
	assert_refused(&q.o.b, "byte 0: no dictionary of profiles");
	enter(&q, REQUEST_DICTIONARY);
	put_zero(&q, TABLE_STRING);
	leave(&q);
	assert_refused(&q.o.b, "no profile");
	proto_out_free(&q.o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_cut_stream),
		cmocka_unit_test(test_never_both),
		cmocka_unit_test(test_large_is_recognised),
		cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_expansion),
		cmocka_unit_test(test_refused_samples),
		cmocka_unit_test(test_refused_tables),
		cmocka_unit_test(test_wrong_wire_types),
		cmocka_unit_test(test_too_many_types),
		cmocka_unit_test(test_too_many_entries),
		cmocka_unit_test(test_no_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
