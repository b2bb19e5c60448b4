// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_seen.c - see look_seen.h. */
#include "look/look_seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"
#include "capture/capture.h"
#include "look/look_worker.h"
#include "resolve/process.h"

struct kept {
	struct look_thread thread;
	bool detailed;		/* since its last stack */
	uint32_t *frames, room;	/* of the thread */
};

struct look_seen *look_seen_new(struct process *p, uint64_t interval_us)
{
	struct look_seen *seen = calloc(1, sizeof(*seen));

	if (!seen)
		return NULL;
	seen->process = p;
	seen->interval_us = interval_us;
	return seen;
}

void look_seen_free(struct look_seen *seen)
{
	struct kept *k;
	size_t pos = 0;

	while ((k = u64map_next(&seen->by_tid, &pos))) {
		free(k->frames);
		free(k);
	}
	u64map_free(&seen->by_tid);
	free(seen);
}

/* Returns NULL if there are too many threads, or there is no memory. */
static struct kept *add_thread(struct look_seen *seen, uint64_t tid)
{
	struct kept *k = seen->cnt < LOOK_THREADS_MAX ? calloc(1, sizeof(*k)) : NULL;

	if (k && u64map_put(&seen->by_tid, tid, k)) {
		free(k);
		k = NULL;
	}
	seen->cnt += k != NULL;
	return k;
}

/* Takes as many frames as there is memory for. */
static void take_frames(struct kept *k, struct look_thread *now)
{
	uint32_t *frames = now->nframes > k->room ?
		realloc(k->frames, now->nframes * sizeof(*frames)) : k->frames;

	if (frames && now->nframes > k->room)
		k->room = now->nframes;
	if (frames)
		k->frames = frames;
	if (now->nframes > k->room)
		now->nframes = k->room;
	if (now->nframes)
		memcpy(k->frames, now->frames, now->nframes * sizeof(*frames));
	now->frames = k->frames;
}

/* k has the previous event, if there was one. */
static void take_stack(struct look_seen *seen, struct kept *k, bool first, const struct event *ev)
{
	struct look_thread now;

	look_thread_take(&now, ev, process_tables(seen->process));
	now.advanced = now.state == LOOK_RUNNING;
	if (now.state != LOOK_RUNNING)
		now.waited_us = ev->weight * seen->interval_us;
	if (!first) {
		now.advanced |= k->thread.advanced || look_thread_advances(&k->thread, &now);
		now.waited_us += k->thread.waited_us;
	}
	take_frames(k, &now);
	k->thread = now;
	k->detailed = false;
}

void look_seen_event(struct look_seen *seen, const struct event *ev)
{
	struct kept *k = u64map_get(&seen->by_tid, ev->thread_id);
	bool first = !k;

	if (first)
		k = add_thread(seen, ev->thread_id);
	if (!k)
		seen->beyond++;
	else if (first || !k->detailed || k->thread.moved)
		take_stack(seen, k, first, ev);
}

/* Gets the details of a thread from a scan. Returns false if the worker must read them. */
static bool take_scanned(struct look_thread *t, const struct capture *capture)
{
	const struct scanned_thread *found =
		capture ? capture_scanned(capture, (uint32_t)t->tid) : NULL;
	struct look_syscall call = { .nr = -1 };

	if (look_worker_sees_kernel())
		return false;
	if (found && found->at.sysno < RAW_WAIT_STOPPED)
		call = (struct look_syscall){ found->at.sysno, { found->at.args[0],
					      found->at.args[1], 0, found->at.fourth } };
	return look_thread_settle(t, &call);
}

int look_seen_detail(struct look_seen *seen, const struct capture *capture)
{
	struct look_thread *list = calloc(seen->cnt + 1, sizeof(*list));
	size_t pos = 0, n = 0, i;
	struct kept *k;

	if (!list)
		return -ENOMEM;
	while ((k = u64map_next(&seen->by_tid, &pos))) {
		if (!k->detailed && !take_scanned(&k->thread, capture))
			list[n++] = k->thread;
		k->detailed = true;
	}
	look_worker_details(list, n, process_tgid(seen->process));
	for (i = 0; i < n; i++) {
		k = u64map_get(&seen->by_tid, list[i].tid);
		k->thread = list[i];
	}
	seen->moved = 0;
	for (pos = 0; (k = u64map_next(&seen->by_tid, &pos));)
		seen->moved += k->thread.moved;
	free(list);
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

struct look_thread *look_seen_list(const struct look_seen *seen)
{
	struct look_thread *list = calloc(seen->cnt + 1, sizeof(*list));
	size_t pos = 0, n = 0;
	struct kept *k;

	while (list && n < seen->cnt && (k = u64map_next(&seen->by_tid, &pos)))
		list[n++] = k->thread;
	if (list)
		qsort(list, n, sizeof(*list), main_first);
	return list;
}
