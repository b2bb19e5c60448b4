// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* loop_poll.c - see loop_poll.h. */
#include "look/loop_poll.h"

#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "base/u64map.h"
#include "base/util.h"
#include "host/time_ns.h"
#include "memory/remote_mem.h"
#include "resolve/process.h"
#include "target/inspector.h"

/* Between two looks at a process with a loop, and at one whose loops do not run. */
#define LOOK_NS (100 * NS_PER_MS)
#define IDLE_NS NS_PER_S
/* All reads may take 1 / SHARE of a CPU; what was not used is saved up to CREDIT_NS. */
#define SHARE 100
#define CREDIT_NS (20 * NS_PER_MS)
/* Counting tasks: not more than this part of the time for one process. */
#define COUNT_SHARE 500
#define COUNT_BATCHES 256
/* What a read, and a question to the reader, take (`make bench-loops`). */
#define READ_NS 2000
#define ASK_NS 80000
/* Looking for asyncio: after 1, 2, 4 ... seconds again. */
#define FIND_TRIES_MAX 6
#define FIND_COST_NS NS_PER_MS

struct known {
	uint64_t start_ns;	/* of the process */
	uint64_t next_ns;	/* when to look at it; UINT64_MAX: never */
	uint64_t count_ns;	/* when to count its tasks again */
	uint64_t tasks;
	struct tasks_at at;
	int64_t clock_ns;	/* remote_loop_states() */
	struct loop_health *health;	/* NULL: no loop was seen */
	pid_t tgid;
	uint32_t round;		/* the last one in which the process was there */
	uint8_t tries;		/* to find asyncio */
	uint8_t minor;		/* of its Python, 3.minor */
	bool found, no_clock;
};

struct loop_poll {
	struct u64map by_tgid;	/* of struct known */
	struct loop_poll_counts counts;
	uint64_t as_of_ns;	/* of credit */
	int64_t credit_ns;
	uint64_t next_ns;
	uint32_t round;
};

struct loop_poll *loop_poll_new(void)
{
	struct loop_poll *l = calloc(1, sizeof(*l));

	if (l) {
		l->as_of_ns = now_ns();
		l->credit_ns = CREDIT_NS;
		l->next_ns = UINT64_MAX;
	}
	return l;
}

static void forget(struct loop_poll *l, struct known *k)
{
	u64map_remove(&l->by_tgid, (uint64_t)k->tgid);
	free(k->health);
	free(k);
}

void loop_poll_free(struct loop_poll *l)
{
	struct known *k;
	size_t pos = 0;

	if (!l)
		return;
	while ((k = u64map_next(&l->by_tgid, &pos)))
		forget(l, k);
	u64map_free(&l->by_tgid);
	free(l);
}

/* ---- processes ---- */

static bool may_have_loops(const struct process *p)
{
	return process_image(p)->minor >= 8 && process_interps(p);
}

static void begin_known(struct known *k, const struct process *p)
{
	*k = (struct known){
		.tgid = process_tgid(p), .start_ns = process_start_ns(p),
		.tasks = LOOP_UNKNOWN, .minor = process_image(p)->minor,
		.next_ns = may_have_loops(p) ? now_ns() : UINT64_MAX,
		.at = { .l = process_image(p)->layout, .objects = process_image(p)->objects,
			.interps = process_interps(p), .count = 1 },
	};
	k->at.homes.musl = process_has_musl(p);
}

static struct known *find_known(const struct loop_poll *l, const struct process *p)
{
	struct known *k = u64map_get(&l->by_tgid, (uint64_t)process_tgid(p));

	return k && k->start_ns == process_start_ns(p) ? k : NULL;
}

