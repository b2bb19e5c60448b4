// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_socket_peers.c - what this process' own sockets are connected to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/socket_peers.h"

#define STEP SOCKET_PEERS_PAUSE_NS

/* A listening socket, a connection to it, and the accepted one. */
struct ends {
	int listens, connected, accepted;
	uint16_t port;
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* The loopback address of the family; mapped: the IPv4 one as an IPv6 one. */
static socklen_t loopback(union address *a, int family, bool mapped)
{
	memset(a, 0, sizeof(*a));
	a->any.sa_family = (sa_family_t)family;
	if (family == AF_INET) {
		a->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(a->v4);
	}
	if (mapped)
		assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &a->v6.sin6_addr), 1);
	else
		a->v6.sin6_addr = in6addr_loopback;
	return sizeof(a->v6);
}

/* Returns false if there is no such address here. */
static bool open_ends(struct ends *e, int family, bool mapped)
{
	union address a;
	socklen_t len = loopback(&a, family, mapped), got = sizeof(a);

	e->listens = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (e->listens < 0)
		return false;
	if (bind(e->listens, &a.any, len) || listen(e->listens, 1)) {
		close(e->listens);
		return false;
	}
	assert_int_equal(getsockname(e->listens, &a.any, &got), 0);
	e->port = ntohs(family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	e->connected = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(e->connected, &a.any, len), 0);
	e->accepted = accept(e->listens, NULL, NULL);
	assert_true(e->accepted >= 0);
	return true;
}

static void close_ends(const struct ends *e)
{
	close(e->accepted);
	close(e->connected);
	close(e->listens);
}

static void check_ends(int family, bool mapped, const char *address)
{
	struct socket_peers *p = socket_peers_new(getpid());
	char made[64], accepted[64];
	struct ends e;

	assert_non_null(p);
	if (!open_ends(&e, family, mapped)) {
		socket_peers_free(p);
		print_message("no %s here\n", address);
		skip();
	}
	snprintf(made, sizeof(made), "%s:%u", address, e.port);
	snprintf(accepted, sizeof(accepted), "of port %u", e.port);
	assert_string_equal(socket_peers_find(p, e.connected, STEP), made);
	assert_string_equal(socket_peers_find(p, e.accepted, STEP), accepted);
	assert_string_equal(socket_peers_find(p, e.listens, STEP), accepted);
	close_ends(&e);
	assert_string_equal(socket_peers_find(p, e.connected, 2 * STEP), "");
	socket_peers_free(p);
}

static void test_ipv4(void **state)
{
	check_ends(AF_INET, false, "127.0.0.1");
}

static void test_ipv6(void **state)
{
	check_ends(AF_INET6, false, "[::1]");
}

static void test_ipv4_of_ipv6(void **state)
{
	check_ends(AF_INET6, true, "127.0.0.1");
}

static void test_no_connection(void **state)
{
	struct socket_peers *p = socket_peers_new(getpid());
	int fds[2], unix_fds[2], tcp;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, unix_fds), 0);
	tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_string_equal(socket_peers_find(p, fds[0], STEP), "");
	assert_string_equal(socket_peers_find(p, unix_fds[0], 3 * STEP), "");
	assert_string_equal(socket_peers_find(p, tcp, 5 * STEP), "");
	assert_string_equal(socket_peers_find(p, -1, 7 * STEP), "");
	assert_string_equal(socket_peers_find(p, 1 << 30, 9 * STEP), "");
	close(fds[0]);
	close(fds[1]);
	close(unix_fds[0]);
	close(unix_fds[1]);
	close(tcp);
	socket_peers_free(p);
}

/* The files are not read again at once: what is new is unknown until then. */
static void test_pause(void **state)
{
	struct socket_peers *p = socket_peers_new(getpid());
	struct ends a, b;

	if (!open_ends(&a, AF_INET, false))
		skip();
	assert_string_not_equal(socket_peers_find(p, a.connected, STEP), "");
	assert_true(open_ends(&b, AF_INET, false));
	assert_string_equal(socket_peers_find(p, b.connected, STEP + 1), "");
	assert_string_not_equal(socket_peers_find(p, a.connected, STEP + 2), "");
	assert_string_not_equal(socket_peers_find(p, b.connected, UINT64_MAX), "");
	close_ends(&a);
	close_ends(&b);
	socket_peers_free(p);
}

static void test_no_process(void **state)
{
	struct socket_peers *p = socket_peers_new(1 << 29);

	assert_string_equal(socket_peers_find(p, 0, STEP), "");
	socket_peers_free(p);
	socket_peers_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4), cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_ipv4_of_ipv6), cmocka_unit_test(test_no_connection),
		cmocka_unit_test(test_pause), cmocka_unit_test(test_no_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
