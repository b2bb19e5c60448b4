// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* metrics_server.c - see metrics_server.h: the main process's side. */
#include "agent/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/metrics_wire.h"
#include "base/time.h"
#include "base/util.h"
#include "worker/worker_start.h"

/* The queue of a socket that listens at an address of the configuration. */

#define BACKLOG 128

union place {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse_address(const char *text, union place *at)
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

/*
 * Listens at ADDRESS:PORT, [IPV6]:PORT, localhost:PORT, or :PORT, which is all addresses of IPv6
 * and IPv4. Uses no resolver. Returns a non-blocking descriptor, or -errno; -EINVAL: another form.
 */
static int metrics_listen(const char *address)
{
	union place at;
	uint16_t port;
	int fd;

	if (!parse_address(address, &at))
		return -EINVAL;
	fd = open_socket(&at);
	if (*address != ':' || (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL))
		return fd;
	port = at.v6.sin6_port;		/* a kernel without IPv6 */
	at = (union place){ .v4 = { .sin_family = AF_INET, .sin_port = port } };
	return open_socket(&at);
}

#define FRESH_NS (METRICS_FRESH_MS * 1000000ull)
/* A worker that ends is replaced after a second; the time doubles with each further one. */
#define PAUSE_DOUBLINGS 6
/* A worker that lived this long had no failure. */
#define GOOD_NS (60 * NS_PER_S)
/* The worker asks at most three times a second: once for each text. */
#define ASKS_A_SECOND 20
#define ASKS_A_TICK 4

struct text {
	int fd;			/* -1: none */
	size_t bytes;
	uint64_t made_ns;
	bool unready;
};

struct metrics_server {
	char hosts[METRICS_HOSTS_BYTES];
	struct worker worker;
	int listens, epoll, fd;	/* fd: the socket to the worker */
	struct text texts[METRICS_TEXTS];
	uint64_t started_ns, again_ns;
	unsigned int failures;
	uint64_t second_ns;	/* when the current second of requests began */
	unsigned int asks;	/* in this second */
	struct metrics_server_counts counts;
};

/*
 * Copies the names that a request's Host may have; all names, if none is given and others than this
 * host may connect. Returns 0 or -E2BIG.
 */
static int take_hosts(struct metrics_server *s, const char *listen, const char *const *hosts,
		      size_t cnt)
{
	bool local = !strncmp(listen, "127.", 4) || !strncmp(listen, "[::1]", 5) ||
		     !strncmp(listen, "localhost:", 10);
	size_t at = 0, i;

	if (!cnt && !local)
		return 0;
	at = (size_t)sprintf(s->hosts, "localhost");
	for (i = 0; i < cnt; i++) {
		if (strlen(hosts[i]) + 2 > sizeof(s->hosts) - at)
			return -E2BIG;
		at += (size_t)sprintf(s->hosts + at, " %s", hosts[i]);
	}
	return 0;
}

int metrics_server_start(struct metrics_server **out, const char *listen, const char *const *hosts,
			 size_t host_cnt)
{
	struct metrics_server *s = calloc(1, sizeof(*s));
	int err = s ? take_hosts(s, listen, hosts, host_cnt) : -ENOMEM;
	size_t i;

	if (s && !err) {
		s->worker.kind = &metrics_server_kind;
		for (i = 0; i < METRICS_TEXTS; i++)
			s->texts[i].fd = -1;
		s->epoll = epoll_create1(EPOLL_CLOEXEC);
		s->listens = s->epoll < 0 ? -errno : metrics_listen(listen);
		err = s->listens < 0 ? s->listens : 0;
	}
	if (err) {
		log_error("cannot serve metrics at %s: %s; metrics.listen sets the address, "
			  "metrics.hosts its names", listen, strerror(-err));
		if (s && s->epoll > 0)
			close(s->epoll);
		free(s);
		return err;
	}
	*out = s;
	return 0;
}

int metrics_server_fd(const struct metrics_server *s)
{
	return s ? s->epoll : -1;
}

/* ---- the worker ---- */

static void end_worker(struct metrics_server *s)
{
	if (!s->worker.pid)
		return;
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	close(s->fd);
	worker_give_up(&s->worker, 0, false);
}

static int start_worker(struct metrics_server *s)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int err = worker_ready(&s->worker, 0);

	if (!err) {
		memcpy(s->worker.shared, s->hosts, sizeof(s->hosts));
		err = worker_converse(&s->worker, s->listens, &s->fd);
	}
	if (err)
		return err;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->fd, &ev)) {
		err = -errno;
		end_worker(s);
	}
	return err;
}

