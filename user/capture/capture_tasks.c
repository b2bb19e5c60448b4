// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_tasks.c - the part of a capture for --async in a mode that samples all time (wall, all):
 * what the waiting asyncio tasks of each profiled process wait for.
 *
 * Their lists are walked from outside, ten times a second, and less often if that took more than 1
 * % of the time.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/u64map.h"
#include "base/util.h"
#include "capture/capture_state.h"
#include "capture/task_sampler.h"
#include "host/socket_peers.h"
#include "resolve/process.h"

/*
 * Time between two walks, and the part of all time that they may take, 1 / N. The cost of a walk is
 * computed from its reads: a clock would count the time without a CPU, too. (`make bench-tasks`:
 * 300 ms for 100,000 reads.)
 */
#define PERIOD_NS 100000000ull
#define SHARE 100
#define READ_NS 3000

/* A process whose tasks are walked. */
struct waiting {
	uint64_t tgid, start_ns;
	struct task_sampler *sampler;
	struct socket_peers *peers;	/* NULL: no task has waited for a socket yet */
	uint64_t rest_ns;	/* time below a sample's, not passed on yet */
	uint32_t round;		/* the last one in which the process was present */
};

struct capture_tasks {
	struct u64map waiting;	/* tgid -> struct waiting */
	uint64_t next_ns;
	uint64_t took_ns;	/* cost of this round, by its reads */
	uint32_t round;
};

struct taker {
	struct waiting *w;
	struct process *p;
	uint64_t time_ns, interval_ns;
};

/* Only where all off-CPU time of threads is sampled. */
static bool wants_tasks(const struct capture *s)
{
	return s->args.async && s->mode->waits && s->mode->ticks && s->mode->runnable &&
	       !s->mode->need_status && !s->mode->exceptions && !s->mode->scan_only;
}

static void drop_waiting(struct capture_tasks *c, struct waiting *w)
{
	u64map_remove(&c->waiting, w->tgid);
	task_sampler_free(w->sampler);
	socket_peers_free(w->peers);
	free(w);
}

static struct waiting *add_waiting(struct capture_tasks *c, const struct tracked *t,
				   const struct tasks_at *at)
{
	struct waiting *w = calloc(1, sizeof(*w));

	if (w)
		w->sampler = task_sampler_new(&task_source_remote, t->tgid, at);
	if (w)
		w->tgid = (uint64_t)t->tgid;
	if (!w || !w->sampler || u64map_put(&c->waiting, w->tgid, w)) {
		free(w ? w->sampler : NULL);
		free(w);
		return NULL;
	}
	w->start_ns = t->start_ns;
	return w;
}

/* The known tasks of the process; NULL if it has none as far as we know. */
static struct waiting *waiting_of(struct capture *s, const struct tracked *t)
{
	struct capture_tasks *c = s->tasks;
	struct waiting *w = u64map_get(&c->waiting, (uint64_t)t->tgid);
	struct tasks_at at;

	if (w && w->start_ns != t->start_ns) {
		drop_waiting(c, w);
		w = NULL;
	}
	if (!w && capture_async_at(s, t, &at))
		w = add_waiting(c, t, &at);
	return w;
}

/* The name of what a task waits for; of a socket: what it is connected to. */
static const char *name_of(struct taker *k, const struct task_waits_for *waits)
{
	if (waits->kind != WAITS_SOCKET)
		return waits->name;
	if (!k->w->peers)
		k->w->peers = socket_peers_new((pid_t)k->w->tgid);
	return k->w->peers ? socket_peers_find(k->w->peers, waits->inode, true, k->time_ns) : "";
}

static int take_task_wait(void *ctx, const struct task_wait *wait)
{
	struct taker *k = ctx;
	uint64_t weight;

	/* A remainder of less than a sample counts for the next task. */
	k->w->rest_ns += wait->ns;
	weight = k->w->rest_ns / k->interval_ns;
	k->w->rest_ns %= k->interval_ns;
	if (!weight)
		return 0;
	return process_waiting_task(k->p, wait->tid, wait->interp_id, wait->frames,
				    wait->frame_cnt, wait->waits->kind,
				    name_of(k, wait->waits), k->time_ns, weight);
}

static void walk_tasks(struct capture *s, struct tracked *t)
{
	struct waiting *w = waiting_of(s, t);
	struct taker k = {
		.w = w, .p = t->process, .time_ns = now_ns(),
		.interval_ns = sampling_interval_us(s->args.rate_hz) * 1000,
	};
	uint64_t before;
	int err;

	if (!w)
		return;
	w->round = s->tasks->round;
	before = task_sampler_stats(w->sampler)->reads;
	err = task_sampler_step(w->sampler, k.time_ns, take_task_wait, &k);
	s->tasks->took_ns += (task_sampler_stats(w->sampler)->reads - before) * READ_NS;
	if (err == -ENOMEM)
		drop_waiting(s->tasks, w);
	else
		lifecycle_fail(&s->life, err);
}

static void drop_ended(struct capture_tasks *c)
{
	struct waiting *w;
	size_t pos = 0;

	while ((w = u64map_next(&c->waiting, &pos)))
		if (w->round != c->round)
			drop_waiting(c, w);
}

/* Walks the tasks of all processes, if that is due. */
static void tasks_poll(struct capture *s)
{
	uint64_t now = now_ns(), pause;
	struct tracked *t;
	size_t pos = 0;

	if (!wants_tasks(s))
		return;
	if (!s->tasks)
		s->tasks = calloc(1, sizeof(*s->tasks));
	if (!s->tasks || now < s->tasks->next_ns)
		return;
	s->tasks->round++;
	s->tasks->took_ns = 0;
	while (!s->life.err && (t = lifecycle_next_profiled(&s->life, &pos)))
		if (t->state == PROC_PROFILED)
			walk_tasks(s, t);
	drop_ended(s->tasks);
	pause = s->tasks->took_ns * SHARE;
	s->tasks->next_ns = now + (pause > PERIOD_NS ? pause : PERIOD_NS);
}

static uint64_t tasks_wait_ns(struct capture *s, uint64_t now_ns, uint64_t limit_ns)
{
	uint64_t next = s->tasks ? s->tasks->next_ns : UINT64_MAX;

	if (next >= now_ns + limit_ns)
		return limit_ns;
	return next > now_ns ? next - now_ns : 0;
}

static void tasks_free(struct capture *s)
{
	struct waiting *w;
	size_t pos = 0;

	if (!s->tasks)
		return;
	while ((w = u64map_next(&s->tasks->waiting, &pos)))
		drop_waiting(s->tasks, w);
	u64map_free(&s->tasks->waiting);
	free(s->tasks);
}

const struct source_ops capture_tasks_source = {
	.poll = tasks_poll,
	.wait_ns = tasks_wait_ns,
	.free = tasks_free,
};
