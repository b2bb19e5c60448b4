// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look.c - an observer that keeps the last stack of each thread. See look.h. */
#include "look/look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "capture/capture.h"
#include "capture/capture_process.h"
#include "heap/heap_worker.h"
#include "host/proc.h"
#include "host/socket_peers.h"
#include "look/look_locals.h"
#include "look/look_locks.h"
#include "look/look_seen.h"
#include "look/look_trio.h"
#include "look/look_worker.h"
#include "memory/remote_mem.h"
#include "resolve/observer.h"
#include "resolve/process.h"
#include "target/inspector.h"

/* How long ticks are collected. A running thread has one each millisecond. */
#define LOOK_MS 30
/* The same with native frames: their tables are built when a library first appears in a stack. */
#define NATIVE_MS 1000
/* How long finding and inspecting processes may take. */
#define FIND_MS 5000
/* Waits of a millisecond or more become events; so waits that the scan finds must be longer. */
#define RATE_HZ 999
#define SCANNED_MS 2
/* How often threads that have moved on are walked again. */
#define AGAIN_MAX 2

/* Everything that a thread can do is seen, and each wait has its reason. */
#define LOOK_MODE .name = "look", .header = MODE_ALL, .unit = UNIT_SAMPLES, .waits = true, \
	.runnable = true, .wait_frames = true, .runnable_frames = true
/*
 * Three ways to look. The kernel's verifier takes 0.13 s to load each program that walks, so a look
 * at threads that are all off-CPU uses none of them: its scan walks in user space.
 */
static const struct record_mode_def asleep_mode = { LOOK_MODE, .scan_only = true };
static const struct record_mode_def awake_mode = { LOOK_MODE, .scan_only = true, .ticks = true };
static const struct record_mode_def watch_mode = { LOOK_MODE, .ticks = true };

struct look {
	struct observer observer;	/* first */
	const struct look_args *args;
	struct look_counts *counts;
	struct capture *capture;
	struct look_seen *seen;	/* a list: of the processes that have not ended */
	bool again;	/* this look was insufficient: show nothing */
};

static int begin_seen(struct observer *o, struct process *p)
{
	struct look *l = (struct look *)o;
	struct look_seen *seen = look_seen_new(p, sampling_interval_us(RATE_HZ));

	if (!seen)
		return -ENOMEM;
	seen->next = l->seen;
	l->seen = seen;
	process_set_observed(p, seen);
	return 0;
}

static int take_event(struct observer *o, struct process *p, const struct event *ev)
{
	look_seen_event(process_observed(p), ev);
	return 0;
}

static uint64_t only_holder(const struct look_thread *list, size_t cnt)
{
	uint64_t tid = 0;
	size_t i;

	for (i = 0; i < cnt; i++) {
		if (!(list[i].status & STATUS_HAS_GIL))
			continue;
		if (tid)
			return 0;
		tid = list[i].tid;
	}
	return tid;
}

/* Held threads may be so for days: the kernel knows since when they have not run. */
static void set_idle(const struct look *l, struct look_thread *list, size_t cnt)
{
	const struct scanned_thread *t;
	uint64_t now = now_ns(), since;
	size_t i;

	for (i = 0; i < cnt; i++) {
		t = list[i].state == LOOK_HELD ?
			capture_scanned(l->capture, (uint32_t)list[i].tid) : NULL;
		since = t && raw_wait_is_held(t->at.sysno) ? t->at.left_ns : 0;
		list[i].idle_ms = since && since < now ? (now - since) / 1000000 : 0;
	}
}

/*
 * Returns true if a task is in acquire() of asyncio's Lock or Semaphore. Below it there may be a
 * frame of the future that it awaits. Otherwise nothing more need be read.
 */
static bool some_acquire(const struct process *p, const struct look_tasks *t)
{
	const struct profile_tables *tables = process_tables(p);
	const struct string_ref *func;
	const struct task *task;
	uint32_t frame, i;

	for (task = t->set.tasks; task < t->set.tasks + t->set.cnt; task++)
		for (i = task->frame_cnt; i && i + 2 > task->frame_cnt; i--) {
			frame = t->frames[task->frame_at + i - 1];
			func = &tables->strings[tables->frames[frame].func];
			/* Up to 3.10 code objects have no qualified name. */
			if (ref_ends_with(*func, ".acquire") || ref_is(*func, "acquire"))
				return true;
		}
	return false;
}

static void find_locks(const struct process *p, const struct tasks_at *at, struct look_tasks *t)
{
	t->waits = some_acquire(p, t) ? calloc(t->set.cnt, sizeof(*t->waits)) : NULL;
	if (t->waits)
		t->locks = look_task_locks_of(p, at, t->set.tasks, t->set.cnt, t->waits);
}

