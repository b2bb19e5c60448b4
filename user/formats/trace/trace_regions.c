// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trace_regions.c - the lanes of a thread's regions. See trace.h.
 *
 * A region is in the first lane where it is inside the innermost one that is open, or where none
 * is. With regions of one stack that is always the first lane; those of coroutines overlap anyhow.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "formats/trace/trace.h"

#define LANES_MAX 64		/* of a thread */

static void end_innermost(struct trace *t, struct trace_lane *lane)
{
	t->ops->end(t, lane, lane->open[lane->cnt - 1].end_ns);
	lane->cnt--;
}

static bool has_room(struct trace *t, struct trace_lane *lane, const struct trace_slice *s)
{
	while (lane->cnt && lane->open[lane->cnt - 1].end_ns <= s->begin_ns)
		end_innermost(t, lane);
	return !lane->cnt || lane->open[lane->cnt - 1].end_ns >= s->end_ns;
}

static int add_lane(struct trace *t, struct trace_regions *r, const struct trace_lane *thread)
{
	struct trace_lane *lane;
	char what[32] = "regions";

	if (r->cnt == LANES_MAX)
		return -E2BIG;
	if (array_add(r->lanes, r->cnt, r->cap, (struct trace_lane){ 0 }))
		return -ENOMEM;
	lane = &r->lanes[r->cnt - 1];
	if (r->cnt > 1)
		snprintf(what, sizeof(what), "regions %zu", r->cnt);
	return trace_lane_below(t, lane, LANE_REGIONS, thread, what);
}

/* Sets *lane to the one for this slice. 0 or as trace_regions_add(). */
static int find_lane(struct trace *t, struct trace_regions *r, const struct trace_lane *thread,
		     const struct trace_slice *s, struct trace_lane **lane)
{
	size_t i = 0;
	int err = 0;

	while (i < r->cnt && !has_room(t, &r->lanes[i], s))
		i++;
	if (i == r->cnt)
		err = add_lane(t, r, thread);
	*lane = err ? NULL : &r->lanes[i];
	return err;
}

/* Makes facts of the attributes; their texts are to be freed, also after an error. 0 or -ENOMEM. */
static int make_facts(const struct profile_region *region, struct trace_fact *facts)
{
	size_t i;

	for (i = 0; i < region->attribute_cnt; i++) {
		const struct region_attribute *a = &region->attributes[i];

		facts[i] = (struct trace_fact){
			.name = text_escape(a->name.data, a->name.len),
			.text = text_escape(a->value.data, a->value.len), .is_json = !a->is_text };
	}
	for (i = 0; i < region->attribute_cnt; i++)
		if (!facts[i].name || !facts[i].text)
			return -ENOMEM;
	return 0;
}

static int begin(struct trace *t, struct trace_lane *lane, const struct trace_slice *s,
		 const struct profile_region *region)
{
	size_t cnt = region->attribute_cnt, i;
	struct trace_fact *facts = calloc(cnt + 1, sizeof(*facts));
	int err = facts ? make_facts(region, facts) : -ENOMEM;

	if (!err)
		err = array_add(lane->open, lane->cnt, lane->cap, *s);
	if (!err)
		t->ops->region(t, lane, facts, cnt);
	t->bytes += TRACE_SLICE_BYTES + region->name.len;
	for (i = 0; facts && i < cnt; i++) {
		t->bytes += region->attributes[i].name.len + region->attributes[i].value.len;
		free((char *)facts[i].name);
		free((char *)facts[i].text);
	}
	free(facts);
	return err;
}

static uint64_t bounded(uint64_t ns)
{
	uint64_t last = trace_ns(TRACE_US_MAX);

	return ns < last ? ns : last;
}

int trace_regions_add(struct trace *t, struct trace_regions *r, const struct trace_lane *thread,
		      const struct profile_region *region)
{
	char *name = text_escape(region->name.data, region->name.len);
	struct trace_slice s = { .begin_ns = bounded(region->begin_ns),
				 .end_ns = bounded(region->end_ns),
				 .name = { .label = TRACE_NO_LABEL, .text = name } };
	struct trace_lane *lane;
	int err = name ? find_lane(t, r, thread, &s, &lane) : -ENOMEM;

	if (!err)
		err = begin(t, lane, &s, region);
	if (!err)
		lane->open[lane->cnt - 1].name.text = NULL;	/* it was written */
	free(name);
	return err;
}

void trace_regions_end(struct trace *t, struct trace_regions *r)
{
	size_t i;

	for (i = 0; i < r->cnt; i++)
		while (r->lanes[i].cnt)
			end_innermost(t, &r->lanes[i]);
}

void trace_regions_free(struct trace_regions *r)
{
	size_t i;

	for (i = 0; i < r->cnt; i++)
		trace_lane_free(&r->lanes[i]);
	free(r->lanes);
}
