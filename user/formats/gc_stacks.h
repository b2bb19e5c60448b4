/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gc_stacks.h - which stacks (model/stacks.h) are in a garbage collection: with a <GC> frame. */
#ifndef TACHBPF_GC_STACKS_H
#define TACHBPF_GC_STACKS_H

#include "base/util.h"
#include "model/stacks.h"

/* Zero-initialise: the answers so far, by the stack's number. Freed by gc_stacks_free(). */
struct gc_stacks {
	struct buf known;
};

/* Sets *gc to whether this stack is in a collection. Returns 0 or -ENOMEM. */
int gc_stacks_has(struct gc_stacks *g, const struct stacks *stacks, uint32_t id, bool *gc);
void gc_stacks_free(struct gc_stacks *g);

#endif
