// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_locks.c - see look_locks.h: the requests, and the conclusions from the answers. */
#include "look/look_locks.h"

#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "look/look_worker.h"
#include "memory/task_walk.h"
#include "resolve/process.h"

/* How often a possible circle is confirmed: a signal may have woken a thread meanwhile. */
#define CONFIRM_TRIES 3

/*
 * Number the circles, from 1 on, of a graph in which each of cnt nodes leads to one other, or to
 * LOOK_NO_HOLDER: circle[i] is the number of the one that node i is in; 0: none. Returns how many
 * there are.
 */
static uint32_t look_circles(const uint32_t *next, uint32_t cnt, uint32_t *circle)
{
	/* Which walk has passed a node: a walk that meets itself has found a circle. */
	uint32_t *passed = calloc(cnt + 1, sizeof(*passed)), found = 0, i, at;

	memset(circle, 0, cnt * sizeof(*circle));
	for (i = 0; passed && i < cnt; i++) {
		for (at = i; at < cnt && !passed[at]; at = next[at])
			passed[at] = i + 1;
		if (at >= cnt || passed[at] != i + 1 || circle[at])
			continue;
		for (found++; !circle[at]; at = next[at])
			circle[at] = found;
	}
	free(passed);
	return found;
}

static int by_tid(const void *a, const void *b)
{
	const struct look_thread *x = *(struct look_thread *const *)a,
				 *y = *(struct look_thread *const *)b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* A request without threads, or tasks. Returns NULL if no request can be sent. */
static struct look_locks *begin_question(const struct process *p, uint32_t cnt)
{
	struct look_locks *s = look_worker_locks(process_tgid(p));

	if (!s)
		return NULL;
	s->tgid = process_tgid(p);
	s->nested = look_is_nested(p);
	s->at = look_frames_at(p);
	s->confirm = s->tasks = s->cut = false;
	s->cnt = cnt;
	return s;
}

enum question {
	IN_PROC,	/* that the threads still wait is seen in /proc, */
	BY_SCAN,	/* or of those that a scan has found, by the caller: scanned_moved() */
	CONFIRM,	/* look_locks.confirm */
};

/* Sends a request about these threads, which are sorted by tid. */
static struct look_locks *ask_about(const struct process *p, struct look_thread *const *threads,
				    uint32_t cnt, enum question question)
{
	struct look_locks *s = begin_question(p, cnt);
	uint32_t i;

	if (!s)
		return NULL;
	s->confirm = question == CONFIRM;
	for (i = 0; i < cnt; i++)
		s->threads[i] = (struct look_lock_of){
			.tid = (uint32_t)threads[i]->tid, .futex = threads[i]->futex,
			.stands = question == BY_SCAN && threads[i]->futex_scanned,
		};
	return look_worker_locks_answer(s->tgid) ? NULL : s;
}

/* Reads once: the worker may change it. */
static uint32_t read_once(const uint32_t *v)
{
	return *(const volatile uint32_t *)v;
}

/* Returns the number of a thread's lock, from 0 on; LOOK_LOCKS_MAX: none. */
static uint32_t lock_of(const struct look_locks *s, uint32_t thread)
{
	uint32_t lock = read_once(&s->threads[thread].lock);

	return lock && lock <= LOOK_LOCKS_MAX ? lock - 1 : LOOK_LOCKS_MAX;
}

static bool is_steady(const struct look_locks *s, uint32_t thread)
{
	return *(const volatile unsigned char *)&s->threads[thread].steady & 1;
}

/* Returns true if the threads of the request form one circle. The worker is not trusted. */
static bool is_circle(const struct look_locks *s, uint32_t cnt)
{
	uint32_t i, at = 0, lock;

	for (i = 0; i < cnt; i++) {
		lock = lock_of(s, at);
		if (!is_steady(s, at) || lock == LOOK_LOCKS_MAX)
			return false;
		at = read_once(&s->locks[lock].holder);
		if (at >= cnt || (at == 0) != (i == cnt - 1))
			return false;
	}
	return true;
}

/* Reads again what the threads of circle number n wait for: they must not have run meanwhile. */
static bool confirm_circle(const struct process *p, struct look_thread *const *threads,
			   uint32_t cnt, const uint32_t *circle, uint32_t n)
{
	struct look_thread *members[LOOK_CONFIRMED_MAX];
	const struct look_locks *s;
	uint32_t i, member_cnt = 0;
	int tries;

	for (i = 0; i < cnt; i++) {
		if (circle[i] != n)
			continue;
		if (member_cnt == LOOK_CONFIRMED_MAX)
			return false;
		members[member_cnt++] = threads[i];
	}
	for (tries = 0; tries < CONFIRM_TRIES; tries++) {
		s = ask_about(p, members, member_cnt, CONFIRM);
		if (s && is_circle(s, member_cnt))
			return true;
	}
	return false;
}

/* next: who holds what each thread waits for. Circles that are confirmed get the next numbers. */
static void find_deadlocks(const struct process *p, struct look_thread *const *threads,
			   uint32_t cnt, const uint32_t *next)
{
	uint32_t *circle = calloc(cnt + 1, sizeof(*circle)), found, n, i, confirmed = 0;

	found = circle ? look_circles(next, cnt, circle) : 0;
	for (n = 1; n <= found; n++) {
		if (!confirm_circle(p, threads, cnt, circle, n))
			continue;
		confirmed++;
		for (i = 0; i < cnt; i++)
			if (circle[i] == n)
				threads[i]->deadlock = confirmed;
	}
	free(circle);
}

/* Copies the answer's *lock_cnt locks; the worker is not trusted. NULL: no memory. */
static struct look_lock *copy_locks(const struct look_locks *s, uint32_t cnt, uint32_t *lock_cnt)
{
	uint32_t n = read_once(&s->lock_cnt), i;
	struct look_lock *list;

	*lock_cnt = n < LOOK_LOCKS_MAX ? n : LOOK_LOCKS_MAX;
	list = calloc(*lock_cnt + 1, sizeof(*list));
	if (!list)
		return NULL;
	memcpy(list, s->locks, *lock_cnt * sizeof(*list));
	for (i = 0; i < *lock_cnt; i++) {
		struct look_lock *l = &list[i];

		l->kind = l->kind < PY_LOCK_KINDS ? l->kind : PY_LOCK_PLAIN;
		l->holder = l->holder < cnt ? l->holder : LOOK_NO_HOLDER;
		l->holder_tid = 0;
		l->holders = l->first < cnt && l->holders <= cnt ? l->holders : 0;
		l->sure = *(unsigned char *)&l->sure & 1;
		l->foreign = *(unsigned char *)&l->foreign & 1;
		l->by_hand = *(unsigned char *)&l->by_hand & 1;
		l->function[sizeof(l->function) - 1] = '\0';
		l->path[sizeof(l->path) - 1] = '\0';
		l->module[sizeof(l->module) - 1] = '\0';
	}
	return list;
}

/* Returns true if the answer has a lock for a thread that has run since a scan found it. */
static bool scanned_moved(struct capture *capture, struct look_thread *const *threads, uint32_t cnt,
			  const struct look_locks *s)
{
	const struct scanned_thread *t;
	uint32_t i;

	capture_check_scanned(capture);
	for (i = 0; i < cnt; i++) {
		if (!threads[i]->futex_scanned || lock_of(s, i) == LOOK_LOCKS_MAX)
			continue;
		t = capture_scanned(capture, (uint32_t)threads[i]->tid);
		if (!t || !t->still)
			return true;
	}
	return false;
}

static const struct look_locks *ask_all(const struct process *p, struct capture *capture,
					struct look_thread *const *threads, uint32_t cnt)
{
	const struct look_locks *s = ask_about(p, threads, cnt, BY_SCAN);

	return s && scanned_moved(capture, threads, cnt, s) ?
		       ask_about(p, threads, cnt, IN_PROC) : s;
}

static struct look_lock *find_locks(const struct process *p, struct capture *capture,
				    struct look_thread *const *threads, uint32_t cnt)
{
	uint32_t *next = calloc(cnt + 1, sizeof(*next)), i, lock, lock_cnt;
	const struct look_locks *s = next ? ask_all(p, capture, threads, cnt) : NULL;
	struct look_lock *list = s ? copy_locks(s, cnt, &lock_cnt) : NULL;

	for (i = 0; list && i < lock_cnt; i++)
		if (list[i].holder != LOOK_NO_HOLDER)
			list[i].holder_tid = threads[list[i].holder]->tid;
	for (i = 0; list && i < cnt; i++) {
		lock = lock_of(s, i);
		threads[i]->lock = lock < lock_cnt ? &list[lock] : NULL;
		next[i] = lock < lock_cnt ? list[lock].holder : LOOK_NO_HOLDER;
	}
	if (list)
		find_deadlocks(p, threads, cnt, next);
	free(next);
	return list;
}

struct look_lock *look_locks_of(const struct process *p, struct capture *capture,
				struct look_thread *threads, size_t cnt)
{
	struct look_thread **sorted = calloc(cnt + 1, sizeof(*sorted));
	struct look_lock *list = NULL;
	bool waits = false;
	size_t i;

	for (i = 0; sorted && i < cnt && i < LOOK_THREADS_MAX; i++) {
		sorted[i] = &threads[i];
		waits |= threads[i].futex && !threads[i].moved;
	}
	if (waits && process_interps(p)) {
		qsort(sorted, i, sizeof(*sorted), by_tid);
		list = find_locks(p, capture, sorted, (uint32_t)i);
	}
	free(sorted);
	return list;
}

/* ---- asyncio ---- */

static struct look_locks *ask_tasks(const struct process *p, const struct tasks_at *at,
				    const struct task *tasks, uint32_t cnt, bool cut)
{
	struct look_locks *s = begin_question(p, cnt);
	uint32_t i;

	if (!s)
		return NULL;
	s->tasks = true;
	s->cut = cut;
	s->where = *at;
	for (i = 0; i < cnt; i++)
		s->threads[i] = (struct look_lock_of){ .task = tasks[i].addr };
	return look_worker_locks_answer(s->tgid) ? NULL : s;
}

struct look_lock *look_task_locks_of(const struct process *p, const struct tasks_at *at,
				     const struct task *tasks, size_t all, struct look_wait *waits)
{
	uint32_t cnt = all < LOOK_THREADS_MAX ? (uint32_t)all : LOOK_THREADS_MAX, i, lock, lock_cnt;
	uint32_t *next = calloc(cnt + 1, 2 * sizeof(*next));	/* and circles */
	const struct look_locks *s = next ? ask_tasks(p, at, tasks, cnt, cnt < all) : NULL;
	struct look_lock *list = s ? copy_locks(s, cnt, &lock_cnt) : NULL;

	for (i = 0; list && i < cnt; i++) {
		lock = lock_of(s, i);
		waits[i].lock = lock < lock_cnt ? &list[lock] : NULL;
		next[i] = lock < lock_cnt && is_steady(s, i) ? list[lock].holder : LOOK_NO_HOLDER;
	}
	if (list)
		look_circles(next, cnt, next + cnt);
	for (i = 0; list && i < cnt; i++)
		waits[i].deadlock = next[cnt + i];
	free(next);
	return list;
}
