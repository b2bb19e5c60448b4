// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * aggregate.c - the sink calls of formats that add up samples. See aggregate.h. Owns the stacks;
 * the format's write() turns them into a file.
 */
#include "model/aggregate.h"

#include <errno.h>
#include <stdlib.h>

static struct aggregate *to_aggregate(struct sink *s)
{
	return (struct aggregate *)s;
}

struct sink *aggregate_open(const struct aggregate_format *format, const struct sink_args *args)
{
	struct aggregate *a = calloc(1, sizeof(*a));
	bool lines = args->lines == LINES_DEFAULT ? format->lines : args->lines == LINES_APART;

	if (!a)
		return NULL;
	a->sink.ops = format->ops;
	a->format = format;
	a->args = *args;
	a->config.detail = lines ? format->apart : DETAIL_FUNCTION;
	a->config.by_thread = args->group == GROUP_DEFAULT ? format->by_thread :
							     args->group == GROUP_THREAD;
	a->config.by_status = format->by_status;
	a->stacks = stacks_new(&a->config);
	if (!a->stacks) {
		free(a);
		errno = ENOMEM;
		return NULL;
	}
	return &a->sink;
}

/* Returns 0 if the format can express this unit, or SINK_REPORTED. */
static int check_unit(struct aggregate *a, enum profile_unit unit)
{
	const struct sink_ops *ops = a->format->ops;
	int err = sink_check_unit(ops, unit);

	if (err)
		return err;
	if (a->format->one_unit && a->begun && unit != a->unit) {
		log_error("these profiles have different units (samples, bytes, nanoseconds): use "
			  "%s with one unit at a time", ops->name);
		return SINK_REPORTED;
	}
	a->unit = unit;
	return 0;
}

int aggregate_begin(struct sink *s, const struct profile_meta *meta,
		    const struct profile_tables *tables)
{
	struct aggregate *a = to_aggregate(s);

	if (a->err)
		return a->err;
	if (a->active || (a->begun && !a->args.many))
		return -EINVAL;
	a->err = check_unit(a, meta->unit);
	if (!a->err)
		a->err = stacks_begin(a->stacks, meta, tables);
	a->active = a->begun = !a->err;
	return a->err;
}

int aggregate_event(struct sink *s, const struct event *ev)
{
	struct aggregate *a = to_aggregate(s);
	uint32_t id;

	if (a->err)
		return a->err;
	if (!a->active)
		return -EINVAL;
	return a->err = stacks_add(a->stacks, ev, &id);
}

/* Writes the stacks, unless their size exceeds the limit. Returns 0 or -errno. */
static int write_stacks(struct aggregate *a)
{
	const struct aggregate_format *f = a->format;
	int err;

	if (f->spelled || f->frame_bytes)
		a->bytes += stacks_bytes(a->stacks, f->spelled, f->frame_bytes);
	err = sink_check_size(f->ops, a->args.max_bytes, a->bytes);
	return err ? err : f->write(a);
}

int aggregate_end(struct sink *s, const struct profile_stats *stats)
{
	static const struct profile_stats none;
	struct aggregate *a = to_aggregate(s);

	if (a->err)
		return a->err;
	if (!a->active)
		return -EINVAL;
	a->active = false;
	if (a->format->libraries)
		a->err = stacks_libraries(a->stacks);
	stacks_end(a->stacks);
	if (!a->err)
		a->err = buf_add(&a->stats, stats ? stats : &none, sizeof(*stats));
	if (a->err || !a->format->each_process)
		return a->err;
	a->err = write_stacks(a);
	a->stats.len = 0;
	if (!a->err)
		a->err = stacks_reset(a->stacks);
	return a->err;
}

int aggregate_close(struct sink *s)
{
	struct aggregate *a = to_aggregate(s);
	int err = a->err;

	if (!err && !a->active && !a->format->each_process)
		err = write_stacks(a);
	stacks_free(a->stacks);
	buf_free(&a->stats);
	free(a);
	return err;
}

const struct profile_stats *aggregate_stats(const struct aggregate *a, uint32_t process)
{
	return (const struct profile_stats *)(const void *)a->stats.data + process;
}
