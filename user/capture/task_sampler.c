// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * task_sampler.c - see task_sampler.h.
 *
 * A step continues where the last one ended. A list longer than a batch takes several steps. Its
 * length was counted in the last round along it, and before the first one by its nodes alone.
 */
#include "capture/task_sampler.h"

#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"

#define BATCHES_A_STEP 4	/* of different lists */

struct sampled_list {
	struct task_list list;
	uint64_t node;			/* where to continue; 0: at its begin */
	uint64_t met;			/* in this round */
	uint64_t cnt;			/* in the last round; 0: none yet */
	uint64_t last_ns;		/* passed on up to here; 0: no batch was read */
	uint32_t counts;		/* calls left while it is being counted; 0: it is not */
	uint64_t count_at;		/* the node at which counting continues; 0: the begin */
};

struct task_sampler {
	const struct task_source *source;
	pid_t tgid;
	struct tasks_at at;
	struct sampled_list lists[TASK_SAMPLED_LISTS];
	uint32_t list_cnt, next_list;
	struct task_sampler_stats stats;
	struct u64map awaiting[2];	/* awaiting tasks: of this round, of the last one */
	uint32_t round;
	struct tasks_batch batch;	/* a copy */
	struct u64map rows;		/* address -> row + 1 of batch */
	/* Awaiting tasks that are not in batch; address -> number + 1 of them. */
	struct parent {
		struct task_row row;
		struct raw_frame frames[TASK_FRAMES_MAX];
		uint64_t waiter;
	} parents[TASK_PARENTS_MAX];
	uint32_t parent_cnt;
	struct u64map parent_rows;
};

struct task_sampler *task_sampler_new(const struct task_source *source, pid_t tgid,
				      const struct tasks_at *at)
{
	struct task_sampler *s = calloc(1, sizeof(*s));

	if (s) {
		s->source = source;
		s->tgid = tgid;
		s->at = *at;
		s->at.waits = 1;
	}
	return s;
}

void task_sampler_free(struct task_sampler *s)
{
	if (!s)
		return;
	u64map_free(&s->awaiting[0]);
	u64map_free(&s->awaiting[1]);
	u64map_free(&s->rows);
	u64map_free(&s->parent_rows);
	free(s);
}

const struct task_sampler_stats *task_sampler_stats(const struct task_sampler *s)
{
	return &s->stats;
}

/* ---- lists ---- */

/* Takes the present lists; what is known of those that existed before stays. */
static void take_lists(struct task_sampler *s, const struct task_lists *found)
{
	struct sampled_list now[TASK_SAMPLED_LISTS];
	uint32_t i, k, cnt = 0;

	for (i = 0; i < found->cnt && cnt < TASK_SAMPLED_LISTS; i++) {
		now[cnt] = (struct sampled_list){ .list = found->list[i] };
		for (k = 0; k < s->list_cnt; k++)
			if (s->lists[k].list.head == found->list[i].head) {
				now[cnt] = s->lists[k];
				now[cnt].list = found->list[i];
			}
		cnt++;
	}
	memcpy(s->lists, now, cnt * sizeof(now[0]));
	s->list_cnt = cnt;
}

/* Reads which lists exist, at each step: that also says which task runs. */
static bool read_lists(struct task_sampler *s)
{
	const struct task_lists *found;

	if (s->source->lists(s->tgid, &s->at, &found))
		return false;
	take_lists(s, found);
	return true;
}

/* ---- a batch ---- */

static int index_rows(struct task_sampler *s)
{
	const struct tasks_batch *b = &s->batch;
	struct u64map *awaiting = &s->awaiting[s->round & 1];
	uint32_t i;
	int err = 0;

	u64map_free(&s->rows);
	s->rows = (struct u64map){ .cnt = 0 };
	for (i = 0; !err && i < b->row_cnt; i++)
		err = u64map_put(&s->rows, b->rows[i].addr, (void *)(uintptr_t)(i + 1));
	for (i = 0; !err && i < b->waiter_cnt && awaiting->cnt < TASKS_MAX; i++)
		err = u64map_put(awaiting, b->waiters[i], s);
	return err;
}

/* All lists were walked: forgets what was noted two rounds ago. */
static void next_round(struct task_sampler *s)
{
	s->round++;
	u64map_free(&s->awaiting[s->round & 1]);
	s->awaiting[s->round & 1] = (struct u64map){ .cnt = 0 };
}

/* Continues to count a list's tasks. The count is used only once it is complete. */
static void count_list(struct task_sampler *s, struct sampled_list *l)
{
	const struct tasks_batch *b;
	uint32_t calls;

	s->at.head = l->list.head;
	s->at.count = 1;
	for (calls = 0; calls < TASK_COUNT_CALLS && l->counts; calls++) {
		s->at.node = l->count_at;
		if (s->source->tasks(s->tgid, &s->at, &b))
			break;
		l->cnt += b->counted;
		l->count_at = b->next;
		if (b->end == TASKS_DONE || l->cnt >= TASKS_MAX)
			l->counts = 0;
		else if (b->end == TASKS_LOST && --l->counts)
			l->cnt = l->count_at = 0;
	}
	s->at.count = 0;
}

