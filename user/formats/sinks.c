// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sinks.c - the table of output formats. A new format is one line here.
 */
#include "formats/sinks.h"

#include <stdio.h>
#include <string.h>

#include "base/string_ref.h"
#include "base/util.h"
#include "formats/formats.h"
#include "model/joined.h"

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
