// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* memory_limit.c - see memory_limit.h. */
#include "host/memory_limit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "host/cgroups.h"

#define STAT_BYTES 8192
/* v1 shows "no limit" as the largest number of whole pages (PAGE_COUNTER_MAX). */
#define NO_LIMIT (1ull << 60)

struct search {
	struct cgroups *cgroups;
	struct memory_limit *least;
	bool found;
};

/* A number in memory.stat; 0: there is none of that name. */
static uint64_t stat_value(const char *stat, const char *name)
{
	size_t len = strlen(name);
	const char *line;

	for (line = stat; line && *line; line = strchr(line, '\n'), line += !!line)
		if (!strncmp(line, name, len) && line[len] == ' ')
			return strtoull(line + len, NULL, 10);
	return 0;
}

/* In v1, numbers without "total_" exclude the cgroups below. */
static uint64_t with_below(const char *stat, const char *name)
{
	char total[64];
	uint64_t v;

	snprintf(total, sizeof(total), "total_%s", name);
	v = stat_value(stat, total);
	return v ? v : stat_value(stat, name);
}

/*
 * How much of a limit is left: used bytes, and the text of memory.stat, v1's or v2's, from which
 * the file cache is taken.
 */
static uint64_t memory_limit_left(uint64_t limit, uint64_t used, const char *stat)
{
	uint64_t cache = with_below(stat, "inactive_file") + with_below(stat, "active_file");

	used = used > cache ? used - cache : 0;
	return limit > used ? limit - used : 0;
}

/* Read a number of bytes. Returns false if there is none ("max", or no such file). */
static bool read_bytes(const struct search *s, uint32_t hierarchy, const char *path,
		       const char *name, uint64_t *v)
{
	char text[64];

	if (!cgroups_read(s->cgroups, hierarchy, path, name, text, sizeof(text)) ||
	    !isdigit((unsigned char)text[0]))
		return false;
	*v = strtoull(text, NULL, 10);
	return true;
}

static int look_at(void *ctx, uint32_t hierarchy, const char *path, bool own)
{
	struct search *s = ctx;
	uint64_t limit, used, left;
	char stat[STAT_BYTES];

	if (!read_bytes(s, hierarchy, path, hierarchy ? "memory.limit_in_bytes" : "memory.max",
			&limit) || limit >= NO_LIMIT ||
	    !read_bytes(s, hierarchy, path, hierarchy ? "memory.usage_in_bytes" : "memory.current",
			&used))
		return 0;
	if (!cgroups_read(s->cgroups, hierarchy, path, "memory.stat", stat, sizeof(stat)))
		stat[0] = '\0';
	left = memory_limit_left(limit, used, stat);
	if (s->found && left >= s->least->left)
		return 0;
	s->found = true;
	s->least->limit = limit;
	s->least->left = left;
	snprintf(s->least->path, sizeof(s->least->path), "%s", path);
	return 0;
}

bool memory_limit_find(struct memory_limit *out)
{
	struct search s = { .cgroups = cgroups_new(), .least = out };

	if (!s.cgroups)
		return false;
	cgroups_of_process(0, look_at, &s);
	cgroups_free(s.cgroups);
	return s.found;
}
