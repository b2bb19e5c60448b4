// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_page_sources.c - the source text of the lines in a flame graph: which, and how much. */
#include "formats/html/page_sources.h"

#include "formats/source_text.h"
#include "tests/unit/tach_test.h"

/* The texts of one file; others are missing. */
static struct string_ref the_text;

static int find(void *ctx, struct string_ref path, struct string_ref *text)
{
	const char *name = ctx;

	if (!ref_is(path, name))
		return SOURCE_MISSING;
	*text = the_text;
	return SOURCE_READ;
}

/* The member of these frames; files: 0 /a.py, 1 <frozen x>, 2 /b.py. Valid until the next call. */
static const char *json_of(const struct frame *frames, uint32_t cnt, const char *text)
{
	static char *out;
	struct string_ref strings[] = { string_of("/a.py"), string_of("<frozen x>"),
					string_of("/b.py") };
	struct profile_tables tables = { .strings = strings, .string_cnt = 3,
					 .frames = frames, .frame_cnt = cnt };
	struct source_lookup lookup = { .find = find, .ctx = "/a.py" };
	size_t len;
	FILE *f;
	struct json j;

	free(out);
	f = open_memstream(&out, &len);
	the_text = string_of(text);
	json_start(&j, f, false);
	json_object(&j, NULL);
	assert_int_equal(html_json_sources(&j, &lookup, &tables), 0);
	json_object_end(&j);
	fclose(f);
	return out;
}

static void test_lines(void **state)
{
	const struct frame frames[] = {
		{ .file = 0, .line = 3 }, { .file = 2, .line = 1 }, { .file = 0, .line = 1 },
		{ .file = 0, .line = 3, .column = 4 }, { .file = 1, .line = 1 },
		{ .file = 0, .line = LINE_NONE }, { .file = 0, .line = 0 },
		{ .file = 0, .line = 2 }, { .file = 0, .line = 9 },
		{ .file = 0, .line = 4, .kind = FRAME_NATIVE },
	};

	assert_string_equal(json_of(frames, ARRAY_SIZE(frames),
				    "import x\n\n\tif a:\t b()  \r\nlast"),
			    "{\"sources\":{\"/a.py\":{\"1\":\"import x\",\"3\":\"if a:  b()\"}}}");
	assert_string_equal(json_of(frames + 1, 1, "x"), "{}");
	assert_string_equal(json_of(NULL, 0, "x"), "{}");
	assert_string_equal(json_of(frames, 1, ""), "{}");
}

/* Nothing in it is a control character, and a character is never cut. */
static void test_printable(void **state)
{
	const struct frame one = { .file = 0, .line = 1 };
	char text[1024] = "", wanted[1024];
	int i;

	assert_string_equal(json_of(&one, 1, "x = '\x1b[31m\xe2\x80\xae\xff'"),
			    "{\"sources\":{\"/a.py\":{\"1\":\"x = '\\\\x1b[31m"
			    "\\\\xe2\\\\x80\\\\xae\\\\xff'\"}}}");
	for (i = 0; i < PAGE_LINE_CHARACTERS + 10; i++)
		strcat(text, "\xc3\xa9");
	snprintf(wanted, sizeof(wanted), "{\"sources\":{\"/a.py\":{\"1\":\"%.*s\"}}}",
		 2 * PAGE_LINE_CHARACTERS, text);
	assert_string_equal(json_of(&one, 1, text), wanted);
}

static void test_limit(void **state)
{
	enum { LINES = 2 * PAGE_SOURCES_BYTES / 100 };
	static struct frame frames[LINES];
	static char text[LINES * 100 + 1];
	size_t len;
	int i;

	for (i = 0; i < LINES; i++) {
		frames[i] = (struct frame){ .file = 0, .line = i + 1 };
		memset(text + i * 100, 'x', 99);
		text[i * 100 + 99] = '\n';
	}
	len = strlen(json_of(frames, LINES, text));
	assert_true(len > PAGE_SOURCES_BYTES && len < 2 * PAGE_SOURCES_BYTES - 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_printable),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
