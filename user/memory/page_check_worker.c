// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_check_worker.c - the worker of page_check.h: reads /proc of one process after another, and
 * may block on its memory map.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "base/util.h"
#include "host/proc.h"
#include "memory/page_book.h"
#include "memory/page_check_wire.h"
#include "memory/page_look.h"
#include "memory/reader.h"

/*
 * Properties of page frames (/proc/kpageflags), and the frame at a process' address
 * (/proc/PID/pagemap). For the worker of page_check.h.
 */

struct page_frames {
	int pagemap, flags;	/* descriptors; flags -1: properties of frames are unknown */
	uint32_t page_bytes;
	bool known;		/* a page frame number was seen, so they are visible */
	uint32_t steps;		/* huge pages that may be examined beyond those asked about */
	uint64_t run_lo, run_hi, run_bytes;	/* the last run of huge pages; run_bytes 0: none */
};

/* Entries of pagemap: Documentation/admin-guide/mm/pagemap.rst, Linux v6.6 */
#define MAP_FRAME ((1ull << 55) - 1)
#define MAP_SHARED_FILE (1ull << 61)	/* of a file, or shared */
#define MAP_SWAPPED (1ull << 62)
#define MAP_PRESENT (1ull << 63)

/* include/uapi/linux/kernel-page-flags.h, Linux v6.6 */
#define FRAME_ANON (1ull << 12)
#define FRAME_HEAD (1ull << 15)
#define FRAME_TAIL (1ull << 16)
#define FRAME_KSM (1ull << 21)
#define FRAME_THP (1ull << 22)
#define FRAME_ZERO (1ull << 24)

/* Addresses this close to each other are read together: as many as a page has entries. */
#define TOGETHER 512u
#define NEIGHBOURS_MAX UINT16_MAX

/* Addresses outside the process' address space have no entries: they read as empty. */
static int read_map(const struct page_frames *f, uint64_t addr, uint64_t *out, size_t cnt)
{
	off_t at = (off_t)(addr / f->page_bytes * sizeof(*out));
	ssize_t n = pread(f->pagemap, out, cnt * sizeof(*out), at);

	if (n < 0 && errno == EINVAL)
		n = 0;
	if (n < 0)
		return -errno;
	memset((char *)out + n, 0, cnt * sizeof(*out) - (size_t)n);
	return 0;
}

/* 0: unknown. */
static uint64_t flags_of(const struct page_frames *f, uint64_t frame)
{
	uint64_t flags;

	return pread(f->flags, &flags, sizeof(flags), (off_t)(frame * sizeof(flags))) ==
	       sizeof(flags) ? flags : 0;
}

/* ---- huge pages ---- */

/*
 * Returns true if a huge page of this many frames, a power of two, begins at this one. Smaller ones
 * are aligned to their size, so if a frame in the middle is a tail, it belongs to this page.
 */
static bool frame_begins(const struct page_frames *f, uint64_t frame, uint64_t frames)
{
	return flags_of(f, frame) & FRAME_HEAD && flags_of(f, frame + frames / 2) & FRAME_TAIL;
}

/* Frames of the huge page that contains this frame, which is at addr; 0: it is not aligned. */
static uint64_t huge_frames(const struct page_frames *f, uint64_t addr, uint64_t frame)
{
	uint64_t n, page = addr / f->page_bytes;

	for (n = f->page_bytes / 8; n > 1; n /= 2)	/* starting with the size of a page table */
		if (frame_begins(f, frame & ~(n - 1), n))
			return (page & (n - 1)) == (frame & (n - 1)) ? n : 0;
	return 0;
}

/* Returns true if there is a huge page of this size at addr. */
static bool is_huge_at(struct page_frames *f, uint64_t addr, uint64_t bytes)
{
	uint64_t entry, frame, frames = bytes / f->page_bytes;

	if (!f->steps)
		return false;
	f->steps--;
	if (read_map(f, addr, &entry, 1) || !(entry & MAP_PRESENT) || entry & MAP_SHARED_FILE)
		return false;
	frame = entry & MAP_FRAME;
	return frame && !(frame & (frames - 1)) && flags_of(f, frame) & FRAME_ANON &&
	       frame_begins(f, frame, frames);
}

/* Find the run of huge pages around the one at base. */
static void find_run(struct page_frames *f, uint64_t base, uint64_t bytes)
{
	uint64_t lo = base, hi = base + bytes;

	while (lo >= bytes && (base - lo) / bytes < NEIGHBOURS_MAX &&
	       is_huge_at(f, lo - bytes, bytes))
		lo -= bytes;
	while ((hi - base) / bytes <= NEIGHBOURS_MAX && is_huge_at(f, hi, bytes))
		hi += bytes;
	f->run_lo = lo;
	f->run_hi = hi;
	f->run_bytes = bytes;
}

static uint16_t at_most(uint64_t n)
{
	return n < NEIGHBOURS_MAX ? (uint16_t)n : NEIGHBOURS_MAX;
}

