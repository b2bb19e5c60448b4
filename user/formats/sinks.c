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
	&sink_perfetto,
	&sink_chrome,
	&sink_pprof,
	&sink_gperftools,
	&sink_gperftools_perl,
	&sink_gperftools_native,
	&sink_pstats,
	&sink_jsonl,
	&sink_csv,
	&sink_parquet,
	&sink_columns,
	&sink_flamegraph,
	&sink_heatmap,
	&sink_svg,
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

/* Endings besides each format's suffix and ".NAME". */
static const struct { const char *ending; const struct sink_ops *ops; } endings[] = {
	{ ".txt", &sink_collapsed },
	{ ".json", &sink_speedscope },	/* py-spy's habit; gecko has .gecko.json */
	{ ".perfetto-trace", &sink_perfetto },
};

/* Takes the format if the path has this ending and no longer one was found. */
static void match(const char *path, const char *ending, const struct sink_ops *ops,
		  const struct sink_ops **found, size_t *longest)
{
	size_t len = strlen(ending);

	if (len <= *longest || !ends_with(path, ending))
		return;
	*longest = len;
	*found = ops;
}

const struct sink_ops *sink_for_path(const char *path)
{
	const struct sink_ops *found = NULL;
	size_t i, longest = 0;
	char dotted[64];

	for (i = 0; i < ARRAY_SIZE(sinks); i++) {
		snprintf(dotted, sizeof(dotted), ".%s", sinks[i]->name);
		match(path, dotted, sinks[i], &found, &longest);
		if (sinks[i]->suffix)
			match(path, sinks[i]->suffix, sinks[i], &found, &longest);
	}
	for (i = 0; i < ARRAY_SIZE(endings); i++)
		match(path, endings[i].ending, endings[i].ops, &found, &longest);
	return found;
}

int sink_endings(struct buf *out)
{
	size_t i, cnt = ARRAY_SIZE(sinks);
	int err = 0;

	for (i = 0; !err && i < cnt + ARRAY_SIZE(endings); i++) {
		const char *ending = i < cnt ? sinks[i]->suffix : endings[i - cnt].ending;

		if (ending && out->len)
			err = buf_add(out, ", ", 2);
		if (ending && !err)
			err = buf_add(out, ending, strlen(ending));
	}
	return err ? err : buf_add(out, "", 1);
}
