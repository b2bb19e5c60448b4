// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * census_take.c - see taking.h: a census from its beginning to its end: which units are read, and
 * in what order.
 *
 * A small heap is read wholly. Of a larger one, some units of each stratum come first; they show how
 * much its units differ. Then units are taken where they differ most, until the error is as small as
 * wanted, or a limit ends it. All of these limits are known before a unit is read, so its choice
 * does not depend on what is in it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "heap/taking.h"
#include "host/proc.h"

/* All units are read if they take no more than this. */
#define WHOLE_BYTES (64ull << 20)
/* Units of each stratum that are read first, and units between two looks at the errors. */
#define PILOT_UNITS 32u
#define ROUND_UNITS 512u
/* The error is not believed before as many units were read. */
#define UNITS_MIN 1024u
/* Types with a smaller share of the bytes may have larger errors than wanted. */
#define ROW_SHARE 0.05

/* ---- the order of units ---- */

struct order {
	struct heap_unit *units;	/* sorted by stratum */
	uint32_t from[HEAP_STRATA + 1];	/* of each stratum */
	uint32_t at[HEAP_STRATA];	/* the next one of each: those before it were read */
};

static int by_stratum(const void *a, const void *b)
{
	const struct heap_unit *x = a, *y = b;

	if (x->stratum != y->stratum)
		return x->stratum < y->stratum ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Strata are contiguous afterwards. */
static void order_units(struct heap_units *units, struct order *o, uint32_t cnt[HEAP_STRATA])
{
	size_t i;
	uint32_t h;

	qsort(units->list, units->cnt, sizeof(*units->list), by_stratum);
	memset(cnt, 0, HEAP_STRATA * sizeof(*cnt));
	for (i = 0; i < units->cnt; i++)
		cnt[units->list[i].stratum]++;
	o->units = units->list;
	o->from[0] = 0;
	for (h = 0; h < HEAP_STRATA; h++) {
		o->from[h + 1] = o->from[h] + cnt[h];
		o->at[h] = o->from[h];
	}
}

static uint32_t units_left(const struct order *o, uint32_t h)
{
	return o->from[h + 1] - o->at[h];
}

/* A random one of those of a stratum that were not taken. */
static struct heap_unit next_unit(struct order *o, uint32_t h, uint64_t *seed)
{
	uint32_t at = o->at[h]++, other = at + (uint32_t)(heap_random(seed) % (o->from[h + 1] - at));
	struct heap_unit unit = o->units[other];

	o->units[other] = o->units[at];
	o->units[at] = unit;
	return unit;
}

static void take_units(struct taking *t, struct order *o, uint32_t h, uint32_t cnt)
{
	while (cnt-- && units_left(o, h) && !t->mem.ended) {
		struct heap_unit unit = t->whole ? o->units[o->at[h]++] :
			next_unit(o, h, &t->seed);

		taking_unit(t, &unit);
	}
}

/* ---- a sample ---- */

/* The largest error of all bytes, and of those of the larger types, as a share of all bytes. */
static double worst_error(const struct taking *t)
{
	struct estimate_figure all, row;
	double worst;
	uint32_t i;

	estimate_figure(t->sums, ROW_ALL, &all);
	worst = all.bytes_error;
	for (i = 0; i < t->row_cnt; i++) {
		estimate_figure(t->sums, i, &row);
		if (row.bytes > ROW_SHARE * all.bytes && row.bytes_error > worst)
			worst = row.bytes_error;
	}
	return all.bytes > 0 ? worst / all.bytes : 1;
}

static void take_round(struct taking *t, struct order *o)
{
	double want[HEAP_STRATA], sum = 0;
	uint32_t h;

	for (h = 0; h < HEAP_STRATA; h++) {
		want[h] = units_left(o, h) ? (o->from[h + 1] - o->from[h]) *
			(estimate_spread(t->sums, h) + 1) : 0;
		sum += want[h];
	}
	for (h = 0; h < HEAP_STRATA; h++)
		if (want[h] > 0)
			take_units(t, o, h, (uint32_t)ceil(want[h] / sum * ROUND_UNITS));
}

static bool any_left(const struct order *o)
{
	uint32_t h;

	for (h = 0; h < HEAP_STRATA; h++)
		if (units_left(o, h))
			return true;
	return false;
}

static void take_sample(struct taking *t, struct order *o)
{
	uint32_t h;

	for (h = 0; h < HEAP_STRATA; h++)
		take_units(t, o, h, t->whole ? UINT32_MAX : PILOT_UNITS);
	while (!t->mem.ended && any_left(o) &&
	       (estimate_all_units(t->sums) < UNITS_MIN || worst_error(t) > t->limits->error))
		take_round(t, o);
}

/* ---- the result ---- */

_Static_assert(HEAP_NAME_BYTES == HEAP_TYPE_NAME_BYTES, "a type's name fits");

static uint64_t rounded(double x)
{
	return x <= 0 ? 0 : x >= 9e18 ? 9000000000000000000ull : (uint64_t)(x + 0.5);
}

static void fill_row(const struct taking *t, uint32_t row, struct heap_row *out)
{
	struct estimate_figure f;

	estimate_figure(t->sums, row, &f);
	out->objects = rounded(f.objects);
	out->objects_error = rounded(ceil(f.objects_error));
	out->bytes = rounded(f.bytes);
	out->bytes_error = rounded(ceil(f.bytes_error));
	out->owned = rounded(f.owned);
}

static int most_bytes_first(const void *a, const void *b)
{
	const struct heap_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void fill_rows(struct taking *t)
{
	struct heap_census *out = t->out;
	struct heap_row raw = { .name = "" }, bad = { .name = "" };
	uint32_t i;

	for (i = 0; i < t->row_cnt; i++) {
		struct heap_row *row = &out->rows[out->row_cnt];

		*row = (struct heap_row){ .name = "" };
		fill_row(t, i, row);
		memcpy(row->name, t->rows[i]->name, sizeof(row->name));
		out->row_cnt += row->objects > 0;
	}
	qsort(out->rows, out->row_cnt, sizeof(*out->rows), most_bytes_first);
	fill_row(t, ROW_OTHER, &out->other);
	fill_row(t, ROW_RAW, &raw);
	fill_row(t, ROW_BAD, &bad);
	out->untyped_blocks = raw.objects;
	out->untyped_bytes = raw.bytes;
	out->bad_types = bad.objects;
}

static void fill_units(struct taking *t)
{
	double bytes = 0, used = 0;
	size_t i;

	for (i = 0; i < t->units.cnt; i++) {
		bytes += t->units.list[i].bytes;
		used += t->units.list[i].used;
	}
	t->out->pools = rounded(t->units.scale * (double)t->units.cnt);
	t->out->pool_bytes = rounded(t->units.scale * bytes);
	t->out->free_bytes = rounded(t->units.scale * (bytes - used));
	t->out->unread += t->units.unread;
	t->out->pools_read = estimate_all_units(t->sums);
}

static uint64_t rss_of(pid_t tgid)
{
	static const char key[] = "\nRssAnon:";
	char status[4096];
	const char *line;

	if (proc_read(tgid, "status", status, sizeof(status)) < 0)
		return 0;
	line = strstr(status, key);
	return line ? strtoull(line + strlen(key), NULL, 10) * 1024 : 0;
}

/* ---- all of it ---- */

/* Find the units. 0 or -errno; -ENOENT: there are none. */
static int find_units(struct taking *t)
{
	int err = heap_maps_read(&t->maps, t->target->tgid);

	if (err)
		return err;
	if (!t->maps.cnt)
		return -ENOENT;
	t->lowest = t->maps.list[0].start;
	t->highest = t->maps.list[t->maps.cnt - 1].end;
	err = t->allocator->find(&t->mem, &t->maps, t->target, &t->seed, &t->units);
	if (!err && !t->units.cnt)
		err = t->mem.ended ? -ETIMEDOUT : t->units.unread ? -EPERM : -ENOENT;
	return err ? err : heap_units_index(&t->units);
}

static int take(struct taking *t)
{
	uint32_t cnt[HEAP_STRATA];
	struct order order;
	uint64_t bytes = 0;
	size_t i;
	int err = find_units(t);

	if (err)
		return err;
	for (i = 0; i < t->units.cnt; i++)
		bytes += t->units.list[i].bytes;
	t->whole = bytes <= WHOLE_BYTES && t->units.scale == 1 && bytes <= t->limits->bytes;
	order_units(&t->units, &order, cnt);
	/* Sorting has moved the units. */
	free(t->units.index);
	err = heap_units_index(&t->units);
	if (err)
		return err;
	t->types = heap_types_new(&t->reader, &t->build);
	t->sums = estimate_new(ROW_CNT, cnt, t->units.scale);
	if (!t->types || !t->sums || large_begin(t))
		return -ENOMEM;
	take_sample(t, &order);
	t->out->limited = t->mem.ended;
	fill_units(t);
	fill_rows(t);
	return 0;
}

static void end(struct taking *t)
{
	large_end(t);
	estimate_free(t->sums);
	heap_types_free(t->types);
	hash_index_free(&t->by_name);
	heap_units_free(&t->units);
	heap_maps_free(&t->maps);
	heap_mem_close(&t->mem);
}

int heap_census_take(const struct heap_target *target, const struct heap_limits *limits,
		struct heap_census *out)
{
	static struct taking t;
	double cpu = cpu_time_s();
	int err;

	memset(&t, 0, sizeof(t));
	*out = (struct heap_census){ .time_ns = now_ns(), .rss = rss_of(target->tgid) };
	t.target = target;
	t.limits = limits;
	t.out = out;
	t.seed = limits->seed;
	t.allocator = &heap_pymalloc;
	t.build = (struct heap_build){ target->objects, target->layout.gc_head,
				       target->free_threaded, target->trace_refs };
	t.reader = (struct target_mem){ heap_mem_read, &t.mem };
	err = heap_mem_open(&t.mem, target->tgid, limits->bytes, limits->time_ns);
	if (!err)
		err = take(&t);
	end(&t);
	out->took_ns = now_ns() - out->time_ns;
	out->cpu_ns = (uint64_t)((cpu_time_s() - cpu) * NS_PER_S);
	return err;
}
