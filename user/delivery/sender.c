// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sender.c - see sender.h: the main process's end of the socket. */
#include "delivery/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "delivery/sender_wire.h"
#include "worker/worker_start.h"

const char *send_cause_name(enum send_cause cause)
{
	static const char *const names[SEND_CAUSES] = {
		[CAUSE_NONE] = "none", [CAUSE_STATUS] = "status", [CAUSE_DNS] = "dns",
		[CAUSE_CONNECT] = "connect", [CAUSE_TLS] = "tls", [CAUSE_TIMEOUT] = "timeout",
		[CAUSE_CLOSED] = "closed", [CAUSE_OTHER] = "other",
	};

	return names[cause];
}

/* Makes an immutable file in memory. Returns the descriptor or -errno. */
static int sealed_file(const void *data, size_t len)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	int fd = memfd_create("tachbpf-servers", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	err = write_all(fd, data, len);
	if (!err && fcntl(fd, F_ADD_SEALS, seals))
		err = -errno;
	if (err)
		close(fd);
	return err ? err : fd;
}

static int send_servers(struct sender *s, const struct sender_server *servers, size_t cnt)
{
	struct sender_message m = { .kind = SENDER_SERVERS };
	struct buf texts = { 0 };
	int err = sender_servers_put(&texts, servers, cnt), fd;

	m.length = texts.len;
	fd = err ? err : sealed_file(texts.data, texts.len);
	if (texts.data)
		explicit_bzero(texts.data, texts.len);
	buf_free(&texts);
	if (fd < 0)
		return fd;
	err = worker_send(s->fd, &m, sizeof(m), &fd, 1);
	close(fd);
	return err;
}

int sender_start(struct sender *s, const struct sender_server *servers, size_t cnt)
{
	int err;

	if (!cnt || cnt > SENDER_EXPORTERS_MAX)
		return -EINVAL;
	s->worker.kind = &sender_kind;
	err = worker_converse(&s->worker, -1, &s->fd);
	if (err)
		return err;
	err = send_servers(s, servers, cnt);
	if (err)
		sender_end(s);
	return err;
}

bool sender_is_running(const struct sender *s)
{
	return s->worker.pid;
}

int sender_fd(const struct sender *s)
{
	return s->fd;
}

uint64_t sender_cpu_ns(const struct sender *s)
{
	clockid_t clock;

	return clock_getcpuclockid(s->worker.pid, &clock) ? 0 : clock_ns(clock);
}

int sender_send(struct sender *s, const struct sender_job *job)
{
	struct sender_message m = {
		.kind = SENDER_JOB, .exporter = job->exporter, .timeout_ms = job->timeout_ms,
		.job = job->id, .offset = job->offset, .length = job->length, .info = *job->info,
	};

	if (!sender_is_running(s))
		return -EPIPE;
	return worker_send(s->fd, &m, sizeof(m), &job->fd, 1);
}

int sender_receive(struct sender *s, struct sender_answer *out)
{
	int err;

	if (!sender_is_running(s))
		return -EPIPE;
	err = worker_receive(s->fd, out, sizeof(*out), NULL, 0, 0);
	if (err == -EAGAIN)
		return 0;
	if (err)
		return -EPIPE;
	return sender_answer_ok(out) ? 1 : -EBADMSG;
}

void sender_end(struct sender *s)
{
	if (!sender_is_running(s))
		return;
	close(s->fd);
	worker_give_up(&s->worker, 0, false);
}

/* ---- a server's settings ---- */

#define HEADER_MAX 8192

/* Returns true if nothing in it can end a line of HTTP. */
static bool one_line(const char *s)
{
	for (; s && *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static bool is_url(const char *s)
{
	return s && (!strncasecmp(s, "http://", 7) || !strncasecmp(s, "https://", 8)) &&
	       strlen(strstr(s, "://")) > 3 && one_line(s) && !strchr(s, ' ');
}

/* Each line must be "Name: value". */
static bool are_headers(const char *s)
{
	const char *end;
	size_t name;

	for (; s && *s; s = *end ? end + 1 : end) {
		end = strchrnul(s, '\n');
		name = strcspn(s, ": \t\r\n");
		if (!name || s[name] != ':' || end - s > HEADER_MAX || memchr(s, '\r', end - s))
			return false;
	}
	return true;
}

int sender_check_server(const struct sender_server *s, char *why, size_t why_size)
{
	const char *what = NULL;

	if (s->url && !is_url(s->url))
		what = "the URL does not begin with http:// or https://, or contains blanks";
	else if (s->proxy && !one_line(s->proxy))
		what = "the proxy's URL has control characters";
	else if (!are_headers(s->headers))
		what = "a header is not written as \"Name: value\"";
	else if (!one_line(s->user) || !one_line(s->password) || !one_line(s->bearer))
		what = "user, password or token have control characters";
	else if (s->bearer && s->user)
		what = "there are both a token and a user; use one of them";
	else if (!s->certificate != !s->key)
		what = "a client certificate and its key must be used together";
	snprintf(why, why_size, "%s", what ? what : "");
	return what ? -EINVAL : 0;
}
