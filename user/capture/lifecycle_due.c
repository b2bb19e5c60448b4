// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * lifecycle_due.c - which processes are to be inspected now or soon. See lifecycle.h.
 *
 * A host may have tens of thousands of processes, of which few are young or have changed. Those are
 * in the list lifecycle.soon. A process comes there when it is handed out, because its schedule may
 * change then, and when all are looked at, once in DUE_AHEAD_NS; it leaves when the list is gone
 * through and it has nothing to wait for.
 */
#include "capture/lifecycle.h"

void lifecycle_touch(struct lifecycle *l, struct tracked *t)
{
	if (t->soon_at)
		return;
	t->soon_next = l->soon;
	if (l->soon)
		l->soon->soon_at = &t->soon_next;
	l->soon = t;
	t->soon_at = &l->soon;
}

static void leave(struct lifecycle *l, struct tracked *t)
{
	if (!t->soon_at)
		return;
	*t->soon_at = t->soon_next;
	if (t->soon_next)
		t->soon_next->soon_at = t->soon_at;
	t->soon_next = NULL;
	t->soon_at = NULL;
}

void lifecycle_forget_due(struct lifecycle *l, struct tracked *t)
{
	if (l->due_at == t)
		l->due_at = t->soon_next;
	leave(l, t);
}

static bool is_soon(const struct tracked *t, uint64_t now_ns)
{
	return t->schedule.changed || inspect_is_young(&t->schedule) ||
	       t->schedule.next_ns <= now_ns + DUE_AHEAD_NS;
}

/* Look at all processes, if it is time for that. */
static void fill(struct lifecycle *l, uint64_t now_ns)
{
	struct tracked *t;
	size_t pos = 0;

	if (l->soon_filled_ns && now_ns < l->soon_filled_ns + DUE_AHEAD_NS)
		return;
	l->soon_filled_ns = now_ns;
	while ((t = u64map_next(&l->tracked, &pos)))
		if (is_soon(t, now_ns))
			lifecycle_touch(l, t);
}

struct tracked *lifecycle_next_due(struct lifecycle *l, uint64_t now_ns, size_t *pos)
{
	struct tracked *t;

	if (!*pos) {
		*pos = 1;
		fill(l, now_ns);
		l->due_at = l->soon;
	}
	while ((t = l->due_at)) {
		l->due_at = t->soon_next;
		if (t->schedule.next_ns <= now_ns)
			return t;
		if (!is_soon(t, now_ns))
			leave(l, t);
	}
	return NULL;
}

uint64_t lifecycle_wait_ns(struct lifecycle *l, uint64_t now_ns, uint64_t limit_ns)
{
	const struct tracked *t;
	uint64_t wait = limit_ns;

	for (t = l->soon; t; t = t->soon_next)
		wait = inspect_wait_ns(&t->schedule, now_ns, wait);
	return wait;
}

uint32_t lifecycle_young_cnt(struct lifecycle *l)
{
	const struct tracked *t;
	uint32_t cnt = 0;

	for (t = l->soon; t; t = t->soon_next)
		cnt += inspect_is_young(&t->schedule);
	return cnt;
}
