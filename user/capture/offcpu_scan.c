// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * offcpu_scan.c - lists threads by the kernel's task iterator, walks them in a helper process, and
 * lists them again: a thread with the same number of switches did not run in between, so its
 * stack is valid.
 *
 * The helper reads memory whose owner may never deliver a page (see remote_mem.h). It is given up
 * after WALK_MS_MAX at most, and has none of our files open.
 */
#include "capture/offcpu_scan.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/u64map.h"
#include "base/util.h"
#include "capture/offcpu_scan_walk.h"
#include "tachbpf.skel.h"

/* Room for the records of 10,000 threads of depth 100, with their code objects. */
#define OUT_BYTES (64u << 20)
/* The helper's time: WALK_MS_MIN, and a millisecond for each WALKS_A_MS threads. */
#define WALK_MS_MIN 200
#define WALK_MS_MAX 1000
#define WALKS_A_MS 5

/* In memory that we share with the helper. */
struct shared {
	size_t used;		/* bytes of out that are complete */
	size_t done;		/* threads walked so far */
	uint8_t out[];		/* for each thread: its index and a length (u64), its records */
};

struct job {
	struct raw_offcpu_scan *threads;	/* cnt threads to walk */
	size_t cnt;
	struct py_proc *procs;		/* the process of each thread */
	struct shared *shared;
};

/* The *cnt threads that the iterator reports; the caller frees them. NULL with errno. */
static struct raw_offcpu_scan *list_threads(struct tachbpf_bpf *skel, size_t *cnt)
{
	struct buf b = { 0 };
	ssize_t n = -1;
	int fd;

	if (!skel->links.on_task)
		skel->links.on_task = bpf_program__attach_iter(skel->progs.on_task, NULL);
	if (!skel->links.on_task)
		return NULL;
	fd = bpf_iter_create(bpf_link__fd(skel->links.on_task));
	while (fd >= 0 && !buf_reserve(&b, 65536)) {
		n = read(fd, b.data + b.len, 65536);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		b.len += n;
	}
	if (fd >= 0)
		close(fd);
	if (fd < 0 || n < 0) {
		buf_free(&b);
		return NULL;
	}
	*cnt = b.len / sizeof(struct raw_offcpu_scan);
	return (struct raw_offcpu_scan *)b.data;
}

/* Keep the threads that are to be walked, and fill job->procs. 0 or -ENOMEM. */
static int choose(struct job *job, offcpu_scan_proc_fn proc, void *ctx)
{
	size_t i, kept = 0;

	job->procs = calloc(job->cnt ? job->cnt : 1, sizeof(*job->procs));
	if (!job->procs)
		return -ENOMEM;
	for (i = 0; i < job->cnt; i++) {
		const struct raw_offcpu_scan *a = &job->threads[i];

		if (!a->why || a->out_sent || proc(ctx, a->tgid, a->start_ns, &job->procs[kept]))
			continue;
		job->threads[kept++] = *a;
	}
	job->cnt = kept;
	return 0;
}

/* The helper process. Does not return. */
static void walk_all(const struct job *job)
{
	struct shared *s = job->shared;
	size_t i, room, len;
	uint64_t head[2];

	for (i = 0; i < job->cnt; i++) {
		room = OUT_BYTES - sizeof(*s) - s->used;
		if (room < sizeof(head))
			break;
		len = offcpu_scan_walk(&job->threads[i], &job->procs[i],
				       s->out + s->used + sizeof(head), room - sizeof(head));
		head[0] = i;
		head[1] = len;
		memcpy(s->out + s->used, head, sizeof(head));
		__atomic_store_n(&s->used, s->used + sizeof(head) + len, __ATOMIC_RELEASE);
		__atomic_store_n(&s->done, i + 1, __ATOMIC_RELEASE);
	}
	_exit(0);
}

static int walk_in_helper(const struct job *job)
{
	uint64_t ms = WALK_MS_MIN + job->cnt / WALKS_A_MS, end;
	pid_t parent = getpid(), pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		syscall(SYS_close_range, 0, ~0U, 0);
		walk_all(job);
	}
	end = now_ns() + (ms < WALK_MS_MAX ? ms : WALK_MS_MAX) * 1000000;
	while (!waitpid(pid, &status, WNOHANG)) {
		if (now_ns() > end) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, WNOHANG);
			break;
		}
		usleep(500);
	}
	return 0;
}

/* Pass one thread's records to record(). */
static void hand_on(uint8_t *at, size_t len, offcpu_scan_record_fn record, void *ctx)
{
	uint32_t size;

	while (len >= 8) {
		memcpy(&size, at, sizeof(size));
		if (size > len - 8)
			return;
		record(ctx, at + 8, size);
		size = 8 + ((size + 7) & ~7u);
		at += size < len ? size : len;
		len -= size < len ? size : len;
	}
}

static int put_all(struct u64map *m, struct raw_offcpu_scan *threads, size_t cnt)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < cnt; i++)
		err = u64map_put(m, threads[i].tid, &threads[i]);
	return err;
}

static bool stood_still(const struct u64map *later, const struct raw_offcpu_scan *a)
{
	const struct raw_offcpu_scan *b = u64map_get(later, a->tid);

	return b && b->why && b->tgid == a->tgid && b->switches == a->switches;
}

static void hand_on_all(const struct job *job, const struct u64map *later,
			offcpu_scan_record_fn record, void *ctx, struct offcpu_scan_counts *counts)
{
	struct shared *s = job->shared;
	size_t used = __atomic_load_n(&s->used, __ATOMIC_ACQUIRE), at = 0;
	uint64_t head[2];

	while (used - at >= sizeof(head)) {
		memcpy(head, s->out + at, sizeof(head));
		at += sizeof(head);
		if (head[0] >= job->cnt || head[1] > used - at)
			break;
		if (!stood_still(later, &job->threads[head[0]])) {
			counts->moved++;
		} else if (head[1]) {
			counts->threads++;
			hand_on(s->out + at, head[1], record, ctx);
		}
		at += head[1];
	}
	counts->lost += job->cnt - __atomic_load_n(&s->done, __ATOMIC_ACQUIRE);
}

int offcpu_scan_run(struct tachbpf_bpf *skel, offcpu_scan_proc_fn proc,
		    offcpu_scan_record_fn record, void *ctx, struct offcpu_scan_counts *counts)
{
	struct raw_offcpu_scan *again = NULL;
	struct u64map later = { 0 };
	struct job job = { 0 };
	size_t cnt = 0;
	int err;

	job.shared = mmap(NULL, OUT_BYTES, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (job.shared == MAP_FAILED)
		return -errno;
	job.threads = list_threads(skel, &job.cnt);
	err = job.threads || !job.cnt ? 0 : -errno;
	if (!err)
		err = choose(&job, proc, ctx);
	if (err || !job.cnt)
		goto out;
	err = walk_in_helper(&job);
	if (!err)
		again = list_threads(skel, &cnt);
	if (!err && !again)
		err = -errno;
	if (!err)
		err = put_all(&later, again, cnt);
	if (!err)
		hand_on_all(&job, &later, record, ctx, counts);
out:
	u64map_free(&later);
	free(again);
	free(job.procs);
	free(job.threads);
	munmap(job.shared, OUT_BYTES);
	return err;
}
