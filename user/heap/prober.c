// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * prober.c - see prober.h: the function of the worker, and the calls to it.
 *
 * Each file that defines malloc() and free() is an allocator. There may be several, for example one
 * of LD_PRELOAD and the C library's, of which the dynamic linker chooses for each caller: all are
 * probed, and a call that one of them makes to another counts once (heap.bpf.c).
 */
#include "heap/prober.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "heap/heap_functions.h"
#include "heap/uprobe_event.h"
#include "host/proc.h"
#include "host/reader.h"
#include "target/parser.h"

/* include/uapi/linux/capability.h, since 5.8 and 5.9; older headers lack them */
#define CAP_PERFMON_BIT 38
#define CAP_CHECKPOINT_RESTORE_BIT 40

#define MAPPED_FILES_MAX 1024	/* that are looked at */
#define TICK_NS 10000000ull	/* of /proc/PID/stat: USER_HZ is 100 */
/* How long to wait for an answer: to probe a function takes up to some milliseconds. */
#define ANSWER_MS 500
#define SLOW_TURNS (PROBER_WAIT_MS / ANSWER_MS)

enum function { PROBE, SET_PARSER };

/* A message with an event. */
struct probed {
	uint32_t function;
	uint32_t returns;
};

struct shared {
	struct parser_use parser;
	pid_t new_parser;
	pid_t tgid;
	uint64_t start_ns;
	int type;
	bool returns;
	struct prober_found found;
};

/* ---- in the worker ---- */

struct mapped_file {
	uint64_t start, end, dev, ino;
	char name[PROBER_NAME_BYTES];
};

static struct {
	struct mapped_file files[MAPPED_FILES_MAX];
	unsigned int cnt;
	struct prober_found found;
	const char *names[HEAP_FUNCTION_CNT];
} self;

/* The end of a long path says more than its begin. */
static void copy_name(char out[PROBER_NAME_BYTES], const char *path)
{
	size_t len = strlen(path), cut = len < PROBER_NAME_BYTES ? 0 : len - PROBER_NAME_BYTES + 1;

	memcpy(out, path + cut, len - cut + 1);
}

/* Callback of proc_maps(): one mapping with code of each file. */
static int add_mapped(void *ctx, const struct proc_map *m)
{
	struct mapped_file *f = &self.files[self.cnt];
	unsigned int i;

	if (!m->exec || !m->inode)
		return 0;
	for (i = 0; i < self.cnt; i++)
		if (self.files[i].ino == m->inode && self.files[i].dev == m->dev)
			return 0;
	if (self.cnt == MAPPED_FILES_MAX)
		return -E2BIG;
	*f = (struct mapped_file){ m->start, m->end, m->dev, m->inode, "" };
	copy_name(f->name, m->path);
	self.cnt++;
	return 0;
}

static int is_same_process(pid_t tgid, uint64_t start_ns)
{
	struct proc_stat st;
	int err = proc_stat(tgid, &st);

	if (err)
		return err;
	return !start_ns || start_ns / TICK_NS == st.start_ticks ? 0 : -ESRCH;
}

static void send_event(int to, unsigned int function, bool returns, int event)
{
	struct probed p = { function, returns };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec io = { &p, sizeof(p) };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.room,
			    .msg_controllen = sizeof(control.room) };

	memcpy(CMSG_DATA(&control.head), &event, sizeof(event));
	if (sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(p))
		self.found.probe_cnt++;
	else if (!self.found.first_err)
		self.found.first_err = -errno;
}

/* Two names may be of the same function. */
static bool is_first(const uint64_t *offsets, unsigned int i)
{
	unsigned int before;

	for (before = 0; before < i; before++)
		if (offsets[before] == offsets[i])
			return false;
	return true;
}

