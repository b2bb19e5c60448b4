// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_blocks.c - the blocks of a process' allocator, and what it maps itself (--allocations):
 * they
 * go into its block_book, and to the observer. See process.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "memory/block_book.h"
#include "model/memory_event.h"
#include "resolve/process_parts.h"

struct process_blocks {
	struct block_book *book;
	uint64_t now_ns;	/* of the record that is being taken */
	uint32_t tid;		/* ... and whose it is */
};

/* block_book_fns */
static int gone(void *ctx, const struct block *b)
{
	struct process *p = ctx;
	struct memory_event ev = {
		.change = MEMORY_FREE, .time_us = p->blocks->now_ns / US_NS, .addr = b->addr,
		.bytes = b->bytes, .stack = b->stack,
	};

	return process_memory_emit(p, &ev);
}

static int given(void *ctx, const struct block *b)
{
	struct process *p = ctx;
	struct memory_event ev = {
		.change = MEMORY_ALLOC, .time_us = p->blocks->now_ns / US_NS, .addr = b->addr,
		.bytes = b->bytes, .stack = b->stack, .thread_id = p->blocks->tid,
	};

	return process_memory_emit(p, &ev);
}

static const struct block_book_fns book_fns = { .gone = gone, .left = given };

/* The process' blocks at a record of this thread. NULL: no memory. */
static struct block_book *book_at(struct process *p, uint64_t time_ns, uint32_t tid)
{
	if (!p->blocks)
		p->blocks = calloc(1, sizeof(*p->blocks));
	if (!p->blocks)
		return NULL;
	if (!p->blocks->book)
		p->blocks->book = block_book_new(&book_fns, p);
	p->blocks->now_ns = time_ns;
	p->blocks->tid = tid;
	return p->blocks->book;
}

void process_blocks_free(struct process *p)
{
	if (p->blocks)
		block_book_free(p->blocks->book);
	free(p->blocks);
	p->blocks = NULL;
}

static int take_block(struct process *p, const struct raw_sample *raw, size_t len)
{
	struct block_book *book = book_at(p, raw->h.time_ns, raw->tid);
	struct block b = { .time_ns = raw->h.time_ns };
	int err = book ? process_memory_stack(p, raw, len, &b.stack) : -ENOMEM;

	if (err)
		return err;
	b.addr = raw_sample_memory(raw)->addr;
	b.bytes = raw_sample_memory(raw)->bytes;
	p->stats.alloc_unwalked += (raw->flags & RAW_NOT_WALKED) != 0;
	err = raw->h.why == ALLOC_MAP ? block_book_map(book, &b) : block_book_add(book, &b);
	if (err == -ENOSPC) {
		process_add_lost(p, raw->tid, LOSS_BLOCKS_FULL, 1);
		return 0;
	}
	return err ? err : given(p, &b);
}

int process_block(struct process *p, const struct raw_sample *raw, size_t len)
{
	if (raw->h.why != ALLOC_BLOCK && raw->h.why != ALLOC_MAP)
		return -EBADMSG;
	return process_without_memory(p, raw->tid, take_block(p, raw, len));
}

int process_block_freed(struct process *p, const struct raw_free *raw)
{
	struct block_book *book = book_at(p, raw->h.time_ns, raw->tid);
	int err;

	if (!book)
		err = -ENOMEM;
	else if (raw->h.why == ALLOC_MAP)
		err = block_book_unmap(book, raw->addr, raw->bytes, raw->h.time_ns);
	else
		err = block_book_remove(book, raw->addr, raw->h.time_ns);
	return process_without_memory(p, raw->tid, err);
}
