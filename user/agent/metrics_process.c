// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * metrics_process.c - the worker that serves metrics: its loop (metrics_server.h). One thread polls
 * libmicrohttpd's sockets together with the one to the main process. A request for the metrics is
 * suspended until the main process has given the text.
 */
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/metrics_clients.h"
#include "agent/metrics_host.h"
#include "agent/metrics_server.h"
#include "agent/metrics_wire.h"
#include "base/time.h"
#include "worker/worker_start.h"

/* Connections keep the text that was current when they asked; there are at most two or three. */
#define MEMORY_BYTES (256u << 20)
/* For each connection: request line and headers must fit. */
#define REQUEST_BYTES 16384u
#define IDLE_MS 60000
/* How often libmicrohttpd runs before the main process is heard again. */
#define RUNS 16

/* Besides what the jail allows: found with strace, with glibc 2.36 and libmicrohttpd 0.9.75. */
static const char *const calls[] = {
	"accept4", "accept", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "eventfd2",
	"recvfrom", "sendto", "shutdown", "setsockopt", "getsockopt", "getsockname", "poll",
	"ppoll", "read", "write", "pread64", "fcntl", "fstat", "newfstatat", "mprotect",
	"setpriority", "gettimeofday", "time", "sysinfo", "prlimit64", "getrlimit", "sched_yield",
	"set_robust_list", "rseq",
	NULL,
};
static const struct jail jail = {
	.calls = calls, .memory_bytes = MEMORY_BYTES, .secret = true,
};

/* A request for a text of the main process. */
struct request {
	struct MHD_Connection *connection;
	uint32_t what;
	uint64_t since_ns;
	bool waits, failed;
};

struct text {
	struct MHD_Response *response;
	unsigned int status;
	uint64_t made_ns;
	bool asked;
};

static struct {
	int socket;
	struct MHD_Daemon *daemon;
	const char *hosts;	/* names for metrics_host_ok(); "": Host is not checked */
	struct text texts[METRICS_TEXTS];
	struct request requests[METRICS_CONNECTIONS];
	struct metrics_clients clients;
	bool closed;		/* a connection has just ended */
} self;

/* ---- answers ---- */

#define PLAIN "text/plain; charset=utf-8"

static void add_headers(struct MHD_Response *r, const char *type)
{
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
}

