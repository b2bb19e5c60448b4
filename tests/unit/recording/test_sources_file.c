// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_sources_file.c - the source texts that a recording keeps: written and read back, within
 * limits, and nothing of a file that is damaged.
 */
#include "recording/sources_file.h"
#include "tests/unit/tach_test.h"

static char dir[] = "/tmp/test_sources_file.XXXXXX";

static struct saved_source source(const char *path, const char *text)
{
	return (struct saved_source){ .path = string_of(path), .text = string_of(text) };
}

static int parse(struct saved_sources *s, const char *json)
{
	char path[PATH_BYTES];
	int fd = memory_file(path), err;

	set_file(fd, json, strlen(json));
	*s = (struct saved_sources){ 0 };
	err = saved_sources_read(s, AT_FDCWD, path);
	close(fd);
	return err;
}

static bool is(struct string_ref ref, const char *text)
{
	return ref_is(ref, text);
}

/* Whatever the texts have comes back; the pids and the mark, too. */
static void test_round_trip(void **state)
{
	static const char odd[] = "# \"quoted\" \\ \x01\x7f\xe2\x80\xae\n\tx = '\xc3\xa9'\r\n";
	uint32_t pids[] = { 12, 4000000 };
	struct saved_source a = source("/srv/app.py", odd), b = source("/srv/app.py", "x = 1\n");
	struct saved_sources s = { 0 }, back = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "%s/x.tach" SOURCES_BESIDE_SUFFIX, dir);
	b.pids = pids;
	b.pid_cnt = 2;
	b.changed = true;
	assert_int_equal(saved_sources_add(&s, &a), 0);
	assert_int_equal(saved_sources_add(&s, &b), 0);
	assert_int_equal(saved_source_add_pid(&s.list[1], 12), 0);	/* it is there already */
	assert_int_equal(saved_sources_write(&s, path), 0);
	assert_int_equal(saved_sources_read(&back, AT_FDCWD, path), 0);
	assert_int_equal(back.cnt, 2);
	assert_true(is(back.list[0].path, "/srv/app.py") && is(back.list[0].text, odd));
	assert_false(back.list[0].changed || back.list[0].pid_cnt);
	assert_true(back.list[1].changed && is(back.list[1].text, "x = 1\n"));
	assert_int_equal(back.list[1].pid_cnt, 2);
	assert_memory_equal(back.list[1].pids, pids, sizeof(pids));
	assert_int_equal(saved_sources_read(&back, AT_FDCWD, "/tmp/none.sources.json"), -ENOENT);
	saved_sources_free(&s);
	saved_sources_free(&back);
	unlink(path);
}

static void test_limits(void **state)
{
	static char large[SAVED_SOURCE_BYTES + 2];
	struct saved_sources s = { 0 };
	struct saved_source one = source("/a.py", large);
	uint32_t i;

	memset(large, 'x', SAVED_SOURCE_BYTES + 1);
	one.text.len = SAVED_SOURCE_BYTES + 1;
	assert_int_equal(saved_sources_add(&s, &one), -E2BIG);
	one.text.len = SAVED_SOURCE_BYTES;
	for (i = 0; i < SAVED_SOURCES_BYTES / SAVED_SOURCE_BYTES; i++)
		assert_int_equal(saved_sources_add(&s, &one), 0);
	one.text.len = 1;
	assert_int_equal(saved_sources_add(&s, &one), -E2BIG);
	one.text.len = 0;
	while (s.cnt < SAVED_SOURCES_MAX)
		assert_int_equal(saved_sources_add(&s, &one), 0);
	assert_int_equal(saved_sources_add(&s, &one), -E2BIG);
	for (i = 1; i <= SAVED_PIDS_MAX + 5; i++)
		assert_int_equal(saved_source_add_pid(&s.list[0], i), 0);
	assert_int_equal(s.list[0].pid_cnt, SAVED_PIDS_MAX);
	saved_sources_free(&s);
}

static void test_other_files(void **state)
{
	static const char *const bad[] = {
		"", "[]", "{", "{\"my\":\"settings\"}", "{\"version\":2,\"sources\":[]}",
		"{\"version\":1,\"sources\":{}}", "{\"version\":1,\"sources\":[]} x",
		"{\"version\":1,\"sources\":[", "{\"version\":\"1\",\"sources\":[]}",
	};
	struct saved_sources s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(parse(&s, bad[i]), -EBADMSG);
		assert_int_equal(s.cnt, 0);
	}
}

/* A wrong element is left out. A process' file never becomes this machine's. */
static void test_wrong_elements(void **state)
{
	struct saved_sources s;

	assert_int_equal(parse(&s, "{\"version\":1,\"sources\":[1, {}, {\"path\":\"/a.py\"},"
			       "{\"path\":1,\"text\":\"x\"}, {\"path\":\"\",\"text\":\"x\"},"
			       "{\"path\":\"/b.py\",\"text\":\"x\",\"pids\":[]},"
			       "{\"path\":\"/c.py\",\"text\":\"x\",\"pids\":[-1, \"2\", 0]},"
			       "{\"path\":\"/d.py\",\"text\":\"x\",\"pids\":{}},"
			       "{\"path\":\"/e.py\",\"text\":\"x\",\"pids\":[7, \"2\"]},"
			       "{\"path\":\"/f.py\",\"text\":\"y\"}]}"), 0);
	assert_int_equal(s.cnt, 2);
	assert_true(is(s.list[0].path, "/e.py") && s.list[0].pid_cnt == 1);
	assert_true(is(s.list[1].path, "/f.py") && !s.list[1].pid_cnt);
	saved_sources_free(&s);
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
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_wrong_elements),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
