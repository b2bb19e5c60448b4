// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* when.c - see when.h. */
#include "recording/when.h"

#include <stdio.h>

/* Takes one second's value. Returns true if the condition becomes met now. */
static bool take_value(const struct when *w, struct when_process *p, size_t i, bool known,
		       double value)
{
	if (!known || value <= w->over) {
		p->of[i].seconds = 0;
		p->of[i].sum = 0;
		p->of[i].met = false;
		return false;
	}
	if (p->of[i].met)
		return false;
	p->of[i].seconds++;
	p->of[i].sum += value;
	p->of[i].met = p->of[i].seconds >= w->seconds;
	return p->of[i].met;
}

uint32_t when_second(const struct when_list *l, struct when_process *p,
		     const struct when_facts *facts)
{
	uint32_t met = 0;
	size_t i;

	for (i = 0; i < l->cnt; i++) {
		enum when_metric m = l->list[i].metric;

		if (take_value(&l->list[i], p, i, facts->known[m], facts->values[m]))
			met |= 1u << i;
	}
	return met;
}

bool when_needs(const struct when_list *l, enum when_metric metric)
{
	size_t i;

	for (i = 0; i < l->cnt; i++)
		if (l->list[i].metric == metric)
			return true;
	return false;
}

char *when_text(const struct when *w, const struct when_process *p, size_t i,
		char out[WHEN_TEXT_BYTES])
{
	static const struct {
		const char *words;
		double unit;
	} metrics[WHEN_METRICS] = {
		[WHEN_CPU] = { "used %.0f %% of a CPU", 1 },
		[WHEN_GIL] = { "held the GIL on a CPU for %.0f %% of the time", 1 },
		[WHEN_GC] = { "spent %.0f %% of a CPU in garbage collections", 1 },
		[WHEN_THREADS] = { "had %.0f threads", 1 },
		[WHEN_RSS] = { "had %.0f MiB of memory", 1 << 20 },
	};
	double mean = p->of[i].sum / p->of[i].seconds / metrics[w->metric].unit;
	int len = snprintf(out, WHEN_TEXT_BYTES, metrics[w->metric].words, mean);

	snprintf(out + len, WHEN_TEXT_BYTES - len, "%s %u s",
		 w->metric == WHEN_GIL ? "," : " for", p->of[i].seconds);
	return out;
}
