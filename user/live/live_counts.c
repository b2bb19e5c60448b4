// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* live_counts.c - see live_counts.h. */
#include "live/live_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "model/self_frame.h"
#include "model/stack_tree.h"
#include "resolve/losses.h"
#include "resolve/observer.h"
#include "resolve/process.h"

/* Of one process: the result of process_observed(). */
struct counts {
	struct process *process;
	struct live_sums last, all;
	struct live_sums then[LIVE_RECENT_S];	/* `all` at the end of each of the last seconds */
	struct stack_tree *stacks;	/* NULL: no event yet, or not requested */
	uint32_t nodes;		/* of them */
	uint64_t beyond_ns;
	uint32_t window;	/* of last */
	uint32_t samples;	/* number of the current sample; 0: none yet */
	struct live_function *functions;
	uint32_t cnt, cap;
	struct u64map by_name;	/* (file, func) -> index in functions + 1 */
	uint32_t *of_frame;	/* by frame id: the same index + 1; 0: not looked up yet */
	uint32_t frame_cap;
};

#define NO_FUNCTION UINT32_MAX	/* in of_frame: it is not counted */

struct live {
	struct observer observer;	/* first */
	struct u64map processes;	/* of struct counts, by their address */
	uint32_t window;
	bool keeps_stacks;
	uint64_t wait_ns;
	uint64_t start_ns;	/* of the capture */
	uint32_t nodes;		/* of all processes' stacks */
	uint32_t second;	/* seconds passed */
	uint64_t then_ns[LIVE_RECENT_S];	/* when each ended */
	struct live_sums ended_last;	/* of processes that ended in the window */
	size_t ended;
	uint64_t ended_lost;
};

/* ---- functions ---- */

/* Makes room for one more function. Returns false if there are too many, or no memory. */
static bool has_room(struct counts *c)
{
	struct live_function *bigger;
	uint32_t cap;

	if (c->cnt < c->cap)
		return true;
	cap = c->cap ? 2 * c->cap : 32;
	bigger = c->cnt < LIVE_FUNCTIONS_MAX ? reallocarray(c->functions, cap, sizeof(*bigger)) :
					       NULL;
	if (!bigger)
		return false;
	c->functions = bigger;
	c->cap = cap;
	return true;
}

/* Returns the index of a frame's function + 1; NO_FUNCTION: there is no room. */
static uint32_t find_function(struct counts *c, const struct frame *f)
{
	uint64_t key = (uint64_t)f->file << 32 | f->func;
	uintptr_t index = (uintptr_t)u64map_get(&c->by_name, key);

	if (index)
		return (uint32_t)index;
	if (!has_room(c) || u64map_put(&c->by_name, key, (void *)(uintptr_t)(c->cnt + 1)))
		return NO_FUNCTION;
	c->functions[c->cnt++] = (struct live_function){ .file = f->file, .func = f->func };
	return c->cnt;
}

/* Makes of_frame at least as long as the table of frames. Returns false without memory. */
static bool know_frames(struct counts *c, uint32_t frame_cnt)
{
	uint32_t *bigger, cap = c->frame_cap ? c->frame_cap : 64;

	if (frame_cnt <= c->frame_cap)
		return true;
	while (cap < frame_cnt)
		cap *= 2;
	bigger = reallocarray(c->of_frame, cap, sizeof(*bigger));
	if (!bigger)
		return false;
	memset(bigger + c->frame_cap, 0, (cap - c->frame_cap) * sizeof(*bigger));
	c->of_frame = bigger;
	c->frame_cap = cap;
	return true;
}

/* Returns NULL if this function is not counted. Its sums are those of the current window. */
static struct live_function *function_of(struct counts *c, const struct profile_tables *t,
					 uint32_t frame)
{
	struct live_function *f;

	if (!c->of_frame[frame])
		c->of_frame[frame] = find_function(c, &t->frames[frame]);
	if (c->of_frame[frame] == NO_FUNCTION)
		return NULL;
	f = &c->functions[c->of_frame[frame] - 1];
	if (f->window != c->window) {
		f->window = c->window;
		f->self_ns = f->total_ns = 0;
	}
	return f;
}

