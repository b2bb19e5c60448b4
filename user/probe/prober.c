// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * prober.c - see prober.h: the function of the worker, and the calls to it.
 *
 * All files that have what is wanted are probed. There may be several allocators, for example one
 * of LD_PRELOAD and the C library's, of which the dynamic linker chooses for each caller.
 */
#include "probe/prober.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "host/proc.h"
#include "host/regular.h"
#include "memory/reader.h"

/* ---- a uprobe's event ---- */

/* Documentation/ABI/testing/sysfs-bus-event_source-devices */
#define TYPE_FILE "/sys/bus/event_source/devices/uprobe/type"
/* kernel/events/core.c, PERF_PROBE_CONFIG_IS_RETPROBE; as in format/retprobe: "config:0" */
#define IS_RETPROBE 1
/* kernel/events/core.c, PERF_UPROBE_REF_CTR_OFFSET_SHIFT; format/ref_ctr_offset: "config:32-63" */
#define SEMAPHORE_SHIFT 32

int uprobe_event_type(void)
{
	int fd = open(TYPE_FILE, O_RDONLY | O_CLOEXEC), err;
	char text[16];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	err = n > 0 ? 0 : n ? -errno : -ENODATA;
	close(fd);
	if (err)
		return err;
	text[n] = '\0';
	return (int)strtol(text, NULL, 10);
}

int uprobe_event_open(int type, pid_t tgid, const char *path, const struct uprobe_place *place)
{
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.size = sizeof(attr),
		.config = (place->returns ? IS_RETPROBE : 0) | place->semaphore << SEMAPHORE_SHIFT,
		.uprobe_path = (uint64_t)(uintptr_t)path,
		.probe_offset = place->offset,
	};
	int fd;

	if (place->semaphore > UINT32_MAX)
		return -E2BIG;
	fd = (int)syscall(SYS_perf_event_open, &attr, tgid ? tgid : -1, tgid ? -1 : 0, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* include/uapi/linux/capability.h, since 5.8 and 5.9; older headers lack them */
#define CAP_PERFMON_BIT 38
#define CAP_CHECKPOINT_RESTORE_BIT 40

#define MAPPED_FILES_MAX 1024	/* examined */
#define KNOWN_FILES_MAX 256	/* probed everywhere */
#define TICK_NS 10000000ull	/* of /proc/PID/stat: USER_HZ is 100 */
/* How long to wait for an answer: probing a function takes up to some milliseconds. */
#define ANSWER_MS 500
#define SLOW_TURNS (PROBER_WAIT_MS / ANSWER_MS)

enum function { PROBE, SET_PARSER };

/* A message with an event, or with a file: then `places` are its functions' */
struct probed {
	uint32_t function;
	uint32_t returns;
	uint64_t places[PARSER_FUNCTIONS_MAX];	/* offsets; 0: not to be probed */
};

struct shared {
	struct parser_use parser;
	pid_t new_parser;
	int type;
	struct prober_wanted wanted;
	struct prober_found found;
};

bool prober_is_called(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t len = strlen(name);

	return !strncmp(base, name, len) &&
	       (!base[len] || base[len] == '.' || base[len] == '-' ||
		isdigit((unsigned char)base[len]));
}

/* ---- in the worker ---- */

struct mapped_file {
	uint64_t start, end, dev, ino;
	char name[PROBER_NAME_BYTES];
};

static struct {
	struct prober_wanted wanted;
	int type;
	struct mapped_file files[MAPPED_FILES_MAX];
	unsigned int cnt;
	struct prober_found found;
	struct { uint64_t dev, ino; } known[KNOWN_FILES_MAX];
	unsigned int known_cnt;
} self;

/* The end of a long path is more informative than its beginning. */
static void copy_name(char out[PROBER_NAME_BYTES], const char *path)
{
	size_t len = strlen(path), cut = len < PROBER_NAME_BYTES ? 0 : len - PROBER_NAME_BYTES + 1;

	memcpy(out, path + cut, len - cut + 1);
}

static bool is_wanted(const char *path)
{
	const char *file = self.wanted.file;

	return strchr(file, '/') ? !strcmp(path, file) : !*file || prober_is_called(path, file);
}

/* Callback of proc_maps(): one mapping with code of each file. */
static int add_mapped(void *ctx, const struct proc_map *m)
{
	struct mapped_file *f = &self.files[self.cnt];
	unsigned int i;

	if (!m->exec || !m->inode || !is_wanted(m->path))
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

/* Counts as one probe. */
static void send_probed(int to, struct probed *p, int event)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec io = { p, sizeof(*p) };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.room,
			    .msg_controllen = sizeof(control.room) };

	memcpy(CMSG_DATA(&control.head), &event, sizeof(event));
	if (sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(*p))
		self.found.probe_cnt++;
	else if (!self.found.first_err)
		self.found.first_err = -errno;
}

