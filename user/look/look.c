// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look.c - an observer that keeps the last stack of each thread. See look.h. */
#include "look/look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "base/util.h"
#include "capture/capture.h"
#include "capture/capture_process.h"
#include "host/proc.h"
#include "look/look_worker.h"
#include "resolve/observer.h"
#include "resolve/process.h"

/* How long ticks are seen. A thread that runs has one each millisecond. */
#define LOOK_MS 30
/* How long processes may take to be found and inspected. */
#define FIND_MS 5000
/* Waits of a millisecond become events; so each wait that the scan finds lasts longer. */
#define RATE_HZ 999
#define SCANNED_MS 3

/* All that a thread can do is seen, and each wait says what it is. */
#define LOOK_MODE .name = "look", .header = MODE_ALL, .unit = UNIT_SAMPLES, .waits = true, \
	.runnable = true, .wait_frames = true, .runnable_frames = true
/*
 * Three ways to look. Programs that walk take the kernel's verifier 0.13 s each to load, so a look at
 * threads that are all off-CPU has none of them: its scan walks in user space.
 */
static const struct record_mode_def asleep_mode = { LOOK_MODE, .scan_only = true };
static const struct record_mode_def awake_mode = { LOOK_MODE, .scan_only = true, .ticks = true };
static const struct record_mode_def watch_mode = { LOOK_MODE, .ticks = true };

struct look {
	struct observer observer;	/* first */
	const struct look_args *args;
	struct look_counts *counts;
	struct capture *capture;
	bool again;	/* this look was not enough: show nothing */
};

/* What is kept of a process until its end. */
struct seen {
	struct u64map by_tid;	/* of struct kept */
	size_t cnt;
	uint64_t beyond;
};

struct kept {
	struct look_thread thread;
	uint32_t frames[EVENT_MAX_FRAMES];
};

