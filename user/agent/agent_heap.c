// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_heap.c - see agent_heap.h. */
#include "agent/agent_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/heap_sum.h"
#include "base/hash_secret.h"
#include "base/time.h"
#include "base/util.h"
#include "cpython/image.h"
#include "heap/heap_worker.h"
#include "resolve/process.h"

/*
 * Of one census. Heaps of more bytes are sampled instead of being read in full. The time is also
 * what a process that cannot be read may cost.
 */
#define CENSUS_ERROR 0.02
#define CENSUS_BYTES (128ull << 20)
#define CENSUS_NS NS_PER_S
/* The worker says how much CPU time it took; it is not believed that it was less. */
#define CPU_LEAST_NS NS_PER_MS
/* When nothing is due, and when the worker has no time. */
#define LOOK_NS NS_PER_S
#define BUSY_TRIES 5

const char *const agent_heap_results[AGENT_HEAP_RESULTS] = {
	[AGENT_HEAP_TAKEN] = "taken", [AGENT_HEAP_ENDED] = "ended",
	[AGENT_HEAP_DENIED] = "denied", [AGENT_HEAP_NO_POOLS] = "no_pools",
	[AGENT_HEAP_BLOCKED] = "blocked", [AGENT_HEAP_BUSY] = "busy",
	[AGENT_HEAP_FAILED] = "failed",
};

/* When a service was last counted. Its number may become another service's. */
struct turn {
	uint64_t name_hash;
	uint64_t begun_ns;	/* 0: never */
};

/* A service's turn. */
struct round {
	bool going;
	uint32_t service;
	uint64_t name_hash;
	struct chosen {
		pid_t tgid;
		uint64_t start_ns;
	} chosen[AGENT_HEAP_PROCESSES_MAX];
	uint32_t cnt, at;
	uint32_t of;		/* processes that the service had when it began */
	uint32_t tries;		/* of the process at `at` */
	struct heap_sum sum;
};

struct agent_heap {
	struct agent_heap_args args;
	struct turn *turns;	/* window_limits_default.services, by number */
	struct round round;
	bool open;		/* the worker takes a census of round.chosen[round.at] */
	uint64_t next_ns;	/* nothing is begun before that */
	uint64_t random;
	struct agent_heap_counts counts;
	struct heap_census result;
};

struct agent_heap *agent_heap_new(const struct agent_heap_args *args)
{
	struct agent_heap *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->turns = calloc(window_limits_default.services, sizeof(*h->turns));
	if (!h->turns) {
		free(h);
		errno = ENOMEM;
		return NULL;
	}
	h->args = *args;
	if (!args->begin) {
		h->args.begin = heap_worker_begin;
		h->args.poll = heap_worker_poll;
	}
	h->random = hash_secret_seed();
	agent_heap_set(h, args);
	return h;
}

void agent_heap_free(struct agent_heap *h)
{
	if (!h)
		return;
	if (h->args.begin == heap_worker_begin)
		heap_worker_end();
	heap_sum_reset(&h->round.sum);
	free(h->turns);
	free(h);
}

void agent_heap_set(struct agent_heap *h, const struct agent_heap_args *args)
{
	h->args.every_ns = args->every_ns;
	h->args.processes = args->processes < AGENT_HEAP_PROCESSES_MAX ? args->processes :
									 AGENT_HEAP_PROCESSES_MAX;
	h->args.cpu_percent = args->cpu_percent;
}

static uint64_t next_random(struct agent_heap *h)
{
	h->random += 0x9e3779b97f4a7c15ull;
	return hash_secret_mix(h->random ^ HASH_SECRET_A, h->random ^ HASH_SECRET_B);
}

static struct agent_process *first_process(const struct agent_heap *h)
{
	return agent_processes_first(agent_windows_processes(h->args.windows));
}

/* ---- whose turn it is ---- */

static uint64_t name_hash(const struct agent_heap *h, uint32_t service)
{
	const char *name = agent_services_name(agent_windows_services(h->args.windows), service);

	return hash_bytes(name, strlen(name));
}

/* Returns true for a process of a service that is counted: not those that found no service. */
static bool is_counted(const struct agent_process *p)
{
	return p->service != SERVICE_NUMBER_OTHER && p->service < window_limits_default.services;
}

/* When the service was last counted; 0: never. */
static uint64_t last_turn(const struct agent_heap *h, uint32_t service)
{
	const struct turn *t = &h->turns[service];

	return t->begun_ns && t->name_hash == name_hash(h, service) ? t->begun_ns : 0;
}

/* The service that was counted longest ago, or never; 0: there is none. */
static uint32_t next_service(const struct agent_heap *h, uint64_t *last)
{
	const struct agent_process *p;
	uint32_t best = 0;
	uint64_t its;

	for (p = first_process(h); p; p = p->next) {
		if (!is_counted(p) || p->service == best)
			continue;
		its = last_turn(h, p->service);
		if (!best || its < *last) {
			best = p->service;
			*last = its;
		}
	}
	return best;
}

uint64_t agent_heap_late_ns(const struct agent_heap *h, uint64_t now)
{
	uint64_t last = 0;
	uint32_t service = next_service(h, &last);

	return service && last && now - last > h->args.every_ns ? now - last - h->args.every_ns : 0;
}

