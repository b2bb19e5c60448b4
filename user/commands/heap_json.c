// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap_json.c - the JSON of tachbpf heap, which tachbpf diff reads (heap_read.c). See heap_show.h.
 */
#include "commands/heap_show.h"

#include "base/time.h"
#include "host/identity.h"

void heap_json_begin(struct json *j, FILE *out)
{
	json_start(j, out, true);
	json_object(j, NULL);
	json_uint(j, HEAP_JSON_KEY, HEAP_JSON_VERSION);
	json_array(j, "processes");
}

void heap_json_end(struct json *j, FILE *out, size_t failed)
{
	json_array_end(j);
	json_uint(j, "failed", failed);
	json_object_end(j);
	fputc('\n', out);
}

/* The time of day, in seconds since 1970, of a time of CLOCK_MONOTONIC. */
static double wall_s(uint64_t monotonic_ns)
{
	return ((double)wall_ns() - (double)now_ns() + (double)monotonic_ns) / 1e9;
}

/* key: NULL in the array of types, which have names. */
static void write_row(struct json *j, const char *key, const struct heap_row *row)
{
	json_object(j, key);
	if (!key)
		json_string(j, "type", row->name);
	json_uint(j, "objects", row->objects);
	json_uint(j, "objects_error", row->objects_error);
	json_uint(j, "bytes", row->bytes);
	json_uint(j, "bytes_error", row->bytes_error);
	json_uint(j, "owned", row->owned);
	json_object_end(j);
}

static void write_large(struct json *j, const struct heap_large *l)
{
	json_object(j, NULL);
	json_uint(j, "address", l->addr);
	json_uint(j, "bytes", l->bytes);
	json_string(j, "type", l->type);
	json_string(j, "what", *l->what ? l->what : NULL);
	json_string(j, "where", *l->where ? l->where : NULL);
	json_object_end(j);
}

/* Whose memory the objects are in. */
static const char *allocator_of(const struct heap_census *c)
{
	return c->pages ? "mimalloc" : c->pools ? "pymalloc" : "malloc";
}

static void write_census(struct json *j, const struct heap_census *c)
{
	uint32_t i;

	json_double(j, "time", wall_s(c->time_ns));
	json_double(j, "took", (double)c->took_ns / 1e9);
	json_double(j, "cpu", (double)c->cpu_ns / 1e9);
	json_uint(j, "rss", c->rss);
	json_string(j, "allocator", allocator_of(c));
	json_uint(j, "pools", c->pools);
	json_uint(j, "pools_read", c->pools_read);
	json_uint(j, "pool_bytes", c->pool_bytes);
	json_uint(j, "free_bytes", c->free_bytes);
	json_uint(j, "untyped_blocks", c->untyped_blocks);
	json_uint(j, "untyped_bytes", c->untyped_bytes);
	json_object(j, "left_out");
	json_uint(j, "bad_pools", c->bad_pools);
	json_uint(j, "bad_types", c->bad_types);
	json_uint(j, "unread", c->unread);
	json_object_end(j);
	json_bool(j, "limited", c->limited);
	json_array(j, "types");
	for (i = 0; i < c->row_cnt; i++)
		write_row(j, NULL, &c->rows[i]);
	json_array_end(j);
	if (c->other.objects)
		write_row(j, "other_types", &c->other);
	else
		json_null(j, "other_types");
	json_array(j, "largest");
	for (i = 0; i < c->large_cnt; i++)
		write_large(j, &c->largest[i]);
	json_array_end(j);
}

void heap_json_growth(struct json *j, const struct heap_growth *list, size_t cnt)
{
	size_t i;

	json_array(j, "types");
	for (i = 0; i < cnt; i++) {
		const struct heap_growth *g = &list[i];

		json_object(j, NULL);
		json_string(j, "type", g->name);
		json_int(j, "objects", g->objects);
		json_uint(j, "objects_error", g->objects_error);
		json_int(j, "bytes", g->bytes);
		json_uint(j, "bytes_error", g->bytes_error);
		json_int(j, "objects_per_minute", heap_per_minute(g->objects, g->minutes));
		json_int(j, "bytes_per_minute", heap_per_minute(g->bytes, g->minutes));
		json_bool(j, "grew", heap_has_grown(g));
		json_object_end(j);
	}
	json_array_end(j);
}

void heap_json_identity(struct json *j, const struct heap_shown *p, const struct python *python)
{
	json_int(j, "pid", p->pid);
	identity_json(j, &python->identity, p->pid);
	container_json(j, python->identity.container);
	json_string(j, "python", *p->python ? p->python : NULL);
	json_string(j, "program", p->program);
}

void heap_json_process(struct json *j, const struct heap_shown *p, const struct python *python)
{
	json_object(j, NULL);
	heap_json_identity(j, p, python);
	json_string(j, "comm", python->comm);
	json_string(j, "command", python->command);
	write_census(j, p->census);
	if (p->before) {
		json_object(j, "growth");
		json_double(j, "seconds",
			    (double)(p->census->time_ns - p->before->time_ns) / 1e9);
		json_int(j, "rss", (int64_t)(p->census->rss - p->before->rss));
		heap_json_growth(j, p->growth, p->growth_cnt);
		json_object_end(j);
	} else {
		json_null(j, "growth");
	}
	json_object_end(j);
}
