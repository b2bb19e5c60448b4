// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mimalloc.c - see mimalloc.h.
 *
 * CPython's Include/internal/mimalloc/mimalloc/types.h has mi_segment_t and mi_page_t. 3.13 has
 * mimalloc 2.1; later releases of 3.14, and 3.15, have 2.5, so that the version of CPython does not
 * tell the layout. Offsets were compared with offsetof() in the headers of 3.13.18, 3.14.10 and
 * 3.15.2, with and without Py_DEBUG and Py_GIL_DISABLED.
 */
#include "cpython/mimalloc.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

/* In a segment's header; these do not differ. */
#define MEMKIND 20
#define MEMKINDS 7
#define SEGMENT_SIZE 32
/* In a page; these do not differ. */
#define SLICE_COUNT 0
#define SLICE_OFFSET 4
#define CAPACITY 10
#define RESERVED 12
#define FREE 16

/* From this size on, a page of mimalloc 2.1 has the size of its blocks from its slices. */
#define HUGE_BLOCK_BYTES (2ull << 30)
#define INFO_SLICES_MAX 2
#define PAGE_BYTES_MAX 128
#define TAG_MASK 0xf
/* Low bits of the list of blocks that other threads have freed. */
#define DELAYED_FLAGS 3ull

struct layout {
	/* In a segment's header. */
	uint16_t used, cookie, segment_slices, info_slices, kind, entries, thread_id, slices;
	/* In a page. */
	uint16_t page_bytes, local_free, page_used, block_size, tag, thread_free;
	uint16_t keys;		/* 0: lists are not encoded */
	uint16_t page_start;	/* 0: follows from the size of its blocks */
	uint8_t used_bytes, size_bytes, tag_shift;
	bool free_threaded;
};

#define SEGMENT_21 .used = 208, .cookie = 216, .segment_slices = 224, .info_slices = 232, \
	.kind = 240, .entries = 248, .thread_id = 256, .slices = 264
#define SEGMENT_25 .used = 216, .cookie = 224, .segment_slices = 248, .info_slices = 256, \
	.kind = 264, .entries = 272, .thread_id = 280, .slices = 288
#define PAGE_21 .page_used = 24, .used_bytes = 4, .block_size = 28, .size_bytes = 4, \
	.local_free = 32, .tag = 8, .tag_shift = 3
#define PAGE_25 .local_free = 24, .page_used = 32, .used_bytes = 2, .tag = 35, \
	.block_size = 40, .size_bytes = 8, .page_start = 48

static const struct layout layouts[] = {
	{ SEGMENT_21, PAGE_21, .thread_free = 40, .page_bytes = 96, .free_threaded = true },
	{ SEGMENT_25, PAGE_25, .thread_free = 56, .page_bytes = 112, .free_threaded = true },
	{ SEGMENT_21, PAGE_21, .keys = 40, .thread_free = 56, .page_bytes = 112,
	  .free_threaded = true },
	{ SEGMENT_25, PAGE_25, .keys = 56, .thread_free = 72, .page_bytes = 128,
	  .free_threaded = true },
	{ SEGMENT_21, PAGE_21, .thread_free = 40, .page_bytes = 80 },
	{ SEGMENT_25, PAGE_25, .thread_free = 56, .page_bytes = 96 },
	{ SEGMENT_21, PAGE_21, .keys = 40, .thread_free = 56, .page_bytes = 96 },
	{ SEGMENT_25, PAGE_25, .keys = 56, .thread_free = 72, .page_bytes = 112 },
};

/* NULL: there is no layout of this number. */
static const struct layout *layout_at(int number)
{
	return number >= 0 && number < (int)ARRAY_SIZE(layouts) ? &layouts[number] : NULL;
}

static uint64_t number_at(const void *bytes, size_t off, size_t len)
{
	uint64_t n = 0;

	memcpy(&n, (const uint8_t *)bytes + off, len);
	return n;
}

/* ---- a segment's header ---- */

/* What of a header is needed to walk its slices. */
struct segment_head {
	uint64_t slices, entries;
	uint32_t info;
	bool huge;
};

