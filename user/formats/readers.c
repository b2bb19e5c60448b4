// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * readers.c - the table of input formats, and the detection of a file's format. A new format is one
 * line here. See readers.h.
 */
#include "formats/readers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "formats/foreign.h"
#include "formats/formats.h"
#include "formats/input.h"
#include "model/thread_map.h"

static const struct reader_ops *const readers[] = {
	&reader_tach, &reader_gperftools, &reader_mlyze, &reader_speedscope, &reader_pprof,
	&reader_otlp, &reader_collapsed,
};

const struct reader_ops *reader_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(readers); i++) {
		if (!strcmp(readers[i]->name, name))
			return readers[i];
	}
	return NULL;
}

const struct reader_ops *reader_at(size_t i)
{
	return i < ARRAY_SIZE(readers) ? readers[i] : NULL;
}

const struct reader_ops *reader_detect(const struct input *in)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(readers); i++) {
		if (readers[i]->probe(in))
			return readers[i];
	}
	return NULL;
}

/* Fills in what no format's reader sets, after a profile was selected. */
static void finish_info(struct reader *r)
{
	struct reader_info *info = &r->info;

	info->file_size = r->input->size;
	if (r->value != VALUE_SAMPLES || info->meta.unit != UNIT_NANOSECONDS ||
	    !info->meta.interval_us)
		return;
	r->resample = true;
	info->meta.unit = UNIT_SAMPLES;
	info->weight_sum /= info->meta.interval_us * 1000;
}

struct reader *reader_open(const char *path, const struct reader_args *args, char *why,
			   size_t why_size)
{
	static const struct reader_args defaults;
	const struct reader_ops *ops;
	struct reader *r = NULL;
	struct input *in;
	int err = EBADMSG;

	args = args ? args : &defaults;
	in = input_map(path, why, why_size);
	if (!in)
		return NULL;
	ops = args->format ? reader_find(args->format) : reader_detect(in);
	if (!ops) {
		snprintf(why, why_size, "not a profile in a supported format; --input-format help "
			 "lists them");
	} else if (args->type && !args->type_optional && !ops->typed) {
		snprintf(why, why_size, "it has no sample types: expected --value live, allocated, "
			 "peak or samples, or none");
		err = EINVAL;
	} else {
		r = ops->open(in, args, why, why_size);
		err = errno;
	}
	if (!r) {
		if (!args->format && err == EBADMSG && (!ops || ops->vague))
			foreign_explain(in, why, why_size);
		input_unmap(in);
		errno = err;
		return NULL;
	}
	r->input = in;
	r->value = args->value;
	finish_info(r);
	return r;
}

void reader_free(struct reader *r)
{
	struct input *in;

	if (!r)
		return;
	in = r->input;
	r->ops->free(r);
	input_unmap(in);
}

uint32_t reader_profile_cnt(const struct reader *r)
{
	return r->profile_cnt;
}

void reader_select(struct reader *r, uint32_t i)
{
	if (r->ops->select && i < r->profile_cnt)
		r->ops->select(r, i);
	finish_info(r);
}

const char *reader_format(const struct reader *r)
{
	return r->ops->name;
}

const struct reader_info *reader_info(const struct reader *r)
{
	return &r->info;
}

const struct profile_tables *reader_tables(const struct reader *r)
{
	return r->tables;
}

void reader_describe(const struct reader *r, struct describe *d)
{
	if (r->ops->describe)
		r->ops->describe(r, d);
}

void reader_take(struct reader *r, unsigned int takes)
{
	r->takes = takes;
}

/* ---- time as samples ---- */

/* The rest of each thread's time that was not converted to samples yet. */
struct sampling {
	uint64_t interval_ns;
	struct thread_map *map;
	struct buf rest;	/* uint64_t ns, by thread */
	reader_event_fn on_event;
	void *ctx;
};

/*
 * Converts time to samples: each thread gets as many as its time has intervals, plus or minus a
 * half.
 */
static int on_time(void *ctx, const struct event *ev)
{
	struct sampling *s = ctx;
	struct event sample = *ev;
	uint64_t half = s->interval_ns / 2, *rest, ns;
	uint32_t index;
	int err = thread_map_get(s->map, ev->thread_id, ev->interp_id, &index);

	if (!err && index == s->rest.len / sizeof(half))
		err = buf_add(&s->rest, &half, sizeof(half));
	if (err)
		return err;
	rest = (uint64_t *)(void *)s->rest.data + index;
	ns = ev->weight + *rest;	/* cannot overflow because of WEIGHT_SUM_MAX */
	*rest = ns % s->interval_ns;
	sample.weight = ns / s->interval_ns;
	return sample.weight ? s->on_event(s->ctx, &sample) : 0;
}

static int run_as_samples(struct reader *r, reader_event_fn on_event, void *ctx, char *why,
			  size_t why_size)
{
	struct sampling s = {
		.interval_ns = r->info.meta.interval_us * 1000,
		.map = thread_map_new(),
		.on_event = on_event,
		.ctx = ctx,
	};
	int err = s.map ? r->ops->run(r, on_time, &s, why, why_size) : -ENOMEM;

	thread_map_free(s.map);
	buf_free(&s.rest);
	return err;
}

int reader_run(struct reader *r, reader_event_fn on_event, void *ctx, char *why, size_t why_size)
{
	if (r->resample)
		return run_as_samples(r, on_event, ctx, why, why_size);
	return r->ops->run(r, on_event, ctx, why, why_size);
}
