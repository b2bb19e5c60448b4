// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* live_counts.c - see live_counts.h. */
#include "live/live_counts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "model/stack_frame.h"
#include "model/stack_tree.h"
#include "resolve/losses.h"
#include "resolve/observer.h"
#include "resolve/process.h"

/* ---- sums ---- */

static bool in_collection(const struct profile_tables *t, const struct event *ev)
{
	static const char gc[] = "<GC>";
	uint32_t i;

	for (i = 0; i < ev->nframes; i++) {
		const struct frame *f = &t->frames[ev->frames[i]];
		const struct string_ref *name = &t->strings[f->func];

		if (f->kind == FRAME_SYNTHETIC && name->len == strlen(gc) &&
		    !memcmp(name->data, gc, name->len))
			return true;
	}
	return false;
}

struct live_sums live_sums_of(const struct profile_tables *t, const struct event *ev, uint64_t ns)
{
	if (!(ev->status & STATUS_ON_CPU))
		return (struct live_sums){
			.wait_ns = ns,
			.gil_wait_ns = ev->status & STATUS_GIL_REQUESTED ? ns : 0,
		};
	return (struct live_sums){
		.samples = ev->weight,
		.cpu_ns = ns,
		.gil_ns = ev->status & STATUS_HAS_GIL ? ns : 0,
		.gc_ns = in_collection(t, ev) ? ns : 0,
	};
}

void live_sums_add(struct live_sums *to, const struct live_sums *more)
{
	to->cpu_ns += more->cpu_ns;
	to->gil_ns += more->gil_ns;
	to->gc_ns += more->gc_ns;
	to->wait_ns += more->wait_ns;
	to->gil_wait_ns += more->gil_wait_ns;
	to->samples += more->samples;
}

/* Functions, or lines. */
struct group {
	struct live_function *list;
	uint32_t cnt, cap;
	struct u64map by_key;	/* index in list + 1 */
};

/* Of a frame: indexes in groups + 1; 0: not looked up yet. */
struct places {
	uint32_t function, line;
};

/* Of one process: the result of process_observed(). */
struct counts {
	struct process *process;
	struct live_sums last, all;
	struct live_sums then[LIVE_RECENT_S];	/* `all` at the end of each of the last seconds */
	struct stack_tree *stacks;	/* NULL: no event yet, or not requested */
	uint32_t nodes;		/* of them */
	uint64_t beyond_ns;
	uint32_t window;	/* of last */
	uint64_t before_ns;	/* CPU time in the window before */
	uint32_t samples;	/* number of the current sample; 0: none yet */
	struct group functions;	/* by (file, func) */
	struct group lines;	/* by (file, line) */
	struct places *of_frame;	/* by frame id */
	uint32_t frame_cap;
};

#define NO_PLACE UINT32_MAX	/* in struct places: it is not counted */

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

/* ---- functions and lines ---- */

/* Makes room for one more. Returns false if there are too many, or no memory. */
static bool has_room(struct group *g)
{
	struct live_function *bigger;
	uint32_t cap;

	if (g->cnt < g->cap)
		return true;
	cap = g->cap ? 2 * g->cap : 32;
	bigger = g->cnt < LIVE_FUNCTIONS_MAX ? reallocarray(g->list, cap, sizeof(*bigger)) : NULL;
	if (!bigger)
		return false;
	g->list = bigger;
	g->cap = cap;
	return true;
}

/* Returns the index + 1 of what has this key; new, it is *fresh. NO_PLACE: there is no room. */
static uint32_t find_place(struct group *g, uint64_t key, const struct live_function *fresh)
{
	uintptr_t index = (uintptr_t)u64map_get(&g->by_key, key);

	if (index)
		return (uint32_t)index;
	if (!has_room(g) || u64map_put(&g->by_key, key, (void *)(uintptr_t)(g->cnt + 1)))
		return NO_PLACE;
	g->list[g->cnt++] = *fresh;
	return g->cnt;
}