static int begin(struct observer *o, struct process *p)
{
	struct seen *seen = calloc(1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	process_set_observed(p, seen);
	return 0;
}

/* Returns NULL if there are too many threads, or there is no memory. */
static struct kept *add_thread(struct seen *seen, uint64_t tid)
{
	struct kept *k = seen->cnt < LOOK_THREADS_MAX ? malloc(sizeof(*k)) : NULL;

	if (k && u64map_put(&seen->by_tid, tid, k)) {
		free(k);
		k = NULL;
	}
	seen->cnt += k != NULL;
	return k;
}

/* Take an event of a thread. k has the one before, if there was one. */
static void take_event(struct kept *k, bool first, struct process *p, const struct event *ev)
{
	struct look_thread now;

	look_thread_take(&now, ev, process_tables(p));
	now.advanced = now.state == LOOK_RUNNING;
	if (now.state != LOOK_RUNNING)
		now.waited_us = ev->weight * sampling_interval_us(RATE_HZ);
	if (!first) {
		now.advanced |= k->thread.advanced || look_thread_advances(&k->thread, &now);
		now.waited_us += k->thread.waited_us;
	}
	memcpy(k->frames, now.frames, now.nframes * sizeof(*k->frames));
	k->thread = now;
	k->thread.frames = k->frames;
}

static int event(struct observer *o, struct process *p, const struct event *ev)
{
	struct seen *seen = process_observed(p);
	struct kept *k = u64map_get(&seen->by_tid, ev->thread_id);
	bool first = !k;

	if (first)
		k = add_thread(seen, ev->thread_id);
	if (!k) {
		seen->beyond++;
		return 0;
	}
	take_event(k, first, p, ev);
	return 0;
}

static int main_first(const void *a, const void *b)
{
	const struct look_thread *x = a, *y = b;
	bool main_x = x->status & STATUS_MAIN_THREAD, main_y = y->status & STATUS_MAIN_THREAD;

	if (main_x != main_y)
		return main_y - main_x;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* All threads of a process as an array, to be freed; NULL: no memory. */
static struct look_thread *list_threads(const struct seen *seen, pid_t tgid)
{
	struct look_thread *list = calloc(seen->cnt + 1, sizeof(*list));
	size_t pos = 0, n = 0;
	struct kept *k;

	while (list && n < seen->cnt && (k = u64map_next(&seen->by_tid, &pos)))
		list[n++] = k->thread;
	if (list) {
		look_worker_details(list, n, tgid);
		qsort(list, n, sizeof(*list), main_first);
	}
	return list;
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

static int show(struct look *l, struct process *p, const struct seen *seen, bool ended)
{
	struct look_thread *list = list_threads(seen, process_tgid(p));
	struct look_process shown = { .process = p, .threads = list, .cnt = seen->cnt,
				      .beyond = seen->beyond, .ended = ended };
	struct proc_status status;
	int err;

	if (!list)
		return -ENOMEM;
	shown.gil_holder = only_holder(list, seen->cnt);
	if (proc_status(process_tgid(p), &status))
		shown.ended = true;
	else if (status.threads > seen->cnt)
		shown.unseen = status.threads - (uint32_t)seen->cnt;
	l->counts->shown++;
	err = l->args->show(l->args->ctx, &shown);
	free(list);
	return err;
}

static void free_seen(struct seen *seen)
{
	struct kept *k;
	size_t pos = 0;

	while ((k = u64map_next(&seen->by_tid, &pos)))
		free(k);
	u64map_free(&seen->by_tid);
	free(seen);
}

static int end(struct observer *o, struct process *p, uint64_t end_ns)
{
	struct look *l = (struct look *)o;
	struct seen *seen = process_observed(p);
	int err = l->again ? 0 : show(l, p, seen, end_ns != 0);

	process_set_observed(p, NULL);
	free_seen(seen);
	return err;
}

static const struct observer_ops look_ops = { .begin = begin, .event = event, .end = end };

static void add_pids(struct look *l)
{
	size_t i;
	int err;

	for (i = 0; i < l->args->pid_cnt; i++) {
		err = capture_add(l->capture, l->args->pids[i]);
		if (err == -EAGAIN)
			log_error("process %d does not meet the conditions", l->args->pids[i]);
		l->counts->failed += err != 0;
	}
}

/* Take records for ms; with find, only as long as processes are being inspected. */
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

/* Did the scan leave threads that ran all the time? */
static bool some_ran(struct look *l)
{
	struct capture_counts c;

	capture_counts(l->capture, &c);
	return c.scan.left || c.scan.lost;
}

/* Look for as long as the mode needs. 0 or -errno. */
static int watch(struct look *l, const struct record_mode_def *mode)
{
	int err = 0;

	if (mode->ticks)
		err = poll_for(l, l->args->watch_ms ? l->args->watch_ms : LOOK_MS, false);
	if (err || !mode->scan_only)
		return err;
	capture_scan(l->capture);
	l->again = !mode->ticks && some_ran(l);
	return l->again ? 0 : poll_for(l, SCANNED_MS, false);
}

/*
 * Waits are events once they are over, or in capture_stop(). There is no capture_housekeep(), which would
 * emit them in parts: so a thread with two events began two waits.
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
		err = watch(l, mode);
	stop_err = capture_stop(l->capture);
	return err ? err : stop_err;
}

/* One look by a capture of its own. 0 or -errno. */
static int look_by(struct look *l, const struct record_mode_def *mode)
{
	const struct look_args *args = l->args;
	struct capture_args capture = {
		.all = args->all, .rate_hz = RATE_HZ, .batch_ms = 1, .mode = mode,
		.proc_filter = args->proc_filter, .identities = args->identities,
		.observer = &l->observer, .no_sample_limit = true, .sent_codes = SENT_SLOTS,
		.gc = true, .native_threads = true,
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
	err = look_by(&l, args->watch_ms ? &watch_mode : &asleep_mode);
	if (!err && l.again)
		err = look_by(&l, &awake_mode);
	look_worker_end();
	return err;
}
