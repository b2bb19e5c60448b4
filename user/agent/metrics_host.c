// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* metrics_host.c - see metrics_host.h. */
#include "agent/metrics_host.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* No name of DNS is longer. */
#define NAME_BYTES 256

/* Returns true if out has the header's name without the port, brackets and the last dot. */
static bool take_name(const char *host, char out[NAME_BYTES], bool *v6)
{
	size_t len;

	*v6 = *host == '[';
	host += *v6;
	len = strcspn(host, *v6 ? "]" : ":");
	if (len >= NAME_BYTES)
		return false;
	memcpy(out, host, len);
	len -= !*v6 && len && out[len - 1] == '.';
	out[len] = '\0';
	return len;
}

bool metrics_host_ok(const char *host, const char *names)
{
	char name[NAME_BYTES];
	struct in6_addr address;
	bool v6;
	size_t len;

	if (!host)
		return true;
	if (!take_name(host, name, &v6))
		return false;
	if (inet_pton(v6 ? AF_INET6 : AF_INET, name, &address) == 1)
		return true;
	for (; *names; names += len) {
		names += strspn(names, " ");
		len = strcspn(names, " ");
		if (len && !strncasecmp(names, name, len) && !name[len])
			return true;
	}
	return false;
}
