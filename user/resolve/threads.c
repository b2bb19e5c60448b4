// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* threads.c - see threads.h. */
#include "resolve/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

/*
 * How many threads are checked for each new one. With one, the number of records would not shrink.
 */
#define LOOKS_FOR_NEW 2

void threads_init(struct threads *l, pid_t tgid, uint64_t keep_ns, thread_gone_fn gone, void *ctx)
{
	*l = (struct threads){ .tgid = tgid, .keep_ns = keep_ns, .gone = gone, .ctx = ctx };
	lru_init(&l->lru, THREADS_MAX, THREADS_MAX);
}

static void free_thread(struct thread *t)
{
	if (t->cap)
		free(t->raw_end - t->cap);
	free(t->extra);
	free(t->trace);
	free(t->native);
	free(t->async);
	free(t);
}

void threads_free(struct threads *l)
{
	struct thread *t;
	size_t pos = 0;

	while ((t = u64map_next(&l->by_key, &pos)))
		free_thread(t);
	u64map_free(&l->by_key);
	lru_free(&l->lru);
}

static uint64_t key_of(uint32_t tid, uint32_t interp_id)
{
	return (uint64_t)tid << 32 | interp_id;
}

struct thread *threads_find(struct threads *l, uint32_t tid, uint32_t interp_id)
{
	uint64_t key = key_of(tid, interp_id);
	struct thread *t = l->last;

	if (!t || t->key != key)
		t = u64map_get(&l->by_key, key);
	if (t) {
		t->used = true;
		l->last = t;
	}
	return t;
}

static void drop_thread(struct threads *l, struct thread *t)
{
	u64map_remove(&l->by_key, t->key);
	lru_remove(&l->lru, &t->lru);
	if (l->last == t)
		l->last = NULL;
	free_thread(t);
}

/* Another user's live thread may not be sent a signal (EPERM), but it exists. */
static bool is_alive(const struct threads *l, const struct thread *t)
{
	return !syscall(SYS_tgkill, l->tgid, (pid_t)thread_tid(t), 0) || errno != ESRCH;
}

/* Returns true if it has ended and is not kept any longer. */
static bool may_go(const struct threads *l, struct thread *t)
{
	if (is_alive(l, t)) {
		t->ended_ns = 0;
		return false;
	}
	if (!t->ended_ns)
		t->ended_ns = now_ns();
	return now_ns() - t->ended_ns >= l->keep_ns;
}

/*
 * Frees the least recently checked thread if it has ended, or if there is no more room and nobody
 * has used it since.
 */
static void look_at_oldest(struct threads *l)
{
	struct thread *t = LRU_STRUCT(lru_oldest(&l->lru), struct thread, lru);
	bool full = l->lru.cnt >= THREADS_MAX, has_ended = may_go(l, t);

	if (has_ended || (full && !t->used)) {
		l->gone(l->ctx, t, !has_ended);
		drop_thread(l, t);
		return;
	}
	t->used = t->used && !full;
	lru_use(&l->lru, &t->lru);
}

struct thread *threads_add(struct threads *l, uint32_t tid, uint32_t interp_id)
{
	struct thread *t;
	int i;

	for (i = 0; l->lru.cnt >= THREADS_FEW &&
	     (i < LOOKS_FOR_NEW || l->lru.cnt >= THREADS_MAX); i++)
		look_at_oldest(l);
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = key_of(tid, interp_id);
	t->exception = UINT32_MAX;
	if (lru_add(&l->lru, &t->lru, LRU_OWNER_ROOT)) {
		free(t);
		return NULL;
	}
	if (u64map_put(&l->by_key, t->key, t)) {
		lru_remove(&l->lru, &t->lru);
		free(t);
		return NULL;
	}
	l->last = t;
	return t;
}

void threads_remove(struct threads *l, uint32_t tid, uint32_t interp_id)
{
	struct thread *t = u64map_get(&l->by_key, key_of(tid, interp_id));

	if (t)
		drop_thread(l, t);
}

int thread_reserve(struct thread *t, uint32_t n)
{
	uint32_t cap = t->cap ? t->cap : THREAD_FRAMES_MIN;
	struct raw_frame *raw;
	uint32_t *ids_end;

	if (t->cap && n <= t->cap)
		return 0;
	while (cap < n)
		cap *= 2;
	raw = malloc(cap * (sizeof(*raw) + sizeof(*ids_end)));
	if (!raw)
		return -ENOMEM;
	ids_end = (uint32_t *)(raw + cap) + cap;
	if (t->cap) {
		memcpy(raw + cap - t->known, t->raw_end - t->known, t->known * sizeof(*raw));
		memcpy(ids_end - t->known, t->ids_end - t->known, t->known * sizeof(*ids_end));
		free(t->raw_end - t->cap);
	}
	t->nframes = t->known;
	t->raw_end = raw + cap;
	t->ids_end = ids_end;
	t->cap = cap;
	return 0;
}

int thread_set_extra(struct thread *t, const struct raw_extra *x, size_t len)
{
	if (!t->extra)
		t->extra = malloc(sizeof(*t->extra));
	if (!t->extra)
		return -ENOMEM;
	memcpy(&t->extra->raw, x, len < sizeof(*x) ? len : sizeof(*x));
	return 0;
}

int thread_set_trace(struct thread *t, const void *trace, size_t len)
{
	if (len > sizeof(*t->trace))
		len = sizeof(*t->trace);
	if (len && !t->trace)
		t->trace = malloc(sizeof(*t->trace));
	t->trace_len = t->trace ? (uint32_t)len : 0;
	if (t->trace_len)
		memcpy(t->trace, trace, len);
	return len && !t->trace ? -ENOMEM : 0;
}

int thread_set_native(struct thread *t, const struct native_stack *native)
{
	size_t head = offsetof(struct native_stack, ids), bytes = sizeof(native->ids[0]);
	uint32_t cap = t->native_cap ? t->native_cap : THREAD_FRAMES_MIN;

	if (native->cnt > t->native_cap) {
		while (cap < native->cnt)
			cap *= 2;
		free(t->native);
		t->native = malloc(head + cap * bytes);
		t->native_cap = t->native ? cap : 0;
	}
	if (t->native)
		memcpy(t->native, native, head + native->cnt * bytes);
	return native->cnt && !t->native ? -ENOMEM : 0;
}