/* A function that calls itself counts once in its total. */
static void count_stack(struct counts *c, const struct event *ev, uint64_t ns)
{
	const struct profile_tables *t = process_tables(c->process);
	uint32_t self, i;

	if (!ev->nframes || !know_frames(c, t->frame_cnt))
		return;
	self = self_frame(t, ev->frames, ev->nframes, SELF_OF_FUNCTIONS);
	c->samples++;
	for (i = self; i < ev->nframes; i++) {
		struct live_function *f = function_of(c, t, ev->frames[i]);

		if (!f)
			continue;
		if (i == self)
			f->self_ns += ns;
		if (f->sample != c->samples)
			f->total_ns += ns;
		f->sample = c->samples;
	}
}

/* ---- stacks ---- */

/* Returns a process's stacks, created at its first event. NULL: not requested, or no memory. */
static struct stack_tree *stacks_of(const struct live *l, struct counts *c)
{
	if (c->stacks || !l->keeps_stacks)
		return c->stacks;
	c->stacks = stack_tree_new(DETAIL_LINE);
	if (c->stacks && stack_tree_begin(c->stacks, process_tables(c->process))) {
		stack_tree_free(c->stacks);
		c->stacks = NULL;
	}
	return c->stacks;
}

/* Known stacks are always added up; new ones are limited. */
static void keep_stack(struct live *l, struct counts *c, const struct event *ev, uint64_t ns)
{
	struct stack_tree *stacks = stacks_of(l, c);
	struct event with_ns = *ev;
	uint32_t nodes;

	if (!stacks)
		return;
	with_ns.weight = ns;
	if (c->nodes >= LIVE_NODES_MAX || l->nodes >= LIVE_ALL_NODES_MAX ||
	    stack_tree_event(stacks, &with_ns)) {
		c->beyond_ns += ns;
		return;
	}
	nodes = stack_tree_view(stacks).node_cnt;
	l->nodes += nodes - c->nodes;
	c->nodes = nodes;
}

/* ---- the observer ---- */

static void enter_window(struct counts *c, uint32_t window)
{
	if (c->window != window)
		c->last = (struct live_sums){ 0 };
	c->window = window;
}

static int begin_process(struct observer *o, struct process *p)
{
	struct live *l = (struct live *)o;
	struct counts *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->process = p;
	c->window = l->window;
	if (u64map_put(&l->processes, (uintptr_t)c, c)) {
		free(c);
		return -ENOMEM;
	}
	process_set_observed(p, c);
	return 0;
}

static int count_event(struct observer *o, struct process *p, const struct event *ev)
{
	struct live *l = (struct live *)o;
	struct counts *c = process_observed(p);
	uint64_t ns = ev->weight * (ev->tick_ns ? ev->tick_ns : l->wait_ns);
	struct live_sums sums = live_sums_of(process_tables(p), ev, ns);

	enter_window(c, l->window);
	if (ev->status & STATUS_ON_CPU)
		count_stack(c, ev, ns);
	live_sums_add(&c->last, &sums);
	live_sums_add(&c->all, &sums);
	keep_stack(l, c, ev, ns);
	return 0;
}

static void counts_free(struct counts *c)
{
	stack_tree_free(c->stacks);
	free(c->functions);
	free(c->of_frame);
	u64map_free(&c->by_name);
	free(c);
}

/* Returns the lost samples of a process, and the number of its known threads. */
static uint64_t lost_of(const struct process *p, uint32_t *threads)
{
	struct process_stats stats;
	uint64_t lost = 0;
	int i;

	process_stats(p, &stats);
	for (i = 0; i < LOSS_CNT; i++)
		lost += stats.lost[i];
	*threads = stats.threads;
	return lost;
}

static int end_process(struct observer *o, struct process *p, uint64_t end_ns)
{
	struct live *l = (struct live *)o;
	struct counts *c = process_observed(p);
	uint32_t threads;

	enter_window(c, l->window);
	live_sums_add(&l->ended_last, &c->last);
	l->ended++;
	l->ended_lost += lost_of(p, &threads);
	u64map_remove(&l->processes, (uintptr_t)c);
	l->nodes -= c->nodes;
	process_set_observed(p, NULL);
	counts_free(c);
	return 0;
}

static void start_counting(struct observer *o, uint64_t now_ns)
{
	((struct live *)o)->start_ns = now_ns;
}

static const struct observer_ops live_ops = {
	.start = start_counting, .begin = begin_process, .event = count_event, .end = end_process,
};

struct live *live_new(bool stacks, uint64_t wait_ns)
{
	struct live *l = calloc(1, sizeof(*l));

