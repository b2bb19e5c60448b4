// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* pages.c - see pages.h. */
#include "cpython/pages.h"

#include <string.h>

void pages_begin(struct pages *p, const struct target_mem *mem)
{
	p->mem = *mem;
	memset(p->numbers, 0, sizeof(p->numbers));
	memset(p->used, 0, sizeof(p->used));
}

/* The slot that has the page, otherwise the one to read it into. */
static uint32_t slot_of(const struct pages *p, uint64_t number)
{
	uint64_t hash = number * 0x9e3779b97f4a7c15 >> 32;
	uint32_t slot = hash % (PAGES_SLOTS / PAGES_WAYS) * PAGES_WAYS, oldest = slot, i;

	for (i = slot; i < slot + PAGES_WAYS; i++) {
		if (p->numbers[i] == number + 1)
			return i;
		if (p->used[i] < p->used[oldest])
			oldest = i;
	}
	return oldest;
}

/* The bytes of a page; NULL: it is not readable as a whole. */
static const uint8_t *page_at(struct pages *p, uint64_t number)
{
	uint32_t slot = slot_of(p, number);

	p->used[slot] = ++p->reads;
	if (p->numbers[slot] == number + 1)
		return p->bytes[slot];
	p->numbers[slot] = 0;
	if (p->mem.read(p->mem.ctx, number * PAGES_BYTES, p->bytes[slot], PAGES_BYTES))
		return NULL;
	p->numbers[slot] = number + 1;
	return p->bytes[slot];
}

int pages_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct pages *p = ctx;
	uint64_t at = addr, off, n;
	uint8_t *out = buf;
	const uint8_t *from;

	if (len >= PAGES_BYTES || addr + len < addr)
		return p->mem.read(p->mem.ctx, addr, buf, len);
	for (; len; at += n, out += n, len -= n) {
		off = at % PAGES_BYTES;
		n = len < PAGES_BYTES - off ? len : PAGES_BYTES - off;
		from = page_at(p, at / PAGES_BYTES);
		if (!from)
			return p->mem.read(p->mem.ctx, at, out, len);
		memcpy(out, from + off, n);
	}
	return 0;
}