/* Probe a place of the file fd. */
static void probe_place(int fd, unsigned int function, const struct uprobe_place *place, int to)
{
	struct probed p = { .function = function, .returns = place->returns };
	char path[32];
	int event;

	if (self.found.probe_cnt == PROBER_EVENTS_MAX) {
		self.found.first_err = self.found.first_err ? self.found.first_err : -E2BIG;
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	event = uprobe_event_open(self.type, self.wanted.everywhere ? 0 : self.wanted.tgid, path,
				  place);
	if (event < 0) {
		self.found.first_err = self.found.first_err ? self.found.first_err : event;
		return;
	}
	send_probed(to, &p, event);
	close(event);
}

/* Two names may refer to the same function. */
static bool is_first(const uint64_t *offsets, unsigned int i)
{
	unsigned int before;

	for (before = 0; before < i; before++)
		if (offsets[before] == offsets[i])
			return false;
	return true;
}

/* Check that the file has all functions that are needed. As parser_functions(). */
static int find_needed(int fd, const char *const *names)
{
	uint64_t needed[PARSER_FUNCTIONS_MAX];
	uint32_t cnt = self.wanted.needed, i;
	int err = parser_functions(fd, names, needed, cnt);

	for (i = 0; !err && i < cnt; i++)
		err = needed[i] ? 0 : -ENOENT;
	return err;
}

/* 0; -ENOENT: it has none; -EBUSY: it did not answer. */
static int probe_functions(int fd, int to)
{
	const struct prober_wanted *w = &self.wanted;
	uint64_t offsets[PARSER_FUNCTIONS_MAX];
	const char *names[PARSER_FUNCTIONS_MAX];
	struct probed file = { .function = 0 };
	uint32_t i;
	int err;

	for (i = 0; i < w->cnt; i++)
		names[i] = w->names[i];
	err = find_needed(fd, names);
	if (!err)
		err = parser_functions(fd, names, offsets, w->cnt);
	for (i = 0; !err && i < w->cnt; i++) {
		if (!offsets[i] || !is_first(offsets, i) || w->left_out >> i & 1)
			continue;
		file.places[i] = offsets[i];
		if (!w->find)
			probe_place(fd, i, &(struct uprobe_place){ .offset = offsets[i],
								   .returns = w->returns }, to);
	}
	if (!err && w->find)
		send_probed(to, &file, fd);
	return err;
}

/* As probe_functions(). */
static int probe_usdt(int fd, int to)
{
	struct elf_sdt_place places[ELF_SDT_PLACES_MAX];
	uint32_t cnt = 0, i;
	int err = parser_sdt(fd, self.wanted.provider, self.wanted.probe, places, &cnt);

	for (i = 0; !err && i < cnt; i++)
		probe_place(fd, 0, &(struct uprobe_place){ .offset = places[i].offset,
							   .semaphore = places[i].semaphore }, to);
	return err;
}

/* Returns true if the file was probed everywhere before. */
static bool is_known(const struct stat *st)
{
	unsigned int i;

	for (i = 0; self.wanted.everywhere && i < self.known_cnt; i++)
		if (self.known[i].dev == st->st_dev && self.known[i].ino == st->st_ino)
			return true;
	return false;
}

static void remember_file(const struct stat *st)
{
	if (!self.wanted.everywhere || self.known_cnt == KNOWN_FILES_MAX)
		return;
	self.known[self.known_cnt].dev = st->st_dev;
	self.known[self.known_cnt++].ino = st->st_ino;
}

/* 0, also if the file has nothing that is wanted; or -EBUSY. */
static int probe_file(int fd, const char name[PROBER_NAME_BYTES], int to)
{
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return 0;
	if (is_known(&st)) {
		self.found.known = true;
		return 0;
	}
	if (self.found.file_cnt == PROBER_FILES_MAX)
		return 0;
	err = self.wanted.cnt ? probe_functions(fd, to) : probe_usdt(fd, to);
	if (!err) {
		memcpy(self.found.names[self.found.file_cnt++], name, PROBER_NAME_BYTES);
		remember_file(&st);
	} else if (err != -ENOENT && err != -EBUSY && !self.found.first_err) {
		self.found.first_err = err;
	}
	return err == -EBUSY ? err : 0;
}

/* Not by path, which others can change meanwhile. Files that cannot be opened are skipped. */
static int probe_mapped(const struct mapped_file *f, int to)
{
	const struct proc_map map = { .start = f->start, .end = f->end, .path = "" };
	int fd = proc_open_mapped(self.wanted.tgid, &map), err;

	if (fd < 0)
		return 0;
	err = probe_file(fd, f->name, to);
	close(fd);
	return err;
}

static int probe_process(int to)
{
	const struct prober_wanted *w = &self.wanted;
	int err = is_same_process(w->tgid, w->start_ns);
	unsigned int i;

	if (!err)
		err = proc_maps(w->tgid, add_mapped, NULL);
	if (err == -E2BIG || err == -EFBIG)
		err = 0;
	for (i = 0; !err && i < self.cnt; i++)
		err = probe_mapped(&self.files[i], to);
	return err ? err : is_same_process(w->tgid, w->start_ns);
}

static int probe_path(int to)
{
	int fd = open_regular(AT_FDCWD, self.wanted.path, 0), err;
	char name[PROBER_NAME_BYTES];

	if (fd < 0)
		return fd;
	copy_name(name, self.wanted.path);
	err = probe_file(fd, name, to);
	close(fd);
	return err;
}

static int run_probe(void *shared, const int *fds)
{
	struct shared *s = shared;
	int err;

	self.cnt = 0;
	memset(&self.found, 0, sizeof(self.found));
	self.wanted = s->wanted;
	self.type = s->type;
	parser_for(self.wanted.tgid, &s->parser);
	err = *self.wanted.path ? probe_path(fds[0]) : probe_process(fds[0]);
	s->found = self.found;
	if (err || self.found.file_cnt || self.found.known)
		return err;
	return *self.wanted.path && self.found.first_err ? self.found.first_err : -ENOENT;
}

static int set_parser(void *shared, const int *fds)
{
	const struct shared *s = shared;

	return parser_adopt(fds, s->new_parser);
}

static const worker_fn functions[] = { [PROBE] = run_probe, [SET_PARSER] = set_parser };

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

const struct worker_kind prober_kind = {
	.name = "tachbpf-prober",
	.does = "probes functions, for --allocations and -e uprobe: and usdt:",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = sizeof(struct shared),
	.owner = reader_owner,
};

/* ---- in the program ---- */

static struct worker prober = { .kind = &prober_kind };
static struct worker parser = { .kind = &parser_kind };

static int call_prober(enum function f, pid_t about, const int *fds)
{
	int err = worker_call(&prober, f, fds, ANSWER_MS), turns = 0;

	while (err == -ETIMEDOUT && ++turns < SLOW_TURNS)
		err = worker_wait(&prober, ANSWER_MS);
	if (err == -ETIMEDOUT) {
		worker_give_up(&prober, about, true);
		worker_give_up(&parser, about, true);
	}
	if (!prober.pid)	/* a new prober would not know it */
		worker_end(&parser);
	return err == -EPIPE ? -EBUSY : err;
}

/* Start the prober and its parser, unless they run. As worker_ready(). */
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
	err = call_prober(SET_PARSER, 0, fds);
	if (err)
		worker_end(&parser);
	return err ? -EBUSY : 0;
}

