// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_windows.c - see agent_windows.h. */
#include "agent/agent_windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/agent_modes.h"
#include "agent/heap_sum.h"
#include "agent/held.h"
#include "base/arith.h"
#include "base/time.h"
#include "base/util.h"
#include "resolve/process.h"

/* The two clocks may differ by this much in a window before it counts as a jump. */
#define CLOCK_SLACK_NS NS_PER_S

struct agent_windows {
	struct observer observer;
	struct agent_windows_args args;
	struct agent_services *services;
	struct agent_processes *processes;
	struct window *window;
	struct window_links *links;	/* NULL: without traces and thread names */
	struct held_room held_room;
	uint64_t mul, div;		/* of values, without the interval */
	uint64_t begin_mono_ns;		/* when the window began (CLOCK_MONOTONIC) */
	uint64_t begin_samples;		/* all samples until then */
	uint64_t planned_end_ns;	/* of a window that is encoded before */
	uint64_t remarks;
	struct agent_windows_counts counts;
};

/* The end of the window that contains a time. */
static uint64_t end_of(const struct agent_windows *a, uint64_t time_ns)
{
	return (time_ns / a->args.window_ns + 1) * a->args.window_ns;
}

/* ---- the observer ---- */

static struct agent_windows *windows_of(struct observer *o)
{
	return (struct agent_windows *)(void *)o;
}

static int observe_begin(struct observer *o, struct process *process)
{
	struct agent_windows *a = windows_of(o);
	struct agent_process *p = agent_processes_begin(a->processes, process);
	size_t i;

	process_set_observed(process, p);
	for (i = 0; p && i < a->args.viewer_cnt; i++)
		if (a->args.viewers[i].begin)
			a->args.viewers[i].begin(a->args.viewers[i].ctx, p);
	return 0;
}

/* Returns false if there is no memory. */
static bool map_ready(struct agent_windows *a, struct agent_process *p)
{
	if (!p)
		return false;
	agent_processes_name(a->processes, p);
	return agent_processes_map(a->processes, p);
}

/* The time that one unit of the event's weight stands for. */
static uint64_t unit_ns(const struct agent_windows *a, const struct event *ev)
{
	return ev->tick_ns ? ev->tick_ns / (ev->weight ? ev->weight : 1) : a->args.interval_ns;
}

/* The trace and the thread's name, as far as they are wanted. */
static uint32_t link_of(struct agent_windows *a, const struct agent_process *p,
			const struct event *ev)
{
	const char *thread = NULL;

	if (!a->links)
		return 0;
	if (a->args.thread_names)
		thread = thread_names_find(process_thread_names(p->process), ev->thread_id);
	return window_links_add(a->links, a->args.trace ? ev->trace : NULL, p->keys, thread);
}

static int observe_event(struct observer *o, struct process *process, const struct event *ev)
{
	struct agent_windows *a = windows_of(o);
	struct agent_process *p = process_observed(process);
	uint64_t samples = process_samples_in(process, ev), unit = unit_ns(a, ev), value_ns;
	enum window_kind kinds[WINDOW_KIND_CNT];
	unsigned int i, cnt;
	uint32_t link;
	size_t v;

	if (!map_ready(a, p)) {
		a->counts.no_memory += samples;
		return 0;
	}
	cnt = agent_modes_kinds(a->args.modes, ev, kinds);
	link = cnt ? link_of(a, p, ev) : 0;
	for (i = 0; i < cnt; i++) {
		struct window_place at = {
			.service = p->service, .owner = p->owner, .kind = kinds[i],
			.samples = samples,
			.mul = mul_capped(unit, a->mul), .div = a->div, .link = link,
		};

		window_add(a->window, p->map, ev, &at);
		a->counts.samples[kinds[i]] += samples;
	}
	value_ns = mul_capped(mul_capped(ev->weight, unit), a->mul) / a->div;
	for (v = 0; v < a->args.viewer_cnt; v++)
		if (a->args.viewers[v].event)
			a->args.viewers[v].event(a->args.viewers[v].ctx, p, ev, value_ns);
	return 0;
}

/* Adds memory that a process allocated to the window. */
static void add_memory(struct agent_windows *a, struct agent_process *p,
		       const struct memory_event *m)
{
	const struct event ev = {
		.time_us = m->time_us, .thread_id = m->thread_id, .frames = m->frames,
		.nframes = m->nframes, .weight = m->bytes,
	};
	const struct window_place at = {
		.service = p->service, .owner = p->owner, .kind = WINDOW_ALLOC_SPACE, .samples = 1,
		.mul = 1, .div = 1,
	};

	window_add(a->window, p->map, &ev, &at);
	a->counts.samples[WINDOW_ALLOC_SPACE]++;
}

