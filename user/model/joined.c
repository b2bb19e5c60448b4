// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * joined.c - see joined.h. The names and frames of the profiles are interned again in one table,
 * which lives as long as the joined profile.
 */
#include "model/joined.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/intern.h"
#include "model/remap.h"

struct joined {
	struct sink sink;
	struct sink *inner;
	struct intern *in;		/* NULL: no joined profile has begun */
	struct remap *remap;		/* kept from profile to profile */
	bool reading;			/* an input profile */
	char *label;			/* of the joined profile */
	struct profile_meta meta;
	struct profile_stats stats;
	int err;
};

static struct joined *to_joined(struct sink *s)
{
	return (struct joined *)s;
}

/* Ends the joined profile. */
static int end_joined(struct joined *j)
{
	int err = 0;

	if (!j->in)
		return 0;
	if (!j->err)
		err = j->inner->ops->end(j->inner, &j->stats);
	intern_free(j->in);
	j->in = NULL;
	return err;
}

static bool goes_on(const struct joined *j, const struct profile_meta *meta, const char *label)
{
	return j->in && !strcmp(j->label, label) && j->meta.unit == meta->unit;
}

static int begin_joined(struct joined *j, const struct profile_meta *meta, const char *label)
{
	int err = end_joined(j);

	free(j->label);
	j->label = strdup(label);
	j->in = intern_new();
	if (!j->label || !j->in)
		return err ? err : -ENOMEM;
	j->meta = *meta;
	j->meta.tgid = 0;
	j->meta.comm = j->label;
	j->meta.container = NULL;
	j->meta.of_container = true;
	j->meta.platform = NULL;
	j->meta.image = NULL;
	j->meta.thread_names = NULL;	/* they belong to only one of its processes */
	memset(&j->stats, 0, sizeof(j->stats));
	return err ? err : j->inner->ops->begin(j->inner, &j->meta, intern_tables(j->in));
}

static int joined_begin(struct sink *s, const struct profile_meta *meta,
			const struct profile_tables *tables)
{
	const char *label = meta->container ? meta->container : JOINED_NONE;
	struct joined *j = to_joined(s);

	if (j->err)
		return j->err;
	if (j->reading)
		return -EINVAL;
	if (!goes_on(j, meta, label))
		j->err = begin_joined(j, meta, label);
	if (!j->err && j->remap)
		remap_begin(j->remap, tables, j->in);
	else if (!j->err)
		j->remap = remap_new(tables, j->in);
	if (!j->err && !j->remap)
		j->err = -ENOMEM;
	j->reading = !j->err;
	return j->err;
}

static int joined_event(struct sink *s, const struct event *ev)
{
	struct joined *j = to_joined(s);
	struct event ours;

	if (j->err)
		return j->err;
	if (!j->reading)
		return -EINVAL;
	j->err = remap_event(j->remap, ev, &ours);
	if (!j->err)
		j->err = j->inner->ops->event(j->inner, &ours);
	return j->err;
}

/* Adds sums, and takes the longest duration; percentages cannot be added. */
static void add_stats(struct profile_stats *sum, const struct profile_stats *stats)
{
	if (!stats)
		return;
	if (stats->known && (!sum->known || stats->duration_s > sum->duration_s)) {
		sum->known = true;
		sum->duration_s = stats->duration_s;
		sum->sample_rate = stats->sample_rate;
	}
	sum->lost_known |= stats->lost_known;
	sum->lost_cnt += stats->lost_cnt;
}

static int joined_end(struct sink *s, const struct profile_stats *stats)
{
	struct joined *j = to_joined(s);

	if (j->err)
		return j->err;
	if (!j->reading)
		return -EINVAL;
	j->reading = false;
	add_stats(&j->stats, stats);
	return j->err = remap_libraries(j->remap);
}

static int joined_close(struct sink *s)
{
	struct joined *j = to_joined(s);
	int err = j->err, end_err;

	remap_free(j->remap);
	end_err = end_joined(j);
	err = err ? err : end_err;
	end_err = j->inner->ops->close(j->inner);
	free(j->label);
	free(j);
	return err ? err : end_err;
}

static const struct sink_ops joined_ops = {
	.name = "joined",
	.begin = joined_begin,
	.event = joined_event,
	.end = joined_end,
	.close = joined_close,
};

struct sink *joined_open(struct sink *inner)
{
	struct joined *j = calloc(1, sizeof(*j));

	if (!j) {
		inner->ops->close(inner);
		errno = ENOMEM;
		return NULL;
	}
	j->sink.ops = &joined_ops;
	j->inner = inner;
	return &j->sink;
}
