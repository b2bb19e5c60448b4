// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* worker.c - see worker.h: calls, and what happens to workers that do not answer. */
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "worker/worker_start.h"

/*
 * A process that blocked a worker is tried again after this time, which doubles with each failure.
 */
#define AGAIN_NS 1000000000ull
#define AGAIN_DOUBLINGS 6

/* Whoever still sends answers to no call this long after a wait has ended is not our worker. */
#define ANSWERS_MS 1000

/* A process that has blocked a worker. */
struct stuck {
	pid_t about;
	uint32_t owner;
	int pidfd;			/* of the worker that is still blocked; 0: none */
	unsigned int times;
	uint64_t again_ns;		/* time of the next try */
};

/* Reap a worker that has ended, if it is our own child. */
static bool has_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	siginfo_t info;

	if (poll(&p, 1, 0) <= 0)
		return false;
	waitid(3 /* P_PIDFD */, (id_t)pidfd, &info, WEXITED | WNOHANG);
	return true;
}

static void forget_ended(struct stuck *s)
{
	if (s->pidfd && has_ended(s->pidfd)) {
		close(s->pidfd);
		s->pidfd = 0;
	}
}

static uint32_t owner_of(const struct worker *w, pid_t about)
{
	return w->kind->owner ? w->kind->owner(about) : 0;
}

/* Returns 0 if one more worker may be blocked by a process of this user; else as worker_ready(). */
static int has_room(const struct worker *w, uint32_t owner, unsigned int blocked)
{
	unsigned int its = 0;
	struct stuck *s;

	for (s = w->stuck; s < w->stuck + WORKER_STUCK_MAX; s++)
		its += s->pidfd && s->owner == owner;
	if (owner && its >= WORKER_STUCK_OF_USER)
		return -EUSERS;
	return blocked < WORKER_STUCK_MAX - (owner ? WORKER_STUCK_OF_ROOT : 0) ? 0 : -EBUSY;
}

/* A worker that has ended is not blocked: ask about its process again. As worker_ready(). */
static int may_ask(struct worker *w, pid_t about, uint64_t now)
{
	unsigned int blocked = 0;
	struct stuck *s;

	for (s = w->stuck; s < w->stuck + WORKER_STUCK_MAX; s++) {
		forget_ended(s);
		if (about && s->about == about && (s->pidfd || now < s->again_ns))
			return -ETIMEDOUT;
		blocked += !!s->pidfd;
	}
	return blocked ? has_room(w, owner_of(w, about), blocked) : 0;
}

int worker_ready(struct worker *w, pid_t about)
{
	int err;

	if (!w->stuck)
		w->stuck = calloc(WORKER_STUCK_MAX, sizeof(*w->stuck));
	if (!w->stuck)
		return -ENOMEM;
	err = may_ask(w, about, now_ns());
	return err || w->pid ? err : worker_start(w);
}

/*
 * Wait for an answer. Signals do not prolong the wait. We may have had no CPU for all that time, so
 * the socket is checked once more at the end.
 */
static int poll_answer(int fd, uint64_t end)
{
	uint64_t now;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n;

	do {
		now = now_ns();
		n = poll(&p, 1, now < end ? (end - now) / 1000000 + 1 : 0);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	} while (now < end);
	return -ETIMEDOUT;
}

static int call_with_socket(struct worker *w, int passed, int *fd)
{
	int pair[2], fds[WORKER_FDS_MAX] = { -1, passed }, err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return -errno;
	fds[0] = pair[1];
	err = worker_call(w, 0, fds, 0);
	close(pair[1]);
	if (err == -ETIMEDOUT) {
		*fd = pair[0];
		return 0;
	}
	close(pair[0]);
	return err < 0 ? err : -EPIPE;
}

int worker_converse(struct worker *w, int passed, int *fd)
{
	int err = worker_ready(w, 0);

	if (err)
		return err;
	err = call_with_socket(w, passed, fd);
	if (err)
		worker_end(w);
	return err;
}

int worker_wait(struct worker *w, int timeout_ms)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ull;
	struct worker_answer a;
	int err;

	do {	/* answers of earlier calls do not prolong the wait */
		err = poll_answer(w->fd, end);
		if (!err && now_ns() > end + ANSWERS_MS * 1000000ull)
			err = -EPIPE;
		if (!err)
			err = worker_receive(w->fd, &a, sizeof(a), NULL, 0, 0);
	} while (!err && a.call != w->calls);
	if (!err)
		return a.result;
	if (err != -ETIMEDOUT) {
		worker_lost(w);
		err = -EPIPE;
	}
	return err;
}