static void probe_functions(const struct shared *s, int fd, const uint64_t *offsets, int to)
{
	unsigned int i;
	char path[32];
	int event;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (i = 0; i < HEAP_FUNCTION_CNT; i++) {
		if (!offsets[i] || !is_first(offsets, i) ||
		    (s->returns && !heap_shape_returns(heap_functions[i].shape)))
			continue;
		event = uprobe_event_open(s->type, s->tgid, path, offsets[i], s->returns);
		if (event < 0) {
			self.found.first_err = self.found.first_err ? self.found.first_err : event;
			continue;
		}
		send_event(to, i, s->returns, event);
		close(event);
	}
}

/* Where a file has its functions. 0; -ENOENT: it is no allocator; -EBUSY: it did not answer. */
static int find_functions(int fd, uint64_t *offsets)
{
	uint64_t needed[HEAP_FUNCTION_NEEDED];
	int err = parser_functions(fd, self.names, needed, HEAP_FUNCTION_NEEDED);
	unsigned int i;

	for (i = 0; !err && i < HEAP_FUNCTION_NEEDED; i++)
		err = needed[i] ? 0 : -ENOENT;
	return err ? err : parser_functions(fd, self.names, offsets, HEAP_FUNCTION_CNT);
}

/* 0, or -EBUSY. Files that cannot be opened or read are none. */
static int probe_file(const struct shared *s, const struct mapped_file *f, int to)
{
	/* By no path, which others can change meanwhile. */
	const struct proc_map map = { .start = f->start, .end = f->end, .path = "" };
	uint64_t offsets[HEAP_FUNCTION_CNT];
	int fd = proc_open_mapped(s->tgid, &map), err;

	if (fd < 0)
		return 0;
	err = find_functions(fd, offsets);
	if (!err && self.found.file_cnt < PROBER_FILES_MAX) {
		memcpy(self.found.names[self.found.file_cnt++], f->name, PROBER_NAME_BYTES);
		probe_functions(s, fd, offsets, to);
	}
	close(fd);
	return err == -EBUSY ? err : 0;
}

static int probe(void *shared, const int *fds)
{
	struct shared *s = shared;
	const struct shared asked = *s;
	unsigned int i;
	int err;

	self.cnt = 0;
	memset(&self.found, 0, sizeof(self.found));
	for (i = 0; i < HEAP_FUNCTION_CNT; i++)
		self.names[i] = heap_functions[i].name;
	parser_for(asked.tgid, &s->parser);
	err = is_same_process(asked.tgid, asked.start_ns);
	if (!err)
		err = proc_maps(asked.tgid, add_mapped, NULL);
	if (err == -E2BIG || err == -EFBIG)
		err = 0;
	for (i = 0; !err && i < self.cnt; i++)
		err = probe_file(&asked, &self.files[i], fds[0]);
	if (!err)
		err = is_same_process(asked.tgid, asked.start_ns);
	s->found = self.found;
	return err ? err : self.found.file_cnt ? 0 : -ENOENT;
}

static int set_parser(void *shared, const int *fds)
{
	const struct shared *s = shared;

	return parser_adopt(fds, s->new_parser);
}

static const worker_fn functions[] = { [PROBE] = probe, [SET_PARSER] = set_parser };

static const char *const calls[] = {
	"open", "openat", "openat2", "read", "pread64", "readlink", "readlinkat", "stat", "lstat",
	"newfstatat", "fstat", "statx", "fcntl", "lseek", "poll", "ppoll", "sendmsg",
	"perf_event_open", NULL,
};

/* CAP_SYS_ADMIN: for uprobes since 6.15 (ba677dbe77af), before that CAP_PERFMON. */
static const struct jail jail = {
	.caps = 1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_ADMIN |
		1ull << CAP_PERFMON_BIT | 1ull << CAP_CHECKPOINT_RESTORE_BIT,
	.calls = calls,
};

const struct worker_kind heap_prober_kind = {
	.name = "tachbpf-prober",
	.does = "probes the allocator of one process, for --allocations",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = sizeof(struct shared),
	.owner = reader_owner,
};

/* ---- in the program ---- */