static int observe_memory(struct observer *o, struct process *process,
			  const struct memory_event *ev)
{
	struct agent_windows *a = windows_of(o);
	struct agent_process *p = process_observed(process);
	size_t v;

	if (!map_ready(a, p) || (!p->held && !(p->held = held_new(&a->held_room)))) {
		a->counts.no_memory += ev->change == MEMORY_ALLOC;
		return 0;
	}
	if (ev->change == MEMORY_ALLOC)
		add_memory(a, p, ev);
	held_take(p->held, ev);
	for (v = 0; v < a->args.viewer_cnt; v++)
		if (a->args.viewers[v].memory)
			a->args.viewers[v].memory(a->args.viewers[v].ctx, p, ev);
	return 0;
}

/* Of a process that ended the kernel has freed all; one that we leave still holds it. */
static void end_held(struct agent_windows *a, struct agent_process *p, uint64_t end_ns)
{
	if (p->held && !end_ns)
		held_add(p->held, a->window, p->map, p->service, p->owner);
	held_free(p->held);
	p->held = NULL;
}

static int observe_end(struct observer *o, struct process *process, uint64_t end_ns)
{
	struct agent_windows *a = windows_of(o);
	struct agent_process *p = process_observed(process);
	size_t i;

	for (i = 0; p && i < a->args.viewer_cnt; i++)
		if (a->args.viewers[i].end)
			a->args.viewers[i].end(a->args.viewers[i].ctx, p, end_ns);
	if (p)
		end_held(a, p, end_ns);
	if (p)
		agent_processes_end(a->processes, p);
	return 0;
}

static int observe_tick(struct observer *o)
{
	struct agent_windows *a = windows_of(o);
	size_t i;

	agent_processes_tick(a->processes, now_ns());
	for (i = 0; i < a->args.viewer_cnt; i++)
		if (a->args.viewers[i].tick)
			a->args.viewers[i].tick(a->args.viewers[i].ctx);
	return 0;
}

static bool observe_remark(struct observer *o, pid_t tgid, uint32_t uid, const char *comm,
			   const char *text)
{
	struct agent_windows *a = windows_of(o);
	char shown[PROC_COMM_MAX * 4];
	size_t i;

	for (i = 0; i < a->args.viewer_cnt; i++)
		if (a->args.viewers[i].remark)
			a->args.viewers[i].remark(a->args.viewers[i].ctx, tgid, uid, comm, text);
	if (a->remarks++ >= AGENT_REMARKS_MAX)
		return false;
	log_info("process %d (%s): %s%s", tgid,
		 escape_text(comm, strlen(comm), shown, sizeof(shown)), text,
		 a->remarks == AGENT_REMARKS_MAX ? "; no more of these messages follow" : "");
	return false;
}

static const struct observer_ops observer_ops = {
	.begin = observe_begin, .event = observe_event, .memory = observe_memory,
	.end = observe_end, .tick = observe_tick, .remark = observe_remark,
};

struct observer *agent_windows_observer(struct agent_windows *a)
{
	return &a->observer;
}

/* ---- windows ---- */

struct agent_windows *agent_windows_new(const struct agent_windows_args *args)
{
	struct agent_windows *a = calloc(1, sizeof(*a));
	struct agent_processes_args processes;
	uint64_t now;
	bool linked;

	if (!a)
		return NULL;
	a->observer.ops = &observer_ops;
	a->args = *args;
	a->args.wall_ns = args->wall_ns ? args->wall_ns : wall_ns;
	a->args.mono_ns = args->mono_ns ? args->mono_ns : now_ns;
	now = a->args.wall_ns();
	a->mul = a->div = 1;
	a->held_room.max = HELD_BYTES_MAX;
	a->window = window_new(&window_limits_default, now, end_of(a, now));
	a->begin_mono_ns = a->args.mono_ns();
	a->services = agent_services_new(window_limits_default.services);
	processes = (struct agent_processes_args){
		.services = a->services, .owners_max = window_limits_default.services,
		.config = args->services, .moved = args->moved,
		.trace = args->trace, .ctx = args->ctx,
	};
	a->processes = agent_processes_new(&processes);
	linked = args->trace || args->thread_names;
	a->links = linked ? window_links_new(true) : NULL;
	if (a->window && a->services && a->processes && (a->links || !linked)) {
		window_hide(a->window, &args->privacy);
		return a;
	}
	agent_windows_free(a);
	errno = ENOMEM;
	return NULL;
}

void agent_windows_free(struct agent_windows *a)
{
	if (!a)
		return;
	window_free(a->window);
	window_links_free(a->links);
	agent_processes_free(a->processes);
	agent_services_free(a->services);
	free(a);
}

/* How far the wall clock has drifted from the monotonic clock since the window began. */
static uint64_t clocks_differ(const struct agent_windows *a, uint64_t wall, uint64_t mono)
{
	uint64_t expected = window_begin_ns(a->window) + (mono - a->begin_mono_ns);

	return wall > expected ? wall - expected : expected - wall;
}

