// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * socket_peers.c - see socket_peers.h.
 *
 * The format of the files: Documentation/networking/proc_net_tcp.rst. Addresses are the words of
 * the kernel, printed as numbers of this machine. The sockets that listen come first.
 */
#include "host/socket_peers.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "host/proc.h"

#define LISTENS 10		/* TCP_LISTEN */
#define PORTS 65536

struct socket_of {
	uint64_t inode;
	uint8_t address[16];	/* of the other end */
	uint16_t port, own_port;
	bool v6;
};

struct socket_peers {
	pid_t tgid;
	uint64_t next_ns;	/* the files may be read again */
	struct socket_of *all;	/* SOCKET_PEERS_MAX, by inode */
	uint32_t cnt;
	uint8_t listened[PORTS / 8];	/* ports of this namespace that someone listens at */
	char text[SOCKET_PEER_BYTES];
};

struct socket_peers *socket_peers_new(pid_t tgid)
{
	struct socket_peers *p = calloc(1, sizeof(*p));

	if (p)
		p->tgid = tgid;
	return p;
}

void socket_peers_free(struct socket_peers *p)
{
	if (p)
		free(p->all);
	free(p);
}

/* ---- the files ---- */

static bool is_listened(const struct socket_peers *p, uint16_t port)
{
	return p->listened[port / 8] & 1u << port % 8;
}

static bool parse_address(const char *hex, bool v6, uint8_t out[16])
{
	char word[9] = "";
	uint32_t v;
	int i;

	if (strlen(hex) != (v6 ? 32 : 8))
		return false;
	for (i = 0; i < (v6 ? 4 : 1); i++) {
		memcpy(word, hex + 8 * i, 8);
		v = (uint32_t)strtoul(word, NULL, 16);
		memcpy(out + 4 * i, &v, 4);
	}
	return true;
}

static void take_line(struct socket_peers *p, const char *line, bool v6)
{
	struct socket_of s = { .v6 = v6 };
	unsigned int own, port, state;
	char hex[33];

	if (sscanf(line, " %*d: %*32[0-9A-F]:%4x %32[0-9A-F]:%4x %2x %*x:%*x %*x:%*x %*x %*u %*d %"
		   SCNu64, &own, hex, &port, &state, &s.inode) != 5 ||
	    !parse_address(hex, v6, s.address))
		return;
	s.own_port = (uint16_t)own;
	s.port = (uint16_t)port;
	if (state == LISTENS)
		p->listened[s.own_port / 8] |= (uint8_t)(1u << s.own_port % 8);
	if (s.inode && p->cnt < SOCKET_PEERS_MAX)
		p->all[p->cnt++] = s;
}

static void take_lines(struct socket_peers *p, char *text, bool v6)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n")) && rest)	/* only whole lines */
		take_line(p, line, v6);
}

static void read_file(struct socket_peers *p, const char *name, bool v6)
{
	static bool said;
	char *text = malloc(SOCKET_PEERS_FILE_BYTES);
	ssize_t n = 0;

	if (text)
		n = proc_read_whole(p->tgid, name, text, SOCKET_PEERS_FILE_BYTES);
	if (n > 0)
		take_lines(p, text, v6);
	if (n >= (ssize_t)SOCKET_PEERS_FILE_BYTES - 1 && !said) {
		said = true;
		log_warn("process %d: /proc/PID/%s is longer than %u KiB: the peers of some "
			 "sockets are not shown", p->tgid, name, SOCKET_PEERS_FILE_BYTES >> 10);
	}
	free(text);
}

static int by_inode(const void *a, const void *b)
{
	const struct socket_of *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static void read_files(struct socket_peers *p, uint64_t at_ns)
{
	uint64_t begin = now_ns(), pause;

	if (!p->all)
		p->all = calloc(SOCKET_PEERS_MAX, sizeof(*p->all));
	if (!p->all)
		return;
	p->cnt = 0;
	memset(p->listened, 0, sizeof(p->listened));
	read_file(p, "net/tcp", false);
	read_file(p, "net/tcp6", true);
	qsort(p->all, p->cnt, sizeof(*p->all), by_inode);
	pause = (now_ns() - begin) * SOCKET_PEERS_SHARE;
	p->next_ns = at_ns + (pause > SOCKET_PEERS_PAUSE_NS ? pause : SOCKET_PEERS_PAUSE_NS);
}

/* ---- a question ---- */

static const struct socket_of *find(const struct socket_peers *p, uint64_t inode)
{
	const struct socket_of key = { .inode = inode };

	return p->cnt ? bsearch(&key, p->all, p->cnt, sizeof(key), by_inode) : NULL;
}

static void write_text(struct socket_peers *p, const struct socket_of *s, bool brief)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool v4 = !s->v6 || !memcmp(s->address, mapped, sizeof(mapped));
	char address[INET6_ADDRSTRLEN];
	size_t len;

	if (!s->port || !inet_ntop(v4 ? AF_INET : AF_INET6, s->address + (s->v6 && v4 ? 12 : 0),
				   address, sizeof(address)))
		return;
	snprintf(p->text, sizeof(p->text), v4 ? "%s" : "[%s]", address);
	len = strlen(p->text);
	if (!brief || !is_listened(p, s->own_port))
		snprintf(p->text + len, sizeof(p->text) - len, ":%u", s->port);
}

uint64_t socket_inode(pid_t tgid, int fd)
{
	char name[32], text[256];
	const char *line;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (fd < 0 || proc_direct.text(tgid, name, text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "\nino:\t");
	return line ? strtoull(line + strlen("\nino:\t"), NULL, 10) : 0;
}

const char *socket_peers_find(struct socket_peers *p, uint64_t inode, bool brief,
			      uint64_t now_ns)
{
	const struct socket_of *s;

	p->text[0] = '\0';
	if (!inode)
		return p->text;
	s = find(p, inode);
	if (!s && now_ns >= p->next_ns) {
		read_files(p, now_ns);
		s = find(p, inode);
	}
	if (s)
		write_text(p, s, brief);
	return p->text;
}
