// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * census_take.c - see taking.h: a census from its beginning to its end: which units are read, and
 * in what order.
 *
 * Some units of each stratum come first; they show how much its units differ. Then units are taken
 * where they differ most, until the error is as small as wanted, or a limit ends it; or all were
 * read, if the limit on bytes allows that: few units may have most of the bytes. Units of a stratum
 * are taken in a fixed order, evenly spread over addresses, from a random one on: each has the same
 * chance, and neighbours, which are often alike, are rarely taken together.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "heap/taking.h"
#include "host/proc.h"

/* Units of each stratum that are read first, and units between two looks at the errors. */
#define PILOT_UNITS 32u
/* The same of windows where mappings begin: all of them, unless a process has that many. */
#define FIRST_WINDOWS 4096u
#define ROUND_UNITS 512u
/* The error is not believed before as many bytes of units were read. */
#define SAMPLE_BYTES_MIN (64ull << 20)
/* Types with a smaller share of the bytes may have larger errors than wanted. */
#define ROW_SHARE 0.05
/* Before 3.13, there is no mimalloc. */
#define MIMALLOC_SINCE 13
/* A process with fewer bytes in pools may have another allocator. */
#define POOLS_BYTES_MIN (512u << 10)

/* A mapping larger than this, and than all memory in use this many times, is sparse. */
#define SPARSE_BYTES (1ull << 30)
#define SPARSE_TIMES 16

/* ---- the order of units ---- */

struct order {
	struct heap_unit *units;	/* sorted by stratum */
	uint32_t from[HEAP_STRATA + 1];	/* of each stratum */
	uint32_t start[HEAP_STRATA], step[HEAP_STRATA];
	uint32_t taken[HEAP_STRATA];
};

