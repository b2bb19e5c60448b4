// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_spool_dir.c - the spool's directory: order, bounds, what is found at a start, whose it may
 * be, and kill -9 at each system call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "delivery/spool_dir.h"
#include "base/util.h"

static char top[] = "/tmp/tachbpf-spool-XXXXXX";
static char dir[64];
static const struct spool_limits defaults;

static const struct request_info info = {
	.exporter = "grafana", .content_type = "application/x-protobuf", .encoding = "gzip",
	.path = REQUEST_PYROSCOPE, .created_ns = 7, .begin_ns = 1, .end_ns = 2,
	.samples = 3, .weight = 30,
};

static void remove_all(const char *path)
{
	char name[512];
	struct dirent *e;
	DIR *d = opendir(path);

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
			unlink(name);
		}
	if (d)
		closedir(d);
	rmdir(path);
}

static int group_setup(void **state)
{
	log_set_level(LOG_QUIET);
	if (!mkdtemp(top))
		return -1;
	snprintf(dir, sizeof(dir), "%s/spool", top);
	return 0;
}

static int group_teardown(void **state)
{
	return rmdir(top);
}

static int teardown(void **state)
{
	remove_all(dir);
	return 0;
}

static struct spool_dir *open_ok(const struct spool_limits *limits)
{
	struct spool_dir *s = NULL;

	assert_int_equal(spool_dir_open(&s, dir, limits, NULL, NULL), 0);
	return s;
}

/* Payload number n: its size and bytes follow from n. */
static size_t payload_of(uint64_t n, uint8_t *out)
{
	size_t len = 1 + hash_u64(n) % 9000, i;

	for (i = 0; i < len; i++)
		out[i] = (uint8_t)(n + i * 7);
	return len;
}

static int put(struct spool_dir *s, uint64_t n)
{
	struct request_info its = info;
	uint8_t payload[9001];
	size_t len = payload_of(n, payload);
	struct spool_entry *e;

	its.begin_ns = n;
	return spool_dir_put(s, spool_dir_take_seq(s), &its, payload, len, &e);
}

/* Check all of an entry; returns its number. */
static uint64_t check(struct spool_dir *s, const struct spool_entry *e)
{
	uint8_t payload[9001], got[9001];
	struct request_info its;
	int fd = spool_dir_get(s, e, &its);
	size_t len;

	assert_true(fd >= 0);
	len = payload_of(its.begin_ns, payload);
	assert_int_equal(e->payload_bytes, len);
	assert_int_equal(pread(fd, got, sizeof(got), e->head_bytes), len);
	assert_memory_equal(got, payload, len);
	assert_string_equal(its.exporter, "grafana");
	assert_string_equal(its.encoding, "gzip");
	assert_int_equal(its.weight, 30);
	assert_int_equal(e->samples, 3);
	assert_int_equal(write(fd, "x", 1), -1);
	close(fd);
	return its.begin_ns;
}

static void test_order_outlives_restarts(void **state)
{
	struct spool_dir *s = open_ok(&defaults);
	struct spool_entry *e;
	uint64_t n = 0;

	for (; n < 20; n++) {
		assert_int_equal(put(s, n), 0);
		if (n % 5 == 4) {
			spool_dir_close(s);
			s = open_ok(&defaults);
		}
	}
	assert_int_equal(spool_dir_cnt(s), 20);
	for (n = 0; (e = spool_dir_oldest(s)); n++) {
		assert_int_equal(check(s, e), n);
		assert_string_equal(spool_dir_exporter(s, e), "grafana");
		spool_dir_remove(s, e);
	}
	assert_int_equal(n, 20);
	assert_int_equal(spool_dir_bytes(s), 0);
	spool_dir_close(s);
}

static void test_a_number_that_was_taken_keeps_its_place(void **state)
{
	struct spool_dir *s = open_ok(&defaults);
	uint64_t seq = spool_dir_take_seq(s);
	struct request_info its = info;
	struct spool_entry *e;

	put(s, 1);
	its.created_ns = UINT64_MAX;	/* no clock says the order */
	assert_int_equal(spool_dir_put(s, seq, &its, "x", 1, &e), 0);
	assert_ptr_equal(spool_dir_oldest(s), e);
	spool_dir_close(s);
	s = open_ok(&defaults);
	assert_int_equal(spool_dir_oldest(s)->seq, seq);
	spool_dir_close(s);
}

static void count_gone(void *ctx, const struct spool_entry *e)
{
	*(uint64_t *)ctx += e->samples;
}

