// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sink.c - shared by sinks: copies of what they need later, limits of sizes, units. See sink.h. */
#include "model/sink.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "model/held_series.h"
#include "model/thread_names.h"
#include "model/type_series.h"

int sink_check_size(const struct sink_ops *ops, uint64_t max_bytes, uint64_t bytes)
{
	const double gib = 1ull << 30;

	if (!max_bytes || bytes <= max_bytes)
		return 0;
	log_error("as %s this would be about %.1f GiB, more than %.1f GiB: filter samples with "
		  "--thread, --from and --to, choose a format that aggregates them, or use --force",
		  ops->name, (double)bytes / gib, (double)max_bytes / gib);
	return SINK_REPORTED;
}

int sink_check_unit(const struct sink_ops *ops, enum profile_unit unit)
{
	if (unit != UNIT_BYTES || !ops->no_bytes)
		return 0;
	log_error("%s cannot hold bytes of memory: %s", ops->name, ops->no_bytes);
	return SINK_REPORTED;
}

static const struct held_series *copy_held(const struct held_series *from)
{
	struct held_series *to = from ? malloc(sizeof(*to)) : NULL;

	if (to)
		*to = *from;
	return to;
}

static const struct type_series *copy_types(const struct type_series *from)
{
	struct type_series *to = from ? malloc(sizeof(*to)) : NULL;

	if (to)
		*to = *from;
	return to;
}

bool sink_meta_copy(struct profile_meta *to, const struct profile_meta *from)
{
	*to = *from;
	to->comm = from->comm ? strdup(from->comm) : NULL;
	to->program = from->program ? strdup(from->program) : NULL;
	to->platform = from->platform ? strdup(from->platform) : NULL;
	to->container = from->container ? strdup(from->container) : NULL;
	to->image = from->image ? strdup(from->image) : NULL;
	to->thread_names = thread_names_keep(from->thread_names);
	to->held = copy_held(from->held);
	to->types = copy_types(from->types);
	if (!to->held == !from->held && !to->types == !from->types && !to->comm == !from->comm &&
	    !to->program == !from->program && !to->platform == !from->platform &&
	    !to->container == !from->container && !to->image == !from->image)
		return true;
	sink_meta_free(to);
	return false;
}

void sink_meta_free(struct profile_meta *meta)
{
	free((char *)meta->comm);
	free((char *)meta->program);
	free((char *)meta->platform);
	free((char *)meta->container);
	free((char *)meta->image);
	free((struct held_series *)meta->held);
	free((struct type_series *)meta->types);
	thread_names_drop((struct thread_names *)meta->thread_names);
}
