// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_output.c - files that are created, and every trap on the way. Owners are
 * changed, so most of it needs root.
 */
#include "base/output.c"	/* it has a fail(), too: before cmocka.h */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

#define USER 12345	/* who called sudo */
#define OTHER 54321	/* who wants to be root */

static char top[] = "/tmp/tachbpf-test-XXXXXX";

static void need_root(void)
{
	if (geteuid())
		skip();
}

/* A path below top. */
static const char *in_top(const char *name)
{
	static char paths[4][256];
	static unsigned int next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static bool made;

static int create_dir(const char *path)
{
	return output_create_dir(path, &made);
}

static void put(const char *path, const char *content)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(content, f);
	assert_int_equal(fclose(f), 0);
}

static void assert_content(const char *path, const char *want)
{
	char got[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fread(got, 1, sizeof(got) - 1, f) == strlen(want));
	fclose(f);
	assert_string_equal(got, want);
}

static void finish(int fd)
{
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "new", 3), 3);
	assert_int_equal(close(fd), 0);
}

/* Everything is below a fresh directory, sticky and open to all like /tmp. */
static int setup(void **state)
{
	strcpy(top + strlen(top) - 6, "XXXXXX");
	assert_non_null(mkdtemp(top));
	assert_int_equal(chmod(top, 01777), 0);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	umask(022);
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static void test_new_file(void **state)
{
	struct stat st;

	finish(output_create_path(in_top("f")));
	assert_content(in_top("f"), "new");
	assert_int_equal(stat(in_top("f"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(output_create_path(in_top("no/f")), -ENOENT);
	assert_int_equal(output_create_path(in_top("f/x")), -ENOTDIR);
	assert_int_equal(output_create_path(""), -ENOENT);
	assert_int_equal(output_create_path(in_top("")), -EISDIR);
}

static void test_replaced_file(void **state)
{
	struct stat before, after;

	put(in_top("f"), "old");
	assert_int_equal(link(in_top("f"), in_top("other name")), 0);
	assert_int_equal(stat(in_top("f"), &before), 0);
	finish(output_create_path(in_top("f")));
	assert_int_equal(stat(in_top("f"), &after), 0);
	/* Who has the old one open, or linked, keeps it. */
	assert_true(before.st_ino != after.st_ino);
	assert_content(in_top("other name"), "old");
}

static void test_links_and_others(void **state)
{
	put(in_top("victim"), "mine");
	assert_int_equal(symlink(in_top("victim"), in_top("link")), 0);
	assert_int_equal(symlink(in_top("absent"), in_top("dangling")), 0);
	assert_int_equal(mkfifo(in_top("fifo"), 0600), 0);
	assert_int_equal(mkdir(in_top("dir"), 0700), 0);
	assert_int_equal(output_create_path(in_top("link")), -EEXIST);
	assert_int_equal(output_create_path(in_top("dangling")), -EEXIST);
	assert_int_equal(output_create_path(in_top("fifo")), -EEXIST);
	assert_int_equal(output_create_path(in_top("dir")), -EISDIR);
	assert_content(in_top("victim"), "mine");
	assert_int_equal(access(in_top("absent"), F_OK), -1);
}

static void test_directory(void **state)
{
	struct stat st;
	int fd = create_dir(in_top("d//"));

	assert_true(fd >= 0);
	finish(output_create_file(fd, "1-a.tach"));
	finish(output_create_file(fd, "1-a.tach"));
	close(fd);
	assert_content(in_top("d/1-a.tach"), "new");
	/* It holds a recording now: not a place for another one. */
	assert_int_equal(create_dir(in_top("d")), -EEXIST);
	assert_int_equal(unlink(in_top("d/1-a.tach")), 0);
	assert_int_equal(stat(in_top("d"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	fd = create_dir(in_top("d"));
	assert_true(fd >= 0);
	close(fd);
	put(in_top("file"), "mine");
	assert_int_equal(symlink(in_top("d"), in_top("link")), 0);
	assert_int_equal(create_dir(in_top("file")), -ENOTDIR);
	assert_int_equal(create_dir(in_top("link")), -ENOTDIR);
	assert_int_equal(create_dir(in_top("link/")), -ENOTDIR);
	assert_int_equal(create_dir(in_top("no/d")), -ENOENT);
	assert_content(in_top("file"), "mine");
}

static void test_sudo(void **state)
{
	struct stat st;
	int fd;

	need_root();
	setenv("SUDO_UID", "12345", 1);
	setenv("SUDO_GID", "23456", 1);
	fd = create_dir(in_top("d"));
	assert_true(fd >= 0);
	finish(output_create_file(fd, "f"));
	close(fd);
	assert_int_equal(stat(in_top("d"), &st), 0);
	assert_int_equal(st.st_uid, USER);
	assert_int_equal(st.st_gid, 23456);
	assert_int_equal(stat(in_top("d/f"), &st), 0);
	assert_int_equal(st.st_uid, USER);
	/* His own directory is as good as root's. */
	fd = create_dir(in_top("d"));
	assert_true(fd >= 0);
	close(fd);
	finish(output_create_path(in_top("d/g")));
	/* What existed keeps its owner. */
	assert_int_equal(mkdir(in_top("roots"), 0755), 0);
	close(create_dir(in_top("roots")));
	assert_int_equal(stat(in_top("roots"), &st), 0);
	assert_int_equal(st.st_uid, 0);
}

/* A recording that runs under sudo has the user's rights to files, and none to give files away. */
static void test_sudo_with_the_users_rights(void **state)
{
	struct stat st;
	int fd;

	need_root();
	setenv("SUDO_UID", "12345", 1);
	setenv("SUDO_GID", "23456", 1);
	assert_int_equal(chown(top, USER, 23456), 0);
	setfsgid(23456);
	setfsuid(USER);
	fd = create_dir(in_top("d"));
	finish(output_create_file(fd, "f"));
	close(fd);
	setfsuid(0);
	setfsgid(0);
	assert_true(made);
	assert_int_equal(stat(in_top("d"), &st), 0);
	assert_int_equal(st.st_uid, USER);
	assert_int_equal(stat(in_top("d/f"), &st), 0);
	assert_int_equal(st.st_uid, USER);
	close(create_dir(in_top("e")));
	assert_true(made);
	close(create_dir(in_top("e")));
	assert_false(made);
}

static void test_sudo_nonsense(void **state)
{
	static const char *const bad[] = { "", "abc", "-1", "4294967295", "1x", " 1",
					   "99999999999999999999" };
	struct stat st;
	size_t i;

	need_root();
	setenv("SUDO_GID", "1", 1);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		setenv("SUDO_UID", bad[i], 1);
		finish(output_create_path(in_top("f")));
		assert_int_equal(stat(in_top("f"), &st), 0);
		assert_int_equal(st.st_uid, 0);
		assert_int_equal(st.st_gid, getegid());
	}
}

static void test_foreign_directory(void **state)
{
	need_root();
	assert_int_equal(mkdir(in_top("d"), 0777), 0);
	assert_int_equal(chown(in_top("d"), OTHER, OTHER), 0);
	assert_int_equal(output_create_path(in_top("d/f")), -EPERM);
	assert_int_equal(create_dir(in_top("d")), -EPERM);
	assert_int_equal(create_dir(in_top("d/new")), -EPERM);
	setenv("SUDO_UID", "12345", 1);
	setenv("SUDO_GID", "12345", 1);
	assert_int_equal(create_dir(in_top("d")), -EPERM);
	assert_int_equal(access(in_top("d/new"), F_OK), -1);
	assert_int_equal(access(in_top("d/f"), F_OK), -1);
	/* A path that leads there is no different. */
	assert_int_equal(symlink(in_top("d"), in_top("link")), 0);
	assert_int_equal(output_create_path(in_top("link/f")), -EPERM);
}

static void test_commit(void **state)
{
	struct output_file f;

	put(in_top("f"), "old");
	assert_int_equal(output_open(&f, in_top("f")), 0);
	assert_int_equal(write(f.fd, "new", 3), 3);
	assert_content(in_top("f"), "old");
	output_abort(&f);
	assert_content(in_top("f"), "old");
	assert_int_equal(output_open(&f, in_top("f")), 0);
	assert_int_equal(write(f.fd, "new", 3), 3);
	assert_int_equal(output_commit(&f), 0);
	assert_content(in_top("f"), "new");
	/* Nothing else is left. */
	assert_int_equal(unlink(in_top("f")), 0);
	assert_int_equal(rmdir(top), 0);
	assert_int_equal(mkdir(top, 0700), 0);
	assert_int_equal(symlink(in_top("x"), in_top("link")), 0);
	assert_int_equal(output_open(&f, in_top("link")), -EEXIST);
}

static void test_same_file(void **state)
{
	char here[PATH_MAX], dotted[200], absent[200];

	assert_int_equal(mkdir(in_top("d"), 0700), 0);
	assert_int_equal(symlink("d", in_top("to_d")), 0);
	snprintf(dotted, sizeof(dotted), "%s/./d/../f", top);
	assert_true(output_same_file(in_top("f"), dotted));
	assert_true(output_same_file(in_top("f"), in_top("f")));
	assert_true(output_same_file(in_top("d/"), in_top("d")));
	assert_true(output_same_file(in_top("to_d/f"), in_top("d/f")));
	assert_false(output_same_file(in_top("d/f"), in_top("f")));
	assert_false(output_same_file(in_top("f"), in_top("g")));
	snprintf(absent, sizeof(absent), "%s/none/f", top);
	assert_false(output_same_file(absent, absent));
	assert_false(output_same_file("", ""));
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(top), 0);
	assert_true(output_same_file("f", dotted));
	assert_true(output_same_file("./f", "f"));
	assert_int_equal(chdir(here), 0);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

/* What is exported is as private as what is recorded, whatever the umask. */
static void test_exports_are_private(void **state)
{
	struct output_file f;

	umask(0);
	assert_int_equal(output_open(&f, in_top("f")), 0);
	assert_int_equal(output_commit(&f), 0);
	assert_int_equal(mode_of(in_top("f")), 0600);
	/* Also one that replaces a file of another mode. */
	assert_int_equal(chmod(in_top("f"), 0644), 0);
	assert_int_equal(output_open(&f, in_top("f")), 0);
	assert_int_equal(output_commit(&f), 0);
	assert_int_equal(mode_of(in_top("f")), 0600);
}

static int entries(const char *path)
{
	DIR *d = opendir(path);
	int cnt = 0;

	assert_non_null(d);
	while (readdir(d))
		cnt++;
	closedir(d);
	return cnt - 2;		/* "." and ".." */
}

static void test_reserve(void **state)
{
	int dirfd = open(top, O_RDONLY | O_DIRECTORY);
	struct output_file f, second;
	struct stat st;

	assert_int_equal(output_reserve(&f, dirfd, "session.json", 100000), 0);
	assert_int_equal(entries(top), 0);	/* a kill would leave nothing */
	assert_int_equal(fstat(f.fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_true(st.st_blocks * 512 >= 100000);
	assert_int_equal(output_reserve_more(&f, 200000), 0);
	assert_int_equal(fstat(f.fd, &st), 0);
	assert_true(st.st_blocks * 512 >= 200000);
	/* Several at once. */
	assert_int_equal(output_reserve(&second, dirfd, "b.json", 10), 0);
	put(in_top("session.json"), "old");
	assert_int_equal(write(f.fd, "new", 3), 3);
	assert_int_equal(output_commit(&f), 0);
	assert_content(in_top("session.json"), "new");
	assert_int_equal(mode_of(in_top("session.json")), 0600);
	assert_int_equal(lstat(in_top("session.json"), &st), 0);
	assert_true(st.st_blocks * 512 < 100000);	/* what was not used is given back */
	output_abort(&second);
	output_abort(&second);	/* does nothing */
	assert_int_equal(entries(top), 1);
	close(dirfd);
}

static int check_fresh(const char *name, const struct timespec *since)
{
	int fd = open(in_top(name), O_RDONLY | O_DIRECTORY);
	int err = output_check_fresh(fd, name, since);

	close(fd);
	return err;
}

/* A directory is given away only if it is the one that was just made. */
static void test_fresh_directory(void **state)
{
	struct timespec before, after;

	clock_gettime(CLOCK_REALTIME_COARSE, &before);
	assert_int_equal(mkdir(in_top("d"), 0700), 0);
	assert_int_equal(check_fresh("d", &before), 0);
	after = before;
	after.tv_sec += 1000;
	assert_int_equal(check_fresh("d", &after), -EPERM);	/* it was there before */
	put(in_top("d/f"), "x");
	assert_int_equal(check_fresh("d", &before), -EPERM);
	assert_int_equal(unlink(in_top("d/f")), 0);
	assert_int_equal(check_fresh("d", &before), 0);
	assert_int_equal(chmod(in_top("d"), 0755), 0);
	assert_int_equal(check_fresh("d", &before), -EPERM);
	assert_int_equal(chmod(in_top("d"), 0700), 0);
	need_root();
	assert_int_equal(chown(in_top("d"), OTHER, OTHER), 0);
	assert_int_equal(check_fresh("d", &before), -EPERM);
}

static void test_names(void **state)
{
	static const struct {
		const char *comm;
		unsigned int seq;
		const char *name;
	} cases[] = {
		{ "python3", 0, "12-python3.tach" },
		{ "python3", 2, "12-python3.2.tach" },
		{ "", 0, "12-_.tach" },
		{ "..", 0, "12-__.tach" },
		{ "../../etc/x", 0, "12-___.._etc_x.tach" },
		{ "a/b", 0, "12-a_b.tach" },
		{ "a\nb\x1b\x7f", 0, "12-a_b__.tach" },
		{ "\xff\xc3\xa9", 0, "12-_\xc3\xa9.tach" },
		{ "kworker/0:1 x", 0, "12-kworker_0:1_x.tach" },
		{ "a b;$(x)/\xc3\xa9", 0, "12-a_b___x__\xc3\xa9.tach" },
		{ "`'\"\\!*?[~#&|<>{}^", 0, "12-_________________.tach" },
		{ "a+b-c_d@e=f,g%1", 0, "12-a+b-c_d@e=f,g%1.tach" },
		{ "a\xe2\x80\x8b" "b\xef\xbb\xbf", 0, "12-a_b_.tach" },
	};
	char name[OUTPUT_NAME_MAX], longest[1000];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		output_file_name(name, 12, cases[i].comm, cases[i].seq, OUTPUT_SUFFIX);
		assert_string_equal(name, cases[i].name);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	output_file_name(name, UINT32_MAX, longest, UINT32_MAX, OUTPUT_SUFFIX);
	assert_true(strlen(name) < 100);
	assert_string_equal(name + strlen(name) - 16, ".4294967295.tach");
	output_default_name(name);
	assert_memory_equal(name, "tachbpf-", 8);
	assert_int_equal(name[strlen(name) - 1], 'Z');
	assert_null(strchr(name, '/'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaced_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_and_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sudo, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sudo_with_the_users_rights, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sudo_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_commit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exports_are_private, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reserve, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fresh_directory, setup, teardown),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
