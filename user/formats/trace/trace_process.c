// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trace_process.c - a process in a timeline: lanes of its threads, of their states, of the asyncio
 * tasks that are named in stacks, and a counter of the GIL. See trace.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "base/u64map.h"
#include "bpf/abi.h"
#include "formats/sample_time.h"
#include "formats/trace/trace.h"
#include "model/profile_names.h"
#include "model/thread_names.h"
#include "model/time_bins.h"

/* Named tasks with a lane of their own; recordings have at most 256 names. */
#define TASKS_MAX 256
#define TASK_PREFIX "<task"
/* The GIL's counter has a value for so many intervals. */
#define GIL_INTERVALS 50

struct trace_thread {
	struct trace_lane calls, state;
	struct trace_lane *task;	/* in which it is now; NULL: in none */
	struct trace_regions regions;
	bool seen;
	uint32_t stack;			/* that is shown; UINT32_MAX: none */
	uint8_t status;
	uint64_t at_ns, own_ns;		/* of the last sample: its time; its weight as time */
};

struct trace_process {
	struct profile_meta meta;	/* valid until the profile ends */
	struct trace_lane lane;
	struct u64map threads;		/* struct trace_thread, by tid */
	struct u64map tasks;		/* struct trace_lane, by thread's lane and label */
	size_t task_cnt, left_out;	/* tasks with a lane; samples in others */
	size_t regions_left_out;	/* too many overlap */
	struct time_bins *gil;		/* NULL: the file has no states, or nobody held it */
	bool states;			/* the file has them */
	char *event;			/* printable; NULL: samples are of time */
	uint64_t first_ns, last_ns;
};

static uint64_t interval_ns(const struct profile_meta *meta)
{
	return trace_ns(meta->interval_us ? meta->interval_us : 1);
}

struct trace_process *trace_process_new(struct trace *t, const struct profile_meta *meta)
{
	uint32_t last = stacks_process_cnt(t->stacks) - 1;
	const struct stack_process *sp = stacks_process(t->stacks, last);
	struct trace_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->meta = *meta;
	p->states = profile_mode_known(meta->mode) && meta->unit == UNIT_SAMPLES;
	p->first_ns = p->last_ns = trace_ns(meta->start_us);
	p->lane.kind = LANE_PROCESS;
	p->lane.pid = meta->tgid && meta->tgid < TRACE_MADE_UP_PID ?
			      meta->tgid : TRACE_MADE_UP_PID + t->process_cnt;
	p->lane.tid = p->lane.pid;
	if (meta->event)
		p->event = text_escape(meta->event, strlen(meta->event));
	if ((meta->event && !p->event) ||
	    trace_lane_start(t, &p->lane, *sp->name ? sp->name : "process")) {
		trace_process_free(p);
		return NULL;
	}
	return p;
}

void trace_process_free(struct trace_process *p)
{
	struct trace_thread *th;
	struct trace_lane *task;
	size_t pos = 0;

	if (!p)
		return;
	while ((th = u64map_next(&p->threads, &pos))) {
		trace_lane_free(&th->calls);
		trace_lane_free(&th->state);
		trace_regions_free(&th->regions);
		free(th);
	}
	for (pos = 0; (task = u64map_next(&p->tasks, &pos));) {
		trace_lane_free(task);
		free(task);
	}
	u64map_free(&p->threads);
	u64map_free(&p->tasks);
	trace_lane_free(&p->lane);
	time_bins_free(p->gil);
	free(p->event);
	free(p);
}

/* ---- threads ---- */

static int start_thread(struct trace *t, struct trace_process *p, struct trace_thread *th,
			uint64_t tid)
{
	const char *known = thread_names_find(p->meta.thread_names, tid);
	char label[THREAD_LABEL_BYTES];
	int err;

	th->stack = UINT32_MAX;
	if (known)
		escape_text(known, strlen(known), label, sizeof(label));
	else
		thread_label(NULL, tid, "thread ", label);
	th->calls.kind = LANE_THREAD;
	th->calls.parent = p->lane.id;
	th->calls.pid = p->lane.pid;
	/* Made-up numbers of threads begin at 2^32. */
	th->calls.tid = (int64_t)(tid < TRACE_MADE_UP_TID ?
					  tid : tid % TRACE_MADE_UP_TID + TRACE_MADE_UP_TID);
	err = trace_lane_start(t, &th->calls, label);
	if (err || !p->states || p->event)
		return err;
	return trace_lane_below(t, &th->state, LANE_STATE, &th->calls, "state");
}

