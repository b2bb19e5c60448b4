// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* gc_stacks.c - see gc_stacks.h. */
#include "formats/gc_stacks.h"

#include <errno.h>
#include <string.h>

#define GC_FUNCTION "<GC>"
enum { GC_UNKNOWN, GC_NO, GC_YES };

static uint8_t look_for_gc(const struct stacks *stacks, uint32_t id)
{
	const struct profile_tables *t = stacks_tables(stacks);
	struct stack_view v = stacks_get(stacks, id);
	uint32_t i;

	for (i = 0; i < v.n; i++) {
		const struct frame *f = &t->frames[v.labels[i]];
		struct string_ref func = t->strings[f->func];

		if (f->kind == FRAME_SYNTHETIC && func.len == strlen(GC_FUNCTION) &&
		    !memcmp(func.data, GC_FUNCTION, func.len))
			return GC_YES;
	}
	return GC_NO;
}

int gc_stacks_has(struct gc_stacks *g, const struct stacks *stacks, uint32_t id, bool *gc)
{
	static const uint8_t unknown = GC_UNKNOWN;

	while (g->known.len <= id) {
		if (buf_add(&g->known, &unknown, 1))
			return -ENOMEM;
	}
	if (g->known.data[id] == GC_UNKNOWN)
		g->known.data[id] = look_for_gc(stacks, id);
	*gc = g->known.data[id] == GC_YES;
	return 0;
}

void gc_stacks_free(struct gc_stacks *g)
{
	buf_free(&g->known);
}
