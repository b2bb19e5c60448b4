// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_metrics_jail.c - the jail of the worker that serves metrics, with functions of the test in
 * it: what it is killed for, and its rights. And what the main process does if the worker was taken
 * over, and says what it likes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/metrics_server.c"
#include "agent/metrics_wire.h"
#include "base/util.h"
#include "tests/unit/jail_tries.h"
#include "worker/worker_start.h"

/* ---- what it is killed for ---- */

static int try_open(void *shared, const int *fds)
{
	return open("/etc/passwd", O_RDONLY) >= 0 ? 0 : -errno;
}

static int try_create(void *shared, const int *fds)
{
	return open("/tmp/tachbpf-jail", O_WRONLY | O_CREAT, 0600) >= 0 ? 0 : -errno;
}

static int try_socket(void *shared, const int *fds)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 0 : -errno;
}

static int try_local_socket(void *shared, const int *fds)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : -errno;
}

static int try_connect(void *shared, const int *fds)
{
	const struct sockaddr_in to = { .sin_family = AF_INET };

	return connect(0, (const struct sockaddr *)&to, sizeof(to)) ? -errno : 0;
}

static int try_listen(void *shared, const int *fds)
{
	return listen(0, 1) ? -errno : 0;
}

static const worker_fn deadly[] = {
	nothing, try_exec, try_fork, try_open, try_create, try_unlink, try_socket,
	try_local_socket, try_connect, try_listen, try_ptrace, try_read_memory, try_kill,
};

static struct worker_kind kind;
static const struct worker_kind *const kinds[] = { &metrics_server_kind, &kind };
static struct worker w;

static int begin(void **state)
{
	kind = jail_kind(&metrics_server_kind, deadly, ARRAY_SIZE(deadly));
	w = (struct worker){ .kind = &kind };
	return 0;
}

static int begin_with_keeper(void **state)
{
	begin(state);
	return keeper_start(kinds, ARRAY_SIZE(kinds));
}

static int end(void **state)
{
	return jail_end(&w);
}

static void test_dies_of_what_it_may_not_do(void **state)
{
#if defined(__SANITIZE_ADDRESS__)
	skip();		/* the filter is off */
#else
	dies_of_each(&w, ARRAY_SIZE(deadly));
#endif
}

static void test_has_no_rights(void **state)
{
	has_no_rights(&w, 0);
}

/* ---- a worker that was taken over ---- */

/* It gets no more answers than it may ask for; then its socket is closed. */
static int asks_and_asks(void *shared, const int *fds)
{
	const struct metrics_ask a = { METRICS_ASK, METRICS_OPENMETRICS };
	struct pollfd p = { .fd = fds[0], .events = POLLIN };

	for (;;) {
		if (worker_send(fds[0], &a, sizeof(a), NULL, 0) == -EPIPE)
			_exit(0);
		poll(&p, 1, 10);
	}
}

static int says_nonsense(void *shared, const int *fds)
{
	const struct metrics_ask a = { METRICS_ASK, METRICS_TEXTS };

	worker_send(fds[0], &a, sizeof(a), NULL, 0);
	pause();
	return 0;
}

static int says_too_much(void *shared, const int *fds)
{
	const char long_one[1000] = "!ask";

	worker_send(fds[0], long_one, sizeof(long_one), NULL, 0);
	pause();
	return 0;
}

static int ends(void *shared, const int *fds)
{
	_exit(0);
}

static const worker_fn taken_over[] = { asks_and_asks, says_nonsense, says_too_much, ends };

static unsigned int rendered;

static void render(void *ctx, struct metrics_text *t)
{
	rendered++;
	metrics_family(t, "x", METRIC_GAUGE, "H.");
	metrics_count(t, NULL, 0, 1);
}

static const struct metrics_source source = { .render = render };

/* So many workers were started: those that were lost, at once or later, and the one that runs. */
static uint64_t started(const struct metrics_server *s, struct metrics_server_counts *counts)
{
	metrics_server_counts(s, counts);
	return counts->lost + (s->worker.pid > 0);
}

/* The clock is the test's: a second never passes for the worker that asks and asks. */
static void test_is_replaced(void **state)
{
	static const char *const calls[] = { "pause", "poll", "ppoll", NULL };
	static const struct jail jail = { .calls = calls };
	struct metrics_server_counts counts = { 0 };
	struct metrics_server *s;
	uint64_t now = 1000000000;
	struct pollfd p = { .events = POLLIN };
	size_t f;

	for (f = 0; f < ARRAY_SIZE(taken_over); f++) {
		kind = jail_kind(&metrics_server_kind, taken_over + f, 1);
		kind.jail = &jail;
		rendered = 0;
		assert_int_equal(metrics_server_start(&s, "127.0.0.1:0", NULL, 0), 0);
		s->worker.kind = &kind;
		p.fd = metrics_server_fd(s);
		assert_int_equal(metrics_server_next_ns(s), 0);
		metrics_server_tick(s, now, &source);
		assert_int_equal(started(s, &counts), 1);
		while (!counts.lost) {
			assert_int_equal(poll(&p, 1, WAIT_MS), 1);
			metrics_server_tick(s, now, &source);
			assert_int_equal(started(s, &counts), 1);
		}
		assert_int_equal(s->worker.pid, 0);
		assert_int_equal(rendered, f ? 0 : 1);
		assert_int_equal(counts.texts, rendered);
		/* Not at once; then another one. */
		metrics_server_tick(s, now + 1, &source);
		assert_int_equal(s->worker.pid, 0);
		metrics_server_tick(s, metrics_server_next_ns(s), &source);
		assert_int_equal(started(s, &counts), 2);
		metrics_server_end(s);
	}
}

static void test_no_server(void **state)
{
	struct metrics_server_counts counts;

	metrics_server_tick(NULL, 0, &source);
	metrics_server_counts(NULL, &counts);
	assert_int_equal(counts.texts, 0);
	assert_int_equal(metrics_server_fd(NULL), -1);
	assert_true(metrics_server_next_ns(NULL) == UINT64_MAX);
	metrics_server_end(NULL);
}

int main(void)
{
#define BOTH(test)                                                                                 \
	cmocka_unit_test_setup_teardown(test, begin, end),                                         \
	cmocka_unit_test_setup_teardown(test, begin_with_keeper, end)
	const struct CMUnitTest tests[] = {
		BOTH(test_dies_of_what_it_may_not_do),
		BOTH(test_has_no_rights),
		cmocka_unit_test(test_is_replaced),
		cmocka_unit_test(test_no_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
