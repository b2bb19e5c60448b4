// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sink.c - the table of output formats. A new format is one line here.
 */
#include "sink.h"

#include <string.h>

#include "util.h"

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
