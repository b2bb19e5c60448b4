// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_svg.c - the sink svg: places of boxes, what is left out, and hostile names. */
#include "formats/formats.h"
#include "formats/svg/svg_boxes.h"
#include "tests/unit/export_test.h"

/* Returns the text between two others after the n-th box' beginning, valid until the next call. */
static const char *of_box(const struct buf *b, size_t n, const char *from, const char *to)
{
	static char out[4096];
	const char *p = (const char *)b->data, *end;

	for (n++; n; n--) {
		p = strstr(p, "<svg class=\"f\"");
		assert_non_null(p);
		p++;
	}
	p = strstr(p, from);
	assert_non_null(p);
	p += strlen(from);
	end = strstr(p, to);
	assert_non_null(end);
	snprintf(out, sizeof(out), "%.*s", (int)(end - p), p);
	return out;
}

static void assert_box(const struct buf *b, size_t n, const char *place, const char *title,
		       const char *text)
{
	assert_string_equal(of_box(b, n, "class=\"f\" ", "><title"), place);
	assert_string_equal(of_box(b, n, "<title>", "</title>"), title);
	assert_string_equal(strchr(of_box(b, n, "<text", "</text"), '>') + 1, text);
}

static size_t count_of(const struct buf *b, const char *what)
{
	const char *p = (const char *)b->data;
	size_t cnt = 0;

	while ((p = strstr(p, what)) && ++cnt)
		p++;
	return cnt;
}

static void test_boxes(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000, .mode = MODE_CPU } };
	uint32_t main, f, g, gc;
	struct buf b;

	export_open(&t, &sink_svg);
	main = export_first_line(&t, export_frame(&t, "/x/a.py", "main", 30), 1);
	g = export_first_line(&t, export_frame(&t, "/x/a.py", "g", 20), 19);
	f = export_first_line(&t, export_frame(&t, "/x/b.py", "f", 10), 9);
	assert_int_equal(intern_synthetic(t.in, FRAME_SYNTHETIC, "<GC>", &gc), 0);
	export_begin(&t);
	export_event(&t, 7, 0, 1, 2, (uint32_t[]){ g, main });
	export_event(&t, 7, 1, 3, 2, (uint32_t[]){ f, main });
	export_event(&t, 8, 2, 2, 3, (uint32_t[]){ gc, g, main });
	export_event(&t, 8, 2, 2, 1, (uint32_t[]){ main });
	b = export_close(&t);
	/* From left to right by name; a frame's own share first; threads together. */
	assert_int_equal(count_of(&b, "<svg class=\"f\""), 5);
	assert_box(&b, 0, "x=\"0%\" width=\"100%\" y=\"60\" height=\"17\"",
		   "all\n8 samples, 100.00 %", "all");
	assert_box(&b, 1, "x=\"0%\" width=\"100%\" y=\"77\" height=\"17\"",
		   "main (/x/a.py:1)\n8 samples, 100.00 %", "main (a.py:1)");
	assert_box(&b, 2, "x=\"25%\" width=\"37.5%\" y=\"94\" height=\"17\"",
		   "f (/x/b.py:9)\n3 samples, 37.50 %", "f (b.py:9)");
	assert_box(&b, 3, "x=\"62.5%\" width=\"37.5%\" y=\"94\" height=\"17\"",
		   "g (/x/a.py:19)\n3 samples, 37.50 %", "g (a.py:19)");
	assert_box(&b, 4, "x=\"75%\" width=\"25%\" y=\"111\" height=\"17\"",
		   "&lt;GC&gt;\n2 samples, 25.00 %", "&lt;GC&gt;");
	assert_non_null(strstr((char *)b.data, ">8 samples<"));
	buf_free(&b);
}

