// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* table.c - see table.h. */
#include "base/table.h"

static bool is_short(const struct column *c)
{
	return c->bytes == sizeof(uint32_t);
}

/* Number i of a member that is an array; of another one, 0 is the member itself. */
static uint64_t count_at(const struct column *c, const void *from, size_t i)
{
	const char *at = (const char *)from + c->offset;

	return is_short(c) ? *(const uint32_t *)(const void *)at :
			     ((const uint64_t *)(const void *)at)[i];
}

static void set_count(const struct column *c, void *to, size_t i, uint64_t v)
{
	char *at = (char *)to + c->offset;

	if (is_short(c))
		*(uint32_t *)(void *)at = (uint32_t)v;
	else
		((uint64_t *)(void *)at)[i] = v;
}

static size_t length_of(const struct column *c)
{
	return is_short(c) ? 1 : c->bytes / sizeof(uint64_t);
}

void table_json(struct json *j, const struct column *columns, size_t cnt, const void *from)
{
	for (; cnt; cnt--, columns++)
		if (columns->key)
			json_uint(j, columns->key, count_at(columns, from, 0));
}

void table_add(const struct column *columns, size_t cnt, void *sum, const void *from)
{
	size_t i;

	for (; cnt; cnt--, columns++)
		for (i = 0; i < length_of(columns); i++)
			set_count(columns, sum, i,
				  count_at(columns, sum, i) + count_at(columns, from, i));
}

void table_subtract(const struct column *columns, size_t cnt, void *from, const void *before)
{
	uint64_t now, then;
	size_t i;

	for (; cnt; cnt--, columns++) {
		for (i = 0; i < length_of(columns); i++) {
			now = count_at(columns, from, i);
			then = count_at(columns, before, i);
			set_count(columns, from, i, now > then ? now - then : 0);
		}
	}
}