static void end_of_list(struct task_sampler *s, struct sampled_list *l, uint8_t end)
{
	l->node = end == TASKS_MORE ? s->batch.next : 0;
	if (end == TASKS_MORE && l->met < TASKS_MAX)
		return;
	l->node = 0;
	if (end != TASKS_LOST)
		l->cnt = l->met;
	l->met = 0;
}

static bool read_batch(struct task_sampler *s, struct sampled_list *l)
{
	const struct tasks_batch *b;

	s->at.head = l->list.head;
	s->at.node = l->node;
	s->at.max = l->cnt > TASKS_BATCH ? TASKS_A_STEP : 0;
	if (s->source->tasks(s->tgid, &s->at, &b)) {
		l->node = l->met = 0;
		return false;
	}
	tasks_batch_copy(&s->batch, b);
	l->met += b->row_cnt;
	s->stats.reads += b->reads;
	s->stats.met += b->row_cnt;
	s->stats.unread += b->end == TASKS_LOST;
	return true;
}

/* ---- chains ---- */

struct chain {
	struct raw_frame frames[TASK_CHAIN_FRAMES];
	uint32_t cnt;
	uint64_t tasks[TASK_CHAIN_MAX];
	uint32_t task_cnt;
	bool cut;
};

/* Adds a task's coroutines, the innermost first. */
static void add_task(struct chain *c, uint64_t addr, const struct raw_frame *frames, uint32_t cnt)
{
	c->tasks[c->task_cnt++] = addr;
	while (cnt && c->cnt < TASK_CHAIN_FRAMES)
		c->frames[c->cnt++] = frames[--cnt];
	c->cut |= cnt != 0;
}

/* What is known of the tasks that a task's chain leads to. NULL: nothing. */
static const struct parent *parent_at(const struct task_sampler *s, uint64_t addr)
{
	uint32_t i = (uint32_t)(uintptr_t)u64map_get(&s->parent_rows, addr);

	return i ? &s->parents[i - 1] : NULL;
}

static int add_parent(struct task_sampler *s, const struct tasks_batch *b,
		      const struct task_row *row)
{
	struct parent *p = &s->parents[s->parent_cnt];

	if (s->parent_cnt == TASK_PARENTS_MAX || u64map_get(&s->parent_rows, row->addr))
		return 0;
	p->row = *row;
	p->waiter = row->waiter_cnt ? b->waiters[row->waiter_at] : 0;
	memcpy(p->frames, b->frames + row->frame_at, row->frame_cnt * sizeof(*b->frames));
	return u64map_put(&s->parent_rows, row->addr, (void *)(uintptr_t)++s->parent_cnt);
}

/* Reads the tasks that are asked for. 0, also if some were not read; -ENOMEM. */
static int ask_parents(struct task_sampler *s)
{
	const struct tasks_batch *b;
	uint32_t i;
	int err = 0;

	s->at.max = 0;
	s->at.waits = 0;
	if (s->at.one_cnt && !s->source->tasks(s->tgid, &s->at, &b)) {
		s->stats.reads += b->reads;
		for (i = 0; !err && i < b->row_cnt; i++)
			err = add_parent(s, b, &b->rows[i]);
	}
	s->at.one_cnt = 0;
	s->at.waits = 1;
	return err;
}

/* Asks for a task, unless it is known or asked for. */
static void want_parent(struct task_sampler *s, uint64_t addr)
{
	uint32_t i;

	if (!addr || s->at.one_cnt == TASK_ONES_MAX || u64map_get(&s->rows, addr) ||
	    u64map_get(&s->parent_rows, addr))
		return;
	for (i = 0; i < s->at.one_cnt; i++)
		if (s->at.ones[i] == addr)
			return;
	s->at.ones[s->at.one_cnt++] = addr;
}

/* Reads the awaiting tasks that are not in the batch, level by level. 0 or -ENOMEM. */
static int read_parents(struct task_sampler *s)
{
	const struct tasks_batch *b = &s->batch;
	uint32_t calls, i, before;
	int err = 0;

	u64map_free(&s->parent_rows);
	s->parent_rows = (struct u64map){ .cnt = 0 };
	s->parent_cnt = 0;
	for (calls = 0; !err && calls < TASK_PARENT_CALLS; calls++) {
		for (i = 0; i < b->row_cnt; i++)
			if (b->rows[i].waiter_cnt)
				want_parent(s, b->waiters[b->rows[i].waiter_at]);
		for (i = 0; i < s->parent_cnt; i++)
			want_parent(s, s->parents[i].waiter);
		before = s->parent_cnt;
		err = ask_parents(s);
		if (s->parent_cnt == before)
			break;
	}
	return err;
}