int agent_windows_left_ms(struct agent_windows *a)
{
	uint64_t wall = a->args.wall_ns(), mono = a->args.mono_ns(), end = window_end_ns(a->window);

	if (wall >= end || mono - a->begin_mono_ns >= a->args.window_ns ||
	    clocks_differ(a, wall, mono) > CLOCK_SLACK_NS)
		return 0;
	return (int)((end - wall + NS_PER_MS - 1) / NS_PER_MS);
}

/* Memory in use is measured at the window's end. */
static void add_held(struct agent_windows *a)
{
	struct agent_process *p;

	a->counts.held_bytes = 0;
	for (p = agent_processes_first(a->processes); p; p = p->next)
		if (p->held)
			a->counts.held_bytes += held_add(p->held, a->window, p->map, p->service,
							 p->owner);
}

const struct window *agent_windows_finish(struct agent_windows *a)
{
	uint64_t wall = a->args.wall_ns(), mono = a->args.mono_ns(), end = window_end_ns(a->window);

	/* The length of the measurement is that of the monotonic clock. */
	if (clocks_differ(a, wall, mono) > CLOCK_SLACK_NS) {
		a->counts.clock_jumps++;
		end = window_begin_ns(a->window) + (mono - a->begin_mono_ns);
	} else if (wall < end) {
		end = wall;
	}
	add_held(a);
	window_close(a->window, end);
	a->counts.finished++;
	a->counts.stacks = window_stack_cnt(a->window);
	a->counts.bytes = window_bytes(a->window);
	return a->window;
}

static uint64_t all_samples(const struct agent_windows *a)
{
	uint64_t sum = 0;
	int kind;

	for (kind = 0; kind < WINDOW_KIND_CNT; kind++)
		sum += a->counts.samples[kind];
	return sum;
}

void agent_windows_next(struct agent_windows *a)
{
	uint64_t end = window_end_ns(a->window), wall = a->args.wall_ns(), begin;

	/* Windows follow one another without gaps, except after a jump of the clock or a halt. */
	begin = wall - end < CLOCK_SLACK_NS ? end : wall;
	a->begin_samples = all_samples(a);
	if (agent_services_sweep(a->services))
		agent_processes_retry_other(a->processes);
	a->begin_mono_ns = a->args.mono_ns() - (wall - begin);
	window_reset(a->window, begin, end_of(a, begin));
	window_hide(a->window, &a->args.privacy);
	if (a->links)
		window_links_reset(a->links);
}

uint64_t agent_windows_samples(const struct agent_windows *a)
{
	return all_samples(a) - a->begin_samples;
}

const struct window *agent_windows_so_far(struct agent_windows *a)
{
	uint64_t wall = a->args.wall_ns(), begin = window_begin_ns(a->window);

	a->planned_end_ns = window_end_ns(a->window);
	if (wall > begin && wall < a->planned_end_ns)
		window_set_end(a->window, wall);
	return a->window;
}

void agent_windows_go_on(struct agent_windows *a)
{
	window_set_end(a->window, a->planned_end_ns);
}

const struct window_links *agent_windows_links(const struct agent_windows *a)
{
	return a->links;
}

uint64_t agent_windows_aligned_ns(const struct agent_windows *a)
{
	uint64_t begin = window_begin_ns(a->window);

	return begin - begin % a->args.window_ns;
}

void agent_windows_set_length(struct agent_windows *a, uint64_t window_ns)
{
	a->args.window_ns = window_ns;
}

void agent_windows_set_privacy(struct agent_windows *a, const struct window_privacy *privacy)
{
	a->args.privacy = *privacy;
}

void agent_windows_renamed(struct agent_windows *a)
{
	agent_processes_rename(a->processes);
}

uint32_t agent_windows_add_heap(struct agent_windows *a, struct heap_sum *sum,
				const struct window_place *at)
{
	uint64_t added[2] = { 0 };
	uint32_t left_out = heap_sum_put(sum, a->window, at, added);

	a->counts.samples[WINDOW_HEAP_OBJECTS] += added[0];
	a->counts.samples[WINDOW_HEAP_SPACE] += added[1];
	return left_out;
}

void agent_windows_set_weight(struct agent_windows *a, uint64_t mul, uint64_t div)
{
	a->mul = mul;
	a->div = div ? div : 1;
}

const struct agent_services *agent_windows_services(const struct agent_windows *a)
{
	return a->services;
}

struct agent_processes *agent_windows_processes(const struct agent_windows *a)
{
	return a->processes;
}

void agent_windows_counts(const struct agent_windows *a, struct agent_windows_counts *out)
{
	enum window_other cause;

	*out = a->counts;
	out->held_beyond = a->held_room.beyond;
	out->links_beyond = a->links ? window_links_beyond(a->links) : 0;
	for (cause = 0; cause < WINDOW_OTHER_CNT; cause++)
		out->others[cause] = window_others(a->window, cause);
}