static void test_processes_and_threads(void **state)
{
	struct export_test t = { .args = { .many = true, .group = GROUP_THREAD, .title = "<t>" },
				 .meta = { .tgid = 12, .comm = "a\x1b&b", .unit = UNIT_BYTES } };
	uint32_t f;
	struct buf b;

	export_open(&t, &sink_svg);
	f = export_frame(&t, "/x/a.py", "f", 3);
	export_begin(&t);
	export_event(&t, 9, 0, 1024, 1, &f);
	export_event(&t, 8, 0, 1024, 1, &f);
	b = export_close(&t);
	assert_string_equal(of_box(&b, 1, "<title>", "</title>"),
			    "process 12 a\\x1b&amp;b\n2.0 KiB, 100.00 %");
	assert_string_equal(of_box(&b, 2, "<title>", "</title>"), "thread 8\n1.0 KiB, 50.00 %");
	assert_string_equal(of_box(&b, 3, "<title>", "</title>"), "thread 9\n1.0 KiB, 50.00 %");
	assert_non_null(strstr((char *)b.data, ">&lt;t&gt;<"));
	buf_free(&b);
}

/* test_exports has an XML parser read such a file. */
static void test_hostile_names(void **state)
{
	struct export_test t = { .args.title = HOSTILE };
	char name[2000];
	uint32_t f[4];
	struct buf b;

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	export_open(&t, &sink_svg);
	f[0] = export_frame(&t, "]]></script><x y=\"", HOSTILE, 3);
	f[1] = export_frame(&t, "a.py", "\xef\xbf\xbf</title>\xef\xbf\xbe", INT32_MAX);
	f[2] = export_frame(&t, name, name, -1);
	f[3] = export_frame(&t, "", "", 0);
	export_begin(&t);
	export_event(&t, 7, 0, 1, 4, f);
	b = export_close(&t);
	assert_printable(&b);
	assert_int_equal(count_of(&b, "</title>"), 5);
	assert_int_equal(count_of(&b, "]]>"), 1);
	assert_int_equal(count_of(&b, "</script>"), 1);
	assert_int_equal(count_of(&b, "<script>"), 1);
	assert_int_equal(count_of(&b, "\xef\xbf\xbd&lt;/title&gt;\xef\xbf\xbd"), 2);
	assert_true(b.len < 16384);
	buf_free(&b);
}

static void test_what_is_left_out(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000 } };
	uint32_t f, g, deep[EVENT_MAX_FRAMES], i;
	struct buf b;

	export_open(&t, &sink_svg);
	f = export_frame(&t, "a.py", "f", 3);
	g = export_frame(&t, "a.py", "g", 9);
	for (i = 0; i < ARRAY_SIZE(deep); i++)
		deep[i] = f;
	export_begin(&t);
	export_event(&t, 7, 0, 1, 2, (uint32_t[]){ g, f });
	export_event(&t, 7, 0, 3 * SVG_NARROW, ARRAY_SIZE(deep), deep);
	b = export_close(&t);
	/* The root and f, as often as it is in the deepest stack; g is seen by nobody. */
	assert_int_equal(count_of(&b, "<svg class=\"f\""), 1 + EVENT_MAX_FRAMES);
	assert_non_null(strstr((char *)b.data, ">30,001 samples; not drawn: 1 frame narrower than "
			       "0.01 %<"));
	buf_free(&b);
}

static void test_nothing(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000 } };
	struct buf b;

	export_open(&t, &sink_svg);
	export_begin(&t);
	export_event(&t, 7, 0, 1, 0, NULL);
	b = export_close(&t);
	assert_int_equal(count_of(&b, "<svg class=\"f\""), 0);
	assert_non_null(strstr((char *)b.data, ">no samples<"));
	buf_free(&b);
}

/* Weights whose sum does not fit stay inside the picture. */
static void test_huge_weights(void **state)
{
	struct export_test t = { .meta = { .interval_us = 1000 } };
	uint32_t f, g;
	struct buf b;

	export_open(&t, &sink_svg);
	f = export_frame(&t, "a.py", "f", 3);
	g = export_frame(&t, "a.py", "g", 3);
	export_begin(&t);
	export_event(&t, 7, 0, UINT64_MAX, 1, &f);
	export_event(&t, 7, 0, UINT64_MAX, 1, &g);
	b = export_close(&t);
	assert_string_equal(of_box(&b, 1, "class=\"f\" ", " y="), "x=\"0%\" width=\"100%\"");
	buf_free(&b);
}

static void test_calls(void **state)
{
	check_calls(&sink_svg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boxes), cmocka_unit_test(test_processes_and_threads),
		cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_what_is_left_out),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_huge_weights),
		cmocka_unit_test(test_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
