// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* memory_trend.c - see memory_trend.h. */
#include "live/memory_trend.h"

#include <stddef.h>
#include <stdlib.h>

#define NS_PER_S 1000000000ull
#define NS_PER_MIN (60 * NS_PER_S)

/* Every second reading goes: those that stay are twice as far apart. */
static void thin_out(struct memory_trend *t)
{
	uint32_t i;

	for (i = 0; 2 * i < t->all_cnt; i++)
		t->all[i] = t->all[2 * i];
	t->all_cnt = i;
	t->all_step_ns *= 2;
}

void memory_trend_add(struct memory_trend *t, uint64_t now_ns, uint64_t bytes)
{
	const struct memory_reading r = { .ns = now_ns, .bytes = bytes };

	if (t->recent_cnt &&
	    now_ns - t->recent[(t->recent_cnt - 1) % MEMORY_TREND_READINGS].ns < NS_PER_S)
		return;
	t->recent[t->recent_cnt++ % MEMORY_TREND_READINGS] = r;
	if (!t->all_step_ns)
		t->all_step_ns = NS_PER_S;
	if (t->all_cnt && now_ns - t->all[t->all_cnt - 1].ns < t->all_step_ns)
		return;
	if (t->all_cnt == MEMORY_TREND_READINGS)
		thin_out(t);
	t->all[t->all_cnt++] = r;
}

/* What one third of the readings says. */
struct third {
	double least, most;
	double median;		/* one of them: the mean of two may be in the middle of a jump */
	double ns;		/* the mean of their times, since the first reading */
};

static int compare_bytes(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static struct third sum_up(const struct memory_reading *r, size_t cnt, uint64_t begun_ns)
{
	double bytes[MEMORY_TREND_READINGS], ns = 0;
	size_t i;

	for (i = 0; i < cnt; i++) {
		bytes[i] = (double)r[i].bytes;
		ns += (double)(r[i].ns - begun_ns);
	}
	qsort(bytes, cnt, sizeof(*bytes), compare_bytes);
	return (struct third){ .least = bytes[0], .most = bytes[cnt - 1],
			       .median = bytes[cnt / 2],
			       .ns = ns / (double)cnt };
}

/* Each half of the way has at least an eighth of the growth: it was no single jump. */
static bool is_steady(const struct third *first, const struct third *middle,
		      const struct third *last)
{
	double growth = last->median - first->median, half = middle->median - first->median;
	bool grows = growth > 0;

	if ((grows ? growth : -growth) < MEMORY_TREND_NOISE)
		return false;
	if (grows ? last->least <= first->most : last->most >= first->least)
		return false;
	return half / growth >= 1.0 / 8 && half / growth <= 7.0 / 8;
}

static struct memory_growth judge(const struct memory_reading *r, size_t cnt)
{
	size_t third = cnt / 3;
	struct third first, middle, last;

	if (cnt < MEMORY_TREND_LEAST)
		return (struct memory_growth){ .steady = false };
	first = sum_up(r, third, r->ns);
	middle = sum_up(r + third, cnt - 2 * third, r->ns);
	last = sum_up(r + cnt - third, third, r->ns);
	if (!is_steady(&first, &middle, &last))
		return (struct memory_growth){ .steady = false };
	return (struct memory_growth){
		.steady = true, .span_ns = r[cnt - 1].ns - r->ns,
		.bytes_per_min = (last.median - first.median) / (last.ns - first.ns) * NS_PER_MIN,
	};
}

struct memory_growth memory_trend_growth(const struct memory_trend *t, bool since_start)
{
	struct memory_reading r[MEMORY_TREND_READINGS];
	uint64_t cnt = t->recent_cnt, i;

	if (since_start)
		return judge(t->all, t->all_cnt);
	if (cnt <= MEMORY_TREND_READINGS)
		return judge(t->recent, cnt);
	for (i = 0; i < MEMORY_TREND_READINGS; i++)
		r[i] = t->recent[(cnt + i) % MEMORY_TREND_READINGS];
	return judge(r, MEMORY_TREND_READINGS);
}
