/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * task_tree.h - tasks as a tree: below a task its coroutines, and below the innermost of them the
 * tasks that it awaits. In the order of `python -m asyncio pstree` (Lib/asyncio/tools.py at
 * v3.15.0), which repeats everything below a task for each task that awaits it: 240 tasks can have
 * 2^120 paths. Here, everything below a task is shown once, so there are not many more lines than
 * tasks and coroutines.
 *
 * Of many tasks below one task, or at the root, that look the same, the first one is shown, and how
 * many are like it: 10,000 requests that wait at the same line are one line to read.
 *
 * pstree shows no tree if tasks await each other in a circle, and none below a task that is in no
 * list. Here, such a task is at the tree's end, and a task that is its own ancestor is a line with
 * a mark.
 */
#ifndef TACHBPF_LOOK_TASK_TREE_H
#define TACHBPF_LOOK_TASK_TREE_H

#include "look/task_alike.h"
#include "memory/task_walk.h"

/* Deeper levels begin again at the left. */
#define TASK_DEPTH_MAX 256
/* An awaiting task lists at most this many tasks that are shown elsewhere, and counts the rest. */
#define TASK_LINES_AGAIN 3
/* So many siblings that look the same are shown as one. */
#define TASK_LIKE_MIN 10

enum task_mark {
	TASK_MARK_NONE,
	TASK_MARK_CYCLE,	/* it is its own ancestor: they await each other */
	TASK_MARK_ABOVE,	/* everything below it was shown before */
	TASK_MARK_BELOW,	/* too deep: everything below it follows, from the left */
	TASK_MARK_UNLISTED,	/* it is in no list: only its address is known */
	TASK_MARK_MORE,		/* stands for `more` tasks, which have lines elsewhere */
	TASK_MARK_LIKE,		/* stands for `more` tasks that look as task does */
};

struct task_line {
	uint32_t depth;		/* 0: at the root */
	const uint8_t *last;	/* last[0..depth]: 1: nothing follows at that level */
	uint32_t task;		/* its number in the set; UINT32_MAX: unlisted, or more */
	uint64_t addr;		/* of the task */
	uint32_t frame;		/* in set->frames; UINT32_MAX: the line is the task's own */
	enum task_mark mark;
	uint32_t more;		/* TASK_MARK_MORE, TASK_MARK_LIKE */
};

struct task_tree;
/* For a set that does not change; sets task.cycle in it. Returns NULL without memory. */
struct task_tree *task_tree_new(struct task_set *set);
void task_tree_free(struct task_tree *tree);

/*
 * Leaves out siblings that look the same. Returns 0, or -ENOMEM: then the tree is as it was. Call
 * it at most once, before task_tree_each().
 */
int task_tree_fold(struct task_tree *tree, const struct task_looks *looks);

/* Calls line() for each line, from the top, once for a tree. Returns 0 or -ENOMEM. */
int task_tree_each(struct task_tree *tree, void (*line)(void *ctx, const struct task_line *l),
		   void *ctx);

#endif