static void describe_huge(struct page_frames *f, struct page_state *s)
{
	uint64_t bytes = huge_frames(f, s->addr, s->frame) * f->page_bytes, base;

	s->kind = PAGE_ANON;
	if (!bytes)
		return;
	base = s->addr & ~(bytes - 1);
	if (f->run_bytes != bytes || base < f->run_lo || base >= f->run_hi)
		find_run(f, base, bytes);
	s->kind = PAGE_HUGE;
	s->huge_bytes = (uint32_t)bytes;
	s->huge_before = at_most((base - f->run_lo) / bytes);
	s->huge_after = at_most((f->run_hi - base) / bytes - 1);
}

/* ---- all pages ---- */

/* A page merged by KSM gets another frame each time, so no frame is reported. */
static void describe_page(struct page_frames *f, struct page_state *s, uint64_t addr,
			  uint64_t entry)
{
	uint64_t flags;

	*s = (struct page_state){ .addr = addr, .kind = PAGE_GONE };
	if (entry & MAP_SWAPPED) {
		s->kind = entry & MAP_SHARED_FILE ? PAGE_OTHER : PAGE_SWAPPED;
		return;
	}
	if (!(entry & MAP_PRESENT))
		return;
	s->kind = entry & MAP_SHARED_FILE ? PAGE_OTHER : PAGE_ANON;
	s->frame = entry & MAP_FRAME;
	f->known |= s->frame != 0;
	if (s->kind != PAGE_ANON || !s->frame || f->flags < 0)
		return;
	flags = flags_of(f, s->frame);
	if (flags & FRAME_ZERO)
		s->kind = PAGE_ZERO;
	else if (flags & FRAME_KSM)
		s->frame = 0;
	else if (flags & FRAME_THP && flags & FRAME_ANON)
		describe_huge(f, s);
}

/*
 * Fill states[0..cnt) for addrs, which are sorted; may block on the process' memory map. 0 or
 * -errno.
 */
static int page_frames_look(struct page_frames *f, const uint64_t *addrs, size_t cnt,
		     struct page_state *states)
{
	uint64_t entries[TOGETHER], first, last;
	size_t i, end;
	int err;

	for (i = 0; i < cnt; i = end) {
		first = addrs[i] / f->page_bytes;
		for (end = i + 1; end < cnt; end++)
			if (addrs[end] < addrs[i] ||
			    addrs[end] / f->page_bytes - first >= TOGETHER)
				break;
		last = addrs[end - 1] / f->page_bytes;
		err = read_map(f, addrs[i], entries, last - first + 1);
		if (err)
			return err;
		for (; i < end; i++)
			describe_page(f, &states[i], addrs[i],
				      entries[addrs[i] / f->page_bytes - first]);
	}
	return 0;
}

#define TICK_NS 10000000ull	/* of /proc/PID/stat: USER_HZ is 100 */
#define KIB 1024u
/* Limit on huge pages examined for one question: 16 GiB of 2 MiB, about 30 ms. */
#define STEPS_MAX 8192u

static struct page_question question;
static struct page_reply reply;

/* The entry of /proc with the process' files. -errno; -ESRCH: another process now, or none. */
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

/* A line of /proc/PID/status, in bytes; 0: not found. */
static uint64_t status_bytes(const char *status, const char *key)
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
	reply.rss_anon = status_bytes(status, "\nRssAnon:");
	reply.swapped = status_bytes(status, "\nVmSwap:");
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
	if (question.what == PAGES_THERE)
		err = page_frames_look(f, question.addrs, question.cnt, reply.states);
	else
		err = page_look(task, f->pagemap, f->page_bytes, question.addrs, question.cnt,
				question.what == PAGES_CONTENTS_LAST, reply.contents);
	reply.read_ns = now_ns();
	close(f->pagemap);
	return err;
}

/* Meanwhile the pid may be reused for another process. */
static int look_at_request(struct page_frames *f)
{
	pid_t task = task_of(question.tgid, question.start_ns);
	int err, denied = 0;

	if (task < 0)
		return (int)task;
	err = question.cnt ? look_at_pages(f, task) : 0;
	if (err == -EACCES) {	/* its sizes are readable by everybody */
		denied = err;
		err = 0;
	}
	if (!err && question.what == PAGES_THERE)
		err = read_amounts(task);
	if (!err && task_of(question.tgid, question.start_ns) < 0)
		err = -ESRCH;
	return err ? err : denied;
}

static void answer_request(int fd, struct page_frames *f)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int err;

	memset(&reply, 0, offsetof(struct page_reply, states));
	reply.number = question.number;
	reply.what = question.what;
	reply.err = look_at_request(f);
	reply.cnt = reply.err ? 0 : question.cnt;
	reply.frames_known = f->known;
	while ((err = page_wire_send(fd, &reply, page_reply_bytes(&reply))) == -EAGAIN)
		poll(&p, 1, -1);
	if (err)
		_exit(0);
}

static int run_converse(void *shared, const int *fds)
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
			answer_request(p.fd, &f);
	}
}

static const worker_fn functions[] = { run_converse };

static const char *const calls[] = {
	"open", "openat", "read", "pread64", "fstat", "newfstatat", "getdents64", "lseek", "poll",
	"ppoll", "sendto", "recvfrom", "process_vm_readv", NULL,
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
