// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_services.c - see agent_services.h. */
#include "agent/agent_services.h"

#include <errno.h>
#include <stdlib.h>

#include "base/u64map.h"

struct row {
	struct service *service;	/* NULL: the number is free */
	uint32_t processes, owner;
	bool stale;			/* agent_services_refresh() */
};

struct agent_services {
	struct row *rows;		/* by number */
	uint32_t max, end, cnt;
	struct u64map by_id;		/* service.id -> its row */
	uint64_t beyond;
};

struct agent_services *agent_services_new(uint32_t max)
{
	struct agent_services *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->max = max ? max : 1;
	s->end = 1;
	s->rows = calloc(s->max, sizeof(*s->rows));
	if (s->rows)
		return s;
	free(s);
	errno = ENOMEM;
	return NULL;
}

void agent_services_free(struct agent_services *s)
{
	uint32_t i;

	if (!s)
		return;
	for (i = 0; i < s->end; i++)
		free(s->rows[i].service);
	free(s->rows);
	u64map_free(&s->by_id);
	free(s);
}

/* The row of a service, or NULL. Ids may collide if somebody tries; then two services share one. */
static struct row *find_row(const struct agent_services *s, const struct service *service)
{
	struct row *row = u64map_get(&s->by_id, service->id);
	uint32_t i;

	if (!row || service_same(row->service, service))
		return row;
	for (i = 1; i < s->end; i++)
		if (s->rows[i].service && s->rows[i].service->id == service->id &&
		    service_same(s->rows[i].service, service))
			return &s->rows[i];
	return NULL;
}

static struct row *free_row(struct agent_services *s)
{
	uint32_t i;

	for (i = 1; i < s->end; i++)
		if (!s->rows[i].service)
			return &s->rows[i];
	return s->end < s->max ? &s->rows[s->end] : NULL;
}

static bool has_room(const struct agent_services *s, uint32_t owner)
{
	uint32_t i, owned = 0;

	for (i = 1; i < s->end; i++)
		owned += s->rows[i].service && s->rows[i].owner == owner;
	return owned < s->max - 1 - s->cnt;
}

static struct row *add_row(struct agent_services *s, const struct service *service,
			   uint32_t owner)
{
	struct row *row = has_room(s, owner) ? free_row(s) : NULL;
	struct service *copy = row ? malloc(sizeof(*copy)) : NULL;

	if (!copy)
		return NULL;
	*copy = *service;
	row->service = copy;
	row->owner = owner;
	row->stale = false;
	if (!u64map_get(&s->by_id, service->id) && u64map_put(&s->by_id, service->id, row)) {
		free(copy);
		row->service = NULL;
		return NULL;
	}
	if (row == &s->rows[s->end])
		s->end++;
	s->cnt++;
	return row;
}

uint32_t agent_services_enter(struct agent_services *s, const struct service *service,
			      uint32_t owner)
{
	struct row *row = find_row(s, service);

	row = row ? row : add_row(s, service, owner);
	if (!row) {
		s->beyond++;
		return SERVICE_NUMBER_OTHER;
	}
	if (row->stale)
		*row->service = *service;
	row->stale = false;
	row->processes++;
	return (uint32_t)(row - s->rows);
}

void agent_services_refresh(struct agent_services *s)
{
	uint32_t i;

	for (i = 1; i < s->end; i++)
		s->rows[i].stale = s->rows[i].service;
}

uint32_t agent_services_join(struct agent_services *s, uint32_t number)
{
	if (number != SERVICE_NUMBER_OTHER)
		s->rows[number].processes++;
	return number;
}

void agent_services_leave(struct agent_services *s, uint32_t number)
{
	if (number != SERVICE_NUMBER_OTHER)
		s->rows[number].processes--;
}

/* Another row may have the freed id; without memory its service gets a second number. */
static void forget_id(struct agent_services *s, const struct row *row, uint64_t id)
{
	uint32_t i;

	if (u64map_get(&s->by_id, id) != row)
		return;
	u64map_remove(&s->by_id, id);
	for (i = 1; i < s->end; i++)
		if (s->rows[i].service && s->rows[i].service->id == id &&
		    !u64map_put(&s->by_id, id, &s->rows[i]))
			return;
}

uint32_t agent_services_sweep(struct agent_services *s)
{
	uint32_t i, freed = 0;

	for (i = 1; i < s->end; i++) {
		struct row *row = &s->rows[i];
		uint64_t id;

		if (!row->service || row->processes)
			continue;
		id = row->service->id;
		free(row->service);
		row->service = NULL;
		forget_id(s, row, id);
		freed++;
	}
	while (s->end > 1 && !s->rows[s->end - 1].service)
		s->end--;
	s->cnt -= freed;
	return freed;
}

const struct service *agent_services_get(const struct agent_services *s, uint32_t number)
{
	return number < s->end ? s->rows[number].service : NULL;
}

const char *agent_services_name(const struct agent_services *s, uint32_t number)
{
	const struct service *service = agent_services_get(s, number);

	return service ? service_name_of(service) : SERVICE_OTHER_NAME;
}

uint32_t agent_services_cnt(const struct agent_services *s)
{
	return s->cnt;
}

uint64_t agent_services_beyond(const struct agent_services *s)
{
	return s->beyond;
}
