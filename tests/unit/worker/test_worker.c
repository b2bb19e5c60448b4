// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_worker.c - functions in another process: their answers, their end, what they may not do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "worker/worker.h"
#include "worker/worker_start.h"

#define WAIT_MS 20000
#define SOON_MS 20

struct shared {
	int64_t number;
	char text[256];
};

enum function { TWICE, STATUS, SIZE_OF_FILE, STOP, EXEC, SOCKET, FILL_MEMORY, GIVE, FLOOD };

static int twice(void *shared, const int *fds)
{
	struct shared *s = shared;

	s->number *= 2;
	return s->number < 0 ? -ERANGE : 0;
}

/* "CapEff", "NoNewPrivs" and "Seccomp" of the worker. */
static int status(void *shared, const int *fds)
{
	struct shared *s = shared;
	char line[256];
	size_t len = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "CapEff:", 7) || !strncmp(line, "NoNewPrivs:", 11) ||
		    !strncmp(line, "Seccomp:", 8))
			len += (size_t)snprintf(s->text + len, sizeof(s->text) - len, "%.60s",
						line);
	return f && !fclose(f) ? 0 : -EIO;
}

static int size_of_file(void *shared, const int *fds)
{
	struct shared *s = shared;
	struct stat st;

	if (fds[1] != -1 || fstat(fds[0], &st))
		return -EBADF;
	s->number = st.st_size;
	return 0;
}

static int stop(void *shared, const int *fds)
{
	return raise(SIGSTOP);
}

static int try_exec(void *shared, const int *fds)
{
	char *argv[] = { "true", NULL };

	return execv("/bin/true", argv);
}

static int try_socket(void *shared, const int *fds)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int fill_memory(void *shared, const int *fds)
{
	return mmap(NULL, 64u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		       MAP_FAILED ? -errno : 0;
}

/* What a worker would do that others have taken over. Its socket is descriptor 3. */
static int give_descriptors(void *shared, const int *fds)
{
	struct worker_answer none = { .call = 0 };
	const int gift[] = { 0, 1 };

	return worker_send(3, &none, sizeof(none), gift, 2);
}

static int flood(void *shared, const int *fds)
{
	struct worker_answer none = { .call = 0 };

	while (!worker_send(3, &none, sizeof(none), NULL, 0))
		;
	return 0;
}

static const worker_fn functions[] = {
	[GIVE] = give_descriptors, [FLOOD] = flood,
	[TWICE] = twice, [STATUS] = status, [SIZE_OF_FILE] = size_of_file, [STOP] = stop,
	[EXEC] = try_exec, [SOCKET] = try_socket, [FILL_MEMORY] = fill_memory,
};
static const char *const calls[] = { "openat", "read", "fstat", "newfstatat", NULL };
static const struct jail jail = { .calls = calls, .memory_bytes = 64u << 20 };
static const struct worker_kind kind = {
	.name = "test-worker", .jail = &jail, .functions = functions,
	.function_cnt = ARRAY_SIZE(functions), .shared_bytes = sizeof(struct shared),
};
static const struct worker_kind *const kinds[] = { &kind };

static struct worker worker = { .kind = &kind };

static struct shared *ready(void)
{
	assert_int_equal(worker_ready(&worker, 1), 0);
	return worker.shared;
}

static int64_t twice_of(int64_t n)
{
	struct shared *s = ready();

	s->number = n;
	assert_int_equal(worker_call(&worker, TWICE, NULL, WAIT_MS), 0);
	return s->number;
}

static int with_keeper(void **state)
{
	return keeper_start(kinds, ARRAY_SIZE(kinds));
}

static int end(void **state)
{
	worker_end(&worker);
	keeper_end();
	return 0;
}

static void test_answers(void **state)
{
	pid_t pid;
	int i;

	assert_int_equal(twice_of(21), 42);
	pid = worker.pid;
	for (i = 0; i < 100; i++)
		assert_int_equal(twice_of(i), 2 * i);
	assert_int_equal(worker.pid, pid);
	ready()->number = -1;
	assert_int_equal(worker_call(&worker, TWICE, NULL, WAIT_MS), -ERANGE);
	assert_int_equal(worker_call(&worker, 99, NULL, WAIT_MS), -ENOSYS);
}

static void test_takes_descriptors(void **state)
{
	int fds[] = { memfd_create("test", MFD_CLOEXEC), -1 };

	assert_int_equal(ftruncate(fds[0], 12345), 0);
	ready();
	assert_int_equal(worker_call(&worker, SIZE_OF_FILE, fds, WAIT_MS), 0);
	assert_int_equal(ready()->number, 12345);
	assert_int_equal(worker_call(&worker, SIZE_OF_FILE, NULL, WAIT_MS), -EBADF);
	close(fds[0]);
}

static int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return fd;
}