/* What the sockets that they wait for are connected to. */
static void find_peers(const struct process *p, struct task_set *set)
{
	struct socket_peers *peers = socket_peers_new(process_tgid(p));
	uint64_t at_ns = now_ns();
	size_t i;

	for (i = 0; peers && i < set->cnt; i++)
		snprintf(set->tasks[i].peer, sizeof(set->tasks[i].peer), "%s",
			 socket_peers_find(peers, set->tasks[i].waits.inode, false, at_ns));
	socket_peers_free(peers);
}

/* Where asyncio keeps its tasks. -ENOENT: it is not loaded; -EOPNOTSUPP; other -errno. */
static int find_asyncio(struct process *p, struct tasks_at *at)
{
	int err;

	*at = (struct tasks_at){
		.l = process_image(p)->layout, .objects = process_image(p)->objects,
		.interps = process_interps(p), .homes = { .musl = process_has_musl(p) },
		.waits = 1,
	};
	if (!at->interps)
		return -ENOENT;
	if (process_image(p)->coro.gen_frame)
		return inspector_async(process_tgid(p), &at->async);
	err = remote_async_homes(process_tgid(p), at, &at->homes);
	return err ? err : at->homes.cnt ? 0 : -ENOENT;
}

static int take_tasks(struct process *p, struct look_tasks *t)
{
	struct tasks_at at;
	int err;

	remote_mem_hurry(false);	/* no samples wait any more */
	err = find_asyncio(p, &at);
	if (err)
		return err;
	look_loops_take(p, &at, &t->loops);
	err = task_walk(&task_source_remote, process_tgid(p), &at, &t->set);
	if (err)
		return err;
	look_loops_check(p, &at, &t->loops);
	find_peers(p, &t->set);
	err = look_tasks_name(p, t);
	if (err)
		task_set_free(&t->set);
	else
		find_locks(p, &at, t);
	return err;
}

/* Reads them; names take up to a second. Always sets *out, which look_tasks_free() frees. */
static void look_tasks_take(struct process *p, struct look_tasks *out)
{
	*out = (struct look_tasks){ 0 };
	out->err = take_tasks(p, out);
}

static void look_tasks_free(struct look_tasks *t)
{
	if (!t->err)
		task_set_free(&t->set);
	free(t->frames);
	free(t->waits);
	free(t->locks);
	*t = (struct look_tasks){ 0 };
}

static int show_seen(struct look *l, struct process *p, struct look_seen *seen, bool ended)
{
	struct look_thread *list = look_seen_detail(seen, l->capture) ? NULL : look_seen_list(seen);
	struct look_process shown = { .process = p, .threads = list, .cnt = seen->cnt,
				      .beyond = seen->beyond, .ended = ended };
	struct look_process_locals *locals = NULL;
	struct look_lock *locks = NULL;
	struct look_tasks tasks = { .err = -ENOENT }, trio = { .err = -ENOENT };
	struct look_greenlets greenlets = { .err = -ENOENT };
	struct proc_status status;
	int err;

	if (!list)
		return -ENOMEM;
	if (!ended)
		locks = look_locks_of(p, l->capture, list, seen->cnt);
	if (!ended && l->args->locals)
		locals = look_locals_of(p, list, seen->cnt, &shown.locals_cut);
	set_idle(l, list, seen->cnt);
	shown.gil_holder = only_holder(list, seen->cnt);
	if (proc_status(process_tgid(p), &status))
		shown.ended = true;
	else if (status.threads > seen->cnt)
		shown.unseen = status.threads - (uint32_t)seen->cnt;
	l->counts->shown++;
	if (l->args->tasks && !shown.ended) {
		look_tasks_take(p, &tasks);
		look_loops_of_threads(p, &tasks.loops, list, seen->cnt);
		shown.tasks = &tasks;
		look_trio_take(p, &trio);
		shown.trio = &trio;
		look_greenlets_take(p, &greenlets);
		shown.greenlets = &greenlets;
	}
	err = l->args->show(l->args->ctx, &shown);
	look_locals_free(locals);
	free(locks);
	look_tasks_free(&tasks);
	look_tasks_free(&trio);
	look_greenlets_free(&greenlets);
	free(list);
	return err;
}

static void free_seen(struct look *l, struct look_seen *seen)
{
	struct look_seen **at = &l->seen;

	while (*at != seen)
		at = &(*at)->next;
	*at = seen->next;
	look_seen_free(seen);
}

static int end_seen(struct observer *o, struct process *p, uint64_t end_ns)
{
	struct look *l = (struct look *)o;
	struct look_seen *seen = process_observed(p);
	int err = l->again ? 0 : show_seen(l, p, seen, end_ns != 0);

	process_set_observed(p, NULL);
	free_seen(l, seen);
	return err;
}

static const struct observer_ops look_ops = {
	.begin = begin_seen, .event = take_event, .end = end_seen,
};

