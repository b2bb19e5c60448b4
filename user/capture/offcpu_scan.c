// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * offcpu_scan.c - lists threads by the kernel's task iterator, walks them in a worker (worker.h),
 * and lists them again: a thread with the same number of switches did not run in between, so its
 * stack is valid. A worker that a process blocks is given up: what it has found counts, and the
 * next one walks the threads of the other processes.
 */
#include "capture/offcpu_scan.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/u64map.h"
#include "base/util.h"
#include "capture/native_maps.h"
#include "capture/offcpu_scan_walk.h"
#include "memory/reader.h"
#include "tachbpf.skel.h"
#include "worker/worker.h"

/* Room for the records of 10,000 threads of depth 100, with their code objects. */
#define OUT_BYTES (64u << 20)
/* A thread's longest records: its stack, smaller than a code object; those; machine code. */
#define OUT_OF_THREAD ((ABI_MAX_FRAMES + 1) * (sizeof(struct raw_code) + 16) + \
		       sizeof(struct raw_native) + 16)
_Static_assert(sizeof(struct raw_sample) < sizeof(struct raw_code) && OUT_OF_THREAD < OUT_BYTES,
	       "there is room for a thread");
/* At most this many threads are walked by one call of the walker. */
#define THREADS_MAX 32768
/* The time of a try: TRY_MS, and a millisecond for each WALKS_A_MS threads. */
#define TRY_MS 2000
#define WALKS_A_MS 5
/* A process blocks the walker if the walker made no progress with it for this many turns. */
#define TURN_MS 50
#define IDLE_TURNS 3

/* In memory shared with the walker; pages that nobody writes to take no memory. */
struct shared {
	uint64_t cnt;		/* threads to walk, and the process of each */
	uint64_t used;		/* bytes of out that are complete */
	uint64_t done;		/* threads walked so far */
	uint64_t native;	/* 1: walk machine code, too */
	struct raw_offcpu_scan threads[THREADS_MAX];
	struct py_proc procs[THREADS_MAX];
	struct native_place places[THREADS_MAX];	/* with native: of each thread's process */
	uint8_t out[OUT_BYTES];	/* for each thread: its index and a length (u64), its records */
};
_Static_assert(offsetof(struct shared, out) % 8 == 0, "records are aligned");

/* One scan. */
struct job {
	struct raw_offcpu_scan *threads;	/* choose_threads() leaves cnt threads to walk */
	size_t cnt;
	struct py_proc *procs;		/* the process of each thread to walk */
	const struct map_set *native;	/* maps for machine code; NULL: without it */
	struct raw_offcpu_scan *again;	/* as listed after a walk; NULL: not yet */
	size_t again_cnt;
	bool once;			/* one try: skip threads that on_switch() sent */
	struct u64map done;		/* tids that need no other try, unless there is one */
	offcpu_scan_proc_fn proc;
	offcpu_scan_record_fn record;
	void *ctx;
	struct offcpu_scan_counts *counts;
	/* The last answer of proc(). */
	bool asked;
	uint32_t asked_tgid;
	uint64_t asked_start_ns;
	int answer;
	struct py_proc answer_proc;
};

/* The *cnt threads that the iterator reports; the caller frees them. NULL with errno on failure. */
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

int offcpu_scan_list(struct tachbpf_bpf *skel, offcpu_scan_thread_fn thread, void *ctx)
{
	size_t cnt, i;
	struct raw_offcpu_scan *list = list_threads(skel, &cnt);

	if (!list)
		return -errno;
	for (i = 0; i < cnt; i++)
		thread(ctx, &list[i]);
	free(list);
	return 0;
}

bool offcpu_scan_still(const struct raw_offcpu_scan *a, const struct raw_offcpu_scan *b)
{
	return b->why && b->tgid == a->tgid && b->switches == a->switches;
}

/* Selects the process of thread a; the list has the threads of a process one after the other. */
static bool is_selected(struct job *job, const struct raw_offcpu_scan *a, struct py_proc *proc)
{
	if (!job->asked || job->asked_tgid != a->tgid || job->asked_start_ns != a->start_ns) {
		job->asked = true;
		job->asked_tgid = a->tgid;
		job->asked_start_ns = a->start_ns;
		job->answer = job->proc(job->ctx, a->tgid, a->start_ns, &job->answer_proc);
	}
	if (!job->answer)
		*proc = job->answer_proc;
	return !job->answer;
}

