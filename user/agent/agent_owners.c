// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_owners.c - see agent_owners.h. */
#include "agent/agent_owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "base/util.h"

struct owner {
	uint64_t key;
	uint32_t processes;	/* 0: the number is free */
};

struct agent_owners {
	struct owner *rows;	/* by number */
	uint32_t max;
	struct u64map by_key;	/* key -> its row */
};

struct agent_owners *agent_owners_new(uint32_t max)
{
	struct agent_owners *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->max = max ? max : 1;
	o->rows = calloc(o->max, sizeof(*o->rows));
	if (o->rows)
		return o;
	free(o);
	errno = ENOMEM;
	return NULL;
}

void agent_owners_free(struct agent_owners *o)
{
	if (!o)
		return;
	u64map_free(&o->by_key);
	free(o->rows);
	free(o);
}

static uint64_t key_of(const struct identity *id)
{
	const char *container = !id->uid && id->container ? id->container->id : "";

	return hash_u64(id->uid + 1ull) ^ hash_bytes(container, strlen(container));
}

static struct owner *add_owner(struct agent_owners *o, uint64_t key)
{
	uint32_t i = 1;

	while (i < o->max && o->rows[i].processes)
		i++;
	if (i == o->max || u64map_put(&o->by_key, key, &o->rows[i]))
		return NULL;
	o->rows[i].key = key;
	return &o->rows[i];
}

uint32_t agent_owners_join(struct agent_owners *o, const struct identity *id)
{
	uint64_t key = key_of(id);
	struct owner *row = u64map_get(&o->by_key, key);

	row = row ? row : add_owner(o, key);
	if (!row)
		return 0;
	row->processes++;
	return (uint32_t)(row - o->rows);
}

void agent_owners_leave(struct agent_owners *o, uint32_t number)
{
	struct owner *row = &o->rows[number];

	if (number && !--row->processes)
		u64map_remove(&o->by_key, row->key);
}