int worker_call(struct worker *w, unsigned int function, const int *fds, int timeout_ms)
{
	struct worker_request r = { .function = function, .call = ++w->calls };

	if (worker_send(w->fd, &r, sizeof(r), fds, fds ? WORKER_FDS_MAX : 0)) {
		worker_lost(w);
		return -EPIPE;
	}
	return worker_wait(w, timeout_ms);
}

/* Read a file of the worker in /proc; text is "" if it cannot be read. */
static void read_proc(const struct worker *w, const char *name, char *text, size_t size)
{
	char path[32];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", w->pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
}

bool worker_is_runnable(const struct worker *w)
{
	char text[512], *state;

	read_proc(w, "stat", text, sizeof(text));
	state = strrchr(text, ')');
	return state && !strncmp(state, ") R", 3);
}

uint64_t worker_disk_bytes(const struct worker *w)
{
	static const char key[] = "\nread_bytes: ";
	char text[512], *found;

	read_proc(w, "io", text, sizeof(text));
	found = strstr(text, key);
	return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

/*
 * The entry of the process, or the one whose turn comes first. worker_ready() has checked that
 * there is one; NULL: it was not called.
 */
static struct stuck *stuck_entry(struct worker *w, pid_t about)
{
	struct stuck *s, *found = NULL;

	for (s = w->stuck; s < w->stuck + WORKER_STUCK_MAX; s++) {
		if (about && s->about == about)
			return s;
		if (!s->pidfd && (!found || s->again_ns < found->again_ns))
			found = s;
	}
	if (found)
		*found = (struct stuck){ .about = about, .owner = owner_of(w, about) };
	return found;
}

static void blame_for(struct stuck *s)
{
	s->again_ns = now_ns() +
		      (AGAIN_NS << (s->times < AGAIN_DOUBLINGS ? s->times : AGAIN_DOUBLINGS));
	s->times++;
}

void worker_give_up(struct worker *w, pid_t about, bool blame)
{
	struct stuck *s = stuck_entry(w, about);

	if (!s) {
		worker_end(w);
		return;
	}
	if (blame)
		blame_for(s);
	else
		s->again_ns = now_ns();
	s->pidfd = w->pidfd;
	w->pidfd = -1;
	syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
	worker_end(w);
	forget_ended(s);
}

/* A worker that is blocked in the kernel ends when it can; we do not wait for it. */
void worker_end(struct worker *w)
{
	if (!w->pid)
		return;
	close(w->fd);
	munmap(w->shared, w->kind->shared_bytes);
	if (w->memory >= 0)
		close(w->memory);
	if (w->pidfd >= 0) {
		syscall(SYS_pidfd_send_signal, w->pidfd, SIGKILL, NULL, 0);
		has_ended(w->pidfd);
		close(w->pidfd);
	}
	w->pid = 0;
}

static uint64_t lost_cnt;

void worker_lost(struct worker *w)
{
	if (w->pid && w->pidfd >= 0 && !keeper_check()) {	/* not in a worker: it has no log */
		lost_cnt++;
		if (!(lost_cnt & (lost_cnt - 1)))	/* a worker may be killed repeatedly */
			log_warn("the process %s (%d) has exited and is being restarted",
				 w->kind->name, w->pid);
	}
	worker_end(w);
}

uint64_t worker_lost_cnt(void)
{
	return lost_cnt;
}

/* ---- a worker's worker ---- */

void worker_descriptors(const struct worker *w, int fds[WORKER_FDS_MAX])
{
	fds[0] = w->fd;
	fds[1] = w->memory;
}

int worker_adopt(struct worker *w, const int fds[WORKER_FDS_MAX], pid_t pid)
{
	struct worker its = { .kind = w->kind, .pid = pid, .pidfd = -1, .memory = -1 };
	int err;

	its.fd = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
	if (its.fd < 0)
		return -errno;
	err = worker_map(&its, fds[1]);
	if (err) {
		close(its.fd);
		return err;
	}
	worker_end(w);
	*w = its;
	return 0;
}
