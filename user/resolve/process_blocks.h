/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_blocks.h - the blocks of a process' allocator, and its own mappings (--allocations): all
 * of them, or those that were allocated in bursts. For process_memory.c.
 *
 * In bursts, a block that was freed between two of them is noticed later: when it is looked at
 * (block_look.h), when its address is given out again in a burst, or not at all; at the end,
 * block_life.h says of how many blocks that is so, and these are passed on as freed.
 */
#ifndef TACHBPF_PROCESS_BLOCKS_H
#define TACHBPF_PROCESS_BLOCKS_H

#include "resolve/process.h"

struct block_place;
struct block_words;
struct process_blocks;

/* Changes go to emit: process_memory_emit(). NULL: out of memory. */
struct process_blocks *process_blocks_new(struct process *p,
					  int (*emit)(struct process *p, struct memory_event *ev));
void process_blocks_free(struct process_blocks *b);

/* Take a RAW_ALLOC, whose stack has this number, or a RAW_FREE. 0 or -errno. */
int process_blocks_alloc(struct process_blocks *b, const struct raw_sample *raw, uint32_t stack);
int process_blocks_freed(struct process_blocks *b, const struct raw_free *raw);

/* As process_burst_begin(), process_burst_end(), process_blocks_ask(), process_blocks_take(). */
int process_blocks_burst(struct process_blocks *b, uint64_t time_ns, double weight, double speed);
int process_blocks_burst_end(struct process_blocks *b, uint64_t time_ns);
size_t process_blocks_list(struct process_blocks *b, uint64_t *pos, struct block_place *places,
			   size_t max);
int process_blocks_looked(struct process_blocks *b, uint64_t now_ns,
			  const struct block_place *places, const struct block_words *words,
			  size_t cnt, bool *gone);

/* No more records come. In bursts, passes on what counts as freed, and a MEMORY_SAMPLED. */
int process_blocks_end(struct process_blocks *b, uint64_t now_ns);

#endif