static int by_stratum(const void *a, const void *b)
{
	const struct heap_unit *x = a, *y = b;

	if (x->stratum != y->stratum)
		return x->stratum < y->stratum ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* A step that visits all of cnt, and spreads any number of first ones evenly: golden section. */
static uint32_t spread_step(uint32_t cnt)
{
	uint32_t step = (uint32_t)(cnt * 0.6180339887498949);

	while (step > 1 && common_divisor(cnt, step) != 1)
		step--;
	return step ? step : 1;
}

static void order_units(struct taking *t, struct order *o, uint32_t cnt[HEAP_STRATA])
{
	struct heap_units *units = &t->units;
	size_t i;
	uint32_t h;

	qsort(units->list, units->cnt, sizeof(*units->list), by_stratum);
	memset(cnt, 0, HEAP_STRATA * sizeof(*cnt));
	for (i = 0; i < units->cnt; i++)
		if (units->list[i].stratum < HEAP_STRATA)
			cnt[units->list[i].stratum]++;
	*o = (struct order){ .units = units->list };
	for (h = 0; h < HEAP_STRATA; h++) {
		o->from[h + 1] = o->from[h] + cnt[h];
		if (!cnt[h])
			continue;
		o->start[h] = (uint32_t)(heap_random(&t->seed) % cnt[h]);
		o->step[h] = spread_step(cnt[h]);
	}
}

static uint32_t units_of(const struct order *o, uint32_t h)
{
	return o->from[h + 1] - o->from[h];
}

/* What is read of a unit. */
static uint64_t read_bytes(const struct heap_unit *unit)
{
	if (unit->stratum == HEAP_KNOWN)
		return 0;
	return unit->bytes < HEAP_UNIT_READ_MAX ? unit->bytes : HEAP_UNIT_READ_MAX;
}

static uint32_t units_left(const struct order *o, uint32_t h)
{
	return units_of(o, h) - o->taken[h];
}

static void take_units(struct taking *t, struct order *o, uint32_t h, uint32_t cnt)
{
	uint64_t at;

	while (cnt-- && units_left(o, h) && !t->mem.ended) {
		at = o->start[h] + (uint64_t)o->taken[h]++ * o->step[h];
		taking_unit(t, &o->units[o->from[h] + at % units_of(o, h)]);
	}
}

/* ---- a sample ---- */

/*
 * The estimate of a row, with what it is known to own. Who owns the rest of such memory may be of
 * any type that owns memory, of which not all objects were read.
 */
static void figure_of(const struct taking *t, uint32_t row, struct estimate_figure *f)
{
	estimate_figure(t->sums, row, f);
	if ((f->owned > 0 || t->known[row] > 0) && !estimate_is_whole(t->sums, row))
		f->bytes_error += t->unowned_bytes;
	f->bytes += t->known[row];
	f->owned += t->known[row];
}

/* The largest error of all bytes, and of those of the larger types, as a share of all bytes. */
static double worst_error(const struct taking *t)
{
	struct estimate_figure all, row;
	double worst;
	uint32_t i;

	estimate_figure(t->sums, ROW_ALL, &all);
	all.bytes += t->known_bytes;
	worst = all.bytes_error;
	for (i = 0; i < t->row_cnt; i++) {
		figure_of(t, i, &row);
		if (row.bytes > ROW_SHARE * all.bytes && row.bytes_error > worst)
			worst = row.bytes_error;
	}
	return all.bytes > 0 ? worst / all.bytes : 1;
}

/*
 * How much units of a stratum may differ, for the choice of further ones: at least this part of
 * their bytes, so that those that were all alike so far are looked at, too.
 */
#define SPREAD_PART 16

static double spread_of(const struct taking *t, const struct order *o, uint32_t h)
{
	return estimate_spread(t->sums, h) +
	       (double)read_bytes(&o->units[o->from[h]]) / SPREAD_PART;
}

static void take_round(struct taking *t, struct order *o)
{
	double want[HEAP_STRATA], sum = 0;
	uint32_t h;

	for (h = 0; h < HEAP_STRATA; h++) {
		want[h] = units_left(o, h) ? units_of(o, h) * spread_of(t, o, h) : 0;
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

/* Whether the sample is as good as wanted. */
static bool is_enough(const struct taking *t)
{
	return !t->whole && t->limits->error > 0 &&
	       t->mem.bytes_read - t->bytes_before >= SAMPLE_BYTES_MIN &&
	       worst_error(t) <= t->limits->error;
}

static void take_sample(struct taking *t, struct order *o)
{
	uint32_t h;

	for (h = 0; h < HEAP_STRATA; h++)
		take_units(t, o, h, h == HEAP_WINDOWS_FIRST ? FIRST_WINDOWS : PILOT_UNITS);
	t->bytes_before = t->mem.bytes_read;
	while (!t->mem.ended && any_left(o) && !is_enough(t))
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

	figure_of(t, row, &f);
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
	out->untyped_blocks = raw.objects + rounded(t->unowned_cnt);
	out->untyped_bytes = raw.bytes + rounded(t->unowned_bytes);
	out->bad_types = bad.objects;
}

static void fill_units(struct taking *t)
{
	double cnt = 0, bytes = 0, used = 0;
	uint32_t h;
	size_t i;

	for (i = 0; i < t->units.cnt; i++) {
		if (heap_unit_is_window(&t->units.list[i]))
			continue;
		t->out->pools_read += t->units.list[i].stratum == HEAP_KNOWN;
		cnt++;
		bytes += (double)t->units.list[i].bytes;
		used += (double)t->units.list[i].used;
	}
	t->out->pages = t->allocator->pages;
	t->out->pools = rounded(t->units.scale * cnt);
	t->out->pool_bytes = rounded(t->units.scale * bytes);
	t->out->free_bytes = rounded(t->units.scale * (bytes - used));
	t->out->unread += t->units.unread;
	t->out->bad_pools += t->units.bad;
	for (h = 0; h < HEAP_WINDOWS; h++)
		t->out->pools_read += estimate_units(t->sums, h);
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

static int find_with(struct taking *t, const struct heap_allocator *allocator)
{
	heap_units_free(&t->units);
	t->allocator = allocator;
	return allocator->find(&t->mem, &t->maps, t->target, &t->seed, &t->units);
}

/* Bytes of blocks in use. */
static uint64_t bytes_in_use(const struct heap_units *units)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < units->cnt; i++)
		bytes += heap_unit_is_window(&units->list[i]) ? 0 : units->list[i].used;
	return bytes;
}

static int read_maps(struct taking *t)
{
	size_t i;
	int err;

	heap_maps_free(&t->maps);
	err = heap_maps_read(&t->maps, t->target->tgid);
	t->mapped = 0;
	for (i = 0; !err && i < t->maps.cnt; i++)
		t->mapped += t->maps.list[i].end - t->maps.list[i].start;
	return err;
}

/*
 * Leave out mappings that can only be sparse, such as those that sanitizers reserve: pymalloc's and
 * the C library's are not, and to find what is in sparse ones could take all of the time.
 * mimalloc's may be, but only the beginnings of its segments are looked for.
 */
static void drop_sparse_maps(struct taking *t)
{
	uint64_t most = SPARSE_TIMES * t->out->rss;
	size_t i, cnt = 0;

	most = most > SPARSE_BYTES ? most : SPARSE_BYTES;
	t->mapped = 0;
	for (i = 0; i < t->maps.cnt; i++) {
		uint64_t bytes = t->maps.list[i].end - t->maps.list[i].start;

		if (bytes > most) {
			t->maps.cut = true;
			continue;
		}
		t->maps.list[cnt++] = t->maps.list[i];
		t->mapped += bytes;
	}
	t->maps.cnt = cnt;
}

/*
 * A build with a GIL has mimalloc only if it was asked for it. Extensions may have one of their
 * own: then pymalloc has what an interpreter needs at least.
 */
static int find_of_any(struct taking *t)
{
	bool is_free_threaded = t->target->free_threaded, has_mimalloc;
	int err = 0;

	if (is_free_threaded || t->target->minor >= MIMALLOC_SINCE)
		err = find_with(t, &heap_mimalloc);
	if (is_free_threaded || err)
		return err;
	has_mimalloc = t->units.cnt;
	drop_sparse_maps(t);
	err = find_with(t, &heap_pymalloc);
	if (err || !has_mimalloc || bytes_in_use(&t->units) >= POOLS_BYTES_MIN)
		return err;
	err = read_maps(t);
	return err ? err : find_with(t, &heap_mimalloc);
}

/* Find the units. 0 or -errno; -ENOENT: there are none. */
static int find_units(struct taking *t)
{
	size_t i, cnt = 0;
	int err = read_maps(t);

	if (err)
		return err;
	err = find_of_any(t);
	for (i = 0; i < t->units.cnt; i++)
		cnt += !heap_unit_is_window(&t->units.list[i]);
	/* PYTHONMALLOC=malloc: objects of all sizes are in the C library's memory. */
	t->no_pools = !cnt;
	if (!err && (!t->units.cnt || t->mem.denied))
		err = t->mem.ended ? -ETIMEDOUT : t->mem.denied ? -EPERM : -ENOENT;
	return err;
}

/* What all units take, and as much again for what their objects own, may be read. */
static bool fits(const struct taking *t)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < t->units.cnt; i++)
		bytes += read_bytes(&t->units.list[i]);
	return t->units.scale == 1 && bytes + bytes / 4 <= t->limits->bytes - t->mem.bytes_read;
}

static int take(struct taking *t)
{
	uint32_t cnt[HEAP_STRATA];
	struct order order;
	size_t i;
	int err = find_units(t);

	if (err)
		return err;
	for (i = 0; i < t->units.cnt; i++)
		if (t->units.list[i].stratum == HEAP_KNOWN) {
			t->unowned_bytes += (double)t->units.list[i].used;
			t->unowned_cnt++;
		}
	t->whole = !t->mem.ended && fits(t);
	order_units(t, &order, cnt);
	t->types = heap_types_new(&t->reader, &t->build);
	t->sums = estimate_new(ROW_CNT, cnt, t->units.scale);
	if (!t->types || !t->sums || heap_units_index(&t->units))
		return -ENOMEM;
	taking_roots(t);
	take_sample(t, &order);
	if (!estimate_all_units(t->sums))
		return -ETIMEDOUT;
	t->out->limited = t->mem.ended || t->maps.cut;
	fill_units(t);
	fill_rows(t);
	return 0;
}

static void end(struct taking *t)
{
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