void loop_poll_see(struct loop_poll *l, const struct process *p)
{
	struct known *k = find_known(l, p), *other;

	if (!k) {
		other = u64map_get(&l->by_tgid, (uint64_t)process_tgid(p));
		if (other)
			forget(l, other);
		k = calloc(1, sizeof(*k));
		if (!k || u64map_put(&l->by_tgid, (uint64_t)process_tgid(p), k)) {
			free(k);
			return;
		}
		begin_known(k, p);
	}
	/* Where its interpreters are may become known later. */
	if (!k->at.interps && process_interps(p))
		begin_known(k, p);
	k->round = l->round;
	if (k->next_ns < l->next_ns)
		l->next_ns = k->next_ns;
}

void loop_poll_seen(struct loop_poll *l)
{
	struct known *k;
	size_t pos = 0;

	while ((k = u64map_next(&l->by_tgid, &pos)))
		if (k->round != l->round)
			forget(l, k);
	l->round++;
}

/* ---- one process ---- */

static void spend(struct loop_poll *l, uint64_t ns)
{
	l->credit_ns -= (int64_t)ns;
	l->counts.cost_ns += ns;
}

/* Up to 3.13: -ENOENT: asyncio is not loaded. */
static int find_homes(struct known *k)
{
	uint8_t musl = k->at.homes.musl;
	int err = remote_async_homes(k->tgid, &k->at, &k->at.homes);

	k->at.homes.musl = musl;
	return err ? err : k->at.homes.cnt ? 0 : -ENOENT;
}

/* Where asyncio keeps its tasks. A program may load it late. */
static void find_asyncio(struct loop_poll *l, struct known *k, uint64_t now)
{
	int err = k->minor >= 14 ? inspector_async(k->tgid, &k->at.async) : find_homes(k);

	spend(l, FIND_COST_NS);
	if (!err) {
		k->found = true;
		k->next_ns = now;
		k->no_clock = time_ns_offset(k->tgid, &k->clock_ns) != 0;
		return;
	}
	k->at.async.valid = 0;
	if (err == -EOPNOTSUPP || err == -ESRCH)
		k->next_ns = UINT64_MAX;
	else	/* it may be too soon, or the reader have no time now */
		k->next_ns = now + (err == -ENOENT ? NS_PER_S << k->tries : NS_PER_S / 2);
	if (err == -ENOENT && k->tries < FIND_TRIES_MAX)
		k->tries++;
}

/* All of them: LOOP_UNKNOWN if they cannot be read, or are too many. */
static uint64_t count_tasks(struct loop_poll *l, struct known *k)
{
	const struct task_lists *lists;
	const struct tasks_batch *batch;
	uint64_t tasks = 0, cnt;
	uint32_t i, batches = 0;
	struct tasks_at at = k->at;
	struct task_list *list;
	int err = remote_task_lists(k->tgid, &k->at, &lists);

	spend(l, ASK_NS);
	if (err)
		return LOOP_UNKNOWN;
	cnt = lists->cnt;
	list = cnt ? malloc(cnt * sizeof(*list)) : NULL;
	for (i = 0; list && i < cnt; i++)
		list[i] = lists->list[i];
	for (i = 0; list && !err && i < cnt; i++) {
		at.head = list[i].head;
		at.node = 0;
		do {
			err = remote_tasks(k->tgid, &at, &batch);
			spend(l, ASK_NS + (err ? 0 : (uint64_t)batch->reads * READ_NS));
			if (err || batch->end == TASKS_LOST)
				break;
			tasks += batch->counted;
			at.node = batch->next;
		} while (batch->end == TASKS_MORE && ++batches < COUNT_BATCHES);
	}
	err = err || (cnt && !list) || batches == COUNT_BATCHES ? -E2BIG : 0;
	free(list);
	return err ? LOOP_UNKNOWN : tasks;
}

static void count_if_due(struct loop_poll *l, struct known *k, uint64_t now)
{
	uint64_t before = l->counts.cost_ns, pause;

	if (now < k->count_ns)
		return;
	k->tasks = count_tasks(l, k);
	pause = (l->counts.cost_ns - before) * COUNT_SHARE;
	k->count_ns = now + (pause > NS_PER_S ? pause : NS_PER_S);
}