static void add_pids(struct look *l)
{
	size_t i;
	int err;

	for (i = 0; i < l->args->pid_cnt; i++) {
		err = capture_add(l->capture, l->args->pids[i]);
		if (err == -EAGAIN)
			log_error("process %d does not match the filters", l->args->pids[i]);
		l->counts->failed += err != 0;
	}
}

/* Takes records for ms; with find, only as long as processes are being inspected. */
static int poll_for(struct look *l, uint64_t ms, bool find)
{
	uint64_t until = now_ns() + ms * 1000000, now;
	struct capture_counts c;
	int err = 0;

	while (!err && (now = now_ns()) < until) {
		capture_counts(l->capture, &c);
		if (find && !c.processes_pending)
			break;
		err = capture_poll(l->capture, find ? 1 : (int)((until - now) / 1000000 + 1));
	}
	return err;
}

/* Returns true if the scan left out threads that ran all the time. */
static bool some_ran(struct look *l)
{
	struct capture_counts c;

	capture_counts(l->capture, &c);
	return c.scan.left || c.scan.lost;
}

/* Turns the waits that the scan has found into events. Returns 0 or -errno. */
static int take_scanned(struct look *l)
{
	int err = poll_for(l, SCANNED_MS, false);

	capture_emit_waits(l->capture);
	return err;
}

/* capture_chosen_fn */
static bool has_moved(void *ctx, struct process *p)
{
	const struct look_seen *seen = process_observed(p);

	return seen && seen->moved;
}

/* Finds what threads wait for; walks those again that have moved on. Returns 0 or -errno. */
static int detail_threads(struct look *l)
{
	size_t moved = 1;
	struct look_seen *seen;
	int err = 0, again;

	for (again = 0; !err && moved; again++) {
		moved = 0;
		for (seen = l->seen; !err && seen; seen = seen->next) {
			err = look_seen_detail(seen, l->capture);
			moved += seen->moved;
		}
		if (err || !moved || again == AGAIN_MAX)
			break;
		capture_scan_again(l->capture, has_moved, NULL);
		err = take_scanned(l);
	}
	return err;
}

static uint64_t ticks_ms(const struct look_args *args)
{
	return args->watch_ms ? args->watch_ms : args->native ? NATIVE_MS : LOOK_MS;
}

/* Watches for as long as the mode needs. Returns 0 or -errno. */
static int watch_threads(struct look *l, const struct record_mode_def *mode)
{
	int err = 0;

	if (mode->ticks)
		err = poll_for(l, ticks_ms(l->args), false);
	if (err || !mode->scan_only)
		return err;
	capture_scan(l->capture);
	l->again = !mode->ticks && some_ran(l);
	if (l->again)
		return 0;
	err = take_scanned(l);
	return err ? err : detail_threads(l);
}

/*
 * While threads are watched, waits become events when they end, or in capture_stop(). Without
 * capture_housekeep(), which would emit them in parts, a thread with two events has begun two
 * waits.
 */
static int look_at_all(struct look *l, const struct record_mode_def *mode)
{
	int err, stop_err;

	capture_process_prepare(l->args->workers);
	l->counts->failed = 0;
	add_pids(l);
	if (!l->args->all && l->counts->failed == l->args->pid_cnt)
		return 0;
	err = capture_start(l->capture);
	if (err)
		return err;
	err = poll_for(l, FIND_MS, true);
	if (!err)
		err = watch_threads(l, mode);
	stop_err = capture_stop(l->capture);
	return err ? err : stop_err;
}

/* Does one look with its own capture. Returns 0 or -errno. */
static int look_by(struct look *l, const struct record_mode_def *mode)
{
	const struct look_args *args = l->args;
	struct capture_args capture = {
		.all = args->all, .rate_hz = RATE_HZ, .batch_ms = 1, .mode = mode,
		.proc_filter = args->proc_filter, .identities = args->identities,
		.observer = &l->observer, .no_sample_limit = true,
		.gc = true, .native_threads = true, .native = args->native,
		.native_full = args->native_full, .native_lines = args->native_lines,
	};
	int err;

	l->again = false;
	l->capture = capture_new(&capture);
	if (!l->capture)
		return -errno;
	err = look_at_all(l, mode);
	capture_free(l->capture);
	return err;
}

int look_run(const struct look_args *args, struct look_counts *counts)
{
	struct look l = { .observer = { &look_ops }, .args = args, .counts = counts };
	int err;

	*counts = (struct look_counts){ 0 };
	err = look_by(&l, args->watch_ms ? &watch_mode :
		      args->native ? &awake_mode : &asleep_mode);
	if (!err && l.again)
		err = look_by(&l, &awake_mode);
	look_worker_end();
	heap_worker_end();
	return err;
}