	if (l) {
		l->observer.ops = &live_ops;
		l->keeps_stacks = stacks;
		l->wait_ns = wait_ns;
		l->window = 1;		/* a new function has 0 */
	}
	return l;
}

void live_free(struct live *l)
{
	struct counts *c;
	size_t pos = 0;

	if (!l)
		return;
	while ((c = u64map_next(&l->processes, &pos)))
		counts_free(c);
	u64map_free(&l->processes);
	free(l);
}

struct observer *live_observer(struct live *l)
{
	return &l->observer;
}

/* ---- the counts ---- */

/* Returns the index of the oldest second in then[] and then_ns[]. */
static size_t oldest_second(const struct live *l)
{
	return (l->second + 1) % LIVE_RECENT_S;
}

void live_second(struct live *l, uint64_t now_ns)
{
	struct counts *c;
	size_t pos = 0;

	l->second++;
	l->then_ns[l->second % LIVE_RECENT_S] = now_ns;
	while ((c = u64map_next(&l->processes, &pos)))
		c->then[l->second % LIVE_RECENT_S] = c->all;
}

uint64_t live_recent_ns(const struct live *l, uint64_t now_ns)
{
	uint64_t then = l->then_ns[oldest_second(l)];

	return now_ns - (then ? then : l->start_ns);
}

/* Returns the difference since then. */
static struct live_sums sums_since(const struct live_sums *now, const struct live_sums *then)
{
	return (struct live_sums){
		.cpu_ns = now->cpu_ns - then->cpu_ns, .gil_ns = now->gil_ns - then->gil_ns,
		.gc_ns = now->gc_ns - then->gc_ns, .wait_ns = now->wait_ns - then->wait_ns,
		.gil_wait_ns = now->gil_wait_ns - then->gil_wait_ns,
		.samples = now->samples - then->samples,
	};
}

const struct stack_tree *live_stacks(const struct live *l, pid_t tgid, uint64_t *beyond_ns)
{
	struct counts *c;
	size_t pos = 0;

	while ((c = u64map_next(&l->processes, &pos))) {
		if (process_tgid(c->process) != tgid)
			continue;
		*beyond_ns = c->beyond_ns;
		return c->stacks;
	}
	*beyond_ns = 0;
	return NULL;
}

void live_begin_window(struct live *l)
{
	l->window++;
	l->ended = 0;
	l->ended_last = (struct live_sums){ 0 };
}

void live_total(struct live *l, struct live_total *out)
{
	uint32_t threads;
	struct counts *c;
	size_t pos = 0;

	*out = (struct live_total){ .last = l->ended_last, .ended = l->ended,
				    .lost = l->ended_lost };
	while ((c = u64map_next(&l->processes, &pos))) {
		enter_window(c, l->window);
		live_sums_add(&out->last, &c->last);
		out->lost += lost_of(c->process, &threads);
		out->processes++;
	}
}

static const struct live_function *hottest_function(const struct counts *c)
{
	const struct live_function *best = NULL;
	uint32_t i;

	for (i = 0; i < c->cnt; i++) {
		const struct live_function *f = &c->functions[i];

		if (f->window == c->window && f->self_ns && (!best || f->self_ns > best->self_ns))
			best = f;
	}
	return best;
}

static int by_cpu(const void *a, const void *b)
{
	const struct live_process *x = a, *y = b;

	if (x->last.cpu_ns != y->last.cpu_ns)
		return x->last.cpu_ns < y->last.cpu_ns ? 1 : -1;
	return process_tgid(x->process) - process_tgid(y->process);
}

struct live_process *live_list(struct live *l, size_t *cnt)
{
	struct live_process *list = calloc(l->processes.cnt + 1, sizeof(*list));
	struct counts *c;
	size_t pos = 0, n = 0;

	*cnt = 0;
	if (!list)
		return NULL;
	while ((c = u64map_next(&l->processes, &pos))) {
		enter_window(c, l->window);
		list[n] = (struct live_process){ .process = c->process, .last = c->last,
						 .all = c->all, .hottest = hottest_function(c),
						 .recent = sums_since(&c->all,
								      &c->then[oldest_second(l)]) };
		list[n].lost = lost_of(c->process, &list[n].threads);
		n++;
	}
	qsort(list, n, sizeof(*list), by_cpu);
	*cnt = n;
	return list;
}
