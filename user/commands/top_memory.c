// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * top_memory.c - see top_state.h. One file of /proc is read for each process, once a second; it
 * says nothing that would need rights, in a container neither.
 */
#include "commands/top_state.h"

#include <stdlib.h>

#include "base/u64map.h"
#include "base/util.h"
#include "host/proc.h"
#include "live/live_counts.h"
#include "resolve/process.h"

#define NS_PER_S 1000000000ull
/* Seconds are not exactly as long as one: a reading is due a little earlier. */
#define EARLY_NS (NS_PER_S / 4)

struct known {
	uint64_t start_ns;	/* of the process */
	uint64_t next_ns;	/* when to read again */
	uint64_t rss;		/* bytes; 0: unknown */
	uint32_t seen;		/* in which second the process was there */
	pid_t tgid;
	struct memory_trend trend;
};

struct top_memory {
	struct u64map by_tgid;	/* of struct known */
	uint64_t now_ns;
	uint32_t second, reads;	/* reads: in this second */
};

struct top_memory *top_memory_new(void)
{
	return calloc(1, sizeof(struct top_memory));
}

void top_memory_free(struct top_memory *m)
{
	struct known *k;
	size_t pos = 0;

	if (!m)
		return;
	while ((k = u64map_next(&m->by_tgid, &pos)))
		free(k);
	u64map_free(&m->by_tgid);
	free(m);
}

/* Returns NULL without memory. */
static struct known *find_known(struct top_memory *m, const struct process *p)
{
	struct known *k = u64map_get(&m->by_tgid, (uint64_t)process_tgid(p));

	if (!k) {
		k = calloc(1, sizeof(*k));
		if (!k || u64map_put(&m->by_tgid, (uint64_t)process_tgid(p), k)) {
			free(k);
			return NULL;
		}
	} else if (k->start_ns == process_start_ns(p)) {
		return k;
	}
	/* A new one, or another process with the same id. */
	*k = (struct known){ .tgid = process_tgid(p), .start_ns = process_start_ns(p),
			     .seen = m->second };
	return k;
}

/* With more processes than may be read in a second, the distance between two readings is longer. */
static void read_memory(struct top_memory *m, struct known *k, uint64_t now)
{
	uint64_t seconds = 1 + m->by_tgid.cnt / TOP_READS_MAX;

	k->next_ns = now + seconds * NS_PER_S - EARLY_NS;
	m->reads++;
	if (proc_rss(k->tgid, &k->rss))
		k->rss = 0;
	else
		memory_trend_add(&k->trend, now, k->rss);
}

static void see_process(void *ctx, const struct process *p)
{
	struct top_memory *m = ctx;
	struct known *k = find_known(m, p);

	if (!k)
		return;
	k->seen = m->second;
	if (m->now_ns >= k->next_ns && m->reads < TOP_READS_MAX)
		read_memory(m, k, m->now_ns);
}

void top_memory_second(struct top_memory *m, struct live *l)
{
	struct known *k;
	size_t pos = 0;

	m->now_ns = now_ns();
	m->second++;
	m->reads = 0;
	live_each(l, see_process, m);
	while ((k = u64map_next(&m->by_tgid, &pos))) {
		if (k->seen == m->second)
			continue;
		u64map_remove(&m->by_tgid, (uint64_t)k->tgid);
		free(k);
	}
}

void top_memory_of(struct top_memory *m, const struct process *p, bool since_start,
		   struct top_facts *facts)
{
	struct known *k = find_known(m, p);

	if (!k)
		return;
	/* One that was found after the last second. */
	if (!k->next_ns)
		read_memory(m, k, now_ns());
	facts->rss = k->rss;
	facts->growth = memory_trend_growth(&k->trend, since_start);
}
