// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * remote_mem.c - the helper process, and requests to it. See remote_mem.h.
 *
 * Owns a socket for requests and answers, and memory shared with the helper for the bytes
 * that were read. A helper that was given up may stay blocked in the kernel and write
 * later. So each helper has memory of its own, and inherits none of our file descriptors.
 * When it has ended, whatever had blocked it has released it.
 */
#include "host/remote_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "cpython/code.h"
#include "host/proc.h"

/* How long to wait for an answer. A page that comes from a disk takes some ms. */
#define ANSWER_MS 200
/* Without hurry, wait so many times as long while the helper only waits for a CPU. */
#define SLOW_TURNS 10
#define BYTES_MAX (CODE_TABLE_MAX + 4096)
/*
 * On a busy machine each answer costs a turn of the scheduler. At most one fifth of the
 * time is spent waiting, so that samples are taken meanwhile. Unused time is saved up to a
 * limit, because the names of a new program come all at once; the limit is a fifth of what
 * the ring buffer can hold (capture.c).
 */
#define WAIT_SHARE 5
#define WAIT_NS_MAX 100000000ll
/* At most so many helpers may be blocked. Then no further read is tried. */
#define STUCK_MAX 8
/*
 * After this time, a process that blocked a helper is tried again; the time doubles with
 * each failure.
 */
#define AGAIN_NS 1000000000ull
#define AGAIN_DOUBLINGS 6

struct request {
	int32_t tgid;
	uint32_t len;
	uint64_t addr;
};

/* A process that has blocked a helper. */
struct stuck {
	pid_t tgid;
	pid_t helper;			/* the helper that is still blocked; 0: none */
	unsigned int times;
	uint64_t again_ns;		/* when it may be tried again */
};

static struct {
	pid_t pid;			/* 0: no helper */
	int fd;
	void *mem;			/* BYTES_MAX, shared with the helper */
	bool hurry;
	int64_t wait_ns;		/* time that may be spent waiting now */
	uint64_t wait_as_of_ns;
	struct stuck stuck[STUCK_MAX];
} far;

/* The helper's loop: one request at a time, until our end of the socket is closed. */
static void serve(int fd, void *mem)
{
	struct request r;
	int32_t err;

	while (recv(fd, &r, sizeof(r), 0) == sizeof(r)) {
		err = proc_mem_read((void *)(intptr_t)r.tgid, r.addr, mem, r.len);
		if (send(fd, &err, sizeof(err), MSG_NOSIGNAL) != sizeof(err))
			break;
	}
	_exit(0);
}

/* The helper must not inherit descriptors: it would keep our files, perf events and pipes open. */
static void become_helper(int fd, void *mem, pid_t parent)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	int null = open("/dev/null", O_RDWR), i;
	size_t k;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The helper uses little CPU time, and samples wait for it. Fails without CAP_SYS_NICE. */
	setpriority(PRIO_PROCESS, 0, -10);
	if (getppid() != parent || null < 0)
		_exit(1);
	for (k = 0; k < ARRAY_SIZE(ignored); k++)
		signal(ignored[k], SIG_IGN);
	for (i = 0; i < 3; i++)
		dup2(null, i);
	dup2(fd, 3);
	/*
	 * close_range() exists since 5.9. Without it the helper keeps our descriptors until
	 * we end.
	 */
	syscall(SYS_close_range, 4, ~0u, 0);
	serve(3, mem);
}

static int start(void)
{
	int pair[2], err;
	pid_t pid, parent = getpid();

	far.mem = mmap(NULL, BYTES_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (far.mem == MAP_FAILED)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		err = -errno;
		goto unmap;
	}
	pid = fork();
	err = -errno;
	if (!pid)
		become_helper(pair[1], far.mem, parent);
	close(pair[1]);
	if (pid > 0) {
		far.pid = pid;
		far.fd = pair[0];
		return 0;
	}
	close(pair[0]);
unmap:
	munmap(far.mem, BYTES_MAX);
	return err;
}

/* A helper that is blocked in the kernel ends when it can; nobody waits for it. */
void remote_mem_end(void)
{
	if (!far.pid)
		return;
	close(far.fd);
	kill(far.pid, SIGKILL);
	waitpid(far.pid, NULL, WNOHANG);
	munmap(far.mem, BYTES_MAX);
	far.pid = 0;
}

static bool has_ended(pid_t helper)
{
	return waitpid(helper, NULL, WNOHANG) != 0;
}