static struct trace_thread *find_thread(struct trace *t, struct trace_process *p, uint64_t tid)
{
	struct trace_thread *th = u64map_get(&p->threads, tid);

	if (th)
		return th;
	th = calloc(1, sizeof(*th));
	if (!th || u64map_put(&p->threads, tid, th)) {
		free(th);
		return NULL;
	}
	return start_thread(t, p, th, tid) ? NULL : th;
}

static const char *state_of(uint8_t status, bool gc)
{
	bool has_gil = status & STATUS_HAS_GIL;

	if (gc)
		return "garbage collection";
	if (status & STATUS_GIL_REQUESTED)
		return "waiting for the GIL";
	if (status & STATUS_ON_CPU)
		return has_gil ? "on CPU, GIL held" : "on CPU";
	if (has_gil)
		return "GIL held";
	return status & STATUS_UNKNOWN ? NULL : "waiting";
}

/* ---- asyncio tasks ---- */

static bool is_task(const struct trace *t, uint32_t label)
{
	const struct profile_tables *tables = stacks_tables(t->stacks);
	const struct frame *f = &tables->frames[label];
	const struct string_ref *func = &tables->strings[f->func];

	return f->kind == FRAME_SYNTHETIC && func->len >= strlen(TASK_PREFIX) &&
	       !memcmp(func->data, TASK_PREFIX, strlen(TASK_PREFIX));
}

/*
 * Sets *lane to that of a thread's task, which begins with its first sample; NULL: too many tasks.
 */
static int find_task(struct trace *t, const struct trace_thread *th, uint32_t label,
		     struct trace_lane **lane)
{
	struct trace_process *p = t->process;
	uint64_t key = th->calls.id << 32 | label;
	struct trace_lane *task = *lane = u64map_get(&p->tasks, key);
	char *name;
	int err;

	if (task)
		return 0;
	if (p->task_cnt >= TASKS_MAX) {
		p->left_out++;
		return 0;
	}
	task = calloc(1, sizeof(*task));
	if (!task || u64map_put(&p->tasks, key, task)) {
		free(task);
		return -ENOMEM;
	}
	p->task_cnt++;
	name = trace_function(t, label);
	err = name ? trace_lane_below(t, task, LANE_TASK, &th->calls, name) : -ENOMEM;
	free(name);
	*lane = task;
	return err;
}

/*
 * The task's lane shows its outermost coroutine, which is inside of the innermost <task NAME>,
 * while the thread runs it. Those who await the task are outside.
 */
static int show_task(struct trace *t, struct trace_thread *th, const struct stack_view *v,
		     uint64_t now_ns)
{
	struct trace_lane *task = NULL;
	struct trace_name coroutine;
	uint32_t i;
	int err = 0;

	for (i = 0; i < v->n && !is_task(t, v->labels[i]); i++)
		;
	if (i < v->n)
		err = find_task(t, th, v->labels[i], &task);
	if (!err && th->task && th->task != task)
		err = trace_lane_show(t, th->task, now_ns, NULL, 0);
	th->task = task;
	if (err || !task)
		return err;
	coroutine = (struct trace_name){ .label = v->labels[i ? i - 1 : 0] };
	return trace_lane_show(t, task, now_ns, &coroutine, 1);
}

/* ---- samples ---- */

