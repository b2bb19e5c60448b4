// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* memory_moments.c - see memory_moments.h. */
#include "analysis/memory_moments.h"

#include <stdlib.h>

#include "base/arith.h"

#define GROWTH_MIN (64 * 1024)

static bool is_within(const struct mlyze_check *c, uint64_t start_us, uint64_t end_us)
{
	return c->time_us >= start_us && c->time_us <= end_us;
}

static size_t regular_moments(uint64_t *moments, uint64_t start_us, uint64_t end_us)
{
	uint64_t length = end_us > start_us ? end_us - start_us : 0;
	size_t i;

	if (length < MEMORY_MOMENTS)
		return 0;
	for (i = 0; i < MEMORY_MOMENTS; i++)
		moments[i] = start_us + (uint64_t)((unsigned __int128)length * i /
						   (MEMORY_MOMENTS - 1));
	return MEMORY_MOMENTS;
}

uint64_t *memory_moments(const struct mlyze_notes *notes, uint64_t start_us, uint64_t end_us,
			 size_t *cnt)
{
	size_t check_cnt, i;
	const struct mlyze_check *checks = mlyze_notes_checks(notes, &check_cnt);
	uint64_t *moments = calloc(check_cnt > MEMORY_MOMENTS ? check_cnt : MEMORY_MOMENTS,
				   sizeof(*moments));

	*cnt = 0;
	if (!moments)
		return NULL;
	for (i = 0; i < check_cnt; i++)
		if (is_within(&checks[i], start_us, end_us))
			moments[(*cnt)++] = checks[i].time_us;
	if (!check_cnt)
		*cnt = regular_moments(moments, start_us, end_us);
	return moments;
}

/* Returns b - a, limited to 64 bits. */
static int64_t capped_difference(uint64_t a, uint64_t b)
{
	__int128 d = (__int128)b - a;

	return d > INT64_MAX ? INT64_MAX : d < INT64_MIN ? INT64_MIN : (int64_t)d;
}

struct memory_grown memory_grown(const struct mlyze_notes *notes, uint64_t start_us,
				 uint64_t end_us)
{
	size_t cnt, i;
	const struct mlyze_check *checks = mlyze_notes_checks(notes, &cnt), *first = NULL;
	const struct mlyze_check *last = NULL;

	for (i = 0; i < cnt; i++) {
		if (!is_within(&checks[i], start_us, end_us))
			continue;
		first = first ? first : &checks[i];
		last = &checks[i];
	}
	if (!first || first == last)
		return (struct memory_grown){ 0 };
	return (struct memory_grown){
		.known = true,
		.seconds = (double)(last->time_us - first->time_us) / 1e6,
		.resident = capped_difference(add_capped(first->rss_anon, first->swapped),
					      add_capped(last->rss_anon, last->swapped)),
		.held = capped_difference(first->held, last->held),
		.unchecked = last->unchecked,
	};
}

double memory_explained(const struct memory_grown *g)
{
	if (!g->known || g->resident < GROWTH_MIN)
		return -1;
	return g->held > 0 ? 100.0 * (double)g->held / (double)g->resident : 0;
}