static void start_again(struct metrics_server *s, uint64_t now)
{
	int err;

	if (s->worker.pid || now < s->again_ns)
		return;
	if (s->started_ns && now - s->started_ns >= GOOD_NS)
		s->failures = 0;
	s->again_ns = now + (NS_PER_S << s->failures);
	s->failures += s->failures < PAUSE_DOUBLINGS;
	s->started_ns = now;
	s->asks = 0;
	err = start_worker(s);
	if (err == -EPIPE)	/* it ended before start_worker() returned */
		s->counts.lost++;
	if (err)
		log_warn("cannot start the process that serves metrics: %s; metrics are "
			 "unavailable until it starts", strerror(-err));
}

static void lose_worker(struct metrics_server *s, const char *why)
{
	log_warn("the process that serves metrics %s; it is being restarted", why);
	s->counts.lost++;
	end_worker(s);
}

/* ---- texts ---- */

static void forget_text(struct text *text)
{
	if (text->fd >= 0)
		close(text->fd);
	text->fd = -1;
}

/* Returns 0 or -errno: there is none. */
static int keep_text(struct text *text, const void *data, size_t len)
{
	int err;

	text->bytes = len;
	text->fd = memfd_create("tachbpf-metrics", MFD_CLOEXEC);
	err = text->fd < 0 ? -errno : write_all(text->fd, data, len);
	if (err)
		forget_text(text);
	return err;
}

static int make_metrics(struct metrics_server *s, enum metrics_form form,
			const struct metrics_source *source)
{
	struct metrics_text t;
	int err;

	metrics_text_begin(&t, form, METRICS_BYTES_MAX);
	source->render(source->ctx, &t);
	err = metrics_text_end(&t);
	s->counts.texts++;
	s->counts.left_out = t.left_out;
	if (err != -ENOMEM)
		err = keep_text(&s->texts[form], t.out.data, t.out.len);
	metrics_text_free(&t);
	return err;
}

static int make_ready(struct text *text, const struct metrics_source *source)
{
	char why[METRICS_WHY_BYTES] = "The agent is ready.\n";

	text->unready = !source->ready(source->ctx, why);
	return keep_text(text, why, strlen(why));
}

/* Returns 0, or -errno: the worker does not take the answer. */
static int give_text(struct metrics_server *s, uint32_t what, uint64_t now,
		     const struct metrics_source *source)
{
	struct metrics_given given = { .what = what };
	struct text *text = &s->texts[what];

	if (text->fd < 0 || now - text->made_ns >= FRESH_NS) {
		forget_text(text);
		given.err = what == METRICS_READY ? make_ready(text, source) :
						    make_metrics(s, what, source);
		text->made_ns = now;
	}
	given.unready = text->unready;
	given.bytes = given.err ? 0 : text->bytes;
	return worker_send(s->fd, &given, sizeof(given), &text->fd, 1);
}

/* ---- the loop ---- */

static bool asks_too_often(struct metrics_server *s, uint64_t now)
{
	if (now - s->second_ns >= NS_PER_S) {
		s->second_ns = now;
		s->asks = 0;
	}
	return ++s->asks > ASKS_A_SECOND;
}

void metrics_server_tick(struct metrics_server *s, uint64_t now,
			 const struct metrics_source *source)
{
	struct metrics_ask ask;
	unsigned int i;
	int err = 0;

	if (!s)
		return;
	start_again(s, now);
	for (i = 0; i < ASKS_A_TICK && s->worker.pid; i++) {
		err = worker_receive(s->fd, &ask, sizeof(ask), NULL, 0, 0);
		if (err == -EAGAIN)
			return;
		if (err)
			lose_worker(s, "has ended");
		else if (!metrics_ask_ok(&ask))
			lose_worker(s, "sent an invalid message");
		else if (asks_too_often(s, now))
			lose_worker(s, "sends requests too often");
		else if (give_text(s, ask.what, now, source))
			lose_worker(s, "does not read responses");
	}
}

uint64_t metrics_server_next_ns(const struct metrics_server *s)
{
	return !s || s->worker.pid ? UINT64_MAX : s->again_ns;
}

void metrics_server_end(struct metrics_server *s)
{
	size_t i;

	if (!s)
		return;
	end_worker(s);
	free(s->worker.stuck);
	for (i = 0; i < METRICS_TEXTS; i++)
		forget_text(&s->texts[i]);
	close(s->listens);
	close(s->epoll);
	free(s);
}

void metrics_server_counts(const struct metrics_server *s, struct metrics_server_counts *out)
{
	*out = s ? s->counts : (struct metrics_server_counts){ 0 };
}
