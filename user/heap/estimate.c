// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * estimate.c - see estimate.h.
 *
 * In stratum h, n of its N units are sampled. A sum is estimated as the total over h of N/n times
 * the sampled units' sum, with the variance N^2 (1 - n/N) s^2 / n, s^2 that between sampled units
 * (Cochran, Sampling Techniques, 5.3). If the N units are themselves a random part of all, one of
 * `scale`, the variance of that choice is added: at most scale^2 (1 - 1/scale) N/n times the sum of
 * squares.
 */
#include "heap/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NORMAL_95 1.96
/*
 * A type that is in few units: the sampled ones have a Poisson number k of them, for which the
 * 95 % interval reaches up to about k + 1.96 sqrt(k) + 3 (k = 0: 3.7; 1: 5.6; 10: 18.4; 40: 54.5).
 * The further ones may have as much of it as the fullest unit that was seen.
 */
#define POISSON_MORE 3.0
#define FEW_UNITS 40
/* An error is at least as much as the sampled units show for this number of full ones. */
#define UNSEEN_UNITS 2.0

/* One row in one stratum. */
struct cell {
	double objects, objects2, bytes, bytes2, owned;
	float most_objects, most_bytes;	/* of one unit */
	uint32_t units;			/* in which it was seen */
};

struct now {
	struct estimate_sum sum;
	bool touched;
};

struct estimate {
	uint32_t row_cnt;
	double scale;
	uint32_t cnt[HEAP_STRATA], sampled[HEAP_STRATA];
	struct cell **rows;		/* of HEAP_STRATA cells; NULL: never seen */
	struct estimate_sum *certain;
	struct now *now;		/* the unit that is being added up, by row */
	uint32_t *touched, touched_cnt;
};

struct estimate *estimate_new(uint32_t rows, const uint32_t cnt[HEAP_STRATA], double scale)
{
	struct estimate *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->row_cnt = rows;
	e->scale = scale;
	memcpy(e->cnt, cnt, sizeof(e->cnt));
	e->rows = calloc(rows, sizeof(*e->rows));
	e->now = calloc(rows, sizeof(*e->now));
	e->certain = calloc(rows, sizeof(*e->certain));
	e->touched = calloc(rows, sizeof(*e->touched));
	if (e->rows && e->now && e->touched && e->certain)
		return e;
	estimate_free(e);
	return NULL;
}

void estimate_free(struct estimate *e)
{
	uint32_t i;

	for (i = 0; e && e->rows && i < e->row_cnt; i++)
		free(e->rows[i]);
	if (e) {
		free(e->rows);
		free(e->now);
		free(e->certain);
		free(e->touched);
	}
	free(e);
}

void estimate_certain(struct estimate *e, uint32_t row, struct estimate_sum sum)
{
	e->certain[row].objects += sum.objects;
	e->certain[row].bytes += sum.bytes;
	e->certain[row].owned += sum.owned;
}

void estimate_begin(struct estimate *e)
{
	uint32_t i;

	for (i = 0; i < e->touched_cnt; i++)
		e->now[e->touched[i]] = (struct now){ .touched = false };
	e->touched_cnt = 0;
}

void estimate_add(struct estimate *e, uint32_t row, struct estimate_sum sum)
{
	struct now *n = &e->now[row];

	if (!n->touched) {
		n->touched = true;
		e->touched[e->touched_cnt++] = row;
	}
	n->sum.objects += sum.objects;
	n->sum.bytes += sum.bytes;
	n->sum.owned += sum.owned;
}