static void test_gifts_are_not_taken(void **state)
{
	int before;

	ready();
	before = next_descriptor();
	assert_int_equal(worker_call(&worker, GIVE, NULL, WAIT_MS), 0);
	assert_int_equal(next_descriptor(), before);
}

/* Answers to nothing do not keep us for ever. */
static void test_a_flood_of_answers_ends(void **state)
{
	int err;

	ready();
	err = worker_call(&worker, FLOOD, NULL, SOON_MS);
	assert_true(err == -EPIPE || err == -ETIMEDOUT);	/* whoever is faster */
	if (err == -ETIMEDOUT)
		worker_give_up(&worker, 0, false);
	assert_int_equal(twice_of(4), 8);
}

/* Who blocks workers about no process blocks no others. */
static void test_about_none(void **state)
{
	assert_int_equal(worker_ready(&worker, 0), 0);
	assert_int_equal(worker_call(&worker, STOP, NULL, SOON_MS), -ETIMEDOUT);
	worker_give_up(&worker, 0, true);
	assert_int_equal(worker_ready(&worker, 0), 0);
	assert_int_equal(twice_of(4), 8);
}

static void test_has_no_rights(void **state)
{
	ready();
	assert_int_equal(worker_call(&worker, STATUS, NULL, WAIT_MS), 0);
	assert_non_null(strstr(ready()->text, "CapEff:\t0000000000000000\n"));
	assert_non_null(strstr(ready()->text, "NoNewPrivs:\t1\n"));
#if !defined(__SANITIZE_ADDRESS__)
	assert_non_null(strstr(ready()->text, "Seccomp:\t2\n"));
	assert_int_equal(worker_call(&worker, FILL_MEMORY, NULL, WAIT_MS), -ENOMEM);
#endif
}

#if !defined(__SANITIZE_ADDRESS__)
/* Another one takes its place. */
static void dies_of(enum function f)
{
	ready();
	assert_int_equal(worker_call(&worker, f, NULL, WAIT_MS), -EPIPE);
	assert_int_equal(worker.pid, 0);
	assert_int_equal(twice_of(4), 8);
}
#endif

static void test_dies_of_what_it_may_not_do(void **state)
{
#if defined(__SANITIZE_ADDRESS__)
	skip();		/* the filter is off */
#else
	dies_of(EXEC);
	dies_of(SOCKET);
#endif
}

#if !defined(__SANITIZE_ADDRESS__)
static int try_getcwd(void *shared, const int *fds)
{
	char path[64];

	return getcwd(path, sizeof(path)) ? 0 : -errno;
}
#endif

/* What its libraries may try fails, and the worker goes on. */
static void test_what_is_refused(void **state)
{
#if defined(__SANITIZE_ADDRESS__)
	skip();		/* the filter is off */
#else
	static const char *const refused[] = { "getcwd", NULL };
	static const struct jail its_jail = { .calls = calls, .refused = refused };
	static const worker_fn its_functions[] = { try_getcwd, try_socket };
	static const struct worker_kind its_kind = {
		.name = "test-refused", .jail = &its_jail, .functions = its_functions,
		.function_cnt = 2, .shared_bytes = 4096,
	};
	struct worker w = { .kind = &its_kind };

	assert_int_equal(worker_ready(&w, 0), 0);
	assert_int_equal(worker_call(&w, 0, NULL, WAIT_MS), -EACCES);
	assert_int_equal(worker_call(&w, 0, NULL, WAIT_MS), -EACCES);
	assert_int_equal(worker_call(&w, 1, NULL, WAIT_MS), -EPIPE);
	worker_end(&w);
	free(w.stuck);
#endif
}

static void test_that_is_killed_is_replaced(void **state)
{
	uint64_t before = worker_lost_cnt();

	ready();
	kill(worker.pid, SIGKILL);
	assert_int_equal(worker_call(&worker, TWICE, NULL, WAIT_MS), -EPIPE);
	assert_int_equal(worker_lost_cnt(), before + 1);
	assert_int_equal(twice_of(4), 8);
	worker_end(&worker);		/* as wanted */
	assert_int_equal(worker_lost_cnt(), before + 1);
	assert_int_equal(keeper_check(), 0);
}

/* Its workers end with it, no other can be started, and that is known. */
static void test_the_keeper_is_killed(void **state)
{
	uint64_t before = worker_lost_cnt();
	struct pollfd p;

	ready();
	assert_int_equal(keeper_check(), 0);
	p = (struct pollfd){ .fd = worker.pidfd, .events = POLLIN };
	kill(keeper_pid(), SIGKILL);
	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_int_equal(keeper_check(), -ECHILD);
	assert_int_equal(worker_call(&worker, TWICE, NULL, WAIT_MS), -EPIPE);
	assert_int_equal(worker_lost_cnt(), before);
	assert_true(worker_ready(&worker, 1) < 0);
	keeper_end();
	assert_int_equal(keeper_check(), 0);
	assert_int_equal(twice_of(4), 8);	/* without one */
}

