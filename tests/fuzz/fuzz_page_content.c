// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_page_content.c - any bytes as the memory of a process, of which a page is looked at: it
 * ends, and says the same of it twice.
 */
#include <stdlib.h>
#include <string.h>

#include "memory/page_content.h"

#define PAGE 4096ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is repeated in the memory, behind which nothing is there. */
#define MEMORY 0x7f0000000000ull
#define MEMORY_BYTES (64 * PAGE)

static uint8_t memory[MEMORY_BYTES];

static int read_memory(void *ctx, uint64_t addr, void *buf, size_t len)
{
	(void)ctx;
	if (addr < MEMORY || len > MEMORY_BYTES || addr - MEMORY > MEMORY_BYTES - len)
		return -1;
	memcpy(buf, memory + (addr - MEMORY), len);
	return 0;
}

static uint64_t first_there(void *ctx, uint64_t addr, uint64_t floor)
{
	(void)ctx;
	(void)addr;
	return floor;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct page_memory mem = { read_memory, first_there, NULL, (uint32_t)PAGE,
					 size ? data[0] : 0 };
	const struct page_area area = { MEMORY, MEMORY + MEMORY_BYTES, size & 1 };
	struct page_content first, now;
	struct page_fate fate;
	size_t i, at = size ? data[size - 1] % 64 : 0;

	for (i = 0; size && i < MEMORY_BYTES; i += size)
		memcpy(memory + i, data, size < MEMORY_BYTES - i ? size : MEMORY_BYTES - i);
	page_content_read(&mem, &area, MEMORY + at * PAGE, &first);
	now = first;
	page_content_begin(&first);
	fate = page_content_compare(&first, &now);
	if (fate.own + fate.reused + fate.unused > PAGE_PLACES || fate.reused)
		abort();	/* nothing has changed */
	for (i = 0; i < PAGE_PLACES; i++)
		if (now.states[i] >= PLACE_STATES)
			abort();
	return 0;
}