static struct worker prober = { .kind = &heap_prober_kind };
static struct worker parser = { .kind = &parser_kind };

static int call(enum function f, pid_t about, const int *fds)
{
	int err = worker_call(&prober, f, fds, ANSWER_MS), turns = 0;

	while (err == -ETIMEDOUT && ++turns < SLOW_TURNS)
		err = worker_wait(&prober, ANSWER_MS);
	if (err == -ETIMEDOUT) {
		worker_give_up(&prober, about, true);
		worker_give_up(&parser, about, true);
	}
	if (!prober.pid)	/* another one would not know it */
		worker_end(&parser);
	return err == -EPIPE ? -EBUSY : err;
}

/* Start what does not run of the two. As worker_ready(). */
static int start_for(pid_t about)
{
	int err = worker_ready(&prober, about), fds[WORKER_FDS_MAX];
	bool had = parser.pid;
	struct shared *s = prober.shared;

	if (!err)
		err = worker_ready(&parser, about);
	if (err || had)
		return err;
	worker_descriptors(&parser, fds);
	s->parser = (struct parser_use){ 0 };
	s->new_parser = parser.pid;
	err = call(SET_PARSER, 0, fds);
	if (err)
		worker_end(&parser);
	return err ? -EBUSY : 0;
}

/*
 * A message that has waited: an event. -EAGAIN: there is none; -EMFILE: no descriptor is left for
 * it; -EBADMSG: it has no form of ours.
 */
static int receive_event(int fd, struct probed *p, int *event)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec io = { p, sizeof(*p) };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.room,
			    .msg_controllen = sizeof(control.room) };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (n <= 0)
		return n ? -errno : -EAGAIN;
	if (m.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EBADMSG;
	memcpy(event, CMSG_DATA(c), sizeof(*event));
	if (n == sizeof(*p) && p->function < HEAP_FUNCTION_CNT)
		return 0;
	close(*event);
	return -EBADMSG;
}

static int take_events(int fd, bool returns, prober_take_fn take, void *ctx)
{
	struct probed p;
	int event = -1, err;

	while (!(err = receive_event(fd, &p, &event))) {
		err = take(ctx, p.function, returns, event);
		if (err)
			return err;
	}
	return err == -EAGAIN ? 0 : err;
}

/* All events fit into the socket: HEAP_FUNCTION_CNT * PROBER_FILES_MAX messages at most. */
static int probe_by_worker(bool returns, prober_take_fn take, void *ctx, pid_t tgid)
{
	int pair[2], fds[WORKER_FDS_MAX] = { -1, -1 }, err, taken;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fds[0] = pair[1];
	err = call(PROBE, tgid, fds);
	close(pair[1]);
	taken = take_events(pair[0], returns, take, ctx);
	close(pair[0]);
	return err ? err : taken;
}

int prober_probe(pid_t tgid, uint64_t start_ns, bool returns, prober_take_fn take, void *ctx,
		 struct prober_found *found)
{
	int err = start_for(tgid), type = uprobe_event_type();
	struct shared *s = prober.shared;
	uint32_t i;

	memset(found, 0, sizeof(*found));
	if (err || type < 0)
		return err ? err : type;
	s->parser = (struct parser_use){ 0 };
	s->tgid = tgid;
	s->start_ns = start_ns;
	s->type = type;
	s->returns = returns;
	err = probe_by_worker(returns, take, ctx, tgid);
	if (!prober.pid)
		return err ? err : -EBUSY;
	*found = s->found;
	if (found->file_cnt > PROBER_FILES_MAX)
		found->file_cnt = PROBER_FILES_MAX;
	for (i = 0; i < found->file_cnt; i++)
		found->names[i][PROBER_NAME_BYTES - 1] = '\0';
	if (s->parser.lost && parser.pid)
		worker_give_up(&parser, tgid, true);
	return err;
}

void prober_end(void)
{
	worker_end(&prober);
	worker_end(&parser);
}