/* It is given up, and who blocked it is not asked about for a while; the others are. */
static void test_that_does_not_answer_is_given_up(void **state)
{
	uint64_t blamed;
	pid_t before;

	before = ready() ? worker.pid : 0;
	assert_int_equal(worker_call(&worker, STOP, NULL, SOON_MS), -ETIMEDOUT);
	while (worker_is_runnable(&worker))	/* it has yet to get a CPU to stop on */
		usleep(1000);
	blamed = now_ns();
	worker_give_up(&worker, 7, true);
	assert_int_equal(twice_of(4), 8);
	assert_int_not_equal(worker.pid, before);
	while (worker_ready(&worker, 7))	/* SIGKILL ends what is stopped */
		usleep(1000);
	assert_true(now_ns() - blamed >= 1000000000ull);
}

/* What one process has started, another one can call; only its owner ends it. */
static void test_a_workers_worker(void **state)
{
	struct worker user = { .kind = &kind };
	int fds[WORKER_FDS_MAX];
	pid_t pid;

	ready();
	pid = worker.pid;
	worker_descriptors(&worker, fds);
	assert_int_equal(worker_adopt(&user, fds, pid), 0);
	((struct shared *)user.shared)->number = 21;
	assert_int_equal(worker_call(&user, TWICE, NULL, WAIT_MS), 0);
	assert_int_equal(((struct shared *)user.shared)->number, 42);
	worker_end(&user);
	assert_int_equal(twice_of(4), 8);
	assert_int_equal(worker.pid, pid);
	/* It ends, and its user sees that. */
	assert_int_equal(worker_adopt(&user, fds, pid), 0);
	worker_give_up(&worker, 0, true);
	assert_int_equal(worker_call(&user, TWICE, NULL, WAIT_MS), -EPIPE);
	assert_int_equal(user.pid, 0);
	fds[1] = -1;
	assert_int_equal(worker_adopt(&user, fds, pid), -EBADF);
	assert_int_equal(user.pid, 0);
}

/* An answer that comes late belongs to its call. */
static void test_late_answer(void **state)
{
	ready()->number = 3;
	kill(worker.pid, SIGSTOP);
	assert_int_equal(worker_call(&worker, TWICE, NULL, SOON_MS), -ETIMEDOUT);
	kill(worker.pid, SIGCONT);
	assert_int_equal(worker_wait(&worker, WAIT_MS), 0);
	assert_int_equal(ready()->number, 6);
	kill(worker.pid, SIGSTOP);
	assert_int_equal(worker_call(&worker, 99, NULL, SOON_MS), -ETIMEDOUT);
	kill(worker.pid, SIGCONT);
	assert_int_equal(twice_of(4), 8);
}

static void test_the_keeper_has_no_rights(void **state)
{
	char path[64], text[4096] = "";
	ssize_t n;
	int fd;

	ready();
	snprintf(path, sizeof(path), "/proc/%d/status", keeper_pid());
	fd = open(path, O_RDONLY);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n > 0);
	assert_non_null(strstr(text, "CapEff:\t0000000000000000\n"));
	assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
	assert_non_null(strstr(text, "Name:\ttachbpf-keeper\n"));
}

/* Workers end with the keeper. */
static void test_the_keepers_end(void **state)
{
	ready();
	keeper_end();
	while (!worker_call(&worker, TWICE, NULL, WAIT_MS))
		usleep(1000);
	assert_int_equal(worker.pid, 0);
	assert_int_equal(twice_of(4), 8);	/* without a keeper it is our own child */
}

int main(void)
{
#define BOTH(test)                                                                                 \
	cmocka_unit_test_teardown(test, end),                                                      \
	cmocka_unit_test_setup_teardown(test, with_keeper, end)
	const struct CMUnitTest tests[] = {
		BOTH(test_answers),
		BOTH(test_takes_descriptors),
		BOTH(test_gifts_are_not_taken),
		BOTH(test_a_flood_of_answers_ends),
		BOTH(test_about_none),
		BOTH(test_has_no_rights),
		BOTH(test_dies_of_what_it_may_not_do),
		BOTH(test_that_is_killed_is_replaced),
		BOTH(test_that_does_not_answer_is_given_up),
		BOTH(test_a_workers_worker),
		BOTH(test_late_answer),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test_setup_teardown(test_the_keeper_has_no_rights, with_keeper, end),
		cmocka_unit_test_setup_teardown(test_the_keepers_end, with_keeper, end),
		cmocka_unit_test_setup_teardown(test_the_keeper_is_killed, with_keeper, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
