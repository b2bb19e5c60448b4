// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fuzz_socket_peers.c - any bytes as /proc/PID/net/tcp and tcp6, as the reader might give them. */
#include <stdlib.h>
#include <string.h>

#include "host/proc.h"
#include "host/socket_peers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *bytes;
static size_t len;

static ssize_t give(pid_t tgid, const char *name, char *out, size_t size)
{
	size_t n = len < size - 1 ? len : size - 1;

	memcpy(out, bytes, n);
	out[n] = '\0';
	return (ssize_t)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct proc_source source = { .whole = give };
	struct socket_peers *p = socket_peers_new(1);
	uint64_t inode;

	if (!p)
		abort();
	bytes = data;
	len = size;
	proc_set_source(&source);
	for (inode = 1; inode < 40; inode++)
		if (strlen(socket_peers_find(p, inode, inode & 1, SOCKET_PEERS_PAUSE_NS)) >=
		    SOCKET_PEER_BYTES)
			abort();
	proc_set_source(&proc_direct);
	socket_peers_free(p);
	return 0;
}
