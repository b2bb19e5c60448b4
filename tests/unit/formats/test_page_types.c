// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_page_types.c - the types of objects that grew, from the marks of a .mlyze file to the data
 * of its page.
 */
#include <inttypes.h>

#include "formats/formats.h"
#include "formats/html/flamegraph.h"
#include "model/type_series.h"
#include "tests/unit/formats/html_data.h"
#include "tests/unit/formats/reader_test.h"
#include "tests/unit/mlyze_test.h"

#define START_US 1000
#define SECOND 1000000

__attribute__((format(printf, 3, 4)))
static void mark(struct mlyze_test *m, uint64_t time_us, const char *format, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	mlyze_test_mark(m, time_us, text, (size_t)n);
}

static void begin_census(struct mlyze_test *m, uint64_t second, unsigned int types)
{
	mark(m, START_US + second * SECOND, "tachbpf census took_us=1 types=%u", types);
}

/* error: of the objects, and ten times that of their bytes. */
static void add_type(struct mlyze_test *m, uint64_t second, const char *name, uint64_t objects,
		     uint64_t bytes, uint64_t error)
{
	mark(m, START_US + second * SECOND, "tachbpf type%s%s objects=%" PRIu64
	     " objects_error=%" PRIu64 " bytes=%" PRIu64 " bytes_error=%" PRIu64,
	     *name ? " name=" : "", name, objects, error, bytes, 10 * error);
}

static struct mlyze_test new_file(void)
{
	struct mlyze_test m = mlyze_test_new(START_US);

	mark(&m, START_US, "tachbpf recording mode=sampled every=65536");
	mark(&m, START_US, "tachbpf process pid=7 comm=app");
	return m;
}

static void feed_file(struct mlyze_test *m, const struct reader_args *args, struct sink *s)
{
	char path[64], why[256] = "";
	struct reader *r;

	if (!m->file)
		mlyze_test_open(m);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->out);
	r = reader_open(path, args, why, sizeof(why));
	if (!r)
		fail_msg("%s", why);
	assert_int_equal(s->ops->begin(s, &reader_info(r)->meta, reader_tables(r)), 0);
	if (reader_run(r, feed_event, s, why, sizeof(why)))
		fail_msg("%s", why);
	assert_int_equal(s->ops->end(s, &reader_info(r)->stats), 0);
	reader_free(r);
}

/* The page of one file, or of the same file as several processes. */
static struct html_reader page_of(struct mlyze_test *m, const struct reader_args *args, int times)
{
	char path[PATH_BYTES];
	struct sink_args to = { .fd = memory_file(path), .many = true };
	struct sink *s = sink_flamegraph.open(&to);
	struct html_reader page = { 0 };

	for (; times; times--)
		feed_file(m, args, s);
	assert_int_equal(s->ops->close(s), 0);
	html_reader_open(&page, path);
	close(to.fd);
	return page;
}

static bool has_types(const struct html_reader *page)
{
	return at(page->meta, "types").value.data;
}

static void test_types_over_time(void **state)
{
	struct mlyze_test m = new_file();
	struct html_reader page;

	(void)state;
	begin_census(&m, 1, 4);
	add_type(&m, 1, "str", 5000, 400000, 20);
	add_type(&m, 1, "dict", 900, 90000, 0);
	add_type(&m, 1, "app.C", 10, 1040, 0);
	add_type(&m, 1, "", 5, 400, 0);
	begin_census(&m, 30, 1);
	add_type(&m, 30, "str", 9000, 700000, 10);
	begin_census(&m, 61, 5);
	add_type(&m, 61, "dict", 800, 89000, 0);
	add_type(&m, 61, "str", 30000, 1900000, 20);
	add_type(&m, 61, "app.C", 500, 52000, 0);
	add_type(&m, 61, "%3C/script%3E%0A%FF", 7, 7000, 1);
	add_type(&m, 61, "int", 1, 30, 0);
	page = page_of(&m, NULL, 1);
	assert_json(page.meta, "types.times_us", "[1000000,30000000,61000000]");
	assert_json(page.meta, "types.grown", "3");	/* int may have been there */
	assert_int_equal(json_length(page.meta, "types.list"), 3);
	assert_string_equal(json_chars(page.meta, "types.list.0.name"), "app.C");
	assert_json(page.meta, "types.list.0.bytes", "[1040,null,52000]");
	assert_json(page.meta, "types.list.0.objects", "[10,500]");
	assert_string_equal(json_chars(page.meta, "types.list.1.name"), "str");
	assert_json(page.meta, "types.list.1.bytes", "[400000,700000,1900000]");
	assert_json(page.meta, "types.list.1.more_objects", "25000");
	assert_json(page.meta, "types.list.1.objects_error", "40");
	assert_json(page.meta, "types.list.1.more_bytes", "1500000");
	assert_json(page.meta, "types.list.1.bytes_error", "400");
	/* In the first count it had at most what the rest has. */
	assert_string_equal(json_chars(page.meta, "types.list.2.name"), "</script>\\x0a\\xff");
	assert_json(page.meta, "types.list.2.objects", "[null,7]");
	assert_json(page.meta, "types.list.2.bytes", "[null,null,7000]");
	assert_json(page.meta, "types.list.2.more_bytes", "7000");
	assert_json(page.meta, "types.list.2.bytes_error", "410");
	html_reader_close(&page);
	mlyze_test_free(&m);
}

