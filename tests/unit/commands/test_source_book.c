// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_source_book.c - whose text a path of a profile has: what the recording kept, before this
 * machine's file, which a process with another root never has.
 */
#include "commands/source_book.h"

#include "commands/profile_set.h"
#include "formats/source_text.h"
#include "model/sample_filter.h"
#include "recording/sources_file.h"
#include "tests/unit/tach_test.h"

static char top[] = "/tmp/test_source_book.XXXXXX";
static char app[64], rec[64], tach[96];
static bool only_kept;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Keeps a text of app for a recording; pid 0: of this machine's root. */
static void keep(const char *file, const char *text, uint32_t pid)
{
	struct saved_source one = { .path = string_of(app), .text = string_of(text),
				    .pids = &pid, .pid_cnt = pid ? 1 : 0 };
	struct saved_sources s = { 0 };

	assert_int_equal(saved_sources_add(&s, &one), 0);
	assert_int_equal(saved_sources_write(&s, file), 0);
	saved_sources_free(&s);
}

/* The second line of app as a book of the set has it; kept: whether the recording kept it. */
static const char *line_of(const struct profile_set *set, bool *kept)
{
	static char text[64];
	struct source_book *b = source_book_new(set);
	const struct source_pages *pages;
	struct string_ref line;

	assert_non_null(b);
	if (only_kept)
		source_book_only_kept(b);
	pages = source_book_file(b, string_of(app));
	line = source_book_line(b, string_of(app), 2);
	assert_non_null(pages);
	snprintf(text, sizeof(text), "%.*s", (int)line.len, line.data);
	*kept = pages->kept;
	source_book_free(b);
	return text;
}

static struct profile_file file(uint32_t tgid, bool elsewhere)
{
	return (struct profile_file){ .path = tach, .name = "x.tach",
				      .process = { .tgid = tgid, .comm = "app",
						   .elsewhere = elsewhere } };
}

static void test_kept_comes_first(void **state)
{
	struct profile_file files[] = { file(7, false) };
	struct profile_dir dirs[] = { { .path = rec } };
	struct profile_set set = { .files = files, .file_cnt = 1, .dirs = dirs, .dir_cnt = 1 };
	char name[128];
	bool kept;

	put(app, "1\n  disk()\n");
	assert_string_equal(line_of(NULL, &kept), "disk()");
	assert_false(kept);
	assert_string_equal(line_of(&set, &kept), "disk()");
	only_kept = true;		/* as root, while the target may still run */
	assert_string_equal(line_of(&set, &kept), "");
	snprintf(name, sizeof(name), "%s/" SOURCES_FILE_NAME, rec);
	keep(name, "1\n\tkept()\r\n", 0);
	assert_string_equal(line_of(&set, &kept), "kept()");
	assert_true(kept);
	only_kept = false;
	assert_string_equal(line_of(&set, &kept), "kept()");
	put(name, "{ damaged");
	assert_string_equal(line_of(&set, &kept), "disk()");
	unlink(name);
	/* A file that was named by itself. */
	set.dir_cnt = 0;
	snprintf(name, sizeof(name), "%s" SOURCES_BESIDE_SUFFIX, tach);
	keep(name, "1\nbeside()", 0);
	assert_string_equal(line_of(&set, &kept), "beside()");
	unlink(name);
	assert_string_equal(line_of(&set, &kept), "disk()");
}

/* In a container or another root the path is another file, whatever this machine has there. */
static void test_elsewhere(void **state)
{
	struct profile_file files[] = { file(7, true), file(8, false) };
	struct profile_set set = { .files = files, .file_cnt = 1 };
	struct source_lookup lookup;
	struct source_book *b;
	struct string_ref text;
	char name[128];
	bool kept;

	put(app, "1\ndisk()\n");
	snprintf(name, sizeof(name), "%s" SOURCES_BESIDE_SUFFIX, tach);
	assert_string_equal(line_of(&set, &kept), "");
	assert_false(kept);
	b = source_book_new(&set);
	lookup = source_book_lookup(b);
	assert_int_equal(lookup.find(lookup.ctx, string_of(app), &text), SOURCE_MISSING);
	source_book_free(b);
	keep(name, "1\nof_the_host()\n", 0);
	assert_string_equal(line_of(&set, &kept), "");
	keep(name, "1\nown()\n", 7);
	assert_string_equal(line_of(&set, &kept), "own()");
	assert_true(kept);
	/* With one that has our root: still not the disk's for both. */
	unlink(name);
	set.file_cnt = 2;
	assert_string_equal(line_of(&set, &kept), "");
}

/* --process: only its own texts. */
static void test_filter(void **state)
{
	struct profile_file files[] = { file(7, true), file(8, false) };
	const char *wanted[] = { "8" };
	struct sample_filter_options filter = { .processes = wanted };
	struct profile_set set = { .files = files, .file_cnt = 2, .filter = &filter };
	char name[128];
	bool kept;

	put(app, "1\ndisk()\n");
	snprintf(name, sizeof(name), "%s" SOURCES_BESIDE_SUFFIX, tach);
	keep(name, "1\nown()\n", 7);
	assert_string_equal(line_of(&set, &kept), "own()");
	filter.process_cnt = 1;
	assert_string_equal(line_of(&set, &kept), "disk()");
	assert_false(kept);
	unlink(name);
}

/* What is made from recordings keeps what they kept. */
static void test_save(void **state)
{
	struct profile_file files[] = { file(7, false) };
	struct profile_set set = { .files = files, .file_cnt = 1 };
	struct source_book *b;
	struct saved_sources s = { 0 };
	char from[128], to[128], json[160];

	snprintf(from, sizeof(from), "%s" SOURCES_BESIDE_SUFFIX, tach);
	snprintf(to, sizeof(to), "%s/new.tach", top);
	snprintf(json, sizeof(json), "%s" SOURCES_BESIDE_SUFFIX, to);
	put(to, "");
	keep(from, "1\nkept()\n", 0);
	b = source_book_new(&set);
	assert_int_equal(source_book_save(b, to), 0);
	source_book_free(b);
	assert_int_equal(saved_sources_read(&s, AT_FDCWD, json), 0);
	assert_int_equal(s.cnt, 1);
	assert_true(ref_is(s.list[0].text, "1\nkept()\n"));
	saved_sources_free(&s);
	/* Made again from one that kept nothing. */
	unlink(from);
	b = source_book_new(&set);
	assert_int_equal(source_book_save(b, to), 0);
	source_book_free(b);
	assert_int_equal(access(json, F_OK), -1);
	put(json, "{\"my\":\"notes\"}");
	b = source_book_new(NULL);
	assert_int_equal(source_book_save(b, to), 0);
	source_book_free(b);
	assert_int_equal(access(json, F_OK), 0);
}

static int make_top(void **state)
{
	if (!mkdtemp(top))
		return -1;
	snprintf(app, sizeof(app), "%s/app.py", top);
	snprintf(rec, sizeof(rec), "%s/rec", top);
	snprintf(tach, sizeof(tach), "%s/x.tach", rec);
	return mkdir(rec, 0700);
}

static int remove_top(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept_comes_first),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_save),
	};

	return cmocka_run_group_tests(tests, make_top, remove_top);
}