/* Chooses processes of the service: each with the same probability. */
static void choose_processes(struct agent_heap *h)
{
	struct round *r = &h->round;
	const struct agent_process *p;
	uint64_t at;

	for (p = first_process(h); p; p = p->next) {
		if (p->service != r->service)
			continue;
		at = r->of++;
		if (at >= h->args.processes)
			at = next_random(h) % r->of;
		if (at >= h->args.processes)
			continue;
		r->chosen[at] = (struct chosen){ process_tgid(p->process),
						 process_start_ns(p->process) };
		if (r->cnt <= at)
			r->cnt = (uint32_t)at + 1;
	}
}

static bool begin_round(struct agent_heap *h, uint64_t now)
{
	struct round *r = &h->round;
	uint64_t last = 0;
	uint32_t service = next_service(h, &last);

	if (!service || (last && now - last < h->args.every_ns))
		return false;
	heap_sum_reset(&r->sum);
	*r = (struct round){ .going = true, .service = service,
			     .name_hash = name_hash(h, service), .sum = r->sum };
	h->turns[service] = (struct turn){ r->name_hash, now };
	choose_processes(h);
	return true;
}

/* ---- the end of a turn ---- */

/*
 * The sum stands for all processes of the service. It is dropped if the last one has ended
 * meanwhile: then nothing says whose share of the window it may use.
 */
static void end_round(struct agent_heap *h)
{
	struct round *r = &h->round;
	const struct agent_process *p = first_process(h);

	while (p && p->service != r->service)
		p = p->next;
	if (p && r->sum.censuses && name_hash(h, r->service) == r->name_hash) {
		const struct window_place at = {
			.service = r->service, .owner = p->owner, .samples = 1,
			.mul = r->of, .div = r->sum.censuses,
		};

		h->counts.types_left_out += agent_windows_add_heap(h->args.windows, &r->sum, &at);
		h->counts.services++;
	}
	heap_sum_reset(&r->sum);
	r->going = false;
}

/* ---- one census ---- */

static struct process *chosen_process(const struct agent_heap *h)
{
	const struct chosen *chosen = &h->round.chosen[h->round.at];
	const struct agent_process *p;

	for (p = first_process(h); p; p = p->next)
		if (process_tgid(p->process) == chosen->tgid &&
		    process_start_ns(p->process) == chosen->start_ns)
			return p->process;
	return NULL;
}

static struct heap_target target_of(const struct process *p)
{
	const struct cpython_image *image = process_image(p);

	return (struct heap_target){
		.tgid = process_tgid(p), .minor = image->minor,
		.free_threaded = image->free_threaded, .debug = image->debug,
		.trace_refs = image->trace_refs, .musl = process_has_musl(p),
		.runtime = process_py(p)->runtime, .interps = process_interps(p),
		.layout = image->layout, .objects = image->objects,
	};
}

static enum agent_heap_result result_of(int err)
{
	switch (err) {
	case 0:
		return AGENT_HEAP_TAKEN;
	case -ESRCH:
		return AGENT_HEAP_ENDED;
	case -EPERM:
	case -EACCES:
		return AGENT_HEAP_DENIED;
	case -ENOENT:
		return AGENT_HEAP_NO_POOLS;
	case -ETIMEDOUT:
		return AGENT_HEAP_BLOCKED;
	case -EBUSY:
		return AGENT_HEAP_BUSY;
	default:
		return AGENT_HEAP_FAILED;
	}
}

/* The next process' turn, after so long that the CPU time was no more than heap.cpu. */
static void next_process(struct agent_heap *h, int err, uint64_t cpu_ns, uint64_t now)
{
	cpu_ns = cpu_ns < CPU_LEAST_NS ? CPU_LEAST_NS : cpu_ns < 2 * CENSUS_NS ? cpu_ns :
										 2 * CENSUS_NS;
	h->counts.results[result_of(err)]++;
	h->counts.cpu_ns += cpu_ns;
	h->next_ns = now + (uint64_t)((double)cpu_ns * 100 / h->args.cpu_percent);
	h->open = false;
	h->round.tries = 0;
	if (++h->round.at >= h->round.cnt)
		end_round(h);
}

static void begin_census(struct agent_heap *h, uint64_t now)
{
	const struct heap_limits limits = {
		.error = CENSUS_ERROR, .bytes = CENSUS_BYTES, .time_ns = CENSUS_NS,
		.seed = next_random(h),
	};
	const struct process *p = chosen_process(h);
	struct heap_target target;
	int err = -ESRCH;

	if (p) {
		target = target_of(p);
		err = h->args.begin(&target, &limits);
	}
	if (err == -EBUSY && ++h->round.tries < BUSY_TRIES)
		h->next_ns = now + LOOK_NS;
	else if (err)
		next_process(h, err, 0, now);
	else
		h->open = true;
}

static void poll_census(struct agent_heap *h, uint64_t now)
{
	int err = h->args.poll(&h->result);

	if (err == -EAGAIN)
		return;
	if (!err) {
		heap_sum_add(&h->round.sum, &h->result);
		h->counts.limited += h->result.limited;
	}
	next_process(h, err, err == -ETIMEDOUT ? CENSUS_NS : err ? 0 : h->result.cpu_ns, now);
}

void agent_heap_tick(struct agent_heap *h, uint64_t now)
{
	if (h->open)
		poll_census(h, now);
	if (h->open || now < h->next_ns)
		return;
	if (!h->round.going && !begin_round(h, now))
		h->next_ns = now + LOOK_NS;
	else
		begin_census(h, now);
}

bool agent_heap_is_open(const struct agent_heap *h)
{
	return h->open;
}

const struct agent_heap_counts *agent_heap_counts(const struct agent_heap *h)
{
	return &h->counts;
}
