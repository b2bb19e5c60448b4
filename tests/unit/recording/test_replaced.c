// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_replaced.c - what is in the way of a recording: refused without --force, set aside with
 * it if it is a recording's, and never anything else.
 */
#include "recording/replaced.h"
#include "tests/unit/tach_test.h"

#include <fcntl.h>
#include <sys/stat.h>

#define TACH "HCAT and more"		/* the magic number, little-endian */
#define SOURCES "{\"version\":1,\"sources\":[]}"
#define REGIONS "{\"version\":1,\"begin_ns\":1,\"lost\":0,\"regions\":[]}"
#define SESSION "{\"processes\":[{\"file\":\"x.tach\",\"pid\":1}]}"

static char top[64];
static struct replaced r;

static const char *in_top(const char *name)
{
	static char paths[4][128];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static void put(const char *name, const char *content)
{
	int fd = open(in_top(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, content, strlen(content)), 0);
	close(fd);
}

static bool is(const char *name, const char *content)
{
	struct buf b = { 0 };
	bool same;

	if (access(in_top(name), F_OK))
		return false;
	b = file_bytes(in_top(name));
	same = b.len == strlen(content) && !memcmp(b.data, content, b.len);
	buf_free(&b);
	return same;
}

static bool is_there(const char *name)
{
	struct stat st;

	return !lstat(in_top(name), &st);
}

static int make_room(const char *name, enum place_kind kind, bool force)
{
	return replaced_make_room(&r, in_top(name), kind, force);
}

static int make_top(void **state)
{
	strcpy(top, "/tmp/test_replaced.XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static void test_free_places(void **state)
{
	static const enum place_kind kinds[] = { PLACE_DIR, PLACE_FILE, PLACE_COMMAND };
	size_t i;

	put("empty", "");
	assert_int_equal(mkdir(in_top("dir"), 0700), 0);
	put("dir/notes.txt", "mine");
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		assert_int_equal(make_room("new", kinds[i], i % 2), 0);
		replaced_remove(&r);
	}
	assert_int_equal(make_room("empty", PLACE_FILE, false), 0);
	replaced_remove(&r);
	assert_int_equal(make_room("dir", PLACE_DIR, true), 0);
	replaced_remove(&r);
	assert_true(is("dir/notes.txt", "mine"));
	assert_int_equal(make_room("no/new", PLACE_FILE, false), -ENOENT);
}

static void test_refused(void **state)
{
	put("x.tach", TACH);
	put("y.tach.json", SESSION);
	put("w.tach.sources.json", SOURCES);
	put("v.tach.regions.json", REGIONS);
	assert_int_equal(mkdir(in_top("dir"), 0700), 0);
	put("dir/1-a.tach", TACH);
	assert_int_equal(mkdir(in_top("z.tach.d"), 0700), 0);
	put("z.tach.d/session.json", SESSION);
	assert_int_equal(symlink("x.tach", in_top("link")), 0);
	assert_int_equal(make_room("x.tach", PLACE_FILE, false), -EEXIST);
	assert_int_equal(make_room("x.tach", PLACE_COMMAND, false), -EEXIST);
	assert_int_equal(make_room("x.tach", PLACE_DIR, false), -ENOTDIR);
	assert_int_equal(make_room("y.tach", PLACE_FILE, false), -EEXIST);
	assert_int_equal(make_room("w.tach", PLACE_FILE, false), -EEXIST);
	assert_int_equal(make_room("v.tach", PLACE_FILE, false), -EEXIST);
	assert_int_equal(make_room("dir", PLACE_DIR, false), -EEXIST);
	assert_int_equal(make_room("dir", PLACE_FILE, false), -EISDIR);
	assert_int_equal(make_room("z.tach", PLACE_COMMAND, false), -EEXIST);
	assert_int_equal(make_room("z.tach", PLACE_FILE, false), 0);	/* has no children */
	replaced_remove(&r);
	assert_int_equal(make_room("link", PLACE_FILE, false), -EEXIST);
	assert_true(is("x.tach", TACH) && is("dir/1-a.tach", TACH));
}

/* A file, its JSON, its sources and its children's directory: aside, and back or gone. */
static void test_a_whole_recording(void **state)
{
	int i;

	for (i = 0; i < 3; i++) {
		put("x.tach", TACH);
		put("x.tach.json", SESSION);
		put("x.tach.sources.json", SOURCES);
		put("x.tach.regions.json", REGIONS);
		mkdir(in_top("x.tach.d"), 0700);
		put("x.tach.d/2-b.tach", TACH);
		put("x.tach.d/session.json", SESSION);
		put("x.tach.d/sources.json", SOURCES);
		assert_int_equal(make_room("x.tach", PLACE_COMMAND, true), 0);
		assert_false(is_there("x.tach") || is_there("x.tach.json") ||
			     is_there("x.tach.sources.json") || is_there("x.tach.d") ||
			     is_there("x.tach.regions.json"));
		assert_true(is(".x.tach.replaced", TACH));
		if (i == 0) {
			replaced_restore(&r);
			assert_true(is("x.tach", TACH) && is("x.tach.json", SESSION) &&
				    is("x.tach.sources.json", SOURCES) &&
				    is("x.tach.regions.json", REGIONS) &&
				    is("x.tach.d/2-b.tach", TACH));
		} else if (i == 1) {
			replaced_keep(&r);	/* the next one finds it in its way */
			assert_true(is(".x.tach.d.replaced/2-b.tach", TACH));
		} else {
			replaced_remove(&r);
			assert_false(is_there("x.tach"));
		}
		assert_int_equal(is_there(".x.tach.replaced"), i == 1);
		assert_int_equal(is_there(".x.tach.sources.json.replaced"), i == 1);
		assert_int_equal(is_there(".x.tach.regions.json.replaced"), i == 1);
		assert_int_equal(is_there(".x.tach.d.replaced"), i == 1);
	}
}

/* A recording that was killed has no header yet, and a journal. */
static void test_a_killed_recording(void **state)
{
	int fd;

	put("x.tach", "");
	assert_int_equal(truncate(in_top("x.tach"), 100), 0);
	assert_int_equal(make_room("x.tach", PLACE_FILE, true), -EEXIST);	/* what is it? */
	put(".x.tach.journal", "TACHJRNL");
	assert_int_equal(make_room("x.tach", PLACE_FILE, true), 0);
	assert_false(is_there("x.tach") || is_there(".x.tach.journal"));
	replaced_restore(&r);
	assert_true(is(".x.tach.journal", "TACHJRNL"));
	fd = open(in_top("x.tach"), O_RDONLY);
	assert_int_equal(lseek(fd, 0, SEEK_END), 100);
	close(fd);
	/* a session.json that was not finished, where files must have a name: output_reserve() */
	assert_int_equal(mkdir(in_top("d"), 0700), 0);
	put("d/1-a.tach", TACH);
	put("d/.tachbpf-7-0.tmp", "");
	assert_int_equal(make_room("d", PLACE_DIR, true), 0);
	assert_false(is_there("d"));
	replaced_restore(&r);
	assert_true(is("d/1-a.tach", TACH));
}

/* --force is no rm -r. */
static void test_what_is_no_recording(void **state)
{
	put("notes", "my notes");
	put("app.json", "{\"my\":\"settings\"}");
	put("q.tach", TACH);
	put("q.tach.json", "{\"my\":\"settings\"}");
	put("p.tach", TACH);
	put("p.tach.sources.json", "{\"my\":\"sources\"}");
	put("o.tach", TACH);
	put("o.tach.regions.json", "{\"version\":1,\"regions\":[[]]}");
	assert_int_equal(mkdir(in_top("dir"), 0700), 0);
	put("dir/1-a.tach", TACH);
	put("dir/notes.txt", "my notes");
	assert_int_equal(mkdir(in_top("dir2"), 0700), 0);
	put("dir2/novel.tach", "Chapter 1");
	assert_int_equal(mkdir(in_top("dir3"), 0700), 0);
	put("dir3/1-a.tach", TACH);
	assert_int_equal(mkdir(in_top("dir3/sub.tach"), 0700), 0);
	assert_int_equal(symlink("notes", in_top("link")), 0);
	assert_int_equal(make_room("notes", PLACE_FILE, true), -EEXIST);
	assert_int_equal(make_room("notes", PLACE_DIR, true), -EEXIST);
	assert_int_equal(make_room("app", PLACE_FILE, true), -EEXIST);
	assert_int_equal(make_room("q.tach", PLACE_FILE, true), -EEXIST);
	assert_int_equal(make_room("o.tach", PLACE_FILE, true), -EEXIST);
	assert_int_equal(make_room("p.tach", PLACE_FILE, true), -EEXIST);
	assert_int_equal(make_room("dir", PLACE_DIR, true), -EEXIST);
	assert_int_equal(make_room("dir2", PLACE_DIR, true), -EEXIST);
	assert_int_equal(make_room("dir3", PLACE_DIR, true), -EEXIST);
	assert_int_equal(make_room("link", PLACE_FILE, true), -EEXIST);
	assert_true(is("notes", "my notes") && is("app.json", "{\"my\":\"settings\"}") &&
		    is("q.tach", TACH) && is("dir/notes.txt", "my notes") &&
		    is("dir/1-a.tach", TACH) && is("dir2/novel.tach", "Chapter 1") &&
		    is_there("dir3/sub.tach"));
}

/* What comes into the directory while the new one is recorded is not removed with it. */
static void test_something_comes_meanwhile(void **state)
{
	assert_int_equal(mkdir(in_top("dir"), 0700), 0);
	put("dir/1-a.tach", TACH);
	assert_int_equal(make_room("dir", PLACE_DIR, true), 0);
	put(".dir.replaced/notes.txt", "my notes");
	replaced_remove(&r);
	assert_false(is_there(".dir.replaced/1-a.tach"));
	assert_true(is(".dir.replaced/notes.txt", "my notes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_free_places, make_top, remove_top),
		cmocka_unit_test_setup_teardown(test_refused, make_top, remove_top),
		cmocka_unit_test_setup_teardown(test_a_whole_recording, make_top, remove_top),
		cmocka_unit_test_setup_teardown(test_a_killed_recording, make_top, remove_top),
		cmocka_unit_test_setup_teardown(test_what_is_no_recording, make_top, remove_top),
		cmocka_unit_test_setup_teardown(test_something_comes_meanwhile, make_top,
						remove_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
