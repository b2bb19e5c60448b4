// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* metrics_clients.c - see metrics_clients.h. */
#include "agent/metrics_clients.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"

/* Who reads its answer has at least this time. */
#define READS_NS NS_PER_S
#define V6_NET_BYTES 8

void metrics_clients_clear(struct metrics_clients *cs)
{
	size_t i;

	for (i = 0; i < METRICS_CONNECTIONS; i++)
		cs->all[i] = (struct metrics_client){ .fd = -1 };
}

uint64_t metrics_peer(const struct sockaddr *address)
{
	const struct sockaddr_in6 *v6 = (const void *)address;
	const struct sockaddr_in *v4 = (const void *)address;

	if (address && address->sa_family == AF_INET)
		return hash_bytes(&v4->sin_addr, sizeof(v4->sin_addr));
	if (!address || address->sa_family != AF_INET6)
		return 0;
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return hash_bytes(&v6->sin6_addr.s6_addr[12], sizeof(v4->sin_addr));
	return hash_bytes(&v6->sin6_addr, V6_NET_BYTES);
}

static bool is_open(const struct metrics_client *c)
{
	return c->fd >= 0 && !c->ended;
}

static void end_client(struct metrics_client *c)
{
	shutdown(c->fd, SHUT_RDWR);
	c->ended = true;
}

/* Returns whoever is to go, of this peer or (NULL) of all; NULL: nobody. cnt: the open ones. */
static struct metrics_client *longest(struct metrics_clients *cs, const uint64_t *peer,
				      uint64_t now, size_t *cnt)
{
	struct metrics_client *c, *silent = NULL, *reads = NULL;

	*cnt = 0;
	for (c = cs->all; c < cs->all + METRICS_CONNECTIONS; c++) {
		if (!is_open(c) || (peer && c->peer != *peer))
			continue;
		++*cnt;
		if (!c->asked && (!silent || c->since_ns < silent->since_ns))
			silent = c;
		if (c->asked && now >= c->since_ns + READS_NS &&
		    (!reads || c->since_ns < reads->since_ns))
			reads = c;
	}
	return silent ? silent : reads;
}

/* Returns true if it has ended one so that at most max are open. */
static bool end_beyond(struct metrics_clients *cs, const uint64_t *peer, size_t max, uint64_t now)
{
	size_t cnt;
	struct metrics_client *c = longest(cs, peer, now, &cnt);

	if (cnt <= max || !c)
		return false;
	end_client(c);
	return true;
}

struct metrics_client *metrics_clients_add(struct metrics_clients *cs, int fd, uint64_t peer,
					   uint64_t now)
{
	size_t i;

	end_beyond(cs, &peer, METRICS_OF_PEER - 1, now);
	for (i = 0; i < METRICS_CONNECTIONS; i++)
		if (cs->all[i].fd < 0) {
			cs->all[i] = (struct metrics_client){ .fd = fd, .since_ns = now,
							      .peer = peer };
			return &cs->all[i];
		}
	return NULL;
}

void metrics_client_asked(struct metrics_client *c)
{
	if (c)
		c->asked = true;
}

void metrics_client_gone(struct metrics_client *c)
{
	if (c)
		c->fd = -1;
}

bool metrics_clients_make_room(struct metrics_clients *cs, uint64_t now)
{
	bool any = false;

	while (end_beyond(cs, NULL, METRICS_CONNECTIONS - METRICS_SPARE, now))
		any = true;
	return any;
}

uint64_t metrics_clients_expire(struct metrics_clients *cs, uint64_t now)
{
	uint64_t next = UINT64_MAX, due;
	struct metrics_client *c;

	for (c = cs->all; c < cs->all + METRICS_CONNECTIONS; c++) {
		if (!is_open(c))
			continue;
		due = c->since_ns +
		      (c->asked ? METRICS_CONNECTION_MS : METRICS_REQUEST_MS) * NS_PER_MS;
		if (now >= due)
			end_client(c);
		else if (due < next)
			next = due;
	}
	return next;
}