/* The first count has all types: one that it does not name was not there. */
static void test_a_type_that_is_new(void **state)
{
	struct mlyze_test m = new_file();
	struct html_reader page;

	(void)state;
	begin_census(&m, 0, 2);
	add_type(&m, 0, "dict", 10, 1000, 1);
	add_type(&m, 0, "", 0, 0, 0);
	begin_census(&m, 5, 1);
	add_type(&m, 5, "app.C", 5, 500, 0);
	page = page_of(&m, NULL, 1);
	assert_json(page.meta, "types.list.0.objects", "[0,5]");
	assert_json(page.meta, "types.list.0.bytes", "[0,500]");
	assert_json(page.meta, "types.list.0.bytes_error", "0");
	html_reader_close(&page);
	mlyze_test_free(&m);
}

/* Up to a moment; of several processes; of two that are compared. */
static void test_where_there_are_none(void **state)
{
	struct reader_args until = { .until_given = true, .until_us = 40 * SECOND };
	struct mlyze_test m = new_file(), without = new_file();
	struct html_reader page;
	uint64_t second;

	(void)state;
	for (second = 0; second < 60; second += 20) {
		begin_census(&m, second, 1);
		add_type(&m, second, "app.C", 1 + second, 1000 * (1 + second), 0);
	}
	mark(&m, START_US + 61 * SECOND, "tachbpf end");
	page = page_of(&m, NULL, 1);
	assert_json(page.meta, "types.list.0.bytes", "[1000,21000,41000]");
	html_reader_close(&page);
	page = page_of(&m, &until, 1);
	assert_json(page.meta, "types.list.0.bytes", "[1000,21000]");
	html_reader_close(&page);
	until.until_us = 15 * SECOND;
	page = page_of(&m, &until, 1);
	assert_false(has_types(&page));
	html_reader_close(&page);
	page = page_of(&m, NULL, 2);
	assert_false(has_types(&page));
	html_reader_close(&page);
	page = page_of(&without, NULL, 1);
	assert_false(has_types(&page));
	html_reader_close(&page);
	mlyze_test_free(&m);
	mlyze_test_free(&without);
}

#define CENSUSES 300
#define GROWING 30

/* Limits of the page: its first and last counts stay, and the program's own type. */
static void test_many(void **state)
{
	struct mlyze_test m = new_file();
	struct html_reader page;
	char name[32], path[64];
	uint64_t second, i;

	(void)state;
	for (second = 0; second < CENSUSES; second++) {
		begin_census(&m, second, GROWING + 1);
		for (i = 0; i < GROWING; i++) {
			snprintf(name, sizeof(name), "t%" PRIu64, i);
			add_type(&m, second, name, second, 1000 * i * second, 0);
		}
		add_type(&m, second, "app.C", 2 * second, 16 * second, 0);
	}
	page = page_of(&m, NULL, 1);
	assert_int_equal(json_number(page.meta, "types.grown"), GROWING + 1);
	assert_int_equal(json_length(page.meta, "types.list"), TYPE_SERIES_TYPES);
	assert_int_equal(json_length(page.meta, "types.times_us"), TYPE_SERIES_COUNTS);
	assert_int_equal(json_length(page.meta, "types.list.9.bytes"), TYPE_SERIES_COUNTS);
	assert_string_equal(json_chars(page.meta, "types.list.0.name"), "app.C");
	for (i = 1; i < TYPE_SERIES_TYPES; i++) {
		snprintf(path, sizeof(path), "types.list.%" PRIu64 ".name", i);
		snprintf(name, sizeof(name), "t%" PRIu64, GROWING - i);
		assert_string_equal(json_chars(page.meta, path), name);
	}
	for (i = 0; i < TYPE_SERIES_COUNTS; i++) {
		snprintf(path, sizeof(path), "types.times_us.%" PRIu64, i);
		second = (uint64_t)json_number(page.meta, path) / SECOND;
		snprintf(path, sizeof(path), "types.list.1.bytes.%" PRIu64, i);
		assert_int_equal(json_number(page.meta, path), 1000 * (GROWING - 1) * second);
	}
	assert_int_equal(second, CENSUSES - 1);
	html_reader_close(&page);
	mlyze_test_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types_over_time),
		cmocka_unit_test(test_a_type_that_is_new),
		cmocka_unit_test(test_where_there_are_none),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
