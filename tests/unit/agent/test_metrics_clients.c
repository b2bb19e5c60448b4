// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_metrics_clients.c - which connections end so that others get in, by the test's clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "agent/metrics_clients.h"

/* shutdown() of it fails; that it was ended is all that counts. */
#define NO_SOCKET 1000000
#define S 1000000000ull

static struct metrics_clients cs;

static size_t open_cnt(uint64_t peer)
{
	size_t i, cnt = 0;

	for (i = 0; i < METRICS_CONNECTIONS; i++)
		cnt += cs.all[i].fd >= 0 && !cs.all[i].ended && cs.all[i].peer == peer;
	return cnt;
}

static int begin(void **state)
{
	metrics_clients_clear(&cs);
	return 0;
}

/* One address has its limit, and its own oldest silent one goes; nobody else's. */
static void test_a_peer(void **state)
{
	struct metrics_client *other = metrics_clients_add(&cs, NO_SOCKET, 7, 0), *first, *c;
	int i;

	first = metrics_clients_add(&cs, NO_SOCKET, 1, 1);
	for (i = 0; i < METRICS_OF_PEER - 1; i++)
		assert_false(metrics_clients_add(&cs, NO_SOCKET, 1, 2 + i)->ended);
	assert_false(first->ended);
	c = metrics_clients_add(&cs, NO_SOCKET, 1, 1000);
	assert_true(first->ended);
	assert_false(c->ended || other->ended);
	assert_int_equal(open_cnt(1), METRICS_OF_PEER);
}

/* Of many peers, whoever has been silent for longest goes; then who has read for longest. */
static void test_room(void **state)
{
	struct metrics_client *all[METRICS_CONNECTIONS];
	int i;

	for (i = 0; i < METRICS_CONNECTIONS; i++) {
		all[i] = metrics_clients_add(&cs, NO_SOCKET, i, i);
		assert_non_null(all[i]);
		if (i < 3)
			metrics_client_asked(all[i]);
	}
	assert_null(metrics_clients_add(&cs, NO_SOCKET, 999, 999));
	assert_true(metrics_clients_make_room(&cs, S));
	for (i = 0; i < METRICS_CONNECTIONS; i++)
		assert_int_equal(all[i]->ended, i >= 3 && i < 3 + METRICS_SPARE);
	assert_false(metrics_clients_make_room(&cs, S));
	for (i = 3; i < 3 + METRICS_SPARE; i++)
		metrics_client_gone(all[i]);
	for (i = 0; i < METRICS_CONNECTIONS; i++)
		metrics_client_asked(all[i]);
	all[3] = metrics_clients_add(&cs, NO_SOCKET, 999, S);
	metrics_client_asked(all[3]);
	assert_false(metrics_clients_make_room(&cs, S / 2));	/* each has its first second */
	assert_true(metrics_clients_make_room(&cs, 2 * S - 1));
	assert_true(all[0]->ended);
	assert_false(all[1]->ended || all[3]->ended);
}

static void test_times(void **state)
{
	struct metrics_client *silent = metrics_clients_add(&cs, NO_SOCKET, 1, S);
	struct metrics_client *reads = metrics_clients_add(&cs, NO_SOCKET, 1, S);

	metrics_client_asked(reads);
	assert_int_equal(metrics_clients_expire(&cs, S), 3 * S);
	assert_false(silent->ended);
	assert_int_equal(metrics_clients_expire(&cs, 3 * S), 11 * S);
	assert_true(silent->ended && !reads->ended);
	metrics_client_gone(silent);
	assert_true(metrics_clients_expire(&cs, 11 * S) == UINT64_MAX);
	assert_true(reads->ended);
}

static uint64_t peer_of(const char *text)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return metrics_peer((struct sockaddr *)&v4);
	assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	return metrics_peer((struct sockaddr *)&v6);
}

static void test_peers(void **state)
{
	assert_int_equal(peer_of("10.0.0.1"), peer_of("::ffff:10.0.0.1"));
	assert_int_not_equal(peer_of("10.0.0.1"), peer_of("10.0.0.2"));
	assert_int_equal(peer_of("2001:db8::1"), peer_of("2001:db8::2:3:4"));
	assert_int_not_equal(peer_of("2001:db8::1"), peer_of("2001:db8:0:1::1"));
	assert_int_equal(metrics_peer(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_peer, begin),
		cmocka_unit_test_setup(test_room, begin),
		cmocka_unit_test_setup(test_times, begin),
		cmocka_unit_test(test_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