/* An answer with a constant text. */
static enum MHD_Result answer_text(struct MHD_Connection *c, unsigned int status, const char *type,
				   const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), (void *)text,
								 MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	add_headers(r, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static bool is_fresh(const struct text *t, uint64_t now)
{
	return t->response && now - t->made_ns < METRICS_FRESH_MS * NS_PER_MS;
}

/* The main process is asked once for all waiting requests. */
static void ask_for_text(uint32_t what)
{
	const struct metrics_ask a = { METRICS_ASK, what };

	if (self.texts[what].asked)
		return;
	if (worker_send(self.socket, &a, sizeof(a), NULL, 0))
		_exit(1);
	self.texts[what].asked = true;
}

static struct request *free_request(void)
{
	size_t i;

	for (i = 0; i < METRICS_CONNECTIONS; i++)
		if (!self.requests[i].connection)
			return &self.requests[i];
	return NULL;
}

static const char *header_of(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static enum MHD_Result say_text(struct MHD_Connection *c, uint32_t what, void **context)
{
	struct text *t = &self.texts[what];
	struct request *r = *context;
	uint64_t now = now_ns();

	if ((r && !r->failed && t->response) || is_fresh(t, now))
		return MHD_queue_response(c, t->status, t->response);
	if (r || !(r = free_request()))
		return answer_text(c, MHD_HTTP_SERVICE_UNAVAILABLE, PLAIN,
				   "The agent did not answer in time.\n");
	*r = (struct request){ .connection = c, .what = what, .since_ns = now, .waits = true };
	*context = r;
	ask_for_text(what);
	MHD_suspend_connection(c);
	return MHD_YES;
}

static const char page[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>tachbpf agent"
	"</title></head>\n<body><h1>tachbpf agent</h1>\n<p>tachbpf " TACHBPF_VERSION ". "
	"<a href=\"metrics\">Metrics</a> for Prometheus.</p></body></html>\n";

/* Called by libmicrohttpd when a request's headers are complete, and when the request resumes. */
static enum MHD_Result handle_request(void *ctx, struct MHD_Connection *c, const char *url,
				      const char *method, const char *version, const char *upload,
				      size_t *upload_bytes, void **context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	metrics_client_asked(info ? info->socket_context : NULL);
	if (*self.hosts && !metrics_host_ok(header_of(c, MHD_HTTP_HEADER_HOST), self.hosts))
		return answer_text(c, MHD_HTTP_FORBIDDEN, PLAIN,
				   "The header Host has no name of this server: metrics.hosts "
				   "in the agent's configuration allows more.\n");
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return answer_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, PLAIN,
				   "Only GET and HEAD are supported.\n");
	if (!strcmp(url, "/metrics"))
		return say_text(c, metrics_form_of(header_of(c, MHD_HTTP_HEADER_ACCEPT)), context);
	if (!strcmp(url, "/-/ready"))
		return say_text(c, METRICS_READY, context);
	if (!strcmp(url, "/"))
		return answer_text(c, MHD_HTTP_OK, "text/html; charset=utf-8", page);
	if (!strcmp(url, "/-/healthy"))
		return answer_text(c, MHD_HTTP_OK, PLAIN, "The agent is running.\n");
	return answer_text(c, MHD_HTTP_NOT_FOUND, PLAIN, "Not found. Metrics are at /metrics.\n");
}

static void request_completed(void *ctx, struct MHD_Connection *c, void **context,
			      enum MHD_RequestTerminationCode code)
{
	struct request *r = *context;

	if (r)
		r->connection = NULL;
}

/* ---- connections ---- */

static void connection_changed(void *ctx, struct MHD_Connection *c, void **context,
			       enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *fd, *address;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		metrics_client_gone(*context);
		self.closed = true;
		return;
	}
	fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	address = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (fd)
		*context = metrics_clients_add(&self.clients, fd->connect_fd,
					       metrics_peer(address ? address->client_addr : NULL),
					       now_ns());
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Ends connections and waits that take too long. Returns when the next one is due. */
static uint64_t expire_all(uint64_t now)
{
	uint64_t next = min_u64(metrics_clients_expire(&self.clients, now),
				now + IDLE_MS * NS_PER_MS), due;
	size_t i;

	for (i = 0; i < METRICS_CONNECTIONS; i++) {
		struct request *r = &self.requests[i];

		due = r->since_ns + METRICS_WAIT_MS * NS_PER_MS;
		if (r->connection && r->waits && now >= due) {
			r->failed = true;
			r->waits = self.texts[r->what].asked = false;
			MHD_resume_connection(r->connection);
		} else if (r->connection && r->waits) {
			next = min_u64(next, due);
		}
	}
	return next;
}

/* ---- texts ---- */

static const char *type_of(uint32_t what)
{
	return what < METRICS_FORMS ? metrics_content_type(what) : PLAIN;
}

static int read_text(const struct metrics_given *g, int fd, struct text *t)
{
	char *data = malloc(g->bytes + 1);
	uint64_t at = 0;
	ssize_t n = 1;

	for (; data && at < g->bytes && n > 0; at += (uint64_t)n)
		n = pread(fd, data + at, g->bytes - at, (off_t)at);
	if (!data || n <= 0) {
		free(data);
		return -EIO;
	}
	if (t->response)
		MHD_destroy_response(t->response);
	t->response = MHD_create_response_from_buffer(g->bytes, data, MHD_RESPMEM_MUST_FREE);
	if (!t->response) {
		free(data);
		return -ENOMEM;
	}
	add_headers(t->response, type_of(g->what));
	t->status = g->unready ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK;
	t->made_ns = now_ns();
	return 0;
}

static void take_text(const struct metrics_given *g, int fd)
{
	struct text *t = &self.texts[g->what];
	int err = g->err ? g->err : read_text(g, fd, t);
	size_t i;

	t->asked = false;
	for (i = 0; i < METRICS_CONNECTIONS; i++) {
		struct request *r = &self.requests[i];

		if (!r->connection || !r->waits || r->what != g->what)
			continue;
		r->waits = false;
		r->failed = err;
		MHD_resume_connection(r->connection);
	}
}

/* Returns 0, or -errno: the main process is gone. */
static int take_texts(void)
{
	struct metrics_given g;
	int fd, err;

	while (!(err = worker_receive(self.socket, &g, sizeof(g), &fd, 1, 0))) {
		if (g.what < METRICS_TEXTS && g.bytes <= 2 * METRICS_BYTES_MAX)
			take_text(&g, fd);
		if (fd >= 0)
			close(fd);
	}
	return err == -EAGAIN ? 0 : err;
}

/* ---- the loop ---- */

static int start_daemon(int listens)
{
	const union MHD_DaemonInfo *info;

	/* A header with the date would make the C library read /etc/localtime. */
	self.daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_SUPPRESS_DATE_NO_CLOCK, 0,
		NULL, NULL, handle_request, NULL,
		MHD_OPTION_LISTEN_SOCKET, listens,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)METRICS_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)METRICS_CONNECTION_MS / 1000,
		MHD_OPTION_NOTIFY_CONNECTION, connection_changed, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, request_completed, NULL, MHD_OPTION_END);
	info = self.daemon ? MHD_get_daemon_info(self.daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	return info ? info->epoll_fd : -1;
}

