// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_heap_read.c - the JSON of tachbpf heap: what is in it, and that it is read back. */
#include "tests/unit/commands/heap_test.h"

#include <errno.h>

#include "commands/heap_read.h"
#include "tests/unit/json_doc.h"

static struct printed printed;

/* Writes a document with cnt processes, 1234 and following. */
static const char *write_document(const struct heap_census *c, size_t cnt)
{
	struct python python = { .tgid = 1234, .version = "3.11.2", .comm = "python3",
				 .command = "python3 app.py", .identity.uid = 1000 };
	struct heap_shown p = make_shown(c);
	struct json j;
	size_t i;

	print_begin(&printed);
	heap_json_begin(&j, printed.out);
	for (i = 0; i < cnt; i++) {
		p.pid = 1234 + (int)i;
		heap_json_process(&j, &p, &python);
	}
	heap_json_end(&j, printed.out, 0);
	return print_end(&printed);
}

static void test_what_is_written(void **state)
{
	struct heap_census *c = make_census(41 * MIB);
	struct buf text = { 0 }, name = { 0 };
	struct json_member member;
	struct json_doc *doc;
	const char *written;

	add_row(c, "evil.\x1b\"\xff", 500, 20 * MIB, 2);
	c->bad_pools = 3;
	c->largest[0] = (struct heap_large){ .addr = 4096, .bytes = 9, .type = "bytes" };
	c->large_cnt = 1;
	written = write_document(c, 1);
	assert_int_equal(strncmp(written, "{\n  \"heap_census\": 1,", 21), 0);
	assert_int_equal(buf_add(&text, written, strlen(written)), 0);
	doc = parse_json(&text);
	member = at(doc, "processes.0.growth");
	assert_true(json_member_is(&member, JT_NULL));
	member = at(doc, "processes.0.types.0.type");
	assert_true(json_member_string(&member, &name));
	assert_string_equal((char *)name.data, "evil.\x1b\"\ufffd");
	assert_has(written, "\"objects\": 500,");
	assert_has(written, "\"objects_error\": 10,");
	assert_has(written, "\"left_out\": {");
	assert_has(written, "\"bad_pools\": 3,");
	assert_has(written, "\"where\": null");
	assert_has(written, "\"allocator\": \"pymalloc\",");
	assert_has(written, "\"command\": \"python3 app.py\"");
	free(doc);
	buf_free(&text);
	buf_free(&name);
	free(c);
}

static void test_growth(void **state)
{
	const struct heap_growth grown[] = { make_growth("app.Session", 60, 7200, 3, 300),
					     make_growth("int", 3, 84, 5, 100) };
	struct json j;
	const char *text;

	print_begin(&printed);
	json_start(&j, printed.out, false);
	json_object(&j, NULL);
	heap_json_growth(&j, grown, 2);
	json_object_end(&j);
	text = print_end(&printed);
	assert_has(text, "\"objects_per_minute\":120");
	assert_has(text, "\"bytes_per_minute\":14400");
	assert_has(text, "\"grew\":true");
	assert_has(text, "\"grew\":false");
}

static void test_read_back(void **state)
{
	struct heap_census *c = make_census(41 * MIB);
	char why[HEAP_READ_WHY_BYTES];
	struct heap_file f;
	const char *text;
	uint32_t i;

	for (i = 0; i < 300; i++) {
		char name[HEAP_NAME_BYTES];

		snprintf(name, sizeof(name), "app.Type%u", i);
		add_row(c, name, 1000 - i, (1000 - i) * 64, i % 3);
	}
	c->time_ns = now_ns();
	c->limited = true;
	c->pages = true;
	c->unread = 5;
	text = write_document(c, 2);
	assert_true(heap_read_detects(text, 256));
	assert_int_equal(heap_read(text, strlen(text), &f, why), 0);
	assert_int_equal(f.cnt, 2);
	assert_int_equal(f.list[1].pid, 1235);
	assert_string_equal(f.list[0].program, "app.py");
	assert_string_equal(f.list[0].python, "3.11.2");
	assert_int_equal(f.list[0].census->row_cnt, 300);
	assert_memory_equal(f.list[0].census->rows, c->rows, 300 * sizeof(c->rows[0]));
	assert_int_equal(f.list[0].census->rss, c->rss);
	assert_int_equal(f.list[0].census->pools_read, 2500);
	assert_int_equal(f.list[0].census->unread, 5);
	assert_true(f.list[0].census->limited && f.list[0].census->pages);
	/* It is the time of day. */
	assert_true(f.list[0].census->time_ns + 60 * NS_PER_S > wall_ns());
	heap_file_free(&f);
	free(c);
}