/* May this process be read from: is it not blocking a helper, and may one more helper be lost? */
static bool may_ask(pid_t tgid, uint64_t now)
{
	bool room = false;
	struct stuck *s;

	for (s = far.stuck; s < far.stuck + STUCK_MAX; s++) {
		if (s->helper && has_ended(s->helper))
			s->helper = 0;
		if (s->tgid == tgid && (s->helper || now < s->again_ns))
			return false;
		room |= !s->helper;
	}
	return room;
}

/*
 * The process' own entry, or the one whose turn comes first. may_ask() has checked that
 * there is one.
 */
static struct stuck *stuck_entry(pid_t tgid)
{
	struct stuck *s, *found = NULL;

	for (s = far.stuck; s < far.stuck + STUCK_MAX; s++) {
		if (s->tgid == tgid)
			return s;
		if (!s->helper && (!found || s->again_ns < found->again_ns))
			found = s;
	}
	*found = (struct stuck){ .tgid = tgid };
	return found;
}

/* Is the helper runnable, so that it only waits for a CPU? */
static bool is_runnable(pid_t helper)
{
	char text[512], *state;

	if (proc_read(helper, "stat", text, sizeof(text)) <= 0)
		return false;
	state = strrchr(text, ')');
	return state && !strncmp(state, ") R", 3);
}

/* Give up the helper. If it only waited for a CPU, the process is not blamed for it. */
static void give_up(pid_t tgid)
{
	bool is_slow = is_runnable(far.pid);
	struct stuck *s = stuck_entry(tgid);

	log_debug("process %d: its memory cannot be read in time%s", tgid,
		  is_slow ? ": the machine is busy" : "");
	s->helper = far.pid;
	s->again_ns = now_ns();
	if (!is_slow) {
		s->again_ns += AGAIN_NS
			       << (s->times < AGAIN_DOUBLINGS ? s->times : AGAIN_DOUBLINGS);
		s->times++;
	}
	remote_mem_end();
	if (has_ended(s->helper))
		s->helper = 0;
}

/*
 * Wait for the answer. Signals do not prolong the wait. We may have had no CPU for all that
 * time ourselves, so the socket is checked once more at its end.
 */
static int poll_answer(void)
{
	uint64_t end = now_ns() + ANSWER_MS * 1000000ull, now;
	struct pollfd p = { .fd = far.fd, .events = POLLIN };
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

static int wait_answer(void)
{
	int err, turns = 0;

	do
		err = poll_answer();
	while (err == -ETIMEDOUT && !far.hurry && ++turns < SLOW_TURNS && is_runnable(far.pid));
	return err;
}

static int ask(pid_t tgid, uint64_t addr, size_t len)
{
	struct request r = { tgid, len, addr };
	int32_t answer;
	int err;

	if (send(far.fd, &r, sizeof(r), MSG_NOSIGNAL) != sizeof(r))
		return -EPIPE;
	err = wait_answer();
	if (err)
		return err;
	return recv(far.fd, &answer, sizeof(answer), 0) == sizeof(answer) ? answer : -EPIPE;
}

static bool may_wait(uint64_t now)
{
	if (!far.hurry)
		return true;
	if (far.wait_ns < WAIT_NS_MAX) {
		far.wait_ns += (now - far.wait_as_of_ns) / WAIT_SHARE;
		if (far.wait_ns > WAIT_NS_MAX)
			far.wait_ns = WAIT_NS_MAX;
	}
	far.wait_as_of_ns = now;
	return far.wait_ns > 0;
}

int remote_mem_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	pid_t tgid = (pid_t)(intptr_t)ctx;
	uint64_t start_ns;
	int err;

	if (tgid == getpid())
		return proc_mem_read(ctx, addr, buf, len);
	if (len > BYTES_MAX)
		return -E2BIG;
	start_ns = now_ns();
	if (!may_wait(start_ns) || !may_ask(tgid, start_ns))
		return -EBUSY;
	err = far.pid ? 0 : start();
	if (err)
		return err;
	err = ask(tgid, addr, len);
	if (far.hurry)
		far.wait_ns -= now_ns() - start_ns;
	if (!err)
		memcpy(buf, far.mem, len);
	if (err == -ETIMEDOUT)
		give_up(tgid);
	else if (err == -EPIPE)
		remote_mem_end();
	return err == -ETIMEDOUT || err == -EPIPE ? -EBUSY : err;
}

void remote_mem_hurry(bool hurry)
{
	far.hurry = hurry;
}

void remote_mem_grant(int64_t ns)
{
	far.wait_ns = ns;
	far.wait_as_of_ns = now_ns();
}

pid_t remote_mem_helper(void)
{
	return far.pid;
}
