// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* metrics_listen.c - see metrics_listen.h. */
#include "agent/metrics_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"

#define BACKLOG 128

union place {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse(const char *text, union place *at)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t len = colon ? (size_t)(colon - text) : 0;
	uint64_t port;

	if (!colon || len >= sizeof(host) || !parse_decimal(colon + 1, strlen(colon + 1), &port) ||
	    port > UINT16_MAX)
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	*at = (union place){ .v6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any } };
	at->v6.sin6_port = htons((uint16_t)port);
	if (!len)
		return true;
	if (*host == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		return inet_pton(AF_INET6, host + 1, &at->v6.sin6_addr) == 1;
	}
	*at = (union place){ .v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) } };
	return inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1",
			 &at->v4.sin_addr) == 1;
}

static int open_socket(const union place *at)
{
	const int on = 1, both = 0;
	bool v6 = at->any.sa_family == AF_INET6;
	int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof(both));
	if (!bind(fd, &at->any, v6 ? sizeof(at->v6) : sizeof(at->v4)) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int metrics_listen(const char *address)
{
	union place at;
	uint16_t port;
	int fd;

	if (!parse(address, &at))
		return -EINVAL;
	fd = open_socket(&at);
	if (*address != ':' || (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL))
		return fd;
	port = at.v6.sin6_port;		/* a kernel without IPv6 */
	at = (union place){ .v4 = { .sin_family = AF_INET, .sin_port = port } };
	return open_socket(&at);
}

uint16_t metrics_listen_port(int fd)
{
	union place at = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t len = sizeof(at);

	if (getsockname(fd, &at.any, &len))
		return 0;
	return ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
}
