// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gil_holders.c - see gil_holders.h.
 *
 * The samples of a profile are ordered by time only within a thread. So the holders' stretches are
 * collected, sorted once, and searched. A stretch is a sequence of samples of a thread at one line,
 * one interval apart. Stretches are short, so a search can stop soon after it has passed the wanted
 * time.
 */
#include "analysis/gil_holders.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arith.h"

#define STRETCH_MAX 16		/* in samples */
/* Limit of a search: one GIL has far fewer stretches that close; hostile files do not. */
#define SEARCH_MAX 1024
#define FIRST_CAP 256
/*
 * One GIL has one holding sample in each interval, plus or minus the differences between the CPUs'
 * clocks. If CROWD_MIN spans of CROWD_INTERVALS have 50 % more samples than that, it is not one
 * GIL.
 */
#define CROWD_INTERVALS 64
#define CROWD_SAMPLES (CROWD_INTERVALS + CROWD_INTERVALS / 2)
#define CROWD_MIN 4

struct stretch {
	uint64_t first_us, last_us;
	uint32_t cnt;		/* samples */
	uint32_t process, interp_id, thread, line;
};

struct gil_holders {
	struct stretch *list;
	uint32_t cnt, cap;
	uint64_t tolerance_us;
	bool one_gil;
};

struct gil_holders *gil_holders_new(uint64_t tolerance_us, bool one_gil)
{
	struct gil_holders *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	/* 2^40 us are twelve days; products with the tolerance cannot overflow. */
	h->tolerance_us = tolerance_us < 1ull << 40 ? tolerance_us : 1ull << 40;
	h->one_gil = one_gil;
	return h;
}

void gil_holders_free(struct gil_holders *h)
{
	if (!h)
		return;
	free(h->list);
	free(h);
}

static bool continues_stretch(const struct gil_holders *h, const struct stretch *s,
			      const struct gil_moment *m)
{
	return s->cnt < STRETCH_MAX && s->line == m->line && s->process == m->process &&
	       m->time_us >= s->last_us && m->time_us - s->last_us <= h->tolerance_us;
}

int gil_holders_add(struct gil_holders *h, const struct gil_moment *m, uint32_t *open)
{
	struct stretch *s = *open ? &h->list[*open - 1] : NULL;

	if (s && continues_stretch(h, s, m)) {
		s->last_us = m->time_us;
		s->cnt++;
		return 0;
	}
	if (h->cnt == GIL_HOLDS_MAX)
		return -ENOSPC;
	if (h->cnt == h->cap) {
		uint32_t cap = h->cap ? h->cap * 2 : FIRST_CAP;

		s = reallocarray(h->list, cap, sizeof(*s));
		if (!s)
			return -ENOMEM;
		h->list = s;
		h->cap = cap;
	}
	h->list[h->cnt] = (struct stretch){ m->time_us, m->time_us, 1, m->process, m->interp_id,
					    m->thread, m->line };
	*open = ++h->cnt;
	return 0;
}

static int compare_stretches(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->first_us != y->first_us)
		return x->first_us < y->first_us ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

void gil_holders_sort(struct gil_holders *h)
{
	if (h->cnt)
		qsort(h->list, h->cnt, sizeof(*h->list), compare_stretches);
}

/* Returns the distance to the stretch's nearest sample; they are assumed to be evenly spaced. */
static uint64_t distance_us(const struct stretch *s, uint64_t time_us)
{
	uint64_t step, past;

	if (time_us <= s->first_us)
		return s->first_us - time_us;
	if (time_us >= s->last_us)
		return time_us - s->last_us;
	step = (s->last_us - s->first_us) / (s->cnt - 1);
	past = step ? (time_us - s->first_us) % step : 0;
	return past < step - past ? past : step - past;
}

/* Returns the number of stretches that come before (process, time_us) in the order, or at it. */
static uint32_t count_until(const struct gil_holders *h, uint32_t process, uint64_t time_us)
{
	uint32_t low = 0, high = h->cnt;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct stretch *s = &h->list[mid];

		if (s->process < process || (s->process == process && s->first_us <= time_us))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool gil_holders_crowded(const struct gil_holders *h, uint32_t process)
{
	uint64_t span = h->tolerance_us / 3 * 2 * CROWD_INTERVALS, begin = 0;
	uint32_t i = process ? count_until(h, process - 1, UINT64_MAX) : 0;
	uint32_t crowds = 0, samples = 0, interp_id = 0;

	/* Each interpreter may have its own GIL: a span counts the interpreter that begins it. */
	for (; i < h->cnt && h->list[i].process == process; i++) {
		const struct stretch *s = &h->list[i];

		if (!samples || s->first_us - begin >= span) {
			crowds += samples >= CROWD_SAMPLES;
			begin = s->first_us;
			interp_id = s->interp_id;
			samples = 0;
		}
		if (h->one_gil || s->interp_id == interp_id)
			samples += s->cnt;
	}
	return crowds + (samples >= CROWD_SAMPLES) >= CROWD_MIN;
}

uint32_t gil_holders_find(const struct gil_holders *h, const struct gil_moment *m,
			  uint32_t *thread)
{
	uint32_t i = count_until(h, m->process, add_capped(m->time_us, h->tolerance_us));
	uint64_t best = UINT64_MAX, reach = (STRETCH_MAX + 1) * h->tolerance_us;
	const struct stretch *found = NULL;
	uint32_t steps;
	bool best_own = false;

	for (steps = 0; i-- > 0 && steps < SEARCH_MAX; steps++) {
		const struct stretch *s = &h->list[i];
		bool own = h->one_gil || s->interp_id == m->interp_id;
		uint64_t far;

		if (s->process != m->process || add_capped(s->first_us, reach) < m->time_us)
			break;
		far = distance_us(s, m->time_us);
		if (s->thread == m->thread || far > h->tolerance_us)
			continue;
		/*
		 * Interpreters may share a GIL or not: a holder in another interpreter is only the
		 * second choice.
		 */
		if ((own && !best_own) || (own == best_own && far < best)) {
			best = far;
			best_own = own;
			found = s;
		}
	}
	if (thread)
		*thread = found ? found->thread : GIL_NOBODY;
	return found ? found->line : GIL_NOBODY;
}
