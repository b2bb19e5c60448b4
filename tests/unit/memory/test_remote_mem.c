// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_remote_mem.c - memory of another process, also of one that does not give it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "memory/reader.h"
#include "memory/remote_mem.h"

static char text[] = "what the other process has";

static void *as_ctx(pid_t tgid)
{
	return (void *)(intptr_t)tgid;
}

static pid_t start_other(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void end_other(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A busy machine may leave no time for it. */
static int read_patiently(pid_t pid, const void *at, void *buf, size_t len)
{
	int err, i;

	for (i = 0; i < 1000; i++) {
		err = remote_mem_read(as_ctx(pid), (uintptr_t)at, buf, len);
		if (err != -EBUSY)
			return err;
		usleep(10000);
	}
	return err;
}

static void test_reads(void **state)
{
	pid_t pid = start_other();
	char buf[sizeof(text)];
	int err, i;

	err = read_patiently(pid, text, buf, sizeof(buf));
	if (err == -EPERM) {
		end_other(pid);
		skip();	/* yama: only ancestors may read */
	}
	assert_int_equal(err, 0);
	assert_string_equal(buf, text);
	for (i = 0; i < 100; i++) {
		memset(buf, 0, sizeof(buf));
		assert_int_equal(read_patiently(pid, text + i % 20, buf, 4), 0);
		assert_memory_equal(buf, text + i % 20, 4);
	}
	assert_int_equal(read_patiently(pid, (void *)8, buf, 4), -EFAULT);
	assert_int_equal(remote_mem_read(as_ctx(pid), (uintptr_t)text, buf, 1u << 30), -E2BIG);
	end_other(pid);
	assert_int_equal(read_patiently(pid, text, buf, 4), -ESRCH);
	reader_end();
}

static void test_own_memory(void **state)
{
	char buf[4];

	assert_int_equal(remote_mem_read(as_ctx(getpid()), (uintptr_t)text, buf, 4), 0);
	assert_memory_equal(buf, text, 4);
}

/* Nobody delivers this page. */
static void *unanswered(void)
{
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	reg.range.start = (uintptr_t)at;
	reg.range.len = 4096;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		return NULL;
	return at;
}

/* A process one page of which nobody delivers: *at; NULL: there is no such page here. */
static pid_t start_unanswering(void **at)
{
	int pipes[2];
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		*at = unanswered();
		if (write(pipes[1], at, sizeof(*at)) != sizeof(*at))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(pipes[0], at, sizeof(*at)), sizeof(*at));
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

/* Until an answer other than "later" comes, for three seconds. */
static int read_again(pid_t pid, const void *at, void *buf, size_t len)
{
	uint64_t end = now_ns() + 3000000000ull;
	int err;

	do {
		err = remote_mem_read(as_ctx(pid), (uintptr_t)at, buf, len);
		usleep(err ? 10000 : 0);
	} while (err == -EBUSY && now_ns() < end);
	return err;
}

static void test_no_answer(void **state)
{
	pid_t bad, good = start_other();
	char buf[sizeof(text)];
	uint64_t start;
	void *at;
	int err;

	bad = start_unanswering(&at);
	err = at ? remote_mem_read(as_ctx(bad), (uintptr_t)at, buf, 4) : -EPERM;
	if (err == -EPERM || err == -EFAULT) {
		end_other(bad);
		end_other(good);
		reader_end();
		skip();	/* userfaultfd is for root, or not there */
	}
	assert_int_equal(err, -EBUSY);
	/* It is not asked for a second, and others are read as before. */
	start = now_ns();
	assert_int_equal(remote_mem_read(as_ctx(bad), (uintptr_t)text, buf, 4), -EBUSY);
	assert_int_equal(read_patiently(good, text, buf, sizeof(buf)), 0);
	assert_string_equal(buf, text);
	/* Then it is, if the helper has come back; and twice as long, if it does that again. */
	if (read_again(bad, text, buf, 4) == 0) {
		assert_true(now_ns() - start > 800000000ull);
		assert_memory_equal(buf, text, 4);
		assert_int_equal(remote_mem_read(as_ctx(bad), (uintptr_t)at, buf, 4), -EBUSY);
		start = now_ns();
		assert_int_equal(read_again(bad, text, buf, 4), 0);
		assert_true(now_ns() - start > 1800000000ull);
	}
	end_other(bad);
	end_other(good);
	reader_end();
}

/* A helper that gets no CPU is given up, and the process, which is not to blame, asked again. */
static void test_slow_helper(void **state)
{
	pid_t pid = start_other();
	char buf[sizeof(text)];

	if (read_patiently(pid, text, buf, 4) == -EPERM) {
		end_other(pid);
		skip();
	}
	remote_mem_hurry(true);
	remote_mem_grant(1000000000);
	assert_true(reader_pid() > 0);
	kill(reader_pid(), SIGSTOP);
	assert_int_equal(remote_mem_read(as_ctx(pid), (uintptr_t)text, buf, 4), -EBUSY);
	assert_int_equal(read_again(pid, text, buf, 4), 0);
	assert_memory_equal(buf, text, 4);
	remote_mem_hurry(false);
	end_other(pid);
	reader_end();
}

/* While samples wait reads have a budget; else they have not, however many there are. */
static void test_hurry(void **state)
{
	pid_t pid = start_other();
	uint64_t start = now_ns();
	char buf[4];
	int err;

	err = read_patiently(pid, text, buf, 4);
	while (!err && now_ns() - start < 500000000)
		err = remote_mem_read(as_ctx(pid), (uintptr_t)text, buf, 4);
	if (err != -EPERM) {
		assert_int_equal(err, 0);
		remote_mem_hurry(true);
		remote_mem_grant(-1000000000);
		assert_int_equal(remote_mem_read(as_ctx(pid), (uintptr_t)text, buf, 4), -EBUSY);
		remote_mem_grant(1000000000);
		assert_int_equal(remote_mem_read(as_ctx(pid), (uintptr_t)text, buf, 4), 0);
		remote_mem_hurry(false);
	}
	end_other(pid);
	reader_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_memory),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_hurry),
		cmocka_unit_test(test_slow_helper),
		cmocka_unit_test(test_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
