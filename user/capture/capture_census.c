// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_census.c - when the objects of which process are counted in --mode mem: once it has
 * memory that was seen, then each second, less and less often up to each minute, later at each 32nd
 * of its time, and at the end. A process that ends before that has those that it had.
 *
 * The worker takes one census at a time, for which nobody waits. All of them together may take it
 * 1 % of a CPU: that is what decides when there are many processes, or large ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "base/util.h"
#include "capture/capture_state.h"
#include "heap/heap_worker.h"

#define SECOND_NS 1000000000ull
/* Between two censuses: a quarter of the time so far, at least and at most; and a 32nd. */
#define GAP_SHARE 4
#define GAP_MIN_NS SECOND_NS
#define GAP_MAX_NS (60 * SECOND_NS)
#define GAP_SHARE_MIN 32
/* A process without objects (its interpreter only begins), or that cannot be read: asked again. */
#define AGAIN_NS 100000000ull
#define AGAIN_DOUBLINGS 9
/* The worker may take this part of a CPU's time, and so much more, for the first ones. */
#define DUTY 100
#define CREDIT_NS SECOND_NS
/* At the end. */
#define SETTLE_NS (1500 * NS_PER_MS)
#define WAIT_NS (5 * NS_PER_MS)

static const struct heap_limits limits = {
	.error = 0.02, .bytes = 128u << 20, .time_ns = SECOND_NS / 2,
};

struct capture_census {
	struct heap_census *result;
	bool open;		/* a census is being taken, of this process: */
	pid_t tgid;
	uint64_t start_ns;
	uint64_t begun_ns;
	bool stopping;
	size_t at;		/* whose turn it is, as for lifecycle_next_profiled() */
	uint64_t begin_ns, used_ns;	/* of the worker's time since then */
	uint64_t asked_ns;	/* the last time that all processes were asked whether one is due */
	uint64_t seed;
};

static int census_open(struct capture *s)
{
	struct capture_census *c;

	if (!s->mode->memory || !s->args.census)
		return 0;
	c = calloc(1, sizeof(*c));
	s->census = c;
	if (c)
		c->result = calloc(1, sizeof(*c->result));
	if (!c || !c->result)
		return -ENOMEM;
	c->begin_ns = now_ns();
	c->seed = hash_u64(c->begin_ns);
	return 0;
}

static void census_free(struct capture *s)
{
	if (!s->census)
		return;
	heap_worker_end();
	free(s->census->result);
	free(s->census);
}

/* ---- when ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* After a census, the next one. */
static void set_next(struct census_round *r, const struct heap_census *result, uint64_t now)
{
	uint64_t time = now - r->first_ns, cost = lesser(result->cpu_ns, GAP_MAX_NS) * DUTY, gap;

	gap = larger(lesser(larger(time / GAP_SHARE, GAP_MIN_NS), GAP_MAX_NS),
		     time / GAP_SHARE_MIN);
	r->next_ns = now + larger(gap, cost);
	r->failed = 0;
}

static void set_again(const struct capture_census *c, struct census_round *r, uint64_t now)
{
	r->next_ns = c->stopping ? UINT64_MAX : now + (AGAIN_NS << r->failed);
	if (r->failed < AGAIN_DOUBLINGS)
		r->failed++;
}

static bool may_take(const struct capture_census *c, uint64_t now)
{
	return c->used_ns < CREDIT_NS + (now - c->begin_ns) / DUTY;
}

/* ---- one census ---- */

static void begin_census(struct capture_census *c, struct process *p, struct census_round *r,
			 uint64_t now)
{
	const struct cpython_image *img = process_image(p);
	const struct py_proc *py = process_py(p);
	struct heap_limits its = limits;
	struct heap_target target = {
		.tgid = process_tgid(p), .minor = img->minor,
		.free_threaded = img->free_threaded, .debug = img->debug,
		.trace_refs = img->trace_refs, .runtime = py ? py->runtime : 0,
		.interps = process_interps(p), .musl = process_has_musl(p),
		.layout = img->layout, .objects = img->objects,
	};

	its.seed = c->seed = hash_u64(c->seed + now);
	if (!r->first_ns)
		r->first_ns = now;
	c->begun_ns = now;
	c->tgid = target.tgid;
	c->start_ns = process_start_ns(p);
	c->open = !heap_worker_begin(&target, &its);
	if (!c->open)
		set_again(c, r, now);
}

/* The process may have ended since, and its pid been used again. */
static struct process *asked_process(struct capture *s)
{
	struct process *p = lifecycle_process(&s->life, s->census->tgid);

	return p && (!s->census->start_ns || process_start_ns(p) == s->census->start_ns) ? p :
											  NULL;
}

static void take_result(struct capture *s)
{
	struct capture_census *c = s->census;
	int err = heap_worker_poll(c->result);
	uint64_t now = now_ns();
	struct census_round *r;
	struct process *p;

	if (err == -EAGAIN)
		return;
	c->open = false;
	c->used_ns += err ? now - c->begun_ns : c->result->cpu_ns;
	p = asked_process(s);
	r = p ? process_census_round(p) : NULL;
	if (!r)
		return;
	if (err || !c->result->row_cnt) {	/* none: the interpreter is only beginning */
		set_again(c, r, now);
		return;
	}
	set_next(r, c->result, now);
	lifecycle_fail(&s->life, process_census_take(p, c->result));
}

/* ---- all processes ---- */

static bool is_due(const struct process *p, const struct census_round *r, uint64_t now)
{
	return r && now >= r->next_ns && process_pages_due(p);
}

/* Begins the next census that is due; each process has its turn. Returns false if none is. */
static bool begin_next(struct capture *s, uint64_t now)
{
	struct capture_census *c = s->census;
	uint32_t i, cnt = s->life.live_cnt;
	struct tracked *t;

	for (i = 0; i < cnt && !c->open; i++) {
		t = lifecycle_next_profiled(&s->life, &c->at);
		if (!t) {
			c->at = 0;
			t = lifecycle_next_profiled(&s->life, &c->at);
		}
		if (t && is_due(t->process, process_census_round(t->process), now))
			begin_census(c, t->process, process_census_round(t->process), now);
	}
	return c->open;
}

static void census_poll(struct capture *s)
{
	struct capture_census *c = s->census;
	uint64_t now = now_ns();

	if (!c)
		return;
	if (c->open)
		take_result(s);
	if (c->open || now - c->asked_ns < AGAIN_NS / 2 || !may_take(c, now))
		return;
	c->asked_ns = now;
	begin_next(s, now);
}

/* Each process is due once more. */
static void make_due(struct capture *s)
{
	struct census_round *r;
	struct tracked *t;
	size_t pos = 0;

	while ((t = lifecycle_next_profiled(&s->life, &pos))) {
		r = process_census_round(t->process);
		if (r)
			r->next_ns = 0;
	}
}

/* A last census of each process, as far as there is time. */
static void census_settle(struct capture *s)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	struct capture_census *c = s->census;
	uint64_t now = now_ns(), end = now + SETTLE_NS;

	if (!c)
		return;
	c->stopping = true;
	make_due(s);
	while ((c->open || begin_next(s, now)) && now < end && !s->life.err) {
		nanosleep(&wait, NULL);
		take_result(s);
		now = now_ns();
	}
}

const struct source_ops capture_census_source = {
	.open = census_open,
	.poll = census_poll,
	.settle = census_settle,
	.free = census_free,
};
