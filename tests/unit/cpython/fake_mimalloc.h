/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_mimalloc.h - a segment of mimalloc made by hand, for each version and build in CPython.
 *
 * Offsets are those that offsetof() gave for mi_segment_t and mi_page_t in the headers of CPython
 * 3.13.18 (mimalloc 2.1) and 3.14.10 (2.5), with Py_DEBUG and Py_GIL_DISABLED or without.
 */
#ifndef TACHBPF_TESTS_FAKE_MIMALLOC_H
#define TACHBPF_TESTS_FAKE_MIMALLOC_H

#include <errno.h>
#include <string.h>

#include "cpython/mimalloc.h"

#define FAKE_SEGMENT 0x200000000000ull
#define FAKE_SLICES 24u
#define FAKE_KEY 0x1234567890abcdefull

struct fake_layout {
	bool free_threaded, debug;
	uint16_t used, cookie, slices_cnt, info, kind, entries, thread, slices, page;
	uint16_t local_free, page_used, size, size_len, tag, tag_shift, keys, thread_free, start;
};

static const struct fake_layout fake_layouts[] = {
	{ true, false, 208, 216, 224, 232, 240, 248, 256, 264, 96,
	  32, 24, 28, 4, 8, 3, 0, 40, 0 },
	{ true, true, 208, 216, 224, 232, 240, 248, 256, 264, 112,
	  32, 24, 28, 4, 8, 3, 40, 56, 0 },
	{ false, false, 208, 216, 224, 232, 240, 248, 256, 264, 80,
	  32, 24, 28, 4, 8, 3, 0, 40, 0 },
	{ false, true, 208, 216, 224, 232, 240, 248, 256, 264, 96,
	  32, 24, 28, 4, 8, 3, 40, 56, 0 },
	{ true, false, 216, 224, 248, 256, 264, 272, 280, 288, 112,
	  24, 32, 40, 8, 35, 0, 0, 56, 48 },
	{ true, true, 216, 224, 248, 256, 264, 272, 280, 288, 128,
	  24, 32, 40, 8, 35, 0, 56, 72, 48 },
	{ false, false, 216, 224, 248, 256, 264, 272, 280, 288, 96,
	  24, 32, 40, 8, 35, 0, 0, 56, 48 },
	{ false, true, 216, 224, 248, 256, 264, 272, 280, 288, 112,
	  24, 32, 40, 8, 35, 0, 56, 72, 48 },
};
#define FAKE_LAYOUTS (sizeof(fake_layouts) / sizeof(fake_layouts[0]))

/* Its memory; what is beyond is not there. */
struct fake_segment {
	const struct fake_layout *l;
	uint32_t info;		/* slices of the header */
	unsigned int reads;
	/* Called after the read of this number, counted from 1. */
	unsigned int change_at;
	void (*change)(struct fake_segment *f);
	uint8_t bytes[FAKE_SLICES * MIMALLOC_SLICE_BYTES];
};

static inline void fake_put(struct fake_segment *f, uint64_t off, uint64_t value, size_t len)
{
	memcpy(f->bytes + off, &value, len);
}

static inline uint64_t fake_get(const struct fake_segment *f, uint64_t off, size_t len)
{
	uint64_t value = 0;

	memcpy(&value, f->bytes + off, len);
	return value;
}

/* target_mem.read */
static inline int fake_segment_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct fake_segment *f = ctx;
	uint64_t off = addr - FAKE_SEGMENT;

	if (off > sizeof(f->bytes) || len > sizeof(f->bytes) - off)
		return -EFAULT;
	memcpy(buf, f->bytes + off, len);
	if (f->change && ++f->reads == f->change_at)
		f->change(f);
	return 0;
}

/* The offset of a page's description. */
static inline uint64_t fake_page(const struct fake_segment *f, uint32_t slice)
{
	return f->l->slices + slice * f->l->page;
}

/* Slices that are not in use (size 0), or a page, whose lists are empty. */
static inline void fake_span(struct fake_segment *f, uint32_t slice, uint32_t cnt, uint64_t size)
{
	uint64_t at = fake_page(f, slice);
	uint32_t i;

	fake_put(f, at, cnt, 8);
	fake_put(f, at + f->l->size, size, f->l->size_len);
	for (i = 1; i < cnt && slice + i < MIMALLOC_SLICES; i++) {
		fake_put(f, at + i * f->l->page, (uint64_t)i * f->l->page << 32, 8);
		fake_put(f, at + i * f->l->page + f->l->size, 1, f->l->size_len);
	}
}

