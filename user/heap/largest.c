// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* largest.c - see taking.h: the largest objects that a census has found. */
#include <string.h>

#include "cpython/pymalloc.h"
#include "heap/taking.h"

struct heap_large *largest_take(struct heap_census *c, const struct heap_type *type,
				uint64_t addr, const struct heap_size *s)
{
	uint64_t bytes = s->bytes + s->owned;
	struct heap_large *l;
	uint32_t i;

	if (bytes <= PYMALLOC_SMALL_MAX ||
	    (c->large_cnt == HEAP_LARGEST_MAX && bytes <= c->largest[HEAP_LARGEST_MAX - 1].bytes))
		return NULL;
	for (i = 0; i < c->large_cnt; i++)
		if (c->largest[i].addr == addr)
			return NULL;
	if (c->large_cnt < HEAP_LARGEST_MAX)
		c->large_cnt++;
	for (i = c->large_cnt - 1; i > 0 && c->largest[i - 1].bytes < bytes; i--)
		c->largest[i] = c->largest[i - 1];
	l = &c->largest[i];
	*l = (struct heap_large){ .addr = addr, .bytes = bytes };
	memcpy(l->type, type->name, sizeof(l->type));
	heap_size_text(type, s, l->what, sizeof(l->what));
	return l;
}