static void without_clock(struct loop_states *s)
{
	uint32_t i;

	for (i = 0; i < s->cnt; i++)
		s->loop[i].busy_ns = s->loop[i].late_ns = s->loop[i].turn_ns = LOOP_UNKNOWN;
}

static void look_at_loops(struct loop_poll *l, struct known *k, uint64_t now)
{
	const struct loop_states *found;
	struct loop_states s;
	int err = remote_loop_states(k->tgid, &k->at, k->clock_ns, &found);

	l->counts.looks++;
	l->counts.failed += err && err != -EBUSY;
	spend(l, ASK_NS + (err ? 0 : (uint64_t)found->reads * READ_NS));
	/* Busy: samples wait, or the machine does. */
	k->next_ns = now + (err != -EBUSY && (err || !found->cnt) ? IDLE_NS : LOOK_NS);
	if (err)
		return;
	s = *found;
	if (k->no_clock)
		without_clock(&s);
	if (!k->health && s.cnt)
		k->health = calloc(1, sizeof(*k->health));
	if (k->health)
		loop_health_add(k->health, now_ns(), &s);
	if (s.cnt)
		count_if_due(l, k, now);
}

/* ---- all of them ---- */

static int by_next(const void *a, const void *b)
{
	const struct known *const *x = a, *const *y = b;

	return (*x)->next_ns < (*y)->next_ns ? -1 : (*x)->next_ns > (*y)->next_ns;
}

/* What is due, the longest overdue first. Returns NULL: nothing, or no memory. */
static struct known **list_due(const struct loop_poll *l, uint64_t now, size_t *cnt)
{
	struct known **due = malloc((l->by_tgid.cnt + 1) * sizeof(struct known *)), *k;
	size_t pos = 0;

	*cnt = 0;
	while (due && (k = u64map_next(&l->by_tgid, &pos)))
		if (k->next_ns <= now)
			due[(*cnt)++] = k;
	if (due && *cnt)
		qsort(due, *cnt, sizeof(struct known *), by_next);
	return due;
}

static void earn(struct loop_poll *l, uint64_t now)
{
	l->credit_ns += (int64_t)((now - l->as_of_ns) / SHARE);
	if (l->credit_ns > (int64_t)CREDIT_NS)
		l->credit_ns = (int64_t)CREDIT_NS;
	l->as_of_ns = now;
}

static void set_next(struct loop_poll *l, uint64_t now)
{
	const struct known *k;
	size_t pos = 0;

	l->next_ns = UINT64_MAX;
	while ((k = u64map_next(&l->by_tgid, &pos)))
		if (k->next_ns < l->next_ns)
			l->next_ns = k->next_ns;
	if (l->credit_ns <= 0 && l->next_ns < now + (uint64_t)-l->credit_ns * SHARE)
		l->next_ns = now + (uint64_t)-l->credit_ns * SHARE + 1;
}

void loop_poll_tick(struct loop_poll *l)
{
	uint64_t now = now_ns();
	struct known **due;
	size_t cnt, i;

	if (now < l->next_ns)
		return;
	earn(l, now);
	due = list_due(l, now, &cnt);
	l->counts.late_ns = cnt ? now - due[0]->next_ns : 0;
	for (i = 0; i < cnt && l->credit_ns > 0; i++) {
		if (due[i]->found)
			look_at_loops(l, due[i], now);
		else
			find_asyncio(l, due[i], now);
	}
	free(due);
	set_next(l, now);
}

uint64_t loop_poll_next_ns(const struct loop_poll *l)
{
	return l->next_ns;
}

bool loop_poll_of(const struct loop_poll *l, const struct process *p, uint32_t seconds,
		  struct loop_poll_figures *out)
{
	const struct known *k = find_known(l, p);

	if (!k || !k->health)
		return false;
	loop_health_figures(k->health, now_ns(), seconds, &out->loops);
	out->tasks = k->tasks;
	return true;
}

const struct loop_poll_counts *loop_poll_counts(const struct loop_poll *l)
{
	return &l->counts;
}