static bool read_head(const struct layout *l, const uint8_t *header, size_t len,
		      uint64_t addr, struct segment_head *h)
{
	uint64_t info, kind;

	if (addr % MIMALLOC_SEGMENT_BYTES || len < l->slices + l->page_bytes)
		return false;
	h->slices = number_at(header, l->segment_slices, 8);
	h->entries = number_at(header, l->entries, 8);
	info = number_at(header, l->info_slices, 8);
	kind = number_at(header, l->kind, 4);
	h->info = (uint32_t)info;
	h->huge = kind == 1;
	return kind <= 1 && info && info <= INFO_SLICES_MAX && h->slices > info &&
	       h->slices <= UINT32_MAX && (h->huge || h->slices == MIMALLOC_SLICES) &&
	       h->entries == (h->slices < MIMALLOC_SLICES ? h->slices : MIMALLOC_SLICES) &&
	       number_at(header, MEMKIND, 4) < MEMKINDS &&
	       number_at(header, SEGMENT_SIZE, 8) == h->slices * MIMALLOC_SLICE_BYTES &&
	       number_at(header, l->used, 8) <= h->entries &&
	       addr + h->slices * MIMALLOC_SLICE_BYTES > addr;
}

/* The first slices have the header itself. */
static bool has_own_slices(const struct layout *l, const uint8_t *header,
			   const struct segment_head *h)
{
	const uint8_t *slice = header + l->slices;

	return number_at(slice, SLICE_COUNT, 4) == h->info && !number_at(slice, SLICE_OFFSET, 4) &&
	       number_at(slice, l->block_size, l->size_bytes) == h->info * MIMALLOC_SLICE_BYTES;
}

/* ---- a page's description ---- */

/* Where the first block is, from the start of the page's slices. */
static uint64_t start_offset(const struct layout *l, const uint8_t *slice,
			     uint64_t slice_addr, uint64_t block_bytes)
{
	if (l->page_start)
		return number_at(slice, l->page_start, 8) - slice_addr;
	/* Objects/mimalloc/segment.c, _mi_segment_page_start_from_slice() */
	return block_bytes <= 64 ? 3 * block_bytes : block_bytes <= 512 ? block_bytes : 0;
}

static uint8_t tag_of(const struct layout *l, const uint8_t *slice)
{
	return number_at(slice, l->tag, 1) >> l->tag_shift & TAG_MASK;
}

static void read_lists(const struct layout *l, const uint8_t *slice,
		       struct mimalloc_page *p)
{
	p->capacity = (uint32_t)number_at(slice, CAPACITY, 2);
	p->used = (uint32_t)number_at(slice, l->page_used, l->used_bytes);
	p->free = number_at(slice, FREE, 8);
	p->local_free = number_at(slice, l->local_free, 8);
	p->thread_free = number_at(slice, l->thread_free, 8) & ~DELAYED_FLAGS;
	if (l->keys) {
		p->keys[0] = number_at(slice, l->keys, 8);
		p->keys[1] = number_at(slice, l->keys + 8, 8);
	}
}

/* The page p->addr, which is in use, from its first slice. Returns false if it does not fit. */
static bool read_page(const struct layout *l, const uint8_t *slice, uint64_t slices,
		      struct mimalloc_page *p)
{
	uint64_t size = number_at(slice, l->block_size, l->size_bytes), bytes, off;
	uint64_t reserved = number_at(slice, RESERVED, 2);

	bytes = slices * MIMALLOC_SLICE_BYTES;
	if (l->size_bytes == 4 && size >= HUGE_BLOCK_BYTES)
		size = bytes;
	if (size < 8 || size % 8 || size > bytes)
		return false;
	off = start_offset(l, slice, p->addr, size);
	if (off % 8 || off >= MIMALLOC_SLICE_BYTES || reserved != (bytes - off) / size ||
	    reserved > MIMALLOC_BLOCKS_MAX)
		return false;
	p->start = p->addr + off;
	p->block_bytes = size;
	p->bytes = bytes;
	p->tag = tag_of(l, slice);
	read_lists(l, slice, p);
	return p->capacity <= reserved && p->used <= p->capacity &&
	       p->tag < (l->free_threaded ? MIMALLOC_TAGS : MIMALLOC_MEM + 1);
}

