// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* live_recent.c - see live_recent.h. */
#include "live/live_recent.h"

#include <stdlib.h>
#include <string.h>

void live_recent_reset(struct live_recent *r)
{
	size_t i;

	for (i = 0; i < LIVE_RECENT_S; i++)
		free(r->weights[i]);
	*r = (struct live_recent){ .begun_ns = 0 };
}

void live_recent_second(struct live_recent *r, const struct stack_tree_view *v, uint64_t now_ns)
{
	uint64_t *weights = calloc(v->share_cnt + 1, sizeof(*weights));
	size_t at = r->begun_ns ? (r->second + 1) % LIVE_RECENT_S : 0, i;

	if (!weights)
		return;
	for (i = 0; i < v->share_cnt; i++)
		weights[i] = v->shares[i].weight;
	if (r->begun_ns)
		r->second++;
	else
		r->begun_ns = now_ns;
	free(r->weights[at]);
	r->weights[at] = weights;
	r->cnt[at] = v->share_cnt;
	r->ns[at] = now_ns;
}

/* Returns the second with which the last ones begin. */
static size_t oldest_second(const struct live_recent *r)
{
	return r->second < LIVE_RECENT_S ? 0 : (r->second + 1) % LIVE_RECENT_S;
}

uint64_t live_recent_span(const struct live_recent *r, uint64_t now_ns)
{
	return r->begun_ns ? now_ns - r->ns[oldest_second(r)] : 0;
}

uint64_t *live_recent_weights(const struct live_recent *r, const struct stack_tree_view *v)
{
	uint64_t *weights = calloc(v->share_cnt + 1, sizeof(*weights));
	size_t at = oldest_second(r), i;

	for (i = 0; weights && i < v->share_cnt; i++)
		weights[i] = v->shares[i].weight - (i < r->cnt[at] ? r->weights[at][i] : 0);
	return weights;
}
