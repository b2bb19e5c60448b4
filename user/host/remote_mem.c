// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * remote_mem.c - the helper process and the way to it. See remote_mem.h.
 *
 * Owns a socket for requests and answers, and memory shared with the helper for
 * what was read. A helper that is given up may stay stuck in the kernel and write
 * later: so each has memory of its own, and holds nothing of ours open. That it has
 * ended tells that whoever kept it has let it go.
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

/* A page that has to come from a disk takes some ms. */
#define ANSWER_MS 200
/* In no hurry: as long again and again while the helper only waits for a CPU. */
#define SLOW_TURNS 10
#define BYTES_MAX (CODE_TABLE_MAX + 4096)
/*
 * On a busy machine each answer takes a turn of the scheduler's: of all time a fifth may
 * be spent waiting, so that samples are taken meanwhile. Saved up for so long at most: a
 * fifth of what the ring buffer holds (capture.c), as a new program's names come at once.
 */
#define WAIT_SHARE 5
#define WAIT_NS_MAX 100000000ll
/* So many helpers may be stuck at a time; then there are no more such reads. */
#define STUCK_MAX 8
/* After so long a process that kept us waiting is asked again; each time twice as long. */
#define AGAIN_NS 1000000000ull
#define AGAIN_DOUBLINGS 6

struct request {
	int32_t tgid;
	uint32_t len;
	uint64_t addr;
};

/* Who kept us waiting. */
struct stuck {
	pid_t tgid;
	pid_t helper;			/* that waits there still; 0: none */
	unsigned int times;
	uint64_t again_ns;		/* not to be asked before */
};

static struct {
	pid_t pid;			/* 0: no helper */
	int fd;
	void *mem;			/* BYTES_MAX, shared with the helper */
	bool hurry;
	int64_t wait_ns;		/* that may be spent now */
	uint64_t wait_as_of_ns;
	struct stuck stuck[STUCK_MAX];
} far;

/* The helper's life: one request at a time, until our end of the socket closes. */
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

/* What keeps files, perf events and pipes of ours alive must not be held by the helper. */
static void become_helper(int fd, void *mem, pid_t parent)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	int null = open("/dev/null", O_RDWR), i;
	size_t k;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It does little, and samples wait for it. Without CAP_SYS_NICE it waits in line. */
	setpriority(PRIO_PROCESS, 0, -10);
	if (getppid() != parent || null < 0)
		_exit(1);
	for (k = 0; k < ARRAY_SIZE(ignored); k++)
		signal(ignored[k], SIG_IGN);
	for (i = 0; i < 3; i++)
		dup2(null, i);
	dup2(fd, 3);
	/* close_range() is from 5.9; where it fails everything is open until our end. */
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

/* A helper that is stuck in the kernel ends when it can; nobody waits for it. */
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

/* Is it not the one that keeps us waiting, and may another helper be lost? */
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

/* Its own entry, or that of one that may be asked soonest; may_ask() has seen that there is one. */
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

/* Does the helper wait for a CPU, and for nothing else? */
static bool is_runnable(pid_t helper)
{
	char text[512], *state;

	if (proc_read(helper, "stat", text, sizeof(text)) <= 0)
		return false;
	state = strrchr(text, ')');
	return state && !strncmp(state, ") R", 3);
}

/* Give the helper up. That the machine is busy is not the fault of the process. */
static void give_up(pid_t tgid)
{
	bool is_slow = is_runnable(far.pid);
	struct stuck *s = stuck_entry(tgid);

	log_debug("process %d: its memory cannot be read in time%s", tgid,
		  is_slow ? ": the machine is busy" : "");
	s->helper = far.pid;
	s->again_ns = now_ns();
	if (!is_slow) {
		s->again_ns += AGAIN_NS << (s->times < AGAIN_DOUBLINGS ? s->times : AGAIN_DOUBLINGS);
		s->times++;
	}
	remote_mem_end();
	if (has_ended(s->helper))
		s->helper = 0;
}

/*
 * Signals may come meanwhile; they do not make us wait longer. We may be without a CPU
 * ourselves for all that time, so the last look is behind it.
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
