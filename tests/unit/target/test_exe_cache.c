// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_exe_cache.c - which executables are known to run Python: files with the contents of a
 * CPython in a directory of their own.
 */
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "host/proc.h"
#include "target/discover.h"
#include "target/exe_cache.h"
#include "target/exe_learn.c"
#include "target/inspector.h"
#include "target/parser.h"
#include "tests/unit/cpython/fake_elf.h"
#include "tests/unit/tach_test.h"

static char dir[PATH_MAX];
static struct discovery *discovery;
static struct file_cache *files;
static struct exe_cache *cache;

/* What the callback got. */
static int said, forgotten;
static uint64_t said_key;
static struct py_exe said_exe;

static void say(void *ctx, uint64_t key, const struct py_exe *exe)
{
	assert_ptr_equal(ctx, &said);
	if (!exe) {
		forgotten++;
		said_key = key;
		return;
	}
	said++;
	said_key = key;
	said_exe = *exe;
}

/* What the other callback got. */
static int others;
static struct exe_file other_file;

static void say_other(void *ctx, const struct exe_file *file, bool other)
{
	assert_ptr_equal(ctx, &said);
	others += other ? 1 : -1;
	other_file = *file;
}

static int set_up(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/tachbpf-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	discovery = discovery_new();
	files = files ? files : file_cache_new();
	cache = exe_cache_new(discovery, say, say_other, &said);
	said = forgotten = others = 0;
	return discovery && cache && files ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[PATH_MAX + 16];

	exe_cache_free(cache);
	discovery_free(discovery);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

/* What the inspector does. */
static void learn(const char *path)
{
	struct learned_exe learned;

	if (!exe_learn_file(files, path, &learned))
		exe_cache_take(cache, &learned, 1000);
}

static const char *path_of(const char *name)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static const char *write_file(const char *name, const void *data, size_t len)
{
	const char *path = path_of(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
	return path;
}

static const char *write_python(const char *name, uint32_t hex)
{
	static const uint8_t zeros[256];
	static struct fake_elf f;

	f = (struct fake_elf){ .hex = hex, .runtime = zeros, .runtime_len = sizeof(zeros) };
	fake_elf_build(&f);
	return write_file(name, f.image, sizeof(f.image));
}

static uint64_t key_of(const char *path)
{
	int fd = open(path, O_RDONLY);
	uint64_t key = 0;

	assert_true(fd >= 0);
	assert_int_equal(exe_key_of(fd, &key), 0);
	close(fd);
	return key;
}

static struct exe_file file_of(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct exe_file file;

	assert_int_equal(exe_file_of(fd, &file), 0);
	close(fd);
	return file;
}

static void test_a_python(void **state)
{
	const char *path = write_python("python3.12", 0x030c01f0);
	const struct cpython_image *image;
	const struct py_exe *exe = NULL;
	uint64_t key = key_of(path);

	assert_null(exe_cache_find(cache, key, &exe));
	learn(path);
	assert_int_equal(said, 1);
	assert_true(said_key == key);
	assert_int_equal(said_exe.proc.state, PY_PROC_OTHER);
	image = exe_cache_find(cache, key, &exe);
	assert_non_null(image);
	assert_string_equal(image->version, "3.12.1");
	assert_memory_equal(exe, &said_exe, sizeof(*exe));
	learn(path);		/* known: it is not inspected again */
	assert_int_equal(said, 1);
}

static void test_others(void **state)
{
	const struct py_exe *exe;
	const char *path = write_file("script", "#!/bin/sh\n", 10);

	learn(path);
	assert_null(exe_cache_find(cache, key_of(path), &exe));
	learn("/proc/self/exe");
	assert_null(exe_cache_find(cache, key_of("/proc/self/exe"), &exe));
	learn(path_of("missing"));
	learn(dir);
	path = write_python("python2.7", 0x02070ff0);	/* a Python that is not supported */
	learn(path);
	assert_null(exe_cache_find(cache, key_of(path), &exe));
	assert_int_equal(said, 0);
}

/* Two files differ by inode, size or contents; a link to a file is that file. */
static void test_keys(void **state)
{
	uint64_t first = key_of(write_python("a", 0x030c01f0));
	char target[PATH_MAX + 64];

	assert_true(first != key_of(write_python("b", 0x030c01f0)));
	snprintf(target, sizeof(target), "%s", path_of("a"));
	assert_int_equal(symlink(target, path_of("c")), 0);
	assert_true(first == key_of(path_of("c")));
	assert_int_equal(truncate(target, FAKE_SIZE + 1), 0);
	assert_true(first != key_of(target));
}

static void test_keys_of_other_files(void **state)
{
	int fd = open(dir, O_RDONLY);
	uint64_t key;

	assert_int_equal(exe_key_of(fd, &key), -EINVAL);
	close(fd);
	assert_int_equal(exe_key_of(-1, &key), -EBADF);
}

/* A process that runs no Python, and waits. */
#define TOOL "/bin/sleep"

static pid_t start_tool(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl(TOOL, TOOL, "1000", (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

static void end_tool(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A process that is gone has no executable. */
static void test_processes(void **state)
{
	const struct py_exe *exe;
	uint64_t key = key_of(TOOL);
	struct exe_file file = file_of(TOOL), none = { .ino = 1 };
	pid_t pid = start_tool();

	exe_cache_learn_process(cache, pid, getuid(), key, &file);
	exe_cache_learn_process(cache, 0x3fffffff, 0, 1, &none);	/* above any pid_max */
	end_tool(pid);
	assert_int_equal(others, 1);
	assert_memory_equal(&other_file, &file, sizeof(file));
	assert_true(exe_cache_is_other(cache, &file) && !exe_cache_is_other(cache, &none));
	assert_null(exe_cache_find(cache, key, &exe));
	assert_null(exe_cache_find(cache, 1, &exe));
	assert_int_equal(said, 0);
}

/*
 * What the kernel says of the executable differs from what stat(2) says, or the process executes
 * another file already: then the file of the exec is not said to be no Python.
 */
static void test_not_the_file_of_the_exec(void **state)
{
	uint64_t key = key_of(TOOL);
	struct exe_file file = file_of(TOOL), pseudo = file;
	pid_t pid = start_tool();

	pseudo.dev ^= 1;
	exe_cache_learn_process(cache, pid, getuid(), key, &pseudo);
	assert_int_equal(others, 0);
	/* learned already */
	exe_cache_learn_process(cache, pid, getuid(), key ^ 2, &pseudo);
	assert_int_equal(others, 0);
	pseudo.dev ^= 2;
	exe_cache_learn_process(cache, pid, getuid(), key ^ 2, &pseudo);
	end_tool(pid);
	assert_true(exe_cache_is_other(cache, &file) && !exe_cache_is_other(cache, &pseudo));
}

/* A change of the file, and what others may change of it, gives it another key. */
static void test_keys_of_changed_files(void **state)
{
	const char *path = write_file("tool", "tool", 4);
	struct exe_file first = file_of(path), now;

	assert_true(first.size == 4 && first.ino && first.dev);
	do {
		assert_int_equal(chmod(path, 0755), 0);
		now = file_of(path);
	} while (!memcmp(&now, &first, sizeof(now)));	/* the clock of files has steps of 4 ms */
	assert_true(now.ino == first.ino && now.size == first.size);
	assert_true(now.ctime_s > first.ctime_s || now.ctime_ns > first.ctime_ns);
}

/* An executable without Python whose process became Python: its execs are checked from then on. */
static void test_what_became_python(void **state)
{
	struct learned_exe tool = { .key = 3, .itself.ino = 5, .other = true };

	exe_cache_take(cache, &tool, 1000);
	assert_int_equal(others, 1);
	exe_cache_take(cache, &(struct learned_exe){ .key = 3, .itself.ino = 5, .seen = true },
		       1000);
	assert_int_equal(others, 0);
	assert_int_equal(other_file.ino, 5);
	exe_cache_take(cache, &tool, 1000);
	assert_int_equal(others, 0);
	assert_false(exe_cache_is_other(cache, &tool.itself));
}

static void test_the_library_of_an_executable(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	bool needed;

	assert_int_equal(exe_open_library(fd, "/proc/self/exe", &needed), -ENOENT);
	assert_false(needed);
	close(fd);
	fd = open(write_file("text", "text", 4), O_RDONLY);
	assert_true(exe_open_library(fd, path_of("text"), &needed) < 0);
	close(fd);
}

/* The names of the files in our directory that were offered, in the order of the calls. */
static char offered[256];

static void note_likely(void *ctx, const char *path)
{
	size_t len = strlen(offered);

	if (!strncmp(path, dir, strlen(dir)))
		snprintf(offered + len, sizeof(offered) - len, "%s ", path + strlen(dir) + 1);
}

static void test_likely_names(void **state)
{
	static const char *const names[] = {
		"python3.12", "pypy3", "python3.12-config", "python-argcomplete", "xpython3",
	};
	char old[4096], target[PATH_MAX + 64];
	size_t i;

	snprintf(old, sizeof(old), "%s", getenv("PATH") ? getenv("PATH") : "");
	for (i = 0; i < ARRAY_SIZE(names); i++)
		write_file(names[i], names[i], strlen(names[i]));
	snprintf(target, sizeof(target), "%s", path_of("python3.12"));
	assert_int_equal(symlink(target, path_of("python3")), 0);
	write_file("python3.9", "x", 1);
	assert_int_equal(chmod(path_of("python3.9"), 0600), 0);	/* cannot be executed */
	setenv("PATH", dir, 1);
	offered[0] = '\0';
	exe_each_likely(note_likely, NULL);
	setenv("PATH", old, 1);
	assert_string_equal(offered, "python3.12 ");	/* once, although python3 is a link to it */
}

/* An executable that runs a CPython of its own: the copy of a user who appends a byte. */
static void take_copy(uint64_t number, uint32_t owner)
{
	struct learned_exe l = {
		.key = number << 1 | 1, .runs_python = true, .seen = true,
		.file = { .dev = 1, .ino = number, .size = number },
		.image = { .version = "3.12.1" },
	};

	exe_cache_take(cache, &l, owner);
}

static bool is_known(uint64_t number)
{
	const struct py_exe *exe;

	return exe_cache_find(cache, number << 1 | 1, &exe);
}

/*
 * One user's copies without end: others' executables stay known, a new one of theirs is taken, and
 * the map known_exes has never more than it has room for. Images are forgotten with them.
 */
static void test_copies_without_end(void **state)
{
	size_t i;

	take_copy(1, 0);
	take_copy(2, 1001);
	for (i = 100; i < 20100; i++) {
		take_copy(i, 1000);
		assert_true(said - forgotten <= 2 + MAX_EXES / 8);
		assert_true(is_known(i));
	}
	assert_int_equal(said, 20002);
	assert_int_equal(said - forgotten, 2 + MAX_EXES / 8);
	assert_true(is_known(1) && is_known(2) && !is_known(100));
	take_copy(3, 1001);
	assert_true(is_known(3));
	assert_in_range(discovery_images(discovery)->cnt, 3,
			3 + MAX_EXES / 8 + IDLE_IMAGES_OF_USER);
}

/* As many users: the table is full, and what was used last stays. */
static void test_many_users(void **state)
{
	uint32_t uid;

	take_copy(1, 0);
	for (uid = 1; uid < 3 * MAX_EXES; uid++) {
		take_copy(100 + uid, uid);
		assert_true(is_known(1));
		assert_true(said - forgotten <= MAX_EXES);
	}
	assert_int_equal(said - forgotten, MAX_EXES);
	assert_in_range(discovery_images(discovery)->cnt, MAX_EXES, MAX_EXES + IDLE_IMAGES_MAX);
}

/* Executables without Python are bounded, too; mallinfo2() says by how much memory. */
static void test_other_programs(void **state)
{
	size_t before = mallinfo2().uordblks, i;

	for (i = 1; i <= 300000; i++)
		exe_cache_take(cache, &(struct learned_exe){ .key = i, .itself.ino = i,
							     .other = true },
			       1000 + i % 100);
	assert_in_range(mallinfo2().uordblks - before, 0, 4 << 20);
	assert_int_equal(said + forgotten, 0);
	assert_int_equal(others, MAX_OTHER_EXES);
	for (i = 1; i <= 3 * MAX_OTHER_EXES; i++)
		exe_cache_take(cache, &(struct learned_exe){ .key = i, .itself.ino = 1ull << 32 | i,
							     .other = true }, 7);
	assert_int_equal(others, MAX_OTHER_EXES);
	assert_true(exe_cache_is_other(cache, &(struct exe_file){ .ino = 300000 }));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: an inspector has no parser of the process that starts it. */
		TEST(test_processes),
		TEST(test_not_the_file_of_the_exec),
		TEST(test_a_python),
		TEST(test_others),
		TEST(test_keys),
		TEST(test_keys_of_other_files),
		TEST(test_keys_of_changed_files),
		TEST(test_what_became_python),
		TEST(test_the_library_of_an_executable),
		TEST(test_likely_names),
		TEST(test_copies_without_end),
		TEST(test_many_users),
		TEST(test_other_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