static int wait_ms(uint64_t now, uint64_t next)
{
	uint64_t ms = (next - now + NS_PER_MS - 1) / NS_PER_MS;
	MHD_UNSIGNED_LONG_LONG own;

	if (MHD_get_timeout(self.daemon, &own) == MHD_YES)
		ms = min_u64(ms, own);
	return (int)min_u64(ms, IDLE_MS);
}

/* Lets libmicrohttpd accept and serve what is there. Returns false if there may be more. */
static bool run_all(void)
{
	int left = RUNS;
	bool more;

	do {	/* those that were ended go, and others are accepted, when it runs once more */
		self.closed = false;
		MHD_run(self.daemon);
		more = metrics_clients_make_room(&self.clients, now_ns()) || self.closed;
	} while (more && --left);
	return !more;
}

/*
 * The worker's function: shared has the server's names, fds[0] is its socket to the main process,
 * fds[1] the listening socket. Ends the process when the main process is gone.
 */
static int metrics_run(void *shared, const int *fds)
{
	struct pollfd polled[] = {
		{ .fd = fds[0], .events = POLLIN }, { .events = POLLIN },
	};
	uint64_t now, next;
	bool idle;

	/* The keeper's priority is for workers that samples wait for. */
	setpriority(PRIO_PROCESS, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	self.socket = fds[0];
	self.hosts = shared;
	metrics_clients_clear(&self.clients);
	polled[1].fd = start_daemon(fds[1]);
	if (polled[1].fd < 0)
		_exit(1);
	while (!take_texts()) {
		idle = run_all();
		now = now_ns();
		next = expire_all(now);
		if (poll(polled, 2, idle ? wait_ms(now, next) : 0) < 0 && errno != EINTR)
			_exit(1);
	}
	_exit(0);
}

static const worker_fn functions[] = { metrics_run };

const struct worker_kind metrics_server_kind = {
	.name = "tachbpf-metrics",
	.does = "serves metrics over HTTP",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = METRICS_HOSTS_BYTES,
};
