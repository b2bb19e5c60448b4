// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * lifecycle_due.c - which processes are to be inspected now or soon, and which have news. See
 * lifecycle.h.
 *
 * A host may have tens of thousands of processes, of which few are young or have changed. Those are
 * in the list lifecycle.soon. A process enters it when it is handed out, because its schedule may
 * change then, and a second before it is due; it leaves when the list is traversed and it has
 * nothing to wait for. Then it waits in lifecycle.later, a wheel with a list for each second; or
 * nowhere, if only news of it can make it due.
 */
#include "capture/lifecycle.h"

#define DUE(link) LINK_STRUCT(link, struct tracked, due)

/* ---- due processes ---- */

static void become_soon(struct lifecycle *l, struct tracked *t)
{
	link_take(&t->due);
	link_put(&l->soon, &t->due);
	t->soon = true;
}

void lifecycle_touch(struct lifecycle *l, struct tracked *t)
{
	if (!t->soon)
		become_soon(l, t);
	if (!t->heard.at)
		link_put(&l->heard, &t->heard);
}

static bool is_soon(const struct lifecycle *l, const struct tracked *t)
{
	return t->schedule.changed || inspect_is_young(&t->schedule) ||
	       t->schedule.next_ns / DUE_AHEAD_NS < l->soon_until;
}

static void leave_soon(struct lifecycle *l, struct tracked *t)
{
	link_take(&t->due);
	t->soon = false;
	if (t->schedule.next_ns != INSPECT_NEVER)
		link_put(&l->later[t->schedule.next_ns / DUE_AHEAD_NS % LATER_SLOTS], &t->due);
}

void lifecycle_forget_due(struct lifecycle *l, struct tracked *t)
{
	if (l->due_at == &t->due)
		l->due_at = t->due.next;
	if (l->heard_at == &t->heard)
		l->heard_at = t->heard.next;
	link_take(&t->due);
	link_take(&t->heard);
}

/*
 * Moves processes that may become due within DUE_AHEAD_NS from the wheel into l->soon, and some
 * that have another turn of the wheel to go: these leave again.
 */
static void fill_soon(struct lifecycle *l, uint64_t now_ns)
{
	uint64_t until = now_ns / DUE_AHEAD_NS + 2, second = l->soon_until;

	if (second >= until)
		return;
	if (second + LATER_SLOTS < until)
		second = until - LATER_SLOTS;
	l->soon_until = until;
	for (; second < until; second++)
		while (l->later[second % LATER_SLOTS])
			become_soon(l, DUE(l->later[second % LATER_SLOTS]));
}

struct tracked *lifecycle_next_due(struct lifecycle *l, uint64_t now_ns, size_t *pos)
{
	struct tracked *t;

	if (!*pos) {
		*pos = 1;
		fill_soon(l, now_ns);
		l->due_at = l->soon;
	}
	while (l->due_at) {
		t = DUE(l->due_at);
		l->due_at = t->due.next;
		if (t->schedule.next_ns <= now_ns)
			return t;
		if (!is_soon(l, t))
			leave_soon(l, t);
	}
	return NULL;
}

uint64_t lifecycle_wait_ns(struct lifecycle *l, uint64_t now_ns, uint64_t limit_ns)
{
	const struct link *link;
	uint64_t wait = limit_ns;

	for (link = l->soon; link; link = link->next)
		wait = inspect_wait_ns(&DUE(link)->schedule, now_ns, wait);
	return wait;
}

uint32_t lifecycle_young_cnt(struct lifecycle *l)
{
	const struct link *link;
	uint32_t cnt = 0;

	for (link = l->soon; link; link = link->next)
		cnt += inspect_is_young(&DUE(link)->schedule);
	return cnt;
}

/* ---- processes with news ---- */

struct tracked *lifecycle_next_heard(struct lifecycle *l, size_t *pos)
{
	struct tracked *t;

	if (!*pos) {
		*pos = 1;
		l->heard_at = l->heard;
	}
	if (!l->heard_at)
		return NULL;
	t = LINK_STRUCT(l->heard_at, struct tracked, heard);
	l->heard_at = t->heard.next;
	return t;
}

void lifecycle_quiet(struct tracked *t)
{
	link_take(&t->heard);
}