static void test_bounds(void **state)
{
	struct spool_dir *s;
	struct spool_limits few = { .entries = 5 }, small = { .bytes = 40960 };
	uint64_t gone = 0, n;

	assert_int_equal(spool_dir_open(&s, dir, &few, count_gone, &gone), 0);
	for (n = 0; n < 4; n++)
		put(s, n);
	spool_dir_oldest(s)->busy = true;	/* 0 is being sent: 1 goes */
	for (; n < 7; n++)
		assert_int_equal(put(s, n), 0);
	assert_int_equal(spool_dir_cnt(s), 5);
	assert_int_equal(gone, 6);
	assert_int_equal(check(s, spool_dir_oldest(s)), 0);
	assert_int_equal(check(s, TAILQ_NEXT(spool_dir_oldest(s), link)), 3);
	for (spool_dir_set_limits(s, &small); n < 100; n++) {
		assert_int_equal(put(s, n), 0);
		assert_true(spool_dir_bytes(s) <= 40960);
	}
	assert_int_equal(gone, 3 * (100 - spool_dir_cnt(s)));
	small.bytes = 4096;
	spool_dir_oldest(s)->busy = false;
	spool_dir_set_limits(s, &small);
	assert_true(spool_dir_cnt(s) <= 1);
	small.bytes = 1;
	spool_dir_set_limits(s, &small);
	assert_int_equal(spool_dir_cnt(s), 0);
	assert_int_equal(put(s, n), -EFBIG);
	spool_dir_close(s);
}

static void write_file(const char *name, const void *data, size_t len)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

