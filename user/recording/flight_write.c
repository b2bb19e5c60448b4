// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* flight_write.c - passes kept events to a recording. See flight.h. */
#include <errno.h>

#include "base/util.h"
#include "bpf/abi.h"
#include "recording/flight_parts.h"
#include "recording/recording.h"

/* After this many bytes of kept events, a recording writes its buffered data. */
#define FLUSH_BYTES (8u << 20)

/* The events of one process being passed to a recording that begins at start_us. */
struct passing {
	struct flight *f;
	struct kept_process *k;
	uint64_t start_us, interval_us;
};

/* Cuts a wait that began before the recording to its part in it. False: no part of it is. */
static bool cut_event(const struct passing *to, struct event *ev)
{
	uint64_t before;

	if (ev->time_us >= to->start_us)
		return true;
	if (ev->tick_ns || ev->weight < 2)
		return false;
	before = (to->start_us - ev->time_us + to->interval_us - 1) / to->interval_us;
	if (before >= ev->weight)
		return false;
	ev->weight -= before;
	ev->time_us += before * to->interval_us;
	return true;
}

static int pass_event(void *ctx, const struct event *ev)
{
	struct passing *to = ctx;
	struct event in = *ev;

	return cut_event(to, &in) ? recording_event(to->f->recording, to->k->in, &in) : 0;
}

/* Begins a process in the recording, with all its events. */
static int pass_process(struct flight *f, struct kept_process *k, uint64_t start_ns)
{
	struct passing to = {
		.f = f, .k = k, .start_us = start_ns / 1000,
		.interval_us = recording_interval_us(f->recording),
	};
	const struct recording_joined at = {
		.begin_ns = k->begin_ns > start_ns ? k->begin_ns : start_ns, .command = k->command,
		.before = k->before, .lost_before = k->lost_before,
	};
	const struct kept_part *part;
	int err = 0;

	k->in = f->args.keep_ns ? recording_begin_at(f->recording, k->process, &at) :
				  recording_begin(f->recording, k->process);
	if (!k->in)
		return -ENOMEM;
	for (part = k->oldest; !err && part; part = part->next)
		err = kept_events_replay(&part->events, pass_event, &to);
	return err;
}

/* A recording buffers its events in memory until its tick(). */
static int flush_some(struct flight *f, const struct kept_process *k, size_t *bytes)
{
	struct observer *o = recording_observer(f->recording);

	*bytes += k->bytes;
	if (*bytes < FLUSH_BYTES)
		return 0;
	*bytes = 0;
	return o->ops->tick(o);
}

/* Ended processes come first: a live one may have the same pid. */
static int pass_all(struct flight *f, uint64_t start_ns)
{
	struct kept_process *k;
	size_t pos = 0, bytes = 0;
	int err = 0, end_err;

	for (k = f->over; !err && k; k = k->next) {
		err = pass_process(f, k, start_ns);
		end_err = k->in ? recording_end(f->recording, k->in, k->end_ns) : 0;
		k->in = NULL;
		err = err ? err : end_err;
	}
	while (!err && (k = u64map_next(&f->live, &pos))) {
		err = pass_process(f, k, start_ns);
		end_err = flush_some(f, k, &bytes);
		err = err ? err : end_err;
	}
	return err;
}

/* Chooses when the recording begins, and takes the counts of that time. */
static int choose_start(struct flight *f, uint64_t *start_ns)
{
	static const uint64_t none[CNT_MAX];
	struct capture_counts counts = { .bpf = none };
	struct part_time *t = &f->times[f->oldest % TIMES];
	uint64_t i;

	f->forgotten = 0;
	if (!f->args.keep_ns) {
		*start_ns = f->args.clock();
		if (f->args.counts)
			f->args.counts(f->args.ctx, &counts);
		f->since = counts_since_new(&counts);
		return f->since ? 0 : -ENOMEM;
	}
	*start_ns = t->begin_ns;
	for (i = f->oldest; i <= f->newest; i++)
		f->forgotten += f->times[i % TIMES].forgotten;
	f->since = t->since ? counts_since_copy(t->since) : NULL;
	return f->since ? 0 : -ENOMEM;
}

int flight_enter(struct flight *f, struct recording *r)
{
	struct observer *o = recording_observer(r);
	uint64_t start_ns;

	f->recording = r;
	f->err = choose_start(f, &start_ns);
	if (f->err)
		return f->err;
	o->ops->start(o, start_ns);
	recording_add_remarks(r, &f->remarks);
	f->err = pass_all(f, start_ns);
	return f->err;
}

static void end_all(struct flight *f)
{
	struct kept_process *k;
	size_t pos = 0;
	int err;

	while ((k = u64map_next(&f->live, &pos))) {
		err = k->in ? recording_end(f->recording, k->in, 0) : 0;
		k->in = NULL;
		f->err = f->err ? f->err : err;
	}
}

int flight_leave(struct flight *f, struct capture_counts *out)
{
	static const uint64_t none[CNT_MAX];
	struct capture_counts now = { .bpf = none };
	struct observer *o = recording_observer(f->recording);
	int err;

	if (f->args.counts)
		f->args.counts(f->args.ctx, &now);
	*out = now;
	o->ops->stop(o, f->since ? counts_since(f->since, &now, out) : 0);
	out->orphans += f->forgotten;
	end_all(f);
	counts_since_free(f->last_since);
	f->last_since = f->since;
	f->since = NULL;
	f->recording = NULL;
	err = f->err;
	f->err = 0;
	return err;
}

int flight_error(const struct flight *f)
{
	return f->err;
}
