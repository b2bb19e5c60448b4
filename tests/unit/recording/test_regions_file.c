// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_regions_file.c - the regions beside a recording: in order, as they were written, or nothing
 * of a file that is damaged; and those of a recording that is made from others.
 */
#include "recording/regions_file.h"
#include "tests/unit/tach_test.h"

#include <fcntl.h>

#define FILE_OF(rows) "{\"version\":1,\"pid\":7,\"begin_ns\":9,\"lost\":3,\"regions\":[" rows "]}\n"

static char dir[] = "/tmp/test_regions_file.XXXXXX";
static char why[128];

static int parse(struct regions *r, const char *json, size_t len)
{
	char path[PATH_BYTES];
	int fd = memory_file(path), err;

	set_file(fd, json, len);
	err = regions_read(r, AT_FDCWD, path, why, sizeof(why));
	close(fd);
	return err;
}

/* Adds "NAME THREAD BEGIN-END KEY=VALUE" for each. */
static int say(void *ctx, const struct profile_region *r)
{
	struct buf *out = ctx;
	char line[512];
	size_t i;
	int len = snprintf(line, sizeof(line), "%.*s %d %d-%d", (int)r->name.len, r->name.data,
			   (int)r->thread_id, (int)r->begin_ns, (int)r->end_ns);

	for (i = 0; i < r->attribute_cnt; i++) {
		const struct region_attribute *a = &r->attributes[i];

		len += snprintf(line + len, sizeof(line) - (size_t)len, " %.*s%s%.*s",
				(int)a->name.len, a->name.data, a->is_text ? "='" : "=",
				(int)a->value.len, a->value.data);
	}
	line[len++] = '\n';
	return buf_add(out, line, (size_t)len);
}

static void assert_regions(const struct regions *r, const char *want)
{
	struct buf got = { 0 };

	assert_int_equal(regions_each(r, say, &got), 0);
	assert_int_equal(buf_add(&got, "", 1), 0);
	assert_string_equal((char *)got.data, want);
	buf_free(&got);
}

#define ROWS                                                                                       \
	"[\"in\\u00e9r\", 1, 20, 30, {\"n\": -7, \"x\": 2.5e3,\"t\":true,\"z\" : null}],\n"        \
	" [\"outer\",1,10,40,{}],[\"round\",2,10,40,{\"a\":\"\\\"\"}],[\"inside\",2,10,40,{}],"    \
	"[\"empty\",1,50,50,{\"\":\"\"}]"
#define TEXT                                                                                       \
	"outer 1 10-40\nround 2 10-40 a='\"\ninside 2 10-40\n"                                     \
	"in\xc3\xa9r 1 20-30 n=-7 x=2.5e3 t=true z=null\nempty 1 50-50 ='\n"

/* Outer ones first: by begin, the longest first, and those alike as they are written. */
static void test_in_order(void **state)
{
	struct regions r;

	assert_int_equal(parse(&r, FILE_OF(ROWS), strlen(FILE_OF(ROWS))), 0);
	assert_int_equal(r.cnt, 5);
	assert_true(r.lost == 3 && r.begin_ns == 9 && r.pid == 7);
	assert_regions(&r, TEXT);
	regions_free(&r);
}

static int stop(void *ctx, const struct profile_region *r)
{
	++*(int *)ctx;
	return -ENOSPC;
}

static void test_an_error_ends_it(void **state)
{
	struct regions r;
	int calls = 0;

	assert_int_equal(parse(&r, FILE_OF(ROWS), strlen(FILE_OF(ROWS))), 0);
	assert_int_equal(regions_each(&r, stop, &calls), -ENOSPC);
	assert_int_equal(calls, 1);
	regions_free(&r);
}

static void test_damaged(void **state)
{
	static const struct { const char *json, *why; } bad[] = {
		{ "", "expected an object at byte 0" },
		{ "[]", "expected an object at byte 0" },
		{ "{\"my\":\"settings\"}", "this version of tachbpf did not write it" },
		{ "{\"version\":2,\"begin_ns\":9,\"lost\":0,\"regions\":[]}", "this version" },
		{ "{\"version\":1,\"begin_ns\":9,\"regions\":[]}", "this version" },
		{ "{\"version\":1,\"begin_ns\":9,\"lost\":0,\"regions\":{}}", "this version" },
		{ FILE_OF("") "x", "expected nothing more" },
		{ FILE_OF("7"), "expected an array" },
		{ FILE_OF("[]"), "expected a region's next part" },
		{ FILE_OF("[\"a\",1,2,3]"), "expected a region's next part" },
		{ FILE_OF("[\"a\",1,2,3,{},4]"), "expected a region of five parts" },
		{ FILE_OF("[1,1,2,3,{}]"), "expected a string" },
		{ FILE_OF("[\"a\",true,2,3,{}]"), "expected a number" },
		{ FILE_OF("[\"a\",-1,2,3,{}]"), "expected a whole number" },
		{ FILE_OF("[\"a\",1,2,9223372036854775808,{}]"), "at most 63 bits" },
		{ FILE_OF("[\"a\",1,3,2,{}]"), "expected a region's end after its begin" },
		{ FILE_OF("[\"a\",1,2,3,[]]"), "expected an object" },
		{ FILE_OF("[\"a\",1,2,3,{\"x\":[]}]"), "expected text, a number" },
		{ FILE_OF("[\"a\",1,2,3,{\"x\":NaN}]"), "expected a JSON value" },
		{ FILE_OF("[\"good\",1,2,3,{}],[\"a\",1,2"), "expected" },
	};
	struct regions r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(parse(&r, bad[i].json, strlen(bad[i].json)), -EBADMSG);
		if (!strstr(why, bad[i].why))
			fail_msg("'%s': '%s'", bad[i].json, why);
		assert_true(!r.cnt && !r.list && !r.text.data);
	}
	assert_int_equal(regions_read(&r, AT_FDCWD, "/tmp/none.regions.json", why, sizeof(why)),
			 -ENOENT);
	assert_int_equal(regions_read(&r, AT_FDCWD, "/dev/null", why, sizeof(why)), -EINVAL);
}