/* Returns true if this try can walk this thread. Counts those left to a later try. */
static bool can_walk(struct job *job, const struct raw_offcpu_scan *a)
{
	if (job->once)
		return a->why && !a->out_sent;
	if (u64map_get(&job->done, a->tid))
		return false;
	job->counts->left++;
	return a->why;
}

/* Keeps the threads that are to be walked, and fills job->procs. Returns 0 or -ENOMEM. */
static int choose_threads(struct job *job)
{
	size_t i, kept = 0;

	free(job->procs);
	job->procs = calloc(job->cnt ? job->cnt : 1, sizeof(*job->procs));
	if (!job->procs)
		return -ENOMEM;
	job->counts->left = 0;
	job->asked = false;
	for (i = 0; i < job->cnt; i++) {
		const struct raw_offcpu_scan *a = &job->threads[i];

		if (job->once && !can_walk(job, a))
			continue;
		if (!is_selected(job, a, &job->procs[kept]) ||
		    (!job->once && !can_walk(job, a)))
			continue;
		job->threads[kept++] = *a;
	}
	job->cnt = kept;
	return 0;
}

/* ---- the walker ---- */

static int walk_all(void *shared, const int *fds)
{
	struct shared *s = shared;
	uint64_t cnt = s->cnt < THREADS_MAX ? s->cnt : THREADS_MAX, used = 0, head[2];
	const struct native_place *place;
	size_t i, room;

	offcpu_scan_forget();
	for (i = 0; i < cnt; i++) {
		room = sizeof(s->out) - used;
		if (room < OUT_OF_THREAD)
			break;	/* the next call walks the rest */
		head[0] = i;
		place = s->native ? &s->places[i] : NULL;
		head[1] = offcpu_scan_walk(&s->threads[i], &s->procs[i], place,
					   s->out + used + sizeof(head), room - sizeof(head));
		memcpy(s->out + used, head, sizeof(head));
		used += sizeof(head) + head[1];
		__atomic_store_n(&s->used, used, __ATOMIC_RELEASE);
		__atomic_store_n(&s->done, i + 1, __ATOMIC_RELEASE);
	}
	return 0;
}

/* fds: unwind_tables and a slab, or -1. Returns as offcpu_scan_map(). */
static int map_tables(void *shared, const int *fds)
{
	return offcpu_scan_map(fds[0], fds[1]);
}

enum { WALK_ALL, MAP_TABLES };
static const worker_fn functions[] = { [WALK_ALL] = walk_all, [MAP_TABLES] = map_tables };
static const char *const calls[] = { "process_vm_readv", NULL };
static const struct jail jail = { .caps = 1ull << CAP_SYS_PTRACE, .calls = calls };

const struct worker_kind offcpu_scan_walker = {
	.name = "tachbpf-walker",
	.does = "walks threads that sleep; only while it does so",
	.jail = &jail,
	.functions = functions,
	.function_cnt = ARRAY_SIZE(functions),
	.shared_bytes = sizeof(struct shared),
	.owner = reader_owner,
};

static struct worker walker = { .kind = &offcpu_scan_walker };

/* How many of the cnt threads it has walked so far. */
static size_t walked_so_far(size_t cnt)
{
	const struct shared *s = walker.shared;
	uint64_t done = __atomic_load_n(&s->done, __ATOMIC_ACQUIRE);

	return done < cnt ? done : cnt;
}

/*
 * Lets the walker map tables and slabs that it does not have yet: no process can keep it from that.
 * Returns true if it has all.
 */
static bool give_tables(const struct map_set *set)
{
	int fds[WORKER_FDS_MAX] = { set->tables, -1 };
	int has = worker_call(&walker, MAP_TABLES, fds, TRY_MS);
	uint32_t i;

	for (i = 0; i < NATIVE_SLABS && has >= 0 && (uint32_t)has < set->slab_cnt; i++) {
		fds[1] = set->slabs[has];
		has = worker_call(&walker, MAP_TABLES, fds, TRY_MS);
	}
	if (has < 0)
		log_debug("sleeping threads have no C frames: %s", strerror(-has));
	return has >= 0;
}

