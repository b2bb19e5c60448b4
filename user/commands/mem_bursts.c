// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mem_bursts.c - see mem_bursts.h. */
#include "commands/mem_bursts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes_text.h"
#include "base/text.h"

static double percent_of(double part, double all)
{
	return all > 0 ? 100 * part / all : 0;
}

void mem_text_bursts(const struct mem_trace *t)
{
	const struct mlyze_sampled *s = &t->notes.sampled;
	const struct memory_row *all = &t->list.total;
	char text[BYTES_TEXT_MAX], again[BYTES_TEXT_MAX];

	printf("  sampled    blocks of %s and more, in %" PRIu64 " %s of 100 ms",
	       bytes_text((double)t->notes.min_bytes, text), s->bursts,
	       text_plural(s->bursts, "burst", "bursts"));
	if (s->over_us)
		printf(" in %.1f s", (double)s->over_us / 1e6);
	printf(": touched ± %.1f %%, held ± %.1f %%\n",
	       percent_of(all->touched_error, (double)all->sums.allocated),
	       percent_of(all->held_error, (double)all->sums.live));
	printf("             by chance alone: with 300,000 calls/s and more, sums may be off by a "
	       "third, shares are not\n");
	if (!s->allocator[0])
		return;
	printf("  in use     %s looked in use", bytes_text((double)s->used, text));
	printf("; %s of that counts as freed and used again\n",
	       bytes_text((double)s->again, again));
	if (!strcmp(s->allocator, "unknown"))
		printf("             by how long blocks lived alone: this allocator does not show "
		       "whether a block is free\n");
}

void mem_json_bursts(struct json *j, const struct mlyze_sampled *s)
{
	if (!s->bursts) {
		json_null(j, "bursts");
		return;
	}
	json_object(j, "bursts");
	json_uint(j, "count", s->bursts);
	json_uint(j, "watched_us", s->watched_us);
	json_uint(j, "over_us", s->over_us);
	json_uint(j, "found_freed", s->found);
	json_uint(j, "looked_used", s->used);
	json_uint(j, "used_again", s->again);
	json_uint(j, "used_again_error", s->again_error);
	json_string(j, "allocator", s->allocator);
	json_object_end(j);
}

static void json_error(struct json *j, const char *key, double error)
{
	json_double(j, key, error > 0 ? error : NAN);
}

void mem_json_errors(struct json *j, const struct memory_row *row)
{
	json_error(j, "held_error", row->held_error);
	json_error(j, "touched_error", row->touched_error);
}
