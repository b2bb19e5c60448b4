// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_check_worker.c - the worker of page_check.h: reads /proc of one process after the other, and
 * may wait for its memory map.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"
#include "memory/page_check_wire.h"
#include "memory/page_frames.h"
#include "memory/reader.h"

#define TICK_NS 10000000ull	/* of /proc/PID/stat: USER_HZ is 100 */
#define KIB 1024u
/* Huge pages that are looked at for one question: 16 GiB of 2 MiB, some 30 ms. */
#define STEPS_MAX 8192u

static struct page_question question;
static struct page_reply reply;

/* Which entry of /proc has the process' files? -errno; -ESRCH: it is another one now, or none. */
static pid_t task_of(pid_t tgid, uint64_t start_ns)
{
	struct proc_stat st;
	int err = proc_stat(tgid, &st);
	pid_t task;

	if (!err && start_ns && start_ns / TICK_NS != st.start_ticks)
		err = -ESRCH;
	if (err)
		return err;
	task = st.ended ? proc_living_task(tgid) : tgid;
	return task ? task : -ESRCH;
}

/* A line of /proc/PID/status, in bytes; 0: it is not there. */
static uint64_t amount(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	return line ? strtoull(line + strlen(key), NULL, 10) * KIB : 0;
}

static int read_amounts(pid_t task)
{
	char status[4096];
	ssize_t n = proc_read(task, "status", status, sizeof(status));

	if (n < 0)
		return (int)n;
	reply.rss_anon = amount(status, "\nRssAnon:");
	reply.swapped = amount(status, "\nVmSwap:");
	reply.read_ns = now_ns();
	return 0;
}

static int look_at_pages(struct page_frames *f, pid_t task)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", task);
	f->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (f->pagemap < 0)
		return errno == ENOENT ? -ESRCH : errno == EPERM ? -EACCES : -errno;
	f->steps = STEPS_MAX;
	f->run_bytes = 0;
	err = page_frames_look(f, question.addrs, question.cnt, reply.states);
	close(f->pagemap);
	return err;
}

/* The pid may become another process' meanwhile. */
static int look(struct page_frames *f)
{
	pid_t task = task_of(question.tgid, question.start_ns);
	int err, denied = 0;

	if (task < 0)
		return (int)task;
	err = question.cnt ? look_at_pages(f, task) : 0;
	if (err == -EACCES) {	/* its amounts are for everybody */
		denied = err;
		err = 0;
	}
	if (!err)
		err = read_amounts(task);
	if (!err && task_of(question.tgid, question.start_ns) < 0)
		err = -ESRCH;
	return err ? err : denied;
}

static void answer(int fd, struct page_frames *f)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int err;

	reply = (struct page_reply){ .number = question.number };
	reply.err = look(f);
	reply.cnt = reply.err ? 0 : question.cnt;
	reply.frames_known = f->known;
	while ((err = page_wire_send(fd, &reply, page_reply_bytes(&reply))) == -EAGAIN)
		poll(&p, 1, -1);
	if (err)
		_exit(0);
}

static int converse(void *shared, const int *fds)
{
	struct page_frames f = { .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE) };
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	ssize_t n;

	(void)shared;
	f.flags = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	for (;;) {
		n = page_wire_receive(p.fd, &question, sizeof(question));
		if (n == -EAGAIN)
			poll(&p, 1, -1);
		else if (n < 0 || !page_question_ok(&question, (size_t)n))
			_exit(0);
		else
			answer(p.fd, &f);
	}
}

static const worker_fn functions[] = { converse };

static const char *const calls[] = {
	"open", "openat", "read", "pread64", "fstat", "newfstatat", "getdents64", "lseek", "poll",
	"ppoll", "sendto", "recvfrom", NULL,
};

static const struct jail jail = {
	.caps = 1ull << CAP_SYS_PTRACE | 1ull << CAP_SYS_ADMIN | 1ull << CAP_DAC_READ_SEARCH,
	.calls = calls,
	.memory_bytes = 256u << 20,
};

const struct worker_kind page_check_kind = {
	.name = "tachbpf-pages",
	.does = "asks which pages of processes are still there, for --mode mem",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = 4096,
	.owner = reader_owner,
};