/* id: the stack; UINT32_MAX: none, and no state. */
static int show_sample(struct trace *t, struct trace_thread *th, uint64_t now_ns, uint32_t id,
		       uint8_t status)
{
	struct trace_name names[EVENT_MAX_FRAMES], state = { .label = TRACE_NO_LABEL };
	struct stack_view v = { 0 };
	bool gc = false;
	uint32_t i;
	int err = 0;

	if (th->stack == id && th->status == status)
		return 0;
	th->stack = id;
	th->status = status;
	if (id != UINT32_MAX) {
		v = stacks_get(t->stacks, id);
		err = gc_stacks_has(&t->gc, t->stacks, id, &gc);
		state.text = state_of(status, gc);
	}
	/* GCC does not see that only what was written is read. */
	names[0] = state;
	for (i = 0; i < v.n && i < EVENT_MAX_FRAMES; i++)
		names[i] = (struct trace_name){ .label = v.labels[v.n - 1 - i] };
	if (!err)
		err = trace_lane_show(t, &th->calls, now_ns, names, i);
	if (!err)
		err = show_task(t, th, &v, now_ns);
	if (!err && th->state.id)
		err = trace_lane_show(t, &th->state, now_ns, &state, state.text != NULL);
	return err;
}

/* A thread may have paused between its last sample and now. */
static int end_last(struct trace *t, struct trace_thread *th, uint64_t now_ns)
{
	const struct profile_meta *meta = &t->process->meta;
	uint64_t gap = now_ns - th->at_ns, interval = interval_ns(meta), lasts;

	/* Weights in ns, times in us: a rest of the division is no pause. */
	if (meta->unit == UNIT_NANOSECONDS)
		interval = 2 * NS_PER_US;
	lasts = sample_lasts(meta->mode, interval, th->own_ns, gap);
	return lasts < gap ? show_sample(t, th, th->at_ns + lasts, UINT32_MAX, 0) : 0;
}

static int count_gil(struct trace_process *p, const struct event *ev)
{
	if (!p->states || !(ev->status & STATUS_HAS_GIL) || !p->meta.interval_us ||
	    !ev->weight || ev->time_us >= TRACE_US_MAX)
		return 0;
	if (!p->gil)
		p->gil = time_bins_new(mul_capped(p->meta.interval_us, GIL_INTERVALS));
	if (!p->gil)
		return -ENOMEM;
	return time_bins_add(p->gil, 0, ev->time_us, p->meta.interval_us, ev->weight);
}

static int take_sample(struct trace *t, struct trace_thread *th, const struct event *ev,
		       uint32_t id, uint64_t now_ns)
{
	struct trace_process *p = t->process;
	int err = 0;

	if (th->seen && now_ns > th->at_ns)
		err = end_last(t, th, now_ns);
	if (th->seen && now_ns < th->at_ns)
		now_ns = th->at_ns;
	th->seen = true;
	th->at_ns = now_ns;
	th->own_ns = mul_capped(p->meta.unit == UNIT_NANOSECONDS ? 1 : interval_ns(&p->meta),
				ev->weight);
	if (th->own_ns > trace_ns(TRACE_US_MAX))
		th->own_ns = trace_ns(TRACE_US_MAX);
	if (!err)
		err = show_sample(t, th, now_ns, id, ev->status);
	return err ? err : count_gil(p, ev);
}

int trace_process_region(struct trace *t, const struct profile_region *region)
{
	struct trace_process *p = t->process;
	struct trace_thread *th = find_thread(t, p, region->thread_id);
	int err = th ? trace_regions_add(t, &th->regions, &th->calls, region) : -ENOMEM;

	p->regions_left_out += err == -E2BIG;
	return err == -E2BIG ? 0 : err;
}

int trace_process_event(struct trace *t, const struct event *ev, uint32_t id)
{
	struct trace_process *p = t->process;
	struct trace_thread *th = find_thread(t, p, ev->thread_id);
	struct stack_view v = stacks_get(t->stacks, id);
	struct trace_name name = { .label = v.n ? v.labels[0] : TRACE_NO_LABEL,
				   .text = p->event };
	uint64_t now_ns = trace_ns(ev->time_us);

	if (!th)
		return -ENOMEM;
	if (!p->first_ns)
		p->first_ns = now_ns;
	p->last_ns = now_ns > p->last_ns ? now_ns : p->last_ns;
	if (!p->event)
		return take_sample(t, th, ev, id, now_ns);
	t->ops->instant(t, &th->calls, now_ns, &name, ev->weight);
	return 0;
}

/* ---- the end ---- */