static void test_what_is_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "at byte 0" }, { "[]", "at byte 0" }, { "{\"heap_census\": 1", "at byte" },
		{ "{\"heap_census\": 1}", "no list of processes" },
		{ "{\"heap_census\": 2, \"processes\": []}", "newer tachbpf" },
		{ "{\"heap_census\": \"1\", \"processes\": []}", "newer tachbpf" },
		{ "{\"heap_census\": 1, \"processes\": [1]}", "not an object" },
		{ "{\"heap_census\": 1, \"processes\": [{}]}", "no time" },
		{ "{\"heap_census\": 1, \"processes\": [{\"time\": -1}]}", "no time" },
		{ "{\"heap_census\": 1, \"processes\": [{\"time\": 1e99}]}", "no time" },
		{ "{\"heap_census\": 1, \"processes\": [{\"time\": 5}]}", "no types" },
		{ "{\"heap_census\": 1, \"processes\": [{\"time\": 5, \"types\": [3]}]}",
		  "a type is not an object" },
	};
	char why[HEAP_READ_WHY_BYTES];
	struct heap_file f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(heap_read(bad[i].text, strlen(bad[i].text), &f, why), -EBADMSG);
		assert_has(why, bad[i].why);
		heap_file_free(&f);
	}
}

/* Numbers and names that nobody has written here. */
static void test_hostile(void **state)
{
	static const char text[] =
		"{\"heap_census\": 1, \"processes\": [{\"time\": 5, \"pid\": 99999999999, "
		"\"program\": \"\\u001b[2J\", \"python\": "
		"\"\\u001b\\u001b\\u001b\\u001b\\u001b\\u001b"
		"\", \"rss\": 1e5, \"types\": [{\"type\": \"a\\u0000b\", \"objects\": "
		"99999999999999999999999, \"bytes\": -3, \"bytes_error\": \"x\"}, {}]}]}";
	char why[HEAP_READ_WHY_BYTES], *many;
	struct heap_file f;
	size_t len, i;

	assert_int_equal(heap_read(text, strlen(text), &f, why), 0);
	assert_true(f.list[0].pid >= 0);
	assert_string_equal(f.list[0].program, "\\x1b[2J");
	assert_has_not(f.list[0].python, "\x1b");
	assert_int_equal(f.list[0].census->row_cnt, 2);
	assert_string_equal(f.list[0].census->rows[0].name, "a");
	assert_true(f.list[0].census->rows[0].objects <= INT64_MAX / 4);
	assert_int_equal(f.list[0].census->rows[0].bytes, 0);
	assert_int_equal(f.list[0].census->rss, 0);
	heap_file_free(&f);

	many = malloc(64 + 3 * (HEAP_TYPES_MAX + 1));
	assert_non_null(many);
	len = (size_t)sprintf(many, "{\"heap_census\":1,\"processes\":[{\"time\":5,\"types\":[{}");
	for (i = 0; i < HEAP_TYPES_MAX; i++)
		len += (size_t)sprintf(many + len, ",{}");
	len += (size_t)sprintf(many + len, "]}]}");
	assert_int_equal(heap_read(many, len, &f, why), -EBADMSG);
	assert_has(why, "too many types");
	heap_file_free(&f);
	free(many);
}

static void test_detection(void **state)
{
	static const char *const others[] = {
		"", "{", "{}", "[\"heap_census\"]", "{\"processes\": [], \"heap_census\": 1}",
		"{\"heap_censu", "\x7f" "ELF",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(heap_read_detects(others[i], strlen(others[i])));
	assert_true(heap_read_detects("{\"heap_census\"", 14) ||
		    heap_read_detects("{\"heap_census\":", 15));
}

static int end(void **state)
{
	free(printed.text);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written), cmocka_unit_test(test_growth),
		cmocka_unit_test(test_read_back), cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_detection),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