static bool exists(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

static void test_what_is_found_at_a_start(void **state)
{
	struct spool_dir *s = open_ok(&defaults);
	uint8_t head[SPOOL_HEAD_MAX];
	size_t len;

	put(s, 1);
	spool_dir_close(s);
	assert_int_equal(spool_entry_head(head, &len, &info, "abc", 3), 0);
	memcpy(head + len, "abc", 3);
	write_file("0000000000000101.spool", head, len + 3);	/* whole */
	write_file("0000000000000102.spool", head, len + 2);	/* cut */
	write_file("0000000000000103.spool", head, len + 4);	/* too long */
	write_file("0000000000000104.spool", head, 5);
	write_file("0000000000000105.spool", "", 0);
	head[20]++;
	write_file("0000000000000106.spool", head, len + 3);	/* damaged */
	head[20]--;
	head[8]++;
	write_file("0000000000000107.spool", head, len + 3);	/* another version */
	write_file("0000000000000108.tmp", head, len);
	write_file("README", "x", 1);
	write_file("ffffffffffffffff.spool", "x", 1);		/* no number of ours */
	s = open_ok(&defaults);
	assert_int_equal(spool_dir_counts(s)->found, 2);
	assert_int_equal(spool_dir_counts(s)->damaged, 5);
	assert_int_equal(spool_dir_counts(s)->other_version, 1);
	assert_int_equal(spool_dir_counts(s)->leftovers, 1);
	assert_true(exists("README") && exists("ffffffffffffffff.spool"));
	assert_false(exists("0000000000000106.spool") || exists("0000000000000108.tmp"));
	assert_int_equal(spool_dir_take_seq(s), 0x108);
	spool_dir_close(s);
}

static void test_whose_it_may_be(void **state)
{
	struct spool_dir *s = open_ok(&defaults), *other;
	char link[80];

	assert_int_equal(spool_dir_open(&other, dir, &defaults, NULL, NULL), -EBUSY);
	spool_dir_close(s);
	assert_int_equal(chmod(dir, 0750), 0);
	assert_int_equal(spool_dir_open(&s, dir, &defaults, NULL, NULL), -EPERM);
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(chmod(top, 0777), 0);
	assert_int_equal(spool_dir_open(&s, dir, &defaults, NULL, NULL), -EPERM);
	assert_int_equal(chmod(top, 0700), 0);
	snprintf(link, sizeof(link), "%s/link", top);
	assert_int_equal(symlink(dir, link), 0);
	assert_true(spool_dir_open(&s, link, &defaults, NULL, NULL) < 0);
	unlink(link);
	if (!geteuid()) {
		assert_int_equal(chown(dir, 65534, 65534), 0);
		assert_int_equal(spool_dir_open(&s, dir, &defaults, NULL, NULL), -EPERM);
		assert_int_equal(chown(dir, 0, 0), 0);
	}
	assert_true(spool_dir_open(&s, "/proc/self/nothing/spool", &defaults, NULL, NULL) < 0);
	assert_true(spool_dir_open(&s, "", &defaults, NULL, NULL) < 0);
	s = open_ok(&defaults);
	spool_dir_close(s);
}

#define PUTS 6
#define REMOVED 2
#define DONE_FD 9

/* Put entries and remove the oldest; each that is done is a byte in a pipe. */
static void child(void)
{
	struct spool_dir *s;
	uint64_t n;

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	if (spool_dir_open(&s, dir, &defaults, NULL, NULL))
		_exit(1);
	for (n = 0; n < PUTS; n++)
		if (put(s, n) || write(DONE_FD, "p", 1) != 1)
			_exit(1);
	for (n = 0; n < REMOVED; n++) {
		if (write(DONE_FD, "r", 1) != 1)
			_exit(1);
		spool_dir_remove(s, spool_dir_oldest(s));
	}
	_exit(0);
}

/* What a start finds after the child has done so much: whole entries, in order, and no others. */
static void check_after(size_t puts, size_t removals)
{
	struct spool_dir *s = open_ok(&defaults);
	const struct spool_counts *c = spool_dir_counts(s);
	struct spool_entry *e = spool_dir_oldest(s);
	uint64_t first = e ? check(s, e) : 0, n = first;

	assert_int_equal(c->damaged + c->other_version, 0);
	assert_true(c->leftovers <= 1);
	for (; e; e = TAILQ_NEXT(e, link))
		assert_int_equal(check(s, e), n++);
	/* The last step may be done and not reported, or reported and not done. */
	assert_true(n == puts || n == puts + 1);
	assert_true(first <= removals && first + 1 >= removals);
	spool_dir_close(s);
}

/* Kill the child before its system call number `at`. false: it has ended before. */
static bool kill_at(unsigned int at)
{
	size_t puts = 0, removals = 0;
	int pipefd[2], status;
	unsigned int stops = 0;
	pid_t pid;
	char c;

	assert_int_equal(pipe(pipefd), 0);
	pid = fork();
	if (!pid) {
		dup2(pipefd[1], DONE_FD);
		child();
	}
	close(pipefd[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL);
	while (WIFSTOPPED(status) && stops++ < at) {
		ptrace(PTRACE_SYSCALL, pid, 0, 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	if (WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	while (read(pipefd[0], &c, 1) == 1) {
		puts += c == 'p';
		removals += c == 'r';
	}
	close(pipefd[0]);
	if (exists("lock") || puts)
		check_after(puts, removals);
	remove_all(dir);
	assert_true(WIFSIGNALED(status) || !WEXITSTATUS(status));
	return WIFSIGNALED(status);
}

static void test_kill_at_each_system_call(void **state)
{
	unsigned int at = 1;

	while (kill_at(at))
		at++;
	assert_true(at > 2 * PUTS * 6);		/* open, write, write, close, rename, the pipe */
	print_message("killed at %u stops\n", at - 1);
}

static void test_headers(void **state)
{
	struct request_info got, bad = info;
	struct spool_sizes sizes;
	uint8_t head[SPOOL_HEAD_MAX];
	size_t len, i;

	assert_int_equal(spool_entry_head(head, &len, &info, "abc", 3), 0);
	assert_int_equal(spool_entry_parse(head, len, &got, &sizes), 0);
	assert_memory_equal(&got, &info, sizeof(info));
	for (i = 0; i < len; i++) {
		assert_int_equal(spool_entry_parse(head, i, &got, &sizes), -EBADMSG);
		head[i] ^= 0x40;
		assert_true(spool_entry_parse(head, len, &got, &sizes) < 0);
		head[i] ^= 0x40;
	}
	strcpy(bad.encoding, "a b");
	assert_int_equal(spool_entry_head(head, &len, &bad, "", 0), -EINVAL);
	strcpy(bad.encoding, "a\r\nb");
	assert_int_equal(spool_entry_head(head, &len, &bad, "", 0), -EINVAL);
	bad.encoding[0] = '\0';
	bad.exporter[0] = '\0';
	assert_int_equal(spool_entry_head(head, &len, &bad, "", 0), -EINVAL);
	bad = info;
	bad.path = REQUEST_PATHS;
	assert_int_equal(spool_entry_head(head, &len, &bad, "", 0), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_order_outlives_restarts, teardown),
		cmocka_unit_test_teardown(test_a_number_that_was_taken_keeps_its_place, teardown),
		cmocka_unit_test_teardown(test_bounds, teardown),
		cmocka_unit_test_teardown(test_what_is_found_at_a_start, teardown),
		cmocka_unit_test_teardown(test_whose_it_may_be, teardown),
		cmocka_unit_test_teardown(test_kill_at_each_system_call, teardown),
		cmocka_unit_test(test_headers),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
