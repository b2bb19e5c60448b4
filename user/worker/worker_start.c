// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * worker_start.c - see worker_start.h: the processes, from their start to their loop.
 *
 * A worker that was given up may stay blocked in the kernel and write later. So each worker has its
 * own memory: a memfd that can be neither truncated nor extended.
 */
#include "worker/worker_start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/start.h"
#include "base/util.h"

#define FDS_MAX 3

/* The keeper's answer to a request, which is the index of a kind. */
struct started {
	int32_t err;
	int32_t pid;
	int fds[FDS_MAX];	/* socket, shared memory, pidfd: sent with the message */
};
#define STARTED_BYTES offsetof(struct started, fds)

static struct {
	pid_t pid;		/* 0: there is no keeper */
	int fd;
	const struct worker_kind *const *kinds;
	size_t kind_cnt;
} keeper;

/* ---- messages ---- */

union fds_message {
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	struct cmsghdr align;
};

int worker_send(int fd, const void *msg, size_t len, const int *fds, size_t fd_cnt)
{
	struct iovec part = { (void *)msg, len };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	union fds_message with = { .bytes = { 0 } };
	struct cmsghdr *c;
	size_t cnt = 0;

	while (cnt < fd_cnt && fds[cnt] >= 0)
		cnt++;
	if (cnt) {
		m.msg_control = with.bytes;
		m.msg_controllen = CMSG_SPACE(cnt * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(cnt * sizeof(int));
		memcpy(CMSG_DATA(c), fds, cnt * sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)len ? 0 : errno ? -errno : -EPIPE;
}

int worker_receive(int fd, void *msg, size_t len, int *fds, size_t fd_cnt, int flags)
{
	struct iovec part = { msg, len };
	union fds_message with;
	/* No room for more descriptors than expected: the kernel closes the others. */
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1,
			    .msg_control = fd_cnt ? with.bytes : NULL,
			    .msg_controllen = fd_cnt ? CMSG_LEN(fd_cnt * sizeof(int)) : 0 };
	struct cmsghdr *c;
	ssize_t n;
	size_t i;

	for (i = 0; i < fd_cnt; i++)
		fds[i] = -1;
	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c = fd_cnt ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len <= CMSG_LEN(fd_cnt * sizeof(int)))
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n == (ssize_t)len && !(m.msg_flags & MSG_TRUNC) ? 0 : -EPIPE;
}

static void close_all(int *fds, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/* ---- the process ---- */

/* Close everything except one end of a socket, which becomes descriptor 3. */
static bool keep_only(int fd)
{
	int null = open("/dev/null", O_RDWR), i;

	if (null < 0)
		return false;
	for (i = 0; i < 3; i++)
		dup2(null, i);
	if (dup2(fd, 3) < 0)
		return false;
	/* close_range() exists since 5.9. Without it our files stay open until the worker ends. */
	syscall(SYS_close_range, 4, ~0u, 0);
	return true;
}

/* End with the parent, and ignore Ctrl-C. */
static bool process_detach(const char *name, pid_t parent)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT };
	size_t i;

	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	return getppid() == parent;
}

/* Serve one call at a time, until the client closes its end of the socket. */
static void serve_calls(const struct worker_kind *kind, int fd, void *shared)
{
	struct worker_request r;
	struct worker_answer a;
	int fds[WORKER_FDS_MAX];

	while (!worker_receive(fd, &r, sizeof(r), fds, WORKER_FDS_MAX, 0)) {
		a.call = r.call;
		a.result = r.function < kind->function_cnt ?
				   kind->functions[r.function](shared, fds) : -ENOSYS;
		close_all(fds, WORKER_FDS_MAX);
		if (worker_send(fd, &a, sizeof(a), NULL, 0))
			break;
	}
	_exit(0);
}

static void become_worker(const struct worker_kind *kind, int fd, int memory, pid_t parent)
{
	void *shared = mmap(NULL, kind->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory,
			    0);

	keeper.pid = 0;		/* a worker must not use the keeper */
	jail_leave_files();
	if (shared == MAP_FAILED || !process_detach(kind->name, parent) || !keep_only(fd) ||
	    jail_enter(kind->jail))
		_exit(1);
	start_over();		/* libseccomp took 200 KiB */
	serve_calls(kind, 3, shared);
}

