// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ctl.c - see ctl.h. */
#include "agent/ctl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/users.h"

#define EXIT_DENIED 77		/* EX_NOPERM of sysexits.h */
#define EXIT_BUSY 75		/* EX_TEMPFAIL */
#define EXIT_BAD 2
/* Clients accepted in one tick: the loop has other work, too. */
#define ACCEPTS_A_TICK 32

struct client {
	int fd;			/* -1: free */
	bool limited;		/* not root: ctl_request.limited */
	uint64_t until_ns;
	size_t len;		/* of line */
	char line[CTL_REQUEST_MAX];
	struct buf answer;	/* len 0: the line is not complete yet */
	size_t sent;
};

struct ctl {
	ctl_obey_fn obey;
	void *ctx;
	int listener, epoll;
	bool group;		/* members of gid may ask, too */
	gid_t gid;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	dev_t dev;		/* of the socket, so that we remove only our own */
	ino_t ino;
	uint64_t now_ns;
	struct client clients[CTL_CLIENTS_MAX];
};

/* ---- the socket ---- */

/* Returns true if a process is listening. */
static bool somebody_listens(const struct sockaddr_un *at)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes;

	if (fd < 0)
		return true;
	yes = !connect(fd, (const struct sockaddr *)at, sizeof(*at)) || errno == EAGAIN;
	close(fd);
	return yes;
}

/* Removes the socket of an agent that has ended. Returns 0 or -errno. */
static int remove_stale(const struct sockaddr_un *at)
{
	struct stat st;

	if (lstat(at->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	if (somebody_listens(at))
		return -EADDRINUSE;
	return unlink(at->sun_path) && errno != ENOENT ? -errno : 0;
}

/* Makes the last directory only: a missing parent is a mistake in the configuration. */
static void make_directory(const char *path)
{
	char dir[PATH_MAX];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return;
	*slash = '\0';
	mkdir(dir, 0755);	/* if it fails, bind() says why */
}

/* Lets the group's members connect. Returns 0 or -errno. */
static int admit_group(struct ctl *c, const char *name)
{
	int err = group_by_name(name, &c->gid);

	if (!err && chown(c->path, (uid_t)-1, c->gid))
		err = -errno;
	if (!err && chmod(c->path, 0660))
		err = -errno;
	if (err == -ENOENT)
		log_error("ctl.allow_group: there is no group %s", name);
	else if (err)
		log_error("cannot give %s to the group %s: %s; a service needs "
			  "SupplementaryGroups=%s", c->path, name, strerror(-err), name);
	c->group = !err;
	return err;
}

static int listen_at(struct ctl *c, const char *group)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	mode_t before;
	struct stat st;
	int err;

	memcpy(at.sun_path, c->path, sizeof(at.sun_path));
	make_directory(c->path);
	err = remove_stale(&at);
	if (err)
		return err;
	c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listener < 0)
		return -errno;
	before = umask(0177);
	err = bind(c->listener, (struct sockaddr *)&at, sizeof(at)) ? -errno : 0;
	umask(before);
	if (err)
		return err;
	if (!lstat(c->path, &st)) {
		c->dev = st.st_dev;
		c->ino = st.st_ino;
	}
	err = *group ? admit_group(c, group) : 0;
	return err ? err : listen(c->listener, SOMAXCONN) ? -errno : 0;
}

static const char *bind_hint(int err)
{
	return err == -EADDRINUSE ? ": another agent listens there" :
	       err == -ENOTSOCK ? ": the name is used by something else" :
	       err == -ENAMETOOLONG ? ": a socket path has at most 107 bytes" :
	       err == -ENOENT ? ": its directory does not exist" : "";
}

static int watch_fd(struct ctl *c, int fd, uint32_t events, struct client *client, int how)
{
	struct epoll_event ev = { .events = events, .data.ptr = client };

	return epoll_ctl(c->epoll, how, fd, &ev) ? -errno : 0;
}

struct ctl *ctl_new(const char *path, const char *group, ctl_obey_fn obey, void *ctx)
{
	struct ctl *c = calloc(1, sizeof(*c));
	size_t i;
	int err;

	if (!c)
		return NULL;
	*c = (struct ctl){ .obey = obey, .ctx = ctx, .listener = -1 };
	for (i = 0; i < CTL_CLIENTS_MAX; i++)
		c->clients[i].fd = -1;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = c->epoll < 0 ? -errno : strlen(path) >= sizeof(c->path) ? -ENAMETOOLONG : 0;
	if (!err) {
		memcpy(c->path, path, strlen(path) + 1);
		err = listen_at(c, group);
	}
	if (!err)
		err = watch_fd(c, c->listener, EPOLLIN, NULL, EPOLL_CTL_ADD);
	if (!err)
		return c;
	log_error("cannot listen on %s for `tachbpf agent ctl`: %s%s", path, strerror(-err),
		  bind_hint(err));
	ctl_free(c);
	errno = -err;
	return NULL;
}

int ctl_fd(const struct ctl *c)
{
	return c->epoll;
}

/* ---- clients ---- */

static void end_client(struct client *client)
{
	close(client->fd);
	client->fd = -1;
	buf_free(&client->answer);
}

