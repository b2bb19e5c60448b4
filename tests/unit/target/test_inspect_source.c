// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_inspect_source.c - which files a process can make us read as its source: regular ones that
 * look like Python, below its root, which its own user may read.
 */
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "host/proc.h"
#include "target/inspect_source.h"
#include "tests/unit/tach_test.h"

#define NOBODY 65534
#define TICK_NS 10000000ull

static char top[] = "/tmp/test_inspect_source.XXXXXX";
static struct source_found found;

/* In the top directory, where the tests are. */
static void put(const char *path, mode_t mode, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int ask_for(pid_t pid, uint64_t start_ns, bool of_user, uint32_t uid, const char *path)
{
	struct source_wanted w = { .tgid = pid, .start_ns = start_ns, .of_user = of_user,
				   .uid = uid };

	snprintf(w.path, sizeof(w.path), "%s", path);
	memset(&found, 0, sizeof(found));
	return inspect_source(&w, &found);
}

/* Below our own root, as one user. */
static int as_user(uint32_t uid, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return ask_for(0, 0, true, uid, path);
}

static bool is(const char *text)
{
	return found.len == strlen(text) && !memcmp(found.text, text, found.len);
}

static uint64_t start_of(pid_t pid)
{
	struct proc_stat st;

	assert_int_equal(proc_stat(pid, &st), 0);
	return st.start_ticks * TICK_NS;
}

static void test_read(void **state)
{
	struct stat st;

	put("app.py", 0644, "x = 1\n");
	put("script", 0755, "#!/usr/bin/env python3\n");
	assert_int_equal(symlink("../../..//tmp/../", "up"), 0);
	assert_int_equal(symlink("app.py", "link.py"), 0);
	assert_int_equal(as_user(geteuid(), "app.py"), 0);
	assert_true(is("x = 1\n"));
	assert_int_equal(stat("app.py", &st), 0);
	assert_int_equal(found.mtime_ns / 1000000000, st.st_mtim.tv_sec);
	assert_int_equal(as_user(NOBODY, "./link.py"), 0);
	assert_true(is("x = 1\n"));
	assert_int_equal(as_user(NOBODY, "../.././../app.py"), -ENOENT);
	assert_int_equal(as_user(NOBODY, "script"), 0);
	assert_true(is("#!/usr/bin/env python3\n"));
	assert_int_equal(ask_for(getpid(), start_of(getpid()), false, 0, "/tmp/../etc/hostname.py"),
			 -ENOENT);
}

static void test_what_is_no_source(void **state)
{
	int fd;

	put("secret", 0644, "root:*:1:\n");
	put("part.py", 0644, "");
	assert_int_equal(mkfifo("fifo.py", 0666), 0);
	assert_int_equal(mkdir("dir.py", 0755), 0);
	assert_int_equal(symlink("/dev/zero", "device.py"), 0);
	assert_int_equal(symlink("/etc/shadow", "shadow.py"), 0);
	assert_int_equal(symlink("/proc/self/environ", "environ.py"), 0);
	assert_int_equal(symlink("loop.py", "loop.py"), 0);
	fd = open("huge.py", O_WRONLY | O_CREAT, 0644);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 1 << 30), 0);
	close(fd);
	fd = open("large.py", O_WRONLY | O_CREAT, 0644);
	assert_int_equal(ftruncate(fd, INSPECT_SOURCE_BYTES_MAX), 0);
	close(fd);
	assert_int_equal(as_user(0, "secret"), -ENOEXEC);
	assert_int_equal(as_user(0, "part.py"), -ENOEXEC);
	assert_int_equal(as_user(0, "fifo.py"), -EINVAL);
	assert_int_equal(as_user(0, "dir.py"), -EINVAL);
	assert_int_equal(as_user(0, "device.py"), -EINVAL);
	assert_int_equal(as_user(0, "loop.py"), -ELOOP);
	assert_int_equal(as_user(0, "huge.py"), -EFBIG);
	assert_int_equal(as_user(0, "large.py"), 0);
	assert_int_equal(found.len, INSPECT_SOURCE_BYTES_MAX);
	assert_int_equal(as_user(0, "app.py/x.py"), -ENOTDIR);
	assert_int_equal(ask_for(0, 0, true, 0, "app.py"), -EINVAL);
	assert_int_equal(ask_for(0, 0, true, 0, "/"), -EINVAL);
	assert_int_equal(as_user(NOBODY, "shadow.py"), -EACCES);
	if (!geteuid()) {
		assert_int_equal(as_user(0, "shadow.py"), -ENOEXEC);
		assert_int_equal(as_user(0, "environ.py"), -ENOEXEC);
	}
}

