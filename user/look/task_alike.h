/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * task_alike.h - which tasks look the same in the tree, apart from their names: the same coroutines
 * at the same lines, and below them the same number of tasks, in the same order, that look the same
 * themselves. A task that several tasks await looks only like itself.
 */
#ifndef TACHBPF_LOOK_TASK_ALIKE_H
#define TACHBPF_LOOK_TASK_ALIKE_H

#include "memory/task_walk.h"

/* What the lines of tasks say. */
struct task_looks {
	const uint32_t *frames;	/* of each of the set's frames: equal if the lines are the same */
	/*
	 * Of each of the set's tasks: equal if the same is said behind its name; TASK_LOOK_OWN:
	 * others refer to it, so it is like no other. NULL: nothing is said of any.
	 */
	const uint64_t *said;
};
#define TASK_LOOK_OWN UINT64_MAX

/* Nodes: the set's tasks by number, then others. Children of node i: kids[first[i]..first[i+1]). */
struct task_graph {
	const struct task_set *set;	/* with the cycles marked */
	uint32_t node_cnt;
	const uint32_t *first, *kids;
};

/*
 * Sets like[] of each node: the number of the first node that looks as it does, or its own. Takes
 * time in proportion to nodes, frames and edges; the nodes' contents may be chosen by an enemy. 0
 * or -ENOMEM.
 */
int task_alike(const struct task_graph *g, const struct task_looks *looks, uint32_t *like);

#endif
