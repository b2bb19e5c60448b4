// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_proc.c - /proc as it is, with processes that make it hard to read. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "host/proc.h"
#include "tests/unit/tach_test.h"

/* A child that does setup(arg), says so and waits to be killed. */
static pid_t child_with(void (*setup)(void *arg), void *arg)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setup(arg);
		if (write(ready[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void kill_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void set_name(void *name)
{
	prctl(PR_SET_NAME, name);
}

static void nothing(void *arg)
{
}

static void test_stat_comm(void **state)
{
	static const char *const names[] = {
		"python3", "a b c", ")", "(", "x) R 1 1 1", ")))) S 7", "((((", "a\nb", "",
		"\xff\xfe\x01", "fifteen bytes..",
	};
	struct proc_stat st, first = { .start_ticks = 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		pid_t pid = child_with(set_name, (void *)names[i]);

		assert_int_equal(proc_stat(pid, &st), 0);
		assert_string_equal(st.comm, names[i]);
		assert_int_equal(st.ppid, getpid());
		assert_false(st.zombie);
		assert_false(st.kernel_thread);
		assert_true(st.start_ticks > 0 && st.start_ticks >= first.start_ticks);
		first = st;
		kill_child(pid);
		assert_int_equal(proc_stat(pid, &st), -ESRCH);
	}
}

/* What a process executes is known; a fork executes nothing. */
static void test_stat_program(void **state)
{
	pid_t child = child_with(nothing, NULL);
	struct proc_stat st, copy;

	assert_int_equal(proc_stat(getpid(), &st), 0);
	assert_false(st.in_exec);
	assert_true(st.program);
	assert_int_equal(proc_stat(child, &copy), 0);
	assert_int_equal(copy.program, st.program);	/* a fork executes nothing */
	kill_child(child);
	if (!proc_stat(2, &st) && st.kernel_thread)
		assert_true(st.in_exec && !st.program);	/* it has no memory */
}

static void test_stat_kinds(void **state)
{
	struct proc_stat st;
	siginfo_t info;
	pid_t pid = child_with(nothing, NULL);

	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_stat(pid, &st), 0);
	assert_true(st.zombie);
	kill_child(pid);
	/* kthreadd, unless there is a pid namespace. */
	if (!proc_stat(2, &st) && !strcmp(st.comm, "kthreadd"))
		assert_true(st.kernel_thread);
	else
		printf("SKIP: no kernel thread is to be seen\n");
	assert_int_equal(proc_stat(0x3fffffff, &st), -ESRCH);
}

/* init descends from nobody: least of all from our parent, which proc_stat(0) would find. */
static void test_descends(void **state)
{
	assert_true(proc_descends_from(getpid(), getppid()));
	assert_false(proc_descends_from(1, getppid()));
	assert_false(proc_descends_from(getppid(), getpid()));
}

static void test_cpu_lists(void **state)
{
	static const struct {
		const char *list;
		int cnt, cpus[8];
	} good[] = {
		{ "0", 1, { 0 } }, { "0\n", 1, { 0 } }, { "0-3", 4, { 0, 1, 2, 3 } },
		{ "0-1,4,6-7\n", 5, { 0, 1, 4, 6, 7 } }, { "7,3", 2, { 7, 3 } },
		{ "5-5", 1, { 5 } }, { "65535", 1, { 65535 } }, { "", 0, { 0 } },
		{ "\n", 0, { 0 } },
		/* A CPU that is named twice is one CPU. */
		{ "0,0", 1, { 0 } }, { "1-3,2-4,1", 4, { 1, 2, 3, 4 } },
	};
	static const char *const bad[] = {
		"-", "-1", "1-", "a", "0-b", "3-1", "0,,1", ",", "0;1", "0-3-5", "65536", "0 1",
		"0-65536", "99999999999999999999", "0-99999999999999999999", "0x1", "1.5",
		"--1", "0--1",
	};
	size_t i;
	int *cpus;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		cpus = (int *)1;
		assert_int_equal(proc_cpu_list(good[i].list, &cpus), good[i].cnt);
		if (good[i].cnt)
			assert_memory_equal(cpus, good[i].cpus, good[i].cnt * sizeof(int));
		free(cpus);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (proc_cpu_list(bad[i], &cpus) != -EINVAL)
			fail_msg("'%s' was taken for a list of CPUs", bad[i]);
	assert_int_equal(proc_cpu_list("0-65535", &cpus), 65536);
	assert_int_equal(cpus[65535], 65535);
	free(cpus);
	assert_true(proc_online_cpus(&cpus) >= 1);
	assert_true(cpus[0] >= 0);
	free(cpus);
}

/* ---- mappings ---- */

struct find {
	uint64_t addr;
	struct proc_map map;
	char path[512];
	int found, calls;
};

static int find_map(void *ctx, const struct proc_map *m)
{
	struct find *f = ctx;

	f->calls++;
	assert_true(m->start < m->end);
	assert_non_null(m->path);
	if (f->addr < m->start || f->addr >= m->end)
		return 0;
	f->map = *m;
	snprintf(f->path, sizeof(f->path), "%s", m->path);
	f->map.path = f->path;
	f->found++;
	return 7;
}

static void test_maps_of_self(void **state)
{
	struct find f = { .addr = (uintptr_t)test_maps_of_self };
	char exe[512] = "";
	uint64_t on_stack;

	assert_int_equal(proc_maps(getpid(), find_map, &f), 7);
	assert_int_equal(f.found, 1);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_string_equal(f.path, exe);
	assert_true(f.map.exec);
	assert_int_equal(proc_exe(getpid(), f.path, sizeof(f.path)), 0);
	assert_string_equal(f.path, exe);
	assert_int_equal(proc_exe(getpid(), f.path, strlen(exe)), -ENAMETOOLONG);
	assert_int_equal(proc_exe(0x3fffffff, f.path, sizeof(f.path)), -ENOENT);
	/* What has no file behind it is not told. */
	f = (struct find){ .addr = (uintptr_t)&on_stack };
	assert_int_equal(proc_maps(getpid(), find_map, &f), 0);
	assert_int_equal(f.found, 0);
	assert_true(f.calls > 1);
	assert_int_equal(proc_maps(0x3fffffff, find_map, &f), -ESRCH);
}

struct mapping {
	const char *path;
	void *at;
	bool unlinked;
};

static void map_file(void *arg)
{
	struct mapping *m = arg;
	int fd = open(m->path, O_RDONLY);

	if (mmap(m->at, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) != m->at)
		_exit(2);
	close(fd);
	if (m->unlinked)
		unlink(m->path);
}

#define FAR_AWAY ((void *)0x234560000000)

static void new_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Open what the child has mapped at FAR_AWAY; the file's text in buf. */
static int open_far_away(pid_t pid, char *buf, size_t size, struct find *f)
{
	ssize_t n;
	int fd;

	*f = (struct find){ .addr = (uintptr_t)FAR_AWAY };
	assert_int_equal(proc_maps(pid, find_map, f), 7);
	fd = proc_open_mapped(pid, &f->map);
	if (fd < 0)
		return fd;
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	n = read(fd, buf, size - 1);
	assert_true(n >= 0);
	buf[n] = '\0';
	close(fd);
	return 0;
}

static void test_open_mapped(void **state)
{
	char dir[] = "/tmp/tachbpf-test-XXXXXX", path[64], buf[64];
	struct mapping m = { .path = path, .at = FAR_AWAY };
	struct find f;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a file", dir);
	new_file(path, "mapped");
	pid = child_with(map_file, &m);
	assert_int_equal(open_far_away(pid, buf, sizeof(buf), &f), 0);
	assert_string_equal(buf, "mapped");
	assert_string_equal(f.path, path);
	assert_false(f.map.exec);
	kill_child(pid);

	/* Deleted, and another file in its place: the one that is mapped counts. */
	m.unlinked = true;
	pid = child_with(map_file, &m);
	new_file(path, "impostor");
	if (access("/proc/self/map_files", X_OK) || geteuid()) {
		printf("SKIP: a deleted file can only be opened by root\n");
	} else {
		assert_int_equal(open_far_away(pid, buf, sizeof(buf), &f), 0);
		assert_string_equal(buf, "mapped");
		assert_non_null(strstr(f.path, " (deleted)"));
	}
	kill_child(pid);
	unlink(path);
	rmdir(dir);
}

/* A path that names no regular file is not opened, nor does it stop us. */
static void test_open_special(void **state)
{
	char dir[] = "/tmp/tachbpf-test-XXXXXX", path[64];
	/* No such mapping, so the path has to do. */
	struct proc_map map = { .start = 0x1000, .end = 0x2000, .path = path };
	int fd;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(20);	/* an open() that waits for a writer ends the test */
	assert_int_equal(proc_open_mapped(getpid(), &map), -EINVAL);
	alarm(0);
	unlink(path);
	new_file(path, "regular");
	fd = proc_open_mapped(getpid(), &map);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_int_equal(proc_open_mapped(getpid(), &map), -ENOENT);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_int_equal(proc_open_mapped(getpid(), &map), -EINVAL);
	unlink(path);
	map.path = dir;
	assert_int_equal(proc_open_mapped(getpid(), &map), -EINVAL);
	rmdir(dir);
}

/* ---- the rest ---- */

static void test_cmdline(void **state)
{
	char small[4], line[4096], *argv[] = { "sh", "-c", "read x; :", "", "a  b", NULL };
	int in[2];
	pid_t pid;
	int i;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(in[0], 0);
		execv("/bin/sh", argv);
		_exit(1);
	}
	for (i = 0; i < 5000; i++) {
		assert_int_equal(proc_cmdline(pid, line, sizeof(line)), 0);
		if (!strncmp(line, "sh -c", 5))
			break;
		usleep(1000);
	}
	assert_string_equal(line, "sh -c read x; :  a  b");
	assert_int_equal(proc_cmdline(pid, small, sizeof(small)), 0);
	assert_string_equal(small, "sh");	/* cut, without the space at the end */
	kill_child(pid);
	close(in[0]);
	close(in[1]);
	assert_int_equal(proc_cmdline(pid, line, sizeof(line)), -ESRCH);
}

static int find_self(void *ctx, pid_t tgid)
{
	assert_true(tgid > 0);
	return tgid == getpid() ? 5 : 0;
}

static void test_each(void **state)
{
	assert_int_equal(proc_each(find_self, NULL), 5);
}

static void test_mem_read(void **state)
{
	void *self = (void *)(intptr_t)getpid();
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buf[64];

	assert_true(two != MAP_FAILED);
	memset(two, 'x', 4096);
	assert_int_equal(munmap(two + 4096, 4096), 0);
	assert_int_equal(proc_mem_read(self, (uintptr_t)two + 4096 - 64, buf, 64), 0);
	assert_int_equal(buf[63], 'x');
	/* All or nothing */
	assert_int_equal(proc_mem_read(self, (uintptr_t)two + 4096 - 63, buf, 64), -EFAULT);
	assert_int_equal(proc_mem_read(self, 0, buf, 1), -EFAULT);
	assert_int_equal(proc_mem_read((void *)(intptr_t)0x3fffffff, (uintptr_t)two, buf, 1),
			 -ESRCH);
	munmap(two, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat_comm),
		cmocka_unit_test(test_stat_program),
		cmocka_unit_test(test_stat_kinds),
		cmocka_unit_test(test_descends),
		cmocka_unit_test(test_cpu_lists),
		cmocka_unit_test(test_maps_of_self),
		cmocka_unit_test(test_open_mapped),
		cmocka_unit_test(test_open_special),
		cmocka_unit_test(test_cmdline),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_mem_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