static int end_threads(struct trace *t, struct trace_process *p)
{
	struct trace_thread *th;
	size_t pos = 0;
	int err = 0;

	while (!err && (th = u64map_next(&p->threads, &pos))) {
		uint64_t end_ns = th->at_ns + th->own_ns;

		trace_regions_end(t, &th->regions);
		if (!th->seen)
			continue;
		err = show_sample(t, th, end_ns, UINT32_MAX, 0);
		p->last_ns = end_ns > p->last_ns ? end_ns : p->last_ns;
	}
	return err;
}

/* The share of time in which the GIL was held: a value for each bin, in percent. */
static int put_gil(struct trace *t, struct trace_process *p)
{
	struct trace_lane lane = { .kind = LANE_COUNTER, .parent = p->lane.id, .pid = p->lane.pid,
				   .tid = p->lane.pid };
	uint64_t sums[2 * TIME_BINS_MAX] = { 0 }, width = time_bins_width_us(p->gil);
	int32_t i, lowest = TIME_BINS_MAX, highest = -TIME_BINS_MAX;
	const struct time_entry *entries;
	size_t cnt, e;
	int err = trace_lane_start(t, &lane, "GIL held");

	entries = time_bins_entries(p->gil, &cnt);
	for (e = 0; e < cnt; e++) {
		i = entries[e].from_base;
		lowest = i < lowest ? i : lowest;
		highest = i > highest ? i : highest;
		sums[i + TIME_BINS_MAX] += entries[e].weight;
	}
	for (i = lowest; !err && i <= highest; i++) {
		uint64_t bin = time_bins_base(p->gil) + (uint64_t)(int64_t)i;
		uint64_t held = mul_capped(sums[i + TIME_BINS_MAX], p->meta.interval_us);
		uint64_t at_ns = trace_ns(bin * width);

		/* The first bin may begin before the profile. */
		t->ops->counter(t, &lane, at_ns > p->first_ns ? at_ns : p->first_ns,
				held < width ? held * 100 / width : 100);
	}
	if (!err)
		t->ops->counter(t, &lane, p->last_ns, 0);
	trace_lane_free(&lane);
	return err;
}

static struct trace_fact text_fact(const char *name, const char *text)
{
	return (struct trace_fact){ .name = name, .text = text };
}

static struct trace_fact number_fact(const char *name, uint64_t number)
{
	return (struct trace_fact){ .name = name, .number = number };
}

/* What is known of the profile, where it begins; and where it ends, if something was lost. */
static void put_facts(struct trace *t, struct trace_process *p, const struct profile_stats *stats)
{
	const struct profile_meta *m = &p->meta;
	uint64_t lost = stats && stats->lost_known ? stats->lost_cnt : 0;
	char python[32], *platform = NULL;
	struct trace_fact facts[10];
	size_t cnt = 0;

	snprintf(python, sizeof(python), "%u.%u.%u", m->python_major, m->python_minor,
		 m->python_micro);
	facts[cnt++] = text_fact("exporter", "tachbpf " TACHBPF_VERSION);
	facts[cnt++] = text_fact("mode", profile_mode_name(m->mode));
	facts[cnt++] = number_fact("interval_us", m->interval_us);
	if (m->python_major)
		facts[cnt++] = text_fact("python", python);
	if (m->platform)
		platform = text_escape(m->platform, strlen(m->platform));
	if (platform)
		facts[cnt++] = text_fact("platform", platform);
	if (p->left_out)
		facts[cnt++] = number_fact("samples_of_more_tasks", p->left_out);
	if (p->regions_left_out)
		facts[cnt++] = number_fact("regions_of_more_rows", p->regions_left_out);
	if (stats && stats->lost_regions)
		facts[cnt++] = number_fact("lost_regions", stats->lost_regions);
	if (stats && stats->lost_known)
		facts[cnt++] = number_fact("lost_samples", lost);
	t->ops->facts(t, &p->lane, p->first_ns, "profile", facts, cnt);
	if (lost)
		t->ops->facts(t, &p->lane, p->last_ns, "lost samples", &facts[cnt - 1], 1);
	free(platform);
}

int trace_process_end(struct trace *t, const struct profile_stats *stats)
{
	struct trace_process *p = t->process;
	int err = end_threads(t, p);

	if (!err && p->gil)
		err = put_gil(t, p);
	if (!err)
		put_facts(t, p, stats);
	return err;
}