/* Sets where the process of each thread has its mappings. */
static void set_places(struct shared *s, const struct map_set *set, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt; i++)
		s->places[i] = i && s->threads[i].tgid == s->threads[i - 1].tgid ?
				       s->places[i - 1] :
				       native_maps_place(set, s->threads[i].tgid);
}

/* Begins to walk threads. Returns as worker_call(). */
static int begin_walk(const struct job *job, size_t first, size_t cnt)
{
	const struct raw_offcpu_scan *threads = &job->threads[first];
	const struct py_proc *procs = &job->procs[first];
	struct shared *s = walker.shared;

	s->cnt = cnt;
	s->used = s->done = 0;
	memcpy(s->threads, threads, cnt * sizeof(*threads));
	memcpy(s->procs, procs, cnt * sizeof(*procs));
	s->native = job->native && give_tables(job->native);
	if (s->native)
		set_places(s, job->native, cnt);
	return worker_call(&walker, WALK_ALL, NULL, TURN_MS);
}

/*
 * Walks cnt of the job's threads, until end_ns at most; the result is in walker.shared. *blocker:
 * the process that blocks the walker; 0: none, it was slow. Returns as worker_call().
 */
static int walk_threads(const struct job *job, size_t first, size_t cnt, uint64_t end_ns,
			uint32_t *blocker)
{
	const struct raw_offcpu_scan *threads = &job->threads[first];
	uint64_t disk = worker_disk_bytes(&walker), disk_before;
	int err = begin_walk(job, first, cnt), idle = 0;
	uint32_t at = 0, before;

	while (err == -ETIMEDOUT && idle < IDLE_TURNS && now_ns() < end_ns) {
		before = at;
		disk_before = disk;
		disk = worker_disk_bytes(&walker);
		at = threads[walked_so_far(cnt) % cnt].tgid;
		idle = at != before || disk > disk_before || worker_is_runnable(&walker) ?
			       0 : idle + 1;
		err = worker_wait(&walker, TURN_MS);
	}
	*blocker = idle == IDLE_TURNS ? at : 0;
	return err;
}

/*
 * From thread `first` on, leaves out those of processes that have blocked a walker, or whose user
 * may block no more. If any are left, there is a walker then. Returns 0 or -errno.
 */
static int leave_blockers(struct job *job, size_t first)
{
	size_t i, kept = first;
	int answer = 0;

	for (i = first; i < job->cnt; i++) {
		const struct raw_offcpu_scan *a = &job->threads[i];

		if (i == first || a->tgid != a[-1].tgid)
			answer = worker_ready(&walker, a->tgid);
		if (answer && answer != -ETIMEDOUT && answer != -EUSERS && answer != -EBUSY)
			return answer;
		if (answer)
			continue;
		job->threads[kept] = *a;
		job->procs[kept++] = job->procs[i];
	}
	job->counts->lost += job->cnt - kept;
	job->cnt = kept;
	return 0;
}

/* ---- results ---- */

/*
 * Returns true if the mappings of the thread's process are still those with which the walker has
 * walked it: otherwise their memory may belong to others by now.
 */
static bool kept_place(const struct job *job, const struct raw_offcpu_scan *a, uint32_t stamp)
{
	return job->native && native_maps_place(job->native, a->tgid).stamp == stamp;
}