void ctl_free(struct ctl *c)
{
	struct stat st;
	size_t i;

	if (!c)
		return;
	for (i = 0; i < CTL_CLIENTS_MAX; i++)
		if (c->clients[i].fd >= 0)
			end_client(&c->clients[i]);
	if (c->ino && !lstat(c->path, &st) && st.st_dev == c->dev && st.st_ino == c->ino)
		unlink(c->path);
	if (c->listener >= 0)
		close(c->listener);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c);
}

/* Sends what is left of the answer; after that the client is done. */
static void send_answer(struct ctl *c, struct client *client)
{
	ssize_t n = send(client->fd, client->answer.data + client->sent,
			 client->answer.len - client->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		watch_fd(c, client->fd, EPOLLOUT, client, EPOLL_CTL_MOD);
		return;
	}
	client->sent += n > 0 ? n : 0;
	if (n <= 0 || client->sent == client->answer.len)
		end_client(client);
	else
		watch_fd(c, client->fd, EPOLLOUT, client, EPOLL_CTL_MOD);
}

static void answer_client(struct ctl *c, struct client *client, int status, const void *text,
			  size_t len)
{
	if (ctl_answer_write(status, text, len, &client->answer))
		end_client(client);
	else
		send_answer(c, client);
}

static void answer_text(struct ctl *c, struct client *client, int status, const char *text)
{
	answer_client(c, client, status, text, strlen(text));
}

/* Handles a complete line: len bytes without the newline. */
static void obey_line(struct ctl *c, struct client *client, size_t len)
{
	char why[CTL_WHY_BYTES];
	struct ctl_request r;
	struct buf out = { 0 };
	int status;

	if (ctl_request_read(&r, client->line, len, why)) {
		answer_text(c, client, EXIT_BAD, why);
	} else {
		r.limited = client->limited;
		status = c->obey(c->ctx, &r, &out);
		if (out.len > CTL_ANSWER_MAX)
			out.len = CTL_ANSWER_MAX;
		answer_client(c, client, status, out.data, out.len);
	}
	buf_free(&out);
	ctl_request_free(&r);
}

static void read_line(struct ctl *c, struct client *client)
{
	ssize_t n = recv(client->fd, client->line + client->len,
			 sizeof(client->line) - client->len, MSG_DONTWAIT);
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_client(client);
		return;
	}
	client->len += n;
	end = memchr(client->line, '\n', client->len);
	if (end) {
		obey_line(c, client, end - client->line);
	} else if (client->len == sizeof(client->line)) {
		answer_text(c, client, EXIT_BAD, "the request is too long");
	}
}

/* Returns true for root and the user that the agent runs as. */
static bool is_root(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
	       (!peer.uid || peer.uid == geteuid());
}

/* Most users are in fewer groups than this; of others some are not seen. */
#define GROUPS_SEEN 256

static bool is_member(int fd, gid_t gid)
{
	gid_t groups[GROUPS_SEEN];
	struct ucred peer;
	socklen_t len = sizeof(peer);
	size_t i;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return false;
	if (peer.gid == gid)
		return true;
	len = sizeof(groups);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len))
		return false;
	for (i = 0; i < len / sizeof(*groups); i++)
		if (groups[i] == gid)
			return true;
	return false;
}

static struct client *free_client(struct ctl *c)
{
	size_t i;

	for (i = 0; i < CTL_CLIENTS_MAX; i++)
		if (c->clients[i].fd < 0)
			return &c->clients[i];
	return NULL;
}

/* Tries to answer once without waiting, and hangs up. */
static void turn_away(int fd, int status, const char *text)
{
	struct buf line = { 0 };

	if (!ctl_answer_write(status, text, strlen(text), &line))
		send(fd, line.data, line.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	buf_free(&line);
	close(fd);
}

static void take_client(struct ctl *c, int fd)
{
	struct client *client = free_client(c);

	bool root = is_root(fd);

	if (!root && !(c->group && is_member(fd, c->gid))) {
		turn_away(fd, EXIT_DENIED, "only root may control this agent");
		return;
	}
	if (!client) {
		turn_away(fd, EXIT_BUSY, "the agent is busy with other requests: try again");
		return;
	}
	*client = (struct client){ .fd = fd, .limited = !root,
				    .until_ns = c->now_ns + CTL_CLIENT_NS };
	if (watch_fd(c, fd, EPOLLIN, client, EPOLL_CTL_ADD))
		end_client(client);
}

static void take_clients(struct ctl *c)
{
	int i, fd;

	for (i = 0; i < ACCEPTS_A_TICK; i++) {
		fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		take_client(c, fd);
	}
}

void ctl_tick(struct ctl *c, uint64_t now_ns)
{
	struct epoll_event evs[CTL_CLIENTS_MAX + 1];
	int n = epoll_wait(c->epoll, evs, CTL_CLIENTS_MAX + 1, 0), i;
	bool more = false;
	size_t k;

	c->now_ns = now_ns;
	for (i = 0; i < n; i++) {
		struct client *client = evs[i].data.ptr;

		if (!client)
			more = true;
		else if (client->answer.len)
			send_answer(c, client);
		else
			read_line(c, client);
	}
	for (k = 0; k < CTL_CLIENTS_MAX; k++)
		if (c->clients[k].fd >= 0 && now_ns > c->clients[k].until_ns)
			end_client(&c->clients[k]);
	if (more)	/* last: there may be room now */
		take_clients(c);
}