static bool has_task(const struct chain *c, uint64_t addr)
{
	uint32_t i;

	for (i = 0; i < c->task_cnt; i++)
		if (c->tasks[i] == addr)
			return true;
	return false;
}

/* Adds who awaits the chain's last task, and who awaits that one. */
static void add_awaiters(struct task_sampler *s, struct chain *c, uint64_t addr)
{
	const struct tasks_batch *b = &s->batch;
	const struct task_row *r;
	const struct parent *p;
	uint32_t row;

	while (addr && !has_task(c, addr)) {
		if (c->task_cnt == TASK_CHAIN_MAX) {
			c->cut = true;
			return;
		}
		row = (uint32_t)(uintptr_t)u64map_get(&s->rows, addr);
		if (row) {
			r = &b->rows[row - 1];
			add_task(c, addr, b->frames + r->frame_at, r->frame_cnt);
			addr = r->waiter_cnt ? b->waiters[r->waiter_at] : 0;
			continue;
		}
		p = parent_at(s, addr);
		if (!p) {
			c->cut = true;
			return;
		}
		add_task(c, addr, p->frames, p->row.frame_cnt);
		addr = p->waiter;
	}
}

static bool task_waits(const struct task_sampler *s, const struct sampled_list *l,
		       const struct task_row *r)
{
	return r->addr != l->list.running && !(r->flags & (TASK_EXECUTING | TASK_RUNS)) &&
	       r->frame_cnt &&
	       !u64map_get(&s->awaiting[0], r->addr) && !u64map_get(&s->awaiting[1], r->addr);
}

/* Passes on each task of the batch that waits; each stands for ns. */
static int pass_on(struct task_sampler *s, const struct sampled_list *l, uint64_t ns,
		   int (*wait)(void *ctx, const struct task_wait *w), void *ctx)
{
	const struct tasks_batch *b = &s->batch;
	struct chain c;
	uint32_t i;
	int err = 0;

	err = read_parents(s);
	for (i = 0; !err && i < b->row_cnt; i++) {
		const struct task_row *r = &b->rows[i];

		if (!task_waits(s, l, r))
			continue;
		c.cnt = c.task_cnt = 0;
		c.cut = false;
		add_task(&c, r->addr, b->frames + r->frame_at, r->frame_cnt);
		add_awaiters(s, &c, r->waiter_cnt ? b->waiters[r->waiter_at] : 0);
		s->stats.waits++;
		s->stats.cut += c.cut;
		err = wait(ctx, &(struct task_wait){ l->list.mixed ? r->tid : l->list.tid,
						     l->list.interp_id, ns, c.frames, c.cnt,
						     c.cut, &r->waits });
	}
	return err;
}

/* The number of tasks of the list, as far as it is known. */
static uint64_t length_of(const struct sampled_list *l)
{
	uint64_t cnt = l->met > l->cnt ? l->met : l->cnt;

	return cnt < TASKS_MAX ? cnt : TASKS_MAX;
}

/* Reads a batch of one list. All time between two batches that were read is passed on. */
static int step_list(struct task_sampler *s, struct sampled_list *l, uint64_t now_ns,
		     int (*wait)(void *ctx, const struct task_wait *w), void *ctx)
{
	uint64_t since = l->last_ns ? now_ns - l->last_ns : 0;
	int err;

	if (l->counts) {
		count_list(s, l);
		return 0;
	}
	if (!read_batch(s, l)) {
		s->stats.unread++;
		return 0;
	}
	if (!l->cnt && s->batch.end == TASKS_MORE) {
		l->counts = TASK_COUNTS;
		l->last_ns = l->last_ns ? l->last_ns : now_ns;
		l->met = 0;
		return 0;
	}
	err = index_rows(s);
	if (!err && since && s->batch.row_cnt)
		err = pass_on(s, l, since * length_of(l) / s->batch.row_cnt, wait, ctx);
	if (s->batch.row_cnt)
		l->last_ns = now_ns;
	end_of_list(s, l, s->batch.end);
	return err;
}

int task_sampler_step(struct task_sampler *s, uint64_t now_ns,
		      int (*wait)(void *ctx, const struct task_wait *w), void *ctx)
{
	struct sampled_list *l;
	uint32_t i;
	int err = 0;

	s->stats.steps++;
	if (!read_lists(s)) {
		s->stats.unread++;
		return 0;
	}
	for (i = 0; !err && i < s->list_cnt && i < BATCHES_A_STEP; i++) {
		l = &s->lists[s->next_list++ % s->list_cnt];
		err = step_list(s, l, now_ns, wait, ctx);
		if (s->next_list % s->list_cnt == 0 && !l->node)
			next_round(s);
	}
	return err;
}
