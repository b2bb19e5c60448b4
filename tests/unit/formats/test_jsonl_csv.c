// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_jsonl_csv.c - units, hostile names and chunks of the two formats of lines.
 * tests/e2e compares them with CPython's answers.
 */
#include "bpf/abi.h"
#include "formats/formats.h"
#include "tests/unit/export_test.h"

static void test_calls(void **state)
{
	check_calls(&sink_jsonl);
	check_calls(&sink_csv);
	check_calls(&sink_collapsed);
}

/* The i-th line as JSON. */
static struct json_doc *record(const struct buf *b, size_t i)
{
	struct buf line = { .data = b->data };
	char *end;

	for (;; i--) {
		end = strchr((char *)line.data, '\n');
		assert_non_null(end);
		line.len = end - (char *)line.data;
		if (!i)
			return parse_json(&line);
		line.data = (uint8_t *)end + 1;
	}
}

static void test_jsonl_chunks(void **state)
{
	struct export_test t = { .meta = { .mode = MODE_UNKNOWN, .unit = UNIT_BYTES } };
	static const char *const types[] = { "meta", "string_table", "string_table",
					     "frame_table", "frame_table", "agg", "agg", "end" };
	struct json_doc *o;
	char name[16];
	uint32_t f, i;
	struct buf b;

	export_open(&t, &sink_jsonl);
	export_begin(&t);
	/* 257 functions: two chunks each, of 256 and the rest. */
	for (i = 0; i < 257; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		f = export_frame(&t, "m.py", name, 3);
		export_event(&t, 7, i, 2, 1, &f);
	}
	b = export_close(&t);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		o = record(&b, i);
		assert_string_equal(json_chars(o, "type"), types[i]);
		if (!i)
			assert_json(o, "unit", "\"bytes\"");
		if (!i)
			assert_null(at(o, "mode").value.data);
		if (i == 6)
			assert_json(o, "entries",
				    "[{\"frame_id\":256,\"self\":2,\"cumulative\":2}]");
		if (i == 7)
			assert_json(o, "samples_total", "514");
		free(o);
	}
	buf_free(&b);
}

static void test_jsonl_hostile(void **state)
{
	struct export_test t = { .meta = { .tgid = 1, .comm = HOSTILE } };
	struct json_doc *o;
	struct buf b;
	uint32_t f, i;

	export_open(&t, &sink_jsonl);
	f = export_frame(&t, HOSTILE, HOSTILE, 3);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 1, &f);
	b = export_close(&t);
	assert_printable(&b);
	for (i = 0; i < 5; i++) {
		o = record(&b, i);
		free(o);
	}
	buf_free(&b);
}

static void test_csv(void **state)
{
	struct export_test t = { .meta = { .tgid = 12, .comm = "=a\"b",
					   .container = "shop/web;1" } };
	struct event ev = { .thread_id = 8, .weight = 3, .status = STATUS_HAS_GIL | STATUS_ON_CPU };
	uint32_t f, g, gc;
	struct buf b;

	export_open(&t, &sink_csv);
	f = export_frame(&t, "/x/m.py", "f", 3);
	g = export_frame(&t, "/x/a b.py", "g;\"h\"", 4);
	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<GC>", &gc), 0);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 1, &f);
	export_event(&t, 7, 1, 5, 3, (uint32_t[]){ gc, g, f });
	assert_int_equal(t.s->ops->event(t.s, &ev), 0);
	b = export_close(&t);
	assert_string_equal((char *)b.data,
			    "process,comm,container,thread,status,unit,weight,stack\n"
			    "12,\"\\x3da\"\"b\",shop/web:1,7,none,samples,5,"
			    "\"m.py:f:3;a b.py:g:\"\"h\"\":4;<GC>\"\n"
			    "12,\"\\x3da\"\"b\",shop/web:1,7,none,samples,1,m.py:f:3\n"
			    "12,\"\\x3da\"\"b\",shop/web:1,8,gil+on-cpu,samples,3,\n");
	buf_free(&b);
}

static void test_csv_hostile(void **state)
{
	struct export_test t = { .args = { .group = GROUP_PROCESS, .lines = LINES_MERGED },
				 .meta = { .comm = HOSTILE, .unit = UNIT_BYTES } };
	struct buf b;
	uint32_t f, g, i, quotes = 0;

	export_open(&t, &sink_csv);
	f = export_frame(&t, HOSTILE, HOSTILE, 3);
	g = export_frame(&t, HOSTILE, HOSTILE, 4);
	export_begin(&t);
	export_event(&t, 7, 1, 7, 1, &f);
	export_event(&t, 8, 1, 8, 1, &g);
	b = export_close(&t);
	assert_printable(&b);
	/* One row, with both; quotes in pairs, and no line feed inside them. */
	for (i = 0; i < b.len; i++) {
		quotes += b.data[i] == '"';
		assert_true(b.data[i] != '\n' || quotes % 2 == 0);
	}
	assert_non_null(strstr((char *)b.data, ",,,none,bytes,15,\"\\x3d"));
	assert_null(strstr((char *)b.data, ":3"));
	buf_free(&b);
}

/* Ties are in the order of the text, which words of different files can share. */
static void test_collapsed_order(void **state)
{
	struct export_test t = { 0 };
	uint32_t a, b, c, d;
	struct buf out;

	export_open(&t, &sink_collapsed);
	a = export_frame(&t, "/x/m.py", "f", 3);
	b = export_frame(&t, "/y/m.py", "f", 3);
	c = export_frame(&t, "/x/m.py", "f", 31);
	d = export_frame(&t, "/x/m.py", "a", 1);
	export_begin(&t);
	export_event(&t, 7, 1, 1, 2, (uint32_t[]){ d, c });
	export_event(&t, 7, 1, 1, 2, (uint32_t[]){ c, b });
	export_event(&t, 7, 1, 1, 2, (uint32_t[]){ d, a });
	export_event(&t, 7, 1, 1, 1, (uint32_t[]){ b });
	export_event(&t, 10, 1, 1, 1, (uint32_t[]){ b });
	export_event(&t, 7, 1, 2, 1, (uint32_t[]){ c });
	out = export_close(&t);
	assert_string_equal((char *)out.data, "tid:7;m.py:f:31 2\n"
					      "tid:10;m.py:f:3 1\n"
					      "tid:7;m.py:f:3 1\n"
					      "tid:7;m.py:f:31;m.py:a:1 1\n"
					      "tid:7;m.py:f:3;m.py:a:1 1\n"
					      "tid:7;m.py:f:3;m.py:f:31 1\n");
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls), cmocka_unit_test(test_jsonl_chunks),
		cmocka_unit_test(test_jsonl_hostile), cmocka_unit_test(test_csv),
		cmocka_unit_test(test_csv_hostile), cmocka_unit_test(test_collapsed_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