/* Makes of_frame at least as long as the table of frames. Returns false without memory. */
static bool know_frames(struct counts *c, uint32_t frame_cnt)
{
	uint32_t cap = c->frame_cap ? c->frame_cap : 64;
	struct places *bigger;

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

/* Returns a member of a group; NULL: it is not counted. Its sums are those of the window. */
static struct live_function *at_place(struct group *g, uint32_t place, uint32_t window)
{
	struct live_function *f;

	if (place == NO_PLACE)
		return NULL;
	f = &g->list[place - 1];
	if (f->window != window) {
		f->before_ns = f->window + 1 == window ? f->self_ns : 0;
		f->window = window;
		f->self_ns = f->total_ns = 0;
	}
	return f;
}

static struct live_function *function_of(struct counts *c, const struct frame *f, uint32_t *place)
{
	const struct live_function fresh = { .file = f->file, .func = f->func, .line = LINE_NONE };

	if (!*place)
		*place = find_place(&c->functions, (uint64_t)f->file << 32 | f->func, &fresh);
	return at_place(&c->functions, *place, c->window);
}

/* Lines without a number are those of their function. */
static struct live_function *line_of(struct counts *c, const struct frame *f, uint32_t *place)
{
	const struct live_function fresh = { .file = f->file, .func = f->func, .line = f->line };
	uint64_t low = f->line > 0 ? (uint32_t)f->line : 1ull << 31 | f->func;

	if (!*place)
		*place = find_place(&c->lines, (uint64_t)f->file << 32 | low, &fresh);
	return at_place(&c->lines, *place, c->window);
}

static void count_line(struct counts *c, const struct frame *f, struct places *places, uint64_t ns)
{
	struct live_function *line = line_of(c, f, &places->line);

	if (line)
		line->self_ns += ns;
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
	count_line(c, &t->frames[ev->frames[self]], &c->of_frame[ev->frames[self]], ns);
	for (i = self; i < ev->nframes; i++) {
		uint32_t id = ev->frames[i];
		struct live_function *f;

		f = function_of(c, &t->frames[id], &c->of_frame[id].function);
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
	if (c->window == window)
		return;
	c->before_ns = c->window + 1 == window ? c->last.cpu_ns : 0;
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
	free(c->functions.list);
	free(c->lines.list);
	free(c->of_frame);
	u64map_free(&c->functions.by_key);
	u64map_free(&c->lines.by_key);
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

/* Returns self in a window, or with recent also in the one before. */
static uint64_t self_in(const struct live_function *f, uint32_t window, bool recent)
{
	if (f->window == window)
		return f->self_ns + (recent ? f->before_ns : 0);
	return recent && f->window + 1 == window ? f->self_ns : 0;
}

/* Returns NULL if nothing was sampled. *self_ns: of what is returned. */
static const struct live_function *hottest_of(const struct group *g, uint32_t window, bool recent,
					      uint64_t *self_ns)
{
	const struct live_function *best = NULL;
	uint32_t i;

	*self_ns = 0;
	for (i = 0; i < g->cnt; i++) {
		uint64_t self = self_in(&g->list[i], window, recent);

		if (self > *self_ns) {
			best = &g->list[i];
			*self_ns = self;
		}
	}
	return best;
}

static struct live_hot_line hot_line(const struct counts *c, bool recent)
{
	struct live_hot_line hot = { .cpu_ns = c->last.cpu_ns + (recent ? c->before_ns : 0) };

	hot.line = hottest_of(&c->lines, c->window, recent, &hot.self_ns);
	return hot;
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
	size_t pos = 0, n = 0;
	struct counts *c;
	uint64_t self;

	*cnt = 0;
	if (!list)
		return NULL;
	while ((c = u64map_next(&l->processes, &pos))) {
		enter_window(c, l->window);
		list[n] = (struct live_process){
			.process = c->process, .last = c->last, .all = c->all,
			.recent = sums_since(&c->all, &c->then[oldest_second(l)]),
			.hottest = hottest_of(&c->functions, c->window, false, &self),
			.hot = hot_line(c, false), .recent_hot = hot_line(c, true),
		};
		list[n].lost = lost_of(c->process, &list[n].threads);
		n++;
	}
	qsort(list, n, sizeof(*list), by_cpu);
	*cnt = n;
	return list;
}

void live_each(struct live *l, void (*cb)(void *ctx, const struct process *p), void *ctx)
{
	struct counts *c;
	size_t pos = 0;

	while ((c = u64map_next(&l->processes, &pos)))
		cb(ctx, c->process);
}
