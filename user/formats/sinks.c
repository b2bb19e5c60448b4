// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sinks.c - the table of output formats. A new format is one line here.
 */
#include "model/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/joined.h"
#include "model/thread_names.h"
#include "base/util.h"

static const struct sink_ops *const sinks[] = {
	&sink_tach,
	&sink_collapsed,
	&sink_speedscope,
	&sink_gecko,
	&sink_pprof,
	&sink_gperftools,
	&sink_gperftools_perl,
	&sink_gperftools_native,
	&sink_pstats,
	&sink_pstats_sampled,
	&sink_jsonl,
	&sink_csv,
	&sink_flamegraph,
	&sink_heatmap,
};

const struct sink_ops *sink_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sinks); i++) {
		if (!strcmp(sinks[i]->name, name))
			return sinks[i];
	}
	return NULL;
}

const struct sink_ops *sink_at(size_t i)
{
	return i < ARRAY_SIZE(sinks) ? sinks[i] : NULL;
}

struct sink *sink_new(const struct sink_ops *ops, const struct sink_args *args)
{
	struct sink_args by_process = *args;
	struct sink *inner;

	if (args->group != GROUP_CONTAINER)
		return ops->open(args);
	by_process.group = GROUP_PROCESS;
	inner = ops->open(&by_process);
	return inner ? joined_open(inner) : NULL;
}

bool sink_meta_copy(struct profile_meta *to, const struct profile_meta *from)
{
	*to = *from;
	to->comm = from->comm ? strdup(from->comm) : NULL;
	to->platform = from->platform ? strdup(from->platform) : NULL;
	to->container = from->container ? strdup(from->container) : NULL;
	to->image = from->image ? strdup(from->image) : NULL;
	to->thread_names = thread_names_keep(from->thread_names);
	if (!to->comm == !from->comm && !to->platform == !from->platform &&
	    !to->container == !from->container && !to->image == !from->image)
		return true;
	sink_meta_free(to);
	return false;
}

void sink_meta_free(struct profile_meta *meta)
{
	free((char *)meta->comm);
	free((char *)meta->platform);
	free((char *)meta->container);
	free((char *)meta->image);
	thread_names_drop((struct thread_names *)meta->thread_names);
}

static bool ends_with(const char *s, const char *tail)
{
	size_t len = strlen(s), tail_len = strlen(tail);

	return len > tail_len && !strcmp(s + len - tail_len, tail);
}

const struct sink_ops *sink_for_path(const char *path)
{
	const struct sink_ops *found = NULL;
	size_t i, len, longest = 0;
	char dotted[64];

	for (i = 0; i < ARRAY_SIZE(sinks); i++) {
		const char *tail = sinks[i]->suffix;

		snprintf(dotted, sizeof(dotted), ".%s", sinks[i]->name);
		if (!tail || !ends_with(path, tail))
			tail = dotted;
		len = strlen(tail);
		if (len > longest && ends_with(path, tail)) {
			longest = len;
			found = sinks[i];
		}
	}
	return found;
}