/* A segment without pages: 32 MiB, or cnt slices for one huge block. */
static inline void fake_segment_make(struct fake_segment *f, const struct fake_layout *l,
				     uint64_t cnt)
{
	memset(f, 0, sizeof(*f));
	f->l = l;
	f->info = l->slices + 513u * l->page > MIMALLOC_SLICE_BYTES ? 2 : 1;
	fake_put(f, 20, 6, 4);
	fake_put(f, 32, (cnt ? cnt : 512) * MIMALLOC_SLICE_BYTES, 8);
	fake_put(f, l->cookie, FAKE_SEGMENT ^ FAKE_KEY, 8);
	fake_put(f, l->slices_cnt, cnt ? cnt : 512, 8);
	fake_put(f, l->info, f->info, 8);
	fake_put(f, l->kind, cnt ? 1 : 0, 4);
	fake_put(f, l->entries, cnt && cnt < 512 ? cnt : 512, 8);
	fake_put(f, l->thread, 0x7f0000001740, 8);
	fake_span(f, 0, f->info, f->info * MIMALLOC_SLICE_BYTES);
	if (!cnt)
		fake_span(f, f->info, 512 - f->info, 0);
}

/* Where the first block of a page is, from its slice. */
static inline uint64_t fake_start(const struct fake_segment *f, uint64_t size)
{
	if (f->l->start)
		return size <= 512 ? size : 0;
	return size <= 64 ? 3 * size : size <= 512 ? size : 0;
}

/* The offset of a block. */
static inline uint64_t fake_block(const struct fake_segment *f, uint32_t slice, uint64_t size,
				  uint64_t i)
{
	return slice * (uint64_t)MIMALLOC_SLICE_BYTES + fake_start(f, size) + i * size;
}

/* A page of cnt slices, at the begin of the free rest, with capacity blocks that are all in use. */
static inline void fake_page_make(struct fake_segment *f, uint32_t slice, uint32_t cnt,
				  uint64_t size, uint32_t capacity, uint8_t tag)
{
	uint64_t at = fake_page(f, slice), bytes = cnt * (uint64_t)MIMALLOC_SLICE_BYTES;

	if (slice + cnt < 512)
		fake_span(f, slice + cnt, 512 - slice - cnt, 0);
	fake_span(f, slice, cnt, size);
	fake_put(f, at + f->l->tag, (uint64_t)tag << f->l->tag_shift, 1);
	fake_put(f, at + 10, capacity, 2);
	fake_put(f, at + 12, (bytes - fake_start(f, size)) / size, 2);
	fake_put(f, at + f->l->page_used, capacity, 2);
	if (f->l->start)
		fake_put(f, at + f->l->start,
			 FAKE_SEGMENT + fake_block(f, slice, size, 0), 8);
	if (f->l->keys) {
		fake_put(f, at + f->l->keys, 0x9e3779b97f4a7c15 + slice, 8);
		fake_put(f, at + f->l->keys + 8, 0xc2b2ae3d27d4eb4f, 8);
	}
}

/* What a free block has for the next one; 0: the end. */
static inline uint64_t fake_encode(const struct fake_segment *f, uint64_t page, uint64_t next)
{
	uint64_t x, keys[2];

	if (!f->l->keys)
		return next;
	keys[0] = fake_get(f, page + f->l->keys, 8);
	keys[1] = fake_get(f, page + f->l->keys + 8, 8);
	x = (next ? next : FAKE_SEGMENT + page) ^ keys[1];
	if (keys[0] % 64)
		x = x << keys[0] % 64 | x >> (64 - keys[0] % 64);
	return x + keys[0];
}

/* Put block i in front of a list: its offset in a page (16, local_free, thread_free). */
static inline void fake_free(struct fake_segment *f, uint32_t slice, uint64_t size, uint32_t i,
			     uint16_t list)
{
	uint64_t page = fake_page(f, slice), at = fake_block(f, slice, size, i);
	uint64_t first = fake_get(f, page + list, 8);

	if (list == f->l->thread_free)
		first &= ~3ull;
	else
		fake_put(f, page + f->l->page_used, fake_get(f, page + f->l->page_used, 2) - 1, 2);
	fake_put(f, at, fake_encode(f, page, first), 8);
	fake_put(f, page + list, (FAKE_SEGMENT + at) | (list == f->l->thread_free ? 2 : 0), 8);
}

#endif
