// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_memory_records.c - whom a record of memory is for: the pages (process_memory.c), or the
 * blocks (process_blocks.c). See process.h.
 */
#include <errno.h>

#include "resolve/process_parts.h"

int process_alloc(struct process *p, const struct raw_sample *raw, size_t len)
{
	if (!p->memory || len < sizeof(struct raw_head) || !(raw->flags & RAW_WEIGHED))
		return -EBADMSG;
	return raw->h.why == ALLOC_PAGE ? process_page(p, raw, len) : process_block(p, raw, len);
}

int process_free_memory(struct process *p, const struct raw_free *raw)
{
	if (!p->memory)
		return -EBADMSG;
	return raw->h.why == ALLOC_PAGE ? process_pages_unmapped(p, raw) :
					  process_block_freed(p, raw);
}