/* Passes the records of thread a to job->record(). native: also that of its machine code. */
static void hand_on(const struct job *job, const struct raw_offcpu_scan *a, bool native,
		    uint8_t *at, size_t len)
{
	struct raw_header h;
	uint32_t size;

	while (len >= 8) {
		memcpy(&size, at, sizeof(size));
		if (size > len - 8 || size < sizeof(h))
			return;
		memcpy(&h, at + 8, sizeof(h));
		if (native || h.kind != RAW_NATIVE)
			job->record(job->ctx, a, at + 8, size);
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

	return b && offcpu_scan_still(a, b);
}

/*
 * A thread's len bytes of records are valid if it stood still. stamp: of its process' mappings when
 * it was walked. Returns 0 or -ENOMEM.
 */
static int take_walked(struct job *job, const struct u64map *later,
		       const struct raw_offcpu_scan *a, uint32_t stamp, uint8_t *records,
		       size_t len)
{
	if (!stood_still(later, a)) {
		job->counts->moved++;
		return 0;
	}
	if (len) {
		job->counts->threads++;
		hand_on(job, a, kept_place(job, a, stamp), records, len);
	}
	if (job->once)
		return 0;
	job->counts->left--;
	return u64map_put(&job->done, a->tid, job);
}

/* Takes the first cnt threads of the walker's call, which it has walked. Returns 0 or -ENOMEM. */
static int take_all_walked(struct job *job, const struct raw_offcpu_scan *threads, size_t cnt,
			   const struct u64map *later)
{
	struct shared *s = walker.shared;
	size_t used = __atomic_load_n(&s->used, __ATOMIC_ACQUIRE), at = 0;
	uint64_t head[2];
	int err = 0;

	while (!err && used <= sizeof(s->out) && used - at >= sizeof(head)) {
		memcpy(head, s->out + at, sizeof(head));
		at += sizeof(head);
		if (head[0] >= cnt || head[1] > used - at)
			break;
		err = take_walked(job, later, &threads[head[0]], s->places[head[0]].stamp,
				  s->out + at, head[1]);
		at += head[1];
	}
	return err;
}

/*
 * Lists the threads again, and passes on the results of the first cnt that have not run meanwhile.
 * A late walker may still go on. Returns 0 or -errno.
 */
static int take_still(struct tachbpf_bpf *skel, struct job *job,
		      const struct raw_offcpu_scan *threads, size_t cnt)
{
	struct u64map later = { 0 };
	int err;

	free(job->again);
	job->again_cnt = 0;
	job->again = list_threads(skel, &job->again_cnt);
	err = job->again ? put_all(&later, job->again, job->again_cnt) : -errno;
	if (!err)
		err = take_all_walked(job, threads, cnt, &later);
	u64map_free(&later);
	return err;
}

/* Walks threads from *first on, as far as one walker comes; moves *first. 0 or -errno. */
static int walk_from(struct tachbpf_bpf *skel, struct job *job, size_t *first, uint64_t end_ns)
{
	const struct raw_offcpu_scan *threads = &job->threads[*first];
	size_t left = job->cnt - *first, cnt = left < THREADS_MAX ? left : THREADS_MAX;
	uint32_t blocker;
	int err = walk_threads(job, *first, cnt, end_ns, &blocker);
	bool late = err == -ETIMEDOUT;

	if (!err || late) {
		cnt = walked_so_far(cnt);
		err = take_still(skel, job, threads, cnt);
		*first += err ? 0 : cnt;
	}
	if (late)
		worker_give_up(&walker, blocker, blocker != 0);
	return err;
}

/*
 * Walks the threads, and passes on the results of those that have not run meanwhile. Then the job
 * has the new list of all threads.
 */
static int walk_still(struct tachbpf_bpf *skel, struct job *job)
{
	uint64_t end_ns = now_ns() + (TRY_MS + job->cnt / WALKS_A_MS) * 1000000ull;
	size_t walked = 0;
	int err = 0;

	while (!err && walked < job->cnt && now_ns() < end_ns) {
		err = leave_blockers(job, walked);
		if (!err && walked < job->cnt)
			err = walk_from(skel, job, &walked, end_ns);
	}
	job->counts->lost += job->cnt - walked;
	free(job->threads);
	job->threads = job->again;
	job->cnt = job->again_cnt;
	job->again = NULL;
	job->again_cnt = 0;
	return err;
}

int offcpu_scan_prepare(void)
{
	return worker_ready(&walker, 0);
}

void offcpu_scan_end(void)
{
	worker_end(&walker);
}

int offcpu_scan_run(struct tachbpf_bpf *skel, const struct map_set *native, unsigned int tries,
		    offcpu_scan_proc_fn proc, offcpu_scan_record_fn record, void *ctx,
		    struct offcpu_scan_counts *counts)
{
	struct job job = { .once = tries == 1, .native = native, .proc = proc, .record = record,
			   .ctx = ctx, .counts = counts };
	int err;

	job.threads = list_threads(skel, &job.cnt);
	err = job.threads ? 0 : -errno;
	if (!err)
		err = choose_threads(&job);
	while (!err && job.cnt && tries--) {
		err = walk_still(skel, &job);
		if (!err && tries)
			err = choose_threads(&job);
	}
	if (walker.pid)	/* scans are rare: release the memory */
		madvise(walker.shared, sizeof(struct shared), MADV_REMOVE);
	u64map_free(&job.done);
	free(job.procs);
	free(job.threads);
	return err;
}