/* Add the page of slice i, if it is in use and has blocks. */
static void add_page(const struct layout *l, const uint8_t *slice, uint64_t i, uint64_t count,
		     struct mimalloc_segment *out)
{
	struct mimalloc_page *p = &out->pages[out->page_cnt];
	uint64_t size = number_at(slice, l->block_size, l->size_bytes);

	/* 0: free; 1: about to change. */
	if (size <= 1)
		return;
	*p = (struct mimalloc_page){ .addr = out->addr + i * MIMALLOC_SLICE_BYTES,
				     .header = out->addr + l->slices + i * l->page_bytes };
	if (!read_page(l, slice, count, p))
		out->bad_pages++;
	else if (p->capacity)
		out->page_cnt++;
}

int mimalloc_segment_read(int layout, const void *header, size_t len, uint64_t addr,
			  struct mimalloc_segment *out)
{
	const struct layout *l = layout_at(layout);
	struct segment_head h;
	uint64_t i, count, whole;

	if (!l || !read_head(l, header, len, addr, &h) || !has_own_slices(l, header, &h))
		return -ENOENT;
	out->addr = addr;
	out->bytes = h.slices * MIMALLOC_SLICE_BYTES;
	out->key = number_at(header, l->cookie, 8) ^ addr;
	out->abandoned = !number_at(header, l->thread_id, 8);
	out->page_cnt = out->bad_pages = 0;
	for (i = h.info; i < h.entries; i += count) {
		const uint8_t *slice = (const uint8_t *)header + l->slices + i * l->page_bytes;

		if (l->slices + (i + 1) * l->page_bytes > len)
			break;
		count = number_at(slice, SLICE_COUNT, 4);
		whole = h.huge ? h.slices - i : h.entries - i;
		if (!count || count > whole || number_at(slice, SLICE_OFFSET, 4)) {
			out->bad_pages++;
			count = 1;
			continue;
		}
		add_page(l, slice, i, count, out);
	}
	return 0;
}

bool mimalloc_may_be_segment(const void *header, size_t len, uint64_t addr, bool free_threaded)
{
	struct segment_head h;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].free_threaded == free_threaded &&
		    read_head(&layouts[i], header, len, addr, &h) &&
		    has_own_slices(&layouts[i], header, &h))
			return true;
	return false;
}

int mimalloc_layout_find(const void *header, size_t len, uint64_t addr, bool free_threaded)
{
	static struct mimalloc_segment s;
	uint32_t pages = 0;
	int best = -ENOENT, i;

	for (i = 0; i < (int)ARRAY_SIZE(layouts); i++) {
		if (layouts[i].free_threaded == free_threaded &&
		    !mimalloc_segment_read(i, header, len, addr, &s) &&
		    s.page_cnt > pages && s.page_cnt > s.bad_pages) {
			best = i;
			pages = s.page_cnt;
		}
	}
	return best;
}

/* ---- a page's blocks ---- */

static uint64_t rotate_right(uint64_t x, uint64_t by)
{
	by %= 64;
	return by ? x >> by | x << (64 - by) : x;
}

/* The next block of a list, from a free block's first word. */
static uint64_t next_of(const struct layout *l, const struct mimalloc_page *p,
			uint64_t word)
{
	uint64_t next;

	if (!l->keys)
		return word;
	next = rotate_right(word - p->keys[0], p->keys[0]) ^ p->keys[1];
	return next == p->header ? 0 : next;
}

/* The blocks of a list are free. Returns false if one is not in the page, or it does not end. */
static bool take_list(const struct layout *l, const struct mimalloc_page *p,
		      const uint8_t *buf, uint64_t at, struct mimalloc_blocks *b)
{
	uint64_t steps, i;

	for (steps = 0; at && steps < b->cnt; steps++) {
		i = (at - p->start) / p->block_bytes;
		if (at < p->start || i >= b->cnt || (at - p->start) % p->block_bytes)
			return false;
		b->bits[i / 64] &= ~(1ull << i % 64);
		at = next_of(l, p, number_at(buf, i * b->stride, 8));
	}
	return !at;
}