static void fill(struct buf *b, const char *text, size_t times)
{
	while (times--)
		assert_int_equal(buf_add(b, text, strlen(text)), 0);
}

/* Parses head, times parts, tail. */
static int parse_many(struct regions *r, const char *head, const char *part, size_t times,
		      const char *tail)
{
	struct buf b = { 0 };
	int err;

	fill(&b, head, 1);
	fill(&b, part, times);
	fill(&b, tail, 1);
	err = parse(r, (char *)b.data, b.len);
	buf_free(&b);
	return err;
}

#define HEAD "{\"version\":1,\"begin_ns\":9,\"lost\":0,\"regions\":["
#define ROW "[\"a\",1,2,3,{}]"

static void test_limits(void **state)
{
	struct regions r;

	assert_int_equal(parse_many(&r, HEAD, ROW ",", REGIONS_MAX - 1, ROW "]}"), 0);
	assert_int_equal(r.cnt, REGIONS_MAX);
	regions_free(&r);
	assert_int_equal(parse_many(&r, HEAD, ROW ",", REGIONS_MAX, ROW "]}"), -EBADMSG);
	assert_non_null(strstr(why, "expected at most 100000 regions"));
	assert_int_equal(parse_many(&r, HEAD "[\"", "n", REGION_NAME_BYTES, "\",1,2,3,{}]]}"), 0);
	regions_free(&r);
	assert_int_equal(parse_many(&r, HEAD "[\"", "n", REGION_NAME_BYTES + 1, "\",1,2,3,{}]]}"),
			 -EBADMSG);
	assert_int_equal(parse_many(&r, HEAD "[\"a\",1,2,3,{\"x\":1", "0", REGION_VALUE_BYTES,
				    "}]]}"), -EBADMSG);
	assert_non_null(strstr(why, "expected a shorter number"));
	assert_int_equal(parse_many(&r, HEAD "[\"a\",1,2,3,{", "\"x\":1,", 15, "\"y\":1}]]}"), 0);
	regions_free(&r);
	assert_int_equal(parse_many(&r, HEAD "[\"a\",1,2,3,{", "\"x\":1,", 16, "\"y\":1}]]}"),
			 -EBADMSG);
	assert_non_null(strstr(why, "expected at most 16 attributes"));
	assert_int_equal(parse_many(&r, HEAD, " ", REGIONS_FILE_BYTES, "]}"), -EFBIG);
	assert_string_equal(why, "it is larger than 64 MiB");
}

static int add(void *ctx, const struct profile_region *region)
{
	return regions_out_add(ctx, region);
}

/* Written again they are the same; a new recording without regions has none of an earlier one. */
static void test_written_again(void **state)
{
	struct regions_out out = { 0 }, none = { 0 };
	char recording[64], path[PATH_MAX];
	struct regions r, back;

	snprintf(recording, sizeof(recording), "%s/x.tach", dir);
	out.recording = none.recording = recording;
	assert_true(regions_path(recording, path));
	assert_int_equal(parse(&r, FILE_OF(ROWS), strlen(FILE_OF(ROWS))), 0);
	out.lost = r.lost;
	assert_int_equal(regions_each(&r, add, &out), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(regions_out_end(&out, 0), 0);
	assert_int_equal(regions_read(&back, AT_FDCWD, path, why, sizeof(why)), 0);
	assert_int_equal(back.lost, 3);
	assert_int_equal(back.begin_ns, 10);
	assert_regions(&back, TEXT);
	assert_int_equal(regions_out_end(&none, -ENOSPC), -ENOSPC);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(regions_out_end(&none, 0), 0);
	assert_int_equal(access(path, F_OK), -1);
	regions_free(&back);
	regions_free(&r);
}

/* An error of the recording leaves nothing; what is beyond the limit is counted. */
static void test_not_written(void **state)
{
	struct profile_region region = { .name = string_of("a"), .begin_ns = 1, .end_ns = 2 };
	char recording[64], path[PATH_MAX];
	struct regions_out out = { .recording = recording };

	snprintf(recording, sizeof(recording), "%s/y.tach", dir);
	assert_true(regions_path(recording, path));
	assert_int_equal(regions_out_add(&out, &region), 0);
	out.cnt = REGIONS_MAX;
	assert_int_equal(regions_out_add(&out, &region), 0);
	assert_int_equal(out.lost, 1);
	assert_int_equal(regions_out_end(&out, -ENOSPC), -ENOSPC);
	assert_int_equal(access(path, F_OK), -1);
}

static int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order), cmocka_unit_test(test_an_error_ends_it),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_limits),
		cmocka_unit_test(test_written_again), cmocka_unit_test(test_not_written),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
