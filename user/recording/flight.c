// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* flight.c - keeps the events of a capture. flight_write.c passes them on. See flight.h. */
#include "recording/flight.h"

#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "recording/flight_parts.h"
#include "recording/recording.h"

/* A capture ticks about once a second: a part may be this much shorter. */
#define PART_SLACK_NS 100000000ull

static void read_counts(const struct flight *f, struct capture_counts *out)
{
	static const uint64_t none[CNT_MAX];

	*out = (struct capture_counts){ .bpf = none };
	if (f->args.counts)
		f->args.counts(f->args.ctx, out);
}

/* ---- parts of the time ---- */

static void begin_part(struct flight *f, uint64_t now)
{
	struct part_time *t = &f->times[f->newest % TIMES];
	struct capture_counts counts;

	read_counts(f, &counts);
	counts_since_free(t->since);
	*t = (struct part_time){ .begin_ns = now, .since = counts_since_new(&counts) };
}

/* Ends the present part: the counters of processes are known. */
static void end_part(struct flight *f)
{
	struct kept_process *k;
	size_t pos = 0, before;

	while ((k = u64map_next(&f->live, &pos))) {
		before = k->bytes;
		kept_process_close(k, f->newest);
		kept_room_changed(&f->room, k, before);
	}
}

static void advance_part(struct flight *f, uint64_t now)
{
	end_part(f);
	f->newest++;
	if (f->newest - f->oldest >= TIMES)
		f->oldest++;
	begin_part(f, now);
	flight_forget_old(f);
	flight_make_room(f);
}

/* ---- the observer ---- */

static void on_start(struct observer *o, uint64_t now_ns)
{
	struct flight *f = (struct flight *)o;

	f->started = true;
	f->judged = now_ns / NS_PER_S + 1;	/* the first whole second */
	begin_part(f, now_ns);
}

static int on_begin(struct observer *o, struct process *p)
{
	struct flight *f = (struct flight *)o;
	struct kept_process *k = kept_process_new(p, f->args.clock());

	if (!k)
		return -ENOMEM;
	if (kept_room_join(&f->room, k, process_identity(p)->uid)) {
		kept_process_free(k);
		return -ENOMEM;
	}
	if (u64map_put(&f->live, (uintptr_t)k, k)) {
		kept_room_leave(&f->room, k);
		kept_process_free(k);
		return -ENOMEM;
	}
	if (f->recording)
		k->in = recording_begin(f->recording, p);
	process_set_observed(p, k);
	return 0;
}

/* Without memory the event counts as lost; the capture goes on. */
static void flight_keep_event(struct flight *f, struct kept_process *k, const struct event *ev)
{
	size_t before = k->bytes;

	if (kept_process_event(k, f->newest, ev))
		process_add_lost(k->process, (uint32_t)ev->thread_id, LOSS_MEMORY,
				 process_samples_in(k->process, ev));
	kept_room_changed(&f->room, k, before);
	if (f->room.bytes > f->args.bytes_max)
		flight_make_room(f);
}

static int on_event(struct observer *o, struct process *p, const struct event *ev)
{
	struct flight *f = (struct flight *)o;
	struct kept_process *k = process_observed(p);
	int err;

	if (!k)
		return -ENOMEM;	/* as on_begin() returned */
	flight_judge_event(f, k, ev);
	if (f->args.keep_ns)
		flight_keep_event(f, k, ev);
	if (!f->recording || !k->in || f->err)
		return 0;
	err = recording_event(f->recording, k->in, ev);
	f->err = f->err ? f->err : err;
	return 0;
}

/* The process is freed after this, but what is kept of it holds it. */
static int on_end(struct observer *o, struct process *p, uint64_t end_ns)
{
	struct flight *f = (struct flight *)o;
	struct kept_process *k = process_observed(p);
	size_t before;
	int err = 0;

	if (!k)
		return 0;
	process_set_observed(p, NULL);
	u64map_remove(&f->live, (uintptr_t)k);
	if (k->in)
		err = recording_end(f->recording, k->in, end_ns);
	k->in = NULL;
	f->err = f->err ? f->err : err;
	before = k->bytes;
	if (f->args.keep_ns)
		kept_process_end(k, f->newest, end_ns);
	kept_room_changed(&f->room, k, before);
	if (!k->oldest) {
		k->over = false;
		kept_room_leave(&f->room, k);
		kept_process_free(k);
		return 0;
	}
	kept_room_over(&f->room, k);
	*f->over_end = k;
	f->over_end = &k->next;
	flight_make_room(f);
	return 0;
}

static int on_tick(struct observer *o)
{
	struct flight *f = (struct flight *)o;
	struct observer *to = f->recording ? recording_observer(f->recording) : NULL;
	uint64_t now = f->args.clock();
	int err;

	if (f->started && f->args.keep_ns &&
	    now - f->times[f->newest % TIMES].begin_ns + PART_SLACK_NS >= f->part_ns)
		advance_part(f, now);
	flight_judge(f, now);
	err = to && !f->err ? to->ops->tick(to) : 0;
	f->err = f->err ? f->err : err;
	return 0;
}

/* A process that ends now might have lived on. */
static void on_stop(struct observer *o, double missed_pct)
{
	struct flight *f = (struct flight *)o;
	struct observer *to = f->recording ? recording_observer(f->recording) : NULL;

	if (to)
		to->ops->stop(to, missed_pct);
}

static bool on_remark(struct observer *o, pid_t tgid, uint32_t uid, const char *comm,
		      const char *text)
{
	struct flight *f = (struct flight *)o;
	struct observer *to = f->recording ? recording_observer(f->recording) : NULL;

	if (to)
		to->ops->remark(to, tgid, uid, comm, text);
	return remarks_add(&f->remarks, tgid, uid, comm, text);
}

static const struct observer_ops flight_ops = {
	.start = on_start, .begin = on_begin, .event = on_event, .end = on_end, .tick = on_tick,
	.stop = on_stop, .remark = on_remark,
};

/* ---- */

struct flight *flight_new(const struct flight_args *args)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->observer.ops = &flight_ops;
	f->args = *args;
	if (!f->args.bytes_max)
		f->args.bytes_max = FLIGHT_BYTES_MAX;
	if (!f->args.over_max)
		f->args.over_max = FLIGHT_OVER_MAX;
	if (!f->args.clock)
		f->args.clock = now_ns;
	f->part_ns = args->keep_ns / FLIGHT_PARTS;
	if (f->part_ns < NS_PER_S)
		f->part_ns = NS_PER_S;
	f->over_end = &f->over;
	return f;
}

void flight_free(struct flight *f)
{
	struct kept_process *k;
	size_t pos = 0, i;

	if (!f)
		return;
	while ((k = u64map_next(&f->live, &pos))) {
		process_set_observed(k->process, NULL);
		kept_room_leave(&f->room, k);
		kept_process_free(k);
	}
	while ((k = f->over)) {
		f->over = k->next;
		kept_room_leave(&f->room, k);
		kept_process_free(k);
	}
	for (i = 0; i < TIMES; i++)
		counts_since_free(f->times[i].since);
	counts_since_free(f->since);
	counts_since_free(f->last_since);
	remarks_free(&f->remarks);
	u64map_free(&f->live);
	free(f);
}

struct observer *flight_observer(struct flight *f)
{
	return &f->observer;
}