/* The user of the process decides, not us. */
static void test_of_another_user(void **state)
{
	uint32_t uid = geteuid() ? geteuid() : 1000;

	put("mine.py", 0600, "x = 2\n");
	assert_int_equal(mkdir("closed", 0700), 0);
	put("closed/open.py", 0644, "x = 3\n");
	assert_int_equal(symlink("closed/open.py", "through.py"), 0);
	put("not_owner.py", 0044, "x = 4\n");
	if (!geteuid())
		assert_false(chown("mine.py", uid, uid) || chown("closed", uid, uid) ||
			     chown("not_owner.py", uid, uid));
	assert_int_equal(as_user(uid, "mine.py"), 0);
	assert_int_equal(as_user(uid, "closed/open.py"), 0);
	assert_int_equal(as_user(uid, "through.py"), 0);
	assert_int_equal(as_user(uid, "not_owner.py"), -EACCES);
	assert_int_equal(as_user(NOBODY, "mine.py"), -EACCES);
	assert_int_equal(as_user(NOBODY, "closed/open.py"), -EACCES);
	assert_int_equal(as_user(NOBODY, "through.py"), -EACCES);
	assert_int_equal(as_user(UINT32_MAX, "mine.py"), -EACCES);
}

/* A child that waits, after prepare(). */
static pid_t child(void (*prepare)(void))
{
	int fds[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prepare();
		if (write(fds[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &c, 1), 1);
	close(fds[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void leave_root(void)
{
	if (chroot("root") || chdir("/"))
		_exit(2);
}

/* Paths and links of a process in another root never lead out of it. */
static void test_another_root(void **state)
{
	pid_t pid;
	uint64_t start;

	if (geteuid())
		skip();
	assert_int_equal(mkdir("root", 0755), 0);
	assert_int_equal(mkdir("root/tmp", 0755), 0);
	put("out.py", 0644, "x = 'host'\n");
	put("root/in.py", 0644, "x = 'root'\n");
	put("root/out.py", 0644, "x = 'also root'\n");
	assert_int_equal(symlink("/out.py", "root/absolute.py"), 0);
	assert_int_equal(symlink("../../../../out.py", "root/tmp/relative.py"), 0);
	assert_int_equal(symlink("/proc/1/root/etc", "root/magic"), 0);
	pid = child(leave_root);
	start = start_of(pid);
	assert_int_equal(ask_for(pid, start, false, 0, "/in.py"), 0);
	assert_true(is("x = 'root'\n"));
	assert_int_equal(ask_for(pid, start, false, 0, "/../../in.py"), 0);
	assert_int_equal(ask_for(pid, start, false, 0, "/absolute.py"), 0);
	assert_true(is("x = 'also root'\n"));
	assert_int_equal(ask_for(pid, start, false, 0, "/tmp/relative.py"), 0);
	assert_true(is("x = 'also root'\n"));
	assert_int_equal(ask_for(pid, start, false, 0, "/magic/passwd"), -ENOENT);
	assert_int_equal(ask_for(pid, start, true, NOBODY, "/in.py"), 0);
	/* The pid of another process. */
	assert_int_equal(ask_for(pid, start + TICK_NS, false, 0, "/in.py"), -ESRCH);
	end_child(pid);
	assert_int_equal(ask_for(pid, start, false, 0, "/in.py"), -ESRCH);
}

static void become_nobody(void)
{
	const gid_t groups[] = { 4242 };

	if (setgroups(1, groups) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		_exit(2);
}

/* The rights of a live process are those of its user and of all its groups. */
static void test_rights_of_a_process(void **state)
{
	char path[128];
	pid_t pid;
	uint64_t start;

	if (geteuid())
		skip();
	put("group.py", 0640, "x = 5\n");
	assert_int_equal(chown("group.py", 0, 4242), 0);
	put("roots.py", 0600, "x = 6\n");
	pid = child(become_nobody);
	start = start_of(pid);
	snprintf(path, sizeof(path), "%s/group.py", top);
	assert_int_equal(ask_for(pid, start, false, 0, path), 0);
	assert_true(is("x = 5\n"));
	snprintf(path, sizeof(path), "%s/roots.py", top);
	assert_int_equal(ask_for(pid, start, false, 0, path), -EACCES);
	assert_int_equal(ask_for(getpid(), start_of(getpid()), false, 0, path), 0);
	end_child(pid);
}

static int make_top(void **state)
{
	return mkdtemp(top) && !chmod(top, 0755) && !chdir(top) ? 0 : -1;
}

static int remove_top(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", top);
	return chdir("/") || system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_what_is_no_source),
		cmocka_unit_test(test_of_another_user),
		cmocka_unit_test(test_another_root),
		cmocka_unit_test(test_rights_of_a_process),
	};

	return cmocka_run_group_tests(tests, make_top, remove_top);
}
