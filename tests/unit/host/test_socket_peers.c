// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_socket_peers.c - what this process' own sockets are connected to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/proc.h"
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

static uint64_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static uint16_t own_port(int fd)
{
	union address a;
	socklen_t len = sizeof(a);

	assert_int_equal(getsockname(fd, &a.any, &len), 0);
	return ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
}

static void check_ends(int family, bool mapped, const char *address)
{
	struct socket_peers *p = socket_peers_new(getpid());
	char made[64], client[64];
	uint64_t made_inode;
	struct ends e;

	assert_non_null(p);
	if (!open_ends(&e, family, mapped)) {
		socket_peers_free(p);
		print_message("no %s here\n", address);
		skip();
	}
	made_inode = inode_of(e.connected);
	snprintf(made, sizeof(made), "%s:%u", address, e.port);
	snprintf(client, sizeof(client), "%s:%u", address, own_port(e.connected));
	assert_string_equal(socket_peers_find(p, made_inode, false, STEP), made);
	assert_string_equal(socket_peers_find(p, made_inode, true, STEP), made);
	assert_string_equal(socket_peers_find(p, inode_of(e.accepted), false, STEP), client);
	assert_string_equal(socket_peers_find(p, inode_of(e.accepted), true, STEP), address);
	assert_string_equal(socket_peers_find(p, inode_of(e.listens), false, STEP), "");
	close_ends(&e);
	assert_string_equal(socket_peers_find(p, 1, false, UINT64_MAX), "");	/* reads */
	assert_string_equal(socket_peers_find(p, made_inode, false, UINT64_MAX), "");
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
	assert_string_equal(socket_peers_find(p, inode_of(fds[0]), false, STEP), "");
	assert_string_equal(socket_peers_find(p, inode_of(unix_fds[0]), false, 3 * STEP), "");
	assert_string_equal(socket_peers_find(p, inode_of(tcp), false, 5 * STEP), "");
	assert_string_equal(socket_peers_find(p, 0, false, 7 * STEP), "");
	close(fds[0]);
	close(fds[1]);
	close(unix_fds[0]);
	close(unix_fds[1]);
	close(tcp);
	socket_peers_free(p);
}

static void test_inode(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t inode = socket_inode(getpid(), fd);

	assert_true(!inode || inode == inode_of(fd));	/* 0: up to Linux 5.13 */
	close(fd);
	assert_int_equal(socket_inode(getpid(), fd), 0);
	assert_int_equal(socket_inode(getpid(), -1), 0);
	assert_int_equal(socket_inode(1 << 29, 0), 0);
	if (!inode)
		print_message("this kernel does not say which file a descriptor is\n");
}

/* The files are not read again at once: what is new is unknown until then. */
static void test_pause(void **state)
{
	struct socket_peers *p = socket_peers_new(getpid());
	struct ends a, b;

	if (!open_ends(&a, AF_INET, false))
		skip();
	assert_string_not_equal(socket_peers_find(p, inode_of(a.connected), false, STEP), "");
	assert_true(open_ends(&b, AF_INET, false));
	assert_string_equal(socket_peers_find(p, inode_of(b.connected), false, STEP + 1), "");
	assert_string_not_equal(socket_peers_find(p, inode_of(a.connected), false, STEP + 2), "");
	assert_string_not_equal(socket_peers_find(p, inode_of(b.connected), false, UINT64_MAX), "");
	close_ends(&a);
	close_ends(&b);
	socket_peers_free(p);
}

/* ---- texts ---- */

static char *given;	/* net/tcp */
static unsigned int readings;

static ssize_t give(pid_t tgid, const char *name, char *out, size_t size)
{
	if (strcmp(name, "net/tcp") != 0)
		return -ENOENT;
	readings++;
	return snprintf(out, size, "%s", given) < (int)size ? (ssize_t)strlen(out) :
		(ssize_t)size - 1;
}

static const struct proc_source texts = { .whole = give };

#define LINE "  %u: 0100007F:%04X 0500000A:%04X %02X 00000000:00000000 00:00000000 00000000 " \
	"    0        0 %u 1 00000000419fd23a 20 4 30 10 -1                   \n"

static void check_text(uint64_t inode, const char *peer)
{
	struct socket_peers *p = socket_peers_new(1);

	proc_set_source(&texts);
	assert_string_equal(socket_peers_find(p, inode, true, STEP), peer);
	proc_set_source(&proc_direct);
	socket_peers_free(p);
}

static void test_lines(void **state)
{
	char text[1024];

	given = text;
	snprintf(text, sizeof(text), "  sl  local_address\n" LINE LINE LINE LINE "%s", 0, 80, 0, 10,
		 70, 1, 40000, 5432, 1, 71, 2, 80, 40001, 1, 72, 3, 40002, 0, 7, 73,
		 "  4: 0100007F:9C40 0500000A:1538 01 00000000:00000000 00:00000000 00000000     0 "
		 "       0 74");
	check_text(70, "");			/* listens */
	check_text(71, "10.0.0.5:5432");
	check_text(72, "10.0.0.5");		/* accepted */
	check_text(73, "");			/* not connected */
	check_text(74, "");			/* not a whole line */
	given = "0: 1:2 3:4 5 6\n\n: : : \n\xff\n";
	check_text(1, "");
}

/* More sockets, and more bytes, than are taken; the files are read once a second. */
static void test_many(void **state)
{
	struct socket_peers *p = socket_peers_new(1);
	uint32_t i, cnt = SOCKET_PEERS_FILE_BYTES / 100;
	char *at = malloc(cnt * 200);

	assert_non_null(at);
	given = at;
	for (i = 0; i < cnt; i++)
		at += sprintf(at, LINE, i, 40000 + i % 1000, 5432, 1, 1000 + i);
	proc_set_source(&texts);
	readings = 0;
	assert_string_equal(socket_peers_find(p, 1000, true, STEP), "10.0.0.5:5432");
	assert_string_equal(socket_peers_find(p, 1000 + cnt - 1, true, STEP), "");
	assert_string_equal(socket_peers_find(p, 1000 + cnt - 2, true, STEP + 1), "");
	assert_int_equal(readings, 1);
	assert_string_equal(socket_peers_find(p, 1000 + cnt - 1, true, UINT64_MAX), "");
	assert_int_equal(readings, 2);
	proc_set_source(&proc_direct);
	free(given);
	socket_peers_free(p);
}

static void test_no_process(void **state)
{
	struct socket_peers *p = socket_peers_new(1 << 29);

	assert_string_equal(socket_peers_find(p, 1, false, STEP), "");
	socket_peers_free(p);
	socket_peers_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4), cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_ipv4_of_ipv6), cmocka_unit_test(test_no_connection),
		cmocka_unit_test(test_pause), cmocka_unit_test(test_inode),
		cmocka_unit_test(test_no_process),
		cmocka_unit_test(test_lines), cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