/* Memory that neither side can truncate, so no access raises a signal. Descriptor or -errno. */
static int make_memory(size_t bytes)
{
	int fd = memfd_create("tachbpf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, bytes) && !fcntl(fd, F_ADD_SEALS, seals))
		return fd;
	close(fd);
	return -errno;
}

/* Fork a worker. The caller closes out->fds. */
static void fork_worker(const struct worker_kind *kind, struct started *out)
{
	int pair[2] = { -1, -1 };
	pid_t parent = getpid();

	*out = (struct started){ .fds = { -1, -1, -1 } };
	out->fds[1] = make_memory(kind->shared_bytes);
	if (out->fds[1] < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		out->err = out->fds[1] < 0 ? out->fds[1] : -errno;
		return;
	}
	out->pid = fork();
	if (!out->pid)
		become_worker(kind, pair[1], out->fds[1], parent);
	if (out->pid < 0)
		out->err = -errno;
	close(pair[1]);
	out->fds[0] = pair[0];
	if (out->pid > 0)
		out->fds[2] = syscall(SYS_pidfd_open, out->pid, 0);
	if (!out->err && out->fds[2] < 0)
		out->err = -errno;
	if (out->err && out->pid > 0)
		kill(out->pid, SIGKILL);
}

/* ---- the keeper ---- */

/* What the keeper does itself, and what a worker does before it enters its jail. */
static const char *const keeper_calls[] = {
	"clone", "clone3", "fork", "wait4", "memfd_create", "ftruncate", "fcntl", "socketpair",
	"pidfd_open", "kill", "getppid", "prctl", "openat", "open", "dup2", "dup3", "close_range",
	"setrlimit", "prlimit64", "capget", "capset", "seccomp", "set_robust_list", "rseq",
	"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", NULL,
};
#define CALLS_MAX 512

uint64_t keeper_caps(const struct worker_kind *const kinds[], size_t cnt)
{
	uint64_t caps = 0;
	size_t i;

	for (i = 0; i < cnt; i++)
		caps |= kinds[i]->jail->caps;
	return caps;
}

/* The union of what all kinds need, because workers inherit the keeper's jail. */
static void keeper_jail(struct jail *jail, const char *calls[CALLS_MAX])
{
	size_t i, k, cnt = 0;

	*jail = (struct jail){ .calls = calls,
			       .caps = keeper_caps(keeper.kinds, keeper.kind_cnt) };
	for (k = 0; keeper_calls[k]; k++)
		calls[cnt++] = keeper_calls[k];
	for (i = 0; i < keeper.kind_cnt; i++) {
		const struct jail *its = keeper.kinds[i]->jail;

		for (k = 0; its->calls[k] && cnt + 1 < CALLS_MAX; k++)
			calls[cnt++] = its->calls[k];
		jail->internet |= its->internet;
	}
	calls[cnt] = NULL;
}

static void serve_as_keeper(int fd)
{
	struct started s;
	uint32_t index;

	while (!worker_receive(fd, &index, sizeof(index), NULL, 0, 0)) {
		s = (struct started){ .err = -EINVAL, .fds = { -1, -1, -1 } };
		if (index < keeper.kind_cnt)
			fork_worker(keeper.kinds[index], &s);
		if (worker_send(fd, &s, STARTED_BYTES, s.fds, s.err ? 0 : FDS_MAX))
			break;
		close_all(s.fds, FDS_MAX);
	}
	_exit(0);
}

static void become_keeper(int fd, pid_t parent)
{
	const char *calls[CALLS_MAX];
	struct jail jail;

	keeper_jail(&jail, calls);
	/* Workers use little CPU time, and samples wait for them. Fails without CAP_SYS_NICE. */
	setpriority(PRIO_PROCESS, 0, -10);
	jail_leave_files();	/* before process_detach(): it resets PR_SET_PDEATHSIG */
	if (!process_detach(KEEPER_NAME, parent) || !keep_only(fd))
		_exit(1);
	signal(SIGCHLD, SIG_IGN);	/* the kernel removes workers that have ended */
	if (jail_enter(&jail))
		_exit(1);
	start_over();
	serve_as_keeper(3);
}

int keeper_start(const struct worker_kind *const kinds[], size_t cnt)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	keeper.kinds = kinds;
	keeper.kind_cnt = cnt;
	keeper.pid = fork();
	if (!keeper.pid)
		become_keeper(pair[1], parent);
	close(pair[1]);
	keeper.fd = pair[0];
	if (keeper.pid > 0)
		return 0;
	keeper.pid = 0;
	close(pair[0]);
	return -EAGAIN;
}

void keeper_end(void)
{
	if (!keeper.pid)
		return;
	close(keeper.fd);
	kill(keeper.pid, SIGKILL);
	waitpid(keeper.pid, NULL, 0);
	keeper.pid = 0;
}

pid_t keeper_pid(void)
{
	return keeper.pid;
}

int keeper_check(void)
{
	struct pollfd p = { .fd = keeper.fd };

	return keeper.pid && poll(&p, 1, 0) > 0 && p.revents & POLLHUP ? -ECHILD : 0;
}

/* ---- for the client ---- */

static void ask_keeper(const struct worker_kind *kind, struct started *out)
{
	uint32_t index = 0;
	int err;

	while (index < keeper.kind_cnt && keeper.kinds[index] != kind)
		index++;
	err = worker_send(keeper.fd, &index, sizeof(index), NULL, 0);
	if (!err)
		err = worker_receive(keeper.fd, out, STARTED_BYTES, out->fds, FDS_MAX, 0);
	if (err)
		out->err = err;	/* otherwise it is the keeper's error */
}

int worker_map(struct worker *w, int memory)
{
	void *shared = mmap(NULL, w->kind->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			    memory, 0);

	if (shared == MAP_FAILED)
		return -errno;
	w->shared = shared;
	return 0;
}

int worker_start(struct worker *w)
{
	struct started s = { .fds = { -1, -1, -1 } };

	if (keeper.pid)
		ask_keeper(w->kind, &s);
	else
		fork_worker(w->kind, &s);
	if (!s.err && s.fds[2] < 0)
		s.err = -EMFILE;
	if (!s.err)
		s.err = worker_map(w, s.fds[1]);
	if (s.err) {
		close_all(s.fds, FDS_MAX);	/* a worker that was started ends then */
		return s.err;
	}
	w->pid = s.pid;
	w->fd = s.fds[0];
	w->memory = s.fds[1];
	w->pidfd = s.fds[2];
	return 0;
}