int estimate_end(struct estimate *e, uint32_t stratum)
{
	uint32_t i;

	for (i = 0; i < e->touched_cnt; i++) {
		struct cell **cells = &e->rows[e->touched[i]];

		if (!*cells)
			*cells = calloc(HEAP_STRATA, sizeof(**cells));
		if (!*cells)
			return -ENOMEM;
	}
	for (i = 0; i < e->touched_cnt; i++) {
		struct cell *c = &e->rows[e->touched[i]][stratum];
		const struct estimate_sum *s = &e->now[e->touched[i]].sum;

		c->objects += s->objects;
		c->objects2 += s->objects * s->objects;
		c->bytes += s->bytes;
		c->bytes2 += s->bytes * s->bytes;
		c->owned += s->owned;
		c->most_objects = fmaxf(c->most_objects, (float)s->objects);
		c->most_bytes = fmaxf(c->most_bytes, (float)s->bytes);
		c->units++;
	}
	e->sampled[stratum]++;
	return 0;
}

uint32_t estimate_units(const struct estimate *e, uint32_t stratum)
{
	return e->sampled[stratum];
}

uint64_t estimate_all_units(const struct estimate *e)
{
	uint64_t cnt = 0;
	uint32_t h;

	for (h = 0; h < HEAP_STRATA; h++)
		cnt += e->sampled[h];
	return cnt;
}

/* The variance between units from their sum and sum of squares. One unit could be anything. */
static double between(double sum, double squares, double n)
{
	double s2 = n > 1 ? (squares - sum * sum / n) / (n - 1) : squares;

	return s2 > 0 ? s2 : 0;
}

struct variance {
	double objects, bytes;
	/* Of strata that were not read wholly: units with the row, and what one of these stands
	 * for, at most. */
	double seen, objects_of_one, bytes_of_one;
};

static void add_cell(const struct estimate *e, uint32_t h, const struct cell *c,
		     struct estimate_figure *out, struct variance *v)
{
	double n = e->sampled[h], all = e->cnt[h] > n ? e->cnt[h] : n, w = all / n;
	double rest = 1 - n / all, first = 1 - 1 / e->scale, scale2 = e->scale * e->scale;

	out->objects += e->scale * w * c->objects;
	out->bytes += e->scale * w * c->bytes;
	out->owned += e->scale * w * c->owned;
	v->objects += scale2 * all * all * rest * between(c->objects, c->objects2, n) / n +
		      scale2 * first * w * c->objects2;
	v->bytes += scale2 * all * all * rest * between(c->bytes, c->bytes2, n) / n +
		    scale2 * first * w * c->bytes2;
	if (e->scale * w > 1) {
		v->seen += c->units;
		v->objects_of_one = fmax(v->objects_of_one, e->scale * w * c->most_objects);
		v->bytes_of_one = fmax(v->bytes_of_one, e->scale * w * c->most_bytes);
	}
}

/*
 * The largest of the error by variance, by what the sample cannot see if all of its units are
 * alike, and by how few units the row was seen in.
 */
static double half_width(double variance, double one, const struct variance *v)
{
	double units = UNSEEN_UNITS;

	if (v->seen < FEW_UNITS)
		units = NORMAL_95 * sqrt(v->seen) + POISSON_MORE;
	return fmax(NORMAL_95 * sqrt(variance), units * one);
}

void estimate_figure(const struct estimate *e, uint32_t row, struct estimate_figure *out)
{
	struct variance v = { .seen = 0 };
	uint32_t h;

	*out = (struct estimate_figure){ .objects = 0 };
	for (h = 0; h < HEAP_STRATA && e->rows[row]; h++)
		if (e->sampled[h] && e->rows[row][h].units)
			add_cell(e, h, &e->rows[row][h], out, &v);
	out->objects_error = half_width(v.objects, v.objects_of_one, &v);
	out->bytes_error = half_width(v.bytes, v.bytes_of_one, &v);
	out->objects += e->certain[row].objects;
	out->bytes += e->certain[row].bytes;
	out->owned += e->certain[row].owned;
}

double estimate_spread(const struct estimate *e, uint32_t stratum)
{
	double n = e->sampled[stratum], s2 = 0;
	uint32_t i;

	for (i = 0; n && i < e->row_cnt; i++)
		if (e->rows[i] && e->rows[i][stratum].units)
			s2 += between(e->rows[i][stratum].bytes, e->rows[i][stratum].bytes2, n);
	return sqrt(s2);
}