static int read_blocks(const struct target_mem *mem, const struct mimalloc_page *p, uint8_t *buf,
		       size_t head_bytes, struct mimalloc_blocks *b)
{
	uint64_t i;
	int err = 0;

	if (p->bytes <= MIMALLOC_SLICE_BYTES) {
		b->stride = b->len = (size_t)p->block_bytes;
		return mem->read(mem->ctx, p->start, buf, b->cnt * b->stride);
	}
	b->len = p->block_bytes < head_bytes ? (size_t)p->block_bytes : head_bytes;
	b->stride = (b->len + 7) / 8 * 8;
	if (b->len < 8 || b->cnt * b->stride > MIMALLOC_SLICE_BYTES)
		return -E2BIG;
	for (i = 0; !err && i < b->cnt; i++)
		err = mem->read(mem->ctx, p->start + i * p->block_bytes, buf + i * b->stride,
				b->len);
	return err;
}

/* As mimalloc_page_at(). */
static int read_description(const struct target_mem *mem, const struct layout *l, uint64_t addr,
			    struct mimalloc_page *out)
{
	uint64_t segment = addr / MIMALLOC_SEGMENT_BYTES * MIMALLOC_SEGMENT_BYTES, count;
	uint8_t slice[PAGE_BYTES_MAX];
	int err;

	*out = (struct mimalloc_page){ .addr = addr / MIMALLOC_SLICE_BYTES * MIMALLOC_SLICE_BYTES };
	out->header = segment + l->slices +
		(addr - segment) / MIMALLOC_SLICE_BYTES * l->page_bytes;
	err = mem->read(mem->ctx, out->header, slice, l->page_bytes);
	if (err)
		return err;
	count = number_at(slice, SLICE_COUNT, 4);
	return count && !number_at(slice, SLICE_OFFSET, 4) && read_page(l, slice, count, out) ?
		0 : -ENOENT;
}

int mimalloc_page_at(const struct target_mem *mem, int layout, uint64_t addr,
		     struct mimalloc_page *out)
{
	const struct layout *l = layout_at(layout);

	return l ? read_description(mem, l, addr, out) : -ENOENT;
}

/* Read the description again: its lists, and whether it is still the same page. */
static int read_again(const struct target_mem *mem, const struct layout *l,
		      const struct mimalloc_page *p, struct mimalloc_page *out)
{
	int err = read_description(mem, l, p->addr, out);

	return err ? err : out->bytes == p->bytes && out->block_bytes == p->block_bytes &&
		out->start == p->start && out->tag == p->tag ? 0 : -ENOENT;
}

/*
 * Its thread takes blocks from the list `free`, and puts freed ones in `local_free`. So `free` as
 * it is after the blocks were read, and the others as they were before, lead through blocks that
 * were free when they were read.
 */
int mimalloc_page_read(const struct target_mem *mem, int layout, struct mimalloc_page *page,
		       void *buf, size_t head_bytes, struct mimalloc_blocks *out)
{
	const struct layout *l = layout_at(layout);
	struct mimalloc_page before, after;
	uint32_t i;
	int err = l ? read_again(mem, l, page, &before) : -ENOENT;

	if (err)
		return err;
	out->cnt = before.capacity;
	out->used = 0;
	err = read_blocks(mem, &before, buf, head_bytes, out);
	if (!err)
		err = read_again(mem, l, page, &after);
	if (err)
		return err;
	*page = before;
	memset(out->bits, 0, sizeof(out->bits));
	for (i = 0; i < out->cnt; i++)
		out->bits[i / 64] |= 1ull << i % 64;
	/* Its first block is beyond what was read if the page has grown meanwhile. */
	if (after.capacity != before.capacity || after.keys[0] != before.keys[0] ||
	    !take_list(l, page, buf, after.free, out) ||
	    !take_list(l, page, buf, before.local_free, out) ||
	    !take_list(l, page, buf, before.thread_free, out))
		return -EAGAIN;
	for (i = 0; i < out->cnt; i++)
		out->used += mimalloc_in_use(out, i);
	return 0;
}

/* Objects/mimalloc/page-queue.c, mi_bin(): four sizes for each doubling. Larger ones: slices. */
uint64_t mimalloc_block_bytes(uint64_t request)
{
	uint64_t step = 8;

	if (request > UINT64_MAX / 2)
		return request;
	if (request > 128u << 10)
		step = MIMALLOC_SLICE_BYTES;
	else if (request > 64)
		step = 1ull << (63 - __builtin_clzll(request - 1)) >> 2;
	return request ? (request + step - 1) / step * step : step;
}
