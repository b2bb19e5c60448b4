/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_opcodes.h - the bytecode instructions of a frame's self samples, for pages of recordings
 * that have opcodes. Frames are those of the page's call tree.
 */
#ifndef TACHBPF_PAGE_OPCODES_H
#define TACHBPF_PAGE_OPCODES_H

#include "formats/html/html_page.h"
#include "model/stack_tree.h"

/* Rows for frames and opcodes; the weight of further ones is left out, and counted. */
#define PAGE_OPCODES_MAX 65536

struct page_opcodes;

struct page_opcode {
	uint32_t frame;		/* of the tree's tables */
	uint32_t name;		/* number in what page_opcodes_json() writes */
	uint64_t weight;
};

/* NULL with errno on failure. Free it by page_opcodes_free(). */
struct page_opcodes *page_opcodes_new(void);
void page_opcodes_free(struct page_opcodes *o);

/* The following events are of this Python. */
void page_opcodes_begin(struct page_opcodes *o, const struct profile_meta *meta,
			const struct profile_tables *tables);
/* Counts the event, which stack_tree_event() has just added to the tree. Returns 0 or -ENOMEM. */
int page_opcodes_add(struct page_opcodes *o, const struct stack_tree *tree,
		     const struct event *ev);

/*
 * Returns true if page_opcodes_join() can add src as if its events had come later. It cannot if src
 * has left something out, which may have had a row elsewhere.
 */
bool page_opcodes_fit(const struct page_opcodes *src);
/* Adds everything in src; frames[i]: what its frame i is now. Returns 0 or -ENOMEM. */
int page_opcodes_join(struct page_opcodes *o, const struct page_opcodes *src,
		      const uint32_t *frames);

uint32_t page_opcodes_cnt(const struct page_opcodes *o);
struct page_opcode page_opcodes_get(const struct page_opcodes *o, uint32_t i);
/*
 * Writes the members "opcodes", their names, if there are any, and "opcodes_left_out", if some rows
 * did not fit.
 */
void page_opcodes_json(struct json *j, const struct page_opcodes *o);

#endif
