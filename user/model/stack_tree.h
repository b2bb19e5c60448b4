/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack_tree.h - the stacks of one or more profiles as one call tree, with the weight of each
 * thread at each stack in each state.
 *
 * Memory grows with distinct stacks and not with samples. Files and functions are interned here, so
 * profiles with different tables share the tree. Knows nothing about how the tree is shown.
 */
#ifndef TACHBPF_STACK_TREE_H
#define TACHBPF_STACK_TREE_H

#include "model/stack_frame.h"

struct stack_tree;

/* Node 0 is the root and has no frame; a parent's number is lower than its child's. */
struct stack_node {
	uint32_t parent;
	uint32_t frame;		/* id in the tree's tables */
};

struct stack_thread {
	uint32_t process;	/* index of the process: number of earlier begin() calls */
	uint32_t interp_id;
	uint64_t thread_id;
};

#define STACK_THREAD_BITS 24

/* The weight of a thread at exactly this stack, in a status. There are millions of them. */
struct stack_share {
	uint32_t node;
	uint32_t thread : STACK_THREAD_BITS, status : 8;
	uint64_t weight;
};
_Static_assert(sizeof(struct stack_share) == 16, "four shares are a line of the CPU's cache");

/* Valid until the next call that changes the tree. */
struct stack_tree_view {
	const struct stack_node *nodes;
	const struct stack_thread *threads;
	const struct stack_share *shares;
	const struct profile_tables *tables;	/* the meaning of the nodes' frames */
	const int32_t *first_lines;	/* of the functions of these frames; 0: unknown */
	uint32_t node_cnt, thread_cnt, share_cnt;
};

/* Creates an empty tree; frames that differ in detail are distinct. Returns NULL with errno. */
struct stack_tree *stack_tree_new(enum stack_detail detail);
void stack_tree_free(struct stack_tree *t);

/*
 * The following events are those of another process; their frames are in these tables, which must
 * stay valid until stack_tree_end(). This, stack_tree_event() and stack_tree_merge() return 0 or
 * -errno: -EINVAL for an event that does not fit the tables, -EOVERFLOW for more than 2^31 stacks
 * or 2^24 threads.
 */
int stack_tree_begin(struct stack_tree *t, const struct profile_tables *tables);
/* Adds an event. */
int stack_tree_event(struct stack_tree *t, const struct event *ev);
void stack_tree_end(struct stack_tree *t);
/* Returns the number of the share to which the last stack_tree_event() added. */
uint32_t stack_tree_share(const struct stack_tree *t);

/* Where the parts of a merged tree went. */
struct stack_tree_map {
	uint32_t *frames;	/* by src's frame: dst's; the caller frees it */
	uint32_t share;		/* src's share i is dst's share + i */
};

/*
 * Adds everything in src, a tree of the same detail: dst is then as if the events of src's
 * processes had been added to it after its own, in their order. map, unless NULL: where src's parts
 * went; only if this returns 0.
 */
int stack_tree_merge(struct stack_tree *dst, const struct stack_tree *src,
		     struct stack_tree_map *map);

struct stack_tree_view stack_tree_view(const struct stack_tree *t);

/*
 * Returns the nodes in preorder; NULL: out of memory. *depths, if depths is not NULL, becomes an
 * array of the same length: the depth of order[i], 0 for the root. The caller frees both.
 */
uint32_t *stack_tree_preorder(const struct stack_tree *t, uint32_t **depths);

/* Returns the weight at each node and below it; the caller frees it. NULL: out of memory. */
uint64_t *stack_tree_totals(const struct stack_tree *t);

#endif