/*
 * Receive a waiting message: an event. -EAGAIN: there is none; -EMFILE: no descriptor is left for
 * it; -EBADMSG: it is malformed.
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
	if (n == sizeof(*p) && p->function < PARSER_FUNCTIONS_MAX)
		return 0;
	close(*event);
	return -EBADMSG;
}

struct taker {
	prober_take_fn event;
	prober_file_fn file;	/* one of both */
	void *ctx;
};

static int take_events(int fd, bool returns, const struct taker *t)
{
	struct probed p;
	int event = -1, err;

	while (!(err = receive_event(fd, &p, &event))) {
		err = t->file ? t->file(t->ctx, event, p.places) :
				t->event(t->ctx, p.function, returns, event);
		if (err)
			return err;
	}
	return err == -EAGAIN ? 0 : err;
}

/* All events fit into the socket: at most PROBER_EVENTS_MAX messages. */
static int probe_by_worker(const struct prober_wanted *w, const struct taker *t)
{
	int pair[2], fds[WORKER_FDS_MAX] = { -1, -1 }, err, taken;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	fds[0] = pair[1];
	err = call_prober(PROBE, w->tgid, fds);
	close(pair[1]);
	taken = take_events(pair[0], w->returns, t);
	close(pair[0]);
	return err ? err : taken;
}

static int call_for(const struct prober_wanted *wanted, const struct taker *t,
		    struct prober_found *found)
{
	int err = start_for(wanted->tgid), type = uprobe_event_type();
	struct shared *s = prober.shared;
	uint32_t i;

	memset(found, 0, sizeof(*found));
	if (err || type < 0)
		return err ? err : type;
	s->parser = (struct parser_use){ 0 };
	s->wanted = *wanted;
	s->type = type;
	s->wanted.find = t->file != NULL;
	err = probe_by_worker(wanted, t);
	if (!prober.pid)
		return err ? err : -EBUSY;
	*found = s->found;
	if (found->file_cnt > PROBER_FILES_MAX)
		found->file_cnt = PROBER_FILES_MAX;
	for (i = 0; i < found->file_cnt; i++)
		found->names[i][PROBER_NAME_BYTES - 1] = '\0';
	if (s->parser.lost && parser.pid)
		worker_give_up(&parser, wanted->tgid, true);
	return err;
}

int prober_probe(const struct prober_wanted *wanted, prober_take_fn take, void *ctx,
		 struct prober_found *found)
{
	return call_for(wanted, &(struct taker){ .event = take, .ctx = ctx }, found);
}

int prober_find(const struct prober_wanted *wanted, prober_file_fn take, void *ctx,
		struct prober_found *found)
{
	return call_for(wanted, &(struct taker){ .file = take, .ctx = ctx }, found);
}

void prober_end(void)
{
	worker_end(&prober);
	worker_end(&parser);
}
