// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_chunks.c - finds glibc's blocks in a page: see page_blocks.h.
 *
 * The word before the memory of each block has its size and three flags, and the next chunk follows
 * it. A block of its own mapping begins at a page. The others lie in a heap, where nothing says
 * where one begins: so a chain of sizes that fit each other is looked for in the memory before the
 * page.
 */
#include <string.h>

#include "base/util.h"
#include "memory/glibc_chunk.h"
#include "memory/page_blocks.h"

struct chunk {
	uint64_t addr, bytes;
	uint8_t state;			/* PLACE_FRESH: the rest of the heap */
};

/*
 * The bytes of a block with its own mapping, whole pages; 0: it is none. Since glibc 2.43 the size
 * leaves out the head. head: CHUNK_HEAD bytes.
 */
static uint64_t mapped_bytes(const struct reading *r, const uint8_t *head, uint64_t addr)
{
	uint64_t size = word_at(head, 1), bytes = chunk_size(size);

	if ((bytes & (r->mem->page_bytes - 1)) == r->mem->page_bytes - CHUNK_HEAD)
		bytes += CHUNK_HEAD;
	return (size & CHUNK_FLAGS) == CHUNK_IS_MAPPED && !word_at(head, 0) && bytes &&
	       !(bytes & (r->mem->page_bytes - 1)) && bytes <= r->area->end - addr ? bytes : 0;
}

static struct place_mark mark_chunk(const struct reading *r, const struct chunk *c)
{
	struct place_mark m = { .id = hash_of(&c->addr, sizeof(c->addr)) };
	uint8_t words[3 * WORD];
	unsigned int i;

	m.words = byte_of(c->bytes);
	if (r->mem->read(r->mem->ctx, c->addr + CHUNK_HEAD, words, sizeof(words)))
		return m;
	for (i = 0; i < 3; i++)
		m.words |= (word_at(words, i) ? byte_of(word_at(words, i)) : 0u) << 8 * (i + 1);
	return m;
}

static void take_chunk(const struct reading *r, const struct chunk *c)
{
	struct place_mark m = { 0 };
	unsigned int i;

	if (c->state == PLACE_MALLOC)
		m = mark_chunk(r, c);
	for (i = 0; i < PAGE_PLACES; i++) {
		if (place_addr(r, i) - c->addr >= c->bytes)
			continue;
		r->out->states[i] = c->state;
		r->out->marks[i] = m;
	}
}

/* Mappings in a row that are looked at for a block of its own; pages before the page. */
#define MAPPED_STEPS 64
#define MAPPED_BACK (1u << 20)

/* Returns true if the page is in a block of its own mapping that begins here. *bytes: its size. */
static bool take_mapped_at(const struct reading *r, uint64_t addr, uint64_t *bytes)
{
	uint8_t head[CHUNK_HEAD];

	*bytes = r->mem->read(r->mem->ctx, addr, head, sizeof(head)) ? 0 :
		 mapped_bytes(r, head, addr);
	if (r->page - addr >= *bytes)
		return false;
	take_chunk(r, &(struct chunk){ addr, *bytes, PLACE_MALLOC });
	return true;
}

bool page_chunks_take_mapped(const struct reading *r)
{
	uint64_t at = r->area->start, bytes, back;
	unsigned int i;

	for (i = 0; i < MAPPED_STEPS && at <= r->page; i++, at += bytes) {
		if (take_mapped_at(r, at, &bytes))
			return true;
		if (!bytes)
			break;
	}
	for (back = 0; back <= MAPPED_BACK && r->page - r->area->start >= back;
	     back += r->mem->page_bytes)
		if (take_mapped_at(r, r->page - back, &bytes))
			return true;
	return false;
}

/*
 * The memory before the page's end, and for each possible beginning of a chunk in it: how many
 * chunks follow each other from there up to the page's end, each with a size that leads to the next
 * one. 0: none begins there.
 */
#define WINDOW_MAX ((1u << 20) + 65536u)

static uint8_t window[WINDOW_MAX];
static uint16_t links[WINDOW_MAX / CHUNK_ALIGN];

struct heap_window {
	uint64_t at;		/* the address of window[0], a multiple of CHUNK_ALIGN */
	uint32_t bytes;
};

/* The size of a chunk that may begin there; 0: none does. */
static uint64_t chunk_bytes(const struct reading *r, const struct heap_window *w, uint32_t off)
{
	uint64_t size = word_at(window + off, 1), bytes = chunk_size(size);
	uint64_t before = word_at(window + off, 0);

	if (size & CHUNK_IS_MAPPED || bytes < CHUNK_MIN || bytes % CHUNK_ALIGN ||
	    bytes > r->area->end - w->at - off)
		return 0;
	if (size & CHUNK_PREV_IN_USE)
		return bytes;
	/* The previous one is free, and its size is in front of this one's. */
	if (before < CHUNK_MIN || before > off)
		return 0;
	return chunk_size(word_at(window + off - before, 1)) == before ? bytes : 0;
}

/* Returns where the longest chain begins, if it has that many links; UINT32_MAX: none. */
static uint32_t find_chain(const struct reading *r, const struct heap_window *w, uint16_t least)
{
	uint32_t off, best = UINT32_MAX;
	uint64_t next, bytes;
	uint16_t n;

	for (off = w->bytes; off;) {
		off -= CHUNK_ALIGN;
		bytes = chunk_bytes(r, w, off);
		next = off + bytes;
		n = 0;
		if (bytes)
			n = next >= w->bytes ? 1 : links[next / CHUNK_ALIGN];
		if (n && next < w->bytes && n < UINT16_MAX)
			n++;
		links[off / CHUNK_ALIGN] = n;
		if (n >= least) {
			least = n;
			best = off;
		}
	}
	return best;
}

/*
 * What the chunk is: the next one says whether it is in use. If none follows, because the heap ends
 * there, it is what is left of the heap: nobody has used it, except for pages behind that of its
 * head, which were touched because it was in use and was freed.
 */
static bool judge_chunk(const struct reading *r, const uint8_t *next, struct chunk *c)
{
	uint64_t end = c->addr + c->bytes, size = word_at(next, 1);

	if (end == r->area->end || !chunk_size(size)) {
		c->state = r->page > c->addr + CHUNK_HEAD ? PLACE_FREE : PLACE_FRESH;
		return end == r->area->end || !(end & (r->mem->page_bytes - 1));
	}
	c->state = size & CHUNK_PREV_IN_USE ? PLACE_MALLOC : PLACE_FREE;
	return chunk_size(size) >= CHUNK_HEAD &&
	       (size & CHUNK_PREV_IN_USE || word_at(next, 0) == c->bytes);
}

/*
 * The last block that was found in each MiB: so that the next one, in the memory behind it, is
 * found by few reads. Whether there is still a block is checked as for any other address.
 */
#define ANCHORS 256u
#define ANCHOR_SHIFT 20
#define ANCHORS_BACK 2u
#define ANCHOR_STEPS 64

static struct anchor {
	uint64_t addr;
	uint32_t process;
} anchors[ANCHORS];

static struct anchor *anchor_of(const struct reading *r, uint64_t addr)
{
	uint64_t n = hash_secret_mix(addr >> ANCHOR_SHIFT ^ (uint64_t)r->mem->process << 32 ^
				     HASH_SECRET_A, HASH_SECRET_B);

	return &anchors[n % ANCHORS];
}

static void keep_anchor(const struct reading *r, uint64_t addr)
{
	*anchor_of(r, addr) = (struct anchor){ addr, r->mem->process };
}

/* Takes the chunks from off on that are in the page. */
static void take_chain(const struct reading *r, const struct heap_window *w, uint32_t off)
{
	uint8_t beyond[CHUNK_HEAD];
	struct chunk c;

	while (off < w->bytes) {
		const uint8_t *next = beyond;

		c = (struct chunk){ .addr = w->at + off,
				    .bytes = chunk_size(word_at(window + off, 1)) };
		off += c.bytes;
		if (c.addr + c.bytes <= r->page)
			continue;
		if (c.addr + c.bytes < w->at + w->bytes)
			next = window + off;
		else if (r->mem->read(r->mem->ctx, c.addr + c.bytes, beyond, sizeof(beyond)))
			memset(beyond, 0, sizeof(beyond));
		if (!judge_chunk(r, next, &c))
			return;
		take_chunk(r, &c);
		keep_anchor(r, c.addr);
		if (c.addr + c.bytes >= w->at + w->bytes)
			return;
	}
}

/* Returns true if there was a chain. */
static bool take_window(const struct reading *r, uint64_t first, uint64_t back, uint16_t least,
			struct heap_window *w)
{
	uint64_t end = r->page + r->mem->page_bytes;
	uint32_t off;

	w->at = r->page - first > back ? r->page - back : first;
	w->at = (w->at + CHUNK_ALIGN - 1) & ~(uint64_t)(CHUNK_ALIGN - 1);
	w->bytes = (uint32_t)(end - w->at);
	if (w->bytes > WINDOW_MAX || r->mem->read(r->mem->ctx, w->at, window, w->bytes)) {
		w->bytes = 0;
		return false;
	}
	off = find_chain(r, w, least);
	if (r->area->heap && w->at == r->area->start && links[0])
		off = 0;	/* this is where chunks begin */
	if (off == UINT32_MAX)
		return false;
	take_chain(r, w, off);
	return true;
}

/*
 * A block that is so large that no chain leads to it: one that begins in the window, and that
 * chunks follow. Tries: there are sizes by chance.
 */
#define FOLLOWERS 3
#define TRIES 64

/* Reads a chunk that follows one of `before` bytes (0: unknown). Returns its size; 0: none does. */
static uint64_t read_chunk(const struct reading *r, uint64_t at, uint64_t before,
			   uint8_t head[CHUNK_HEAD])
{
	uint64_t size, bytes;

	if (r->mem->read(r->mem->ctx, at, head, CHUNK_HEAD))
		return 0;
	size = word_at(head, 1);
	bytes = chunk_size(size);
	if (size & CHUNK_IS_MAPPED || bytes < CHUNK_MIN || bytes % CHUNK_ALIGN ||
	    bytes > r->area->end - at)
		return 0;
	return !before || size & CHUNK_PREV_IN_USE || word_at(head, 0) == before ? bytes : 0;
}

/* Returns true if as many chunks follow this one, or all up to the heap's end. next: the first. */
static bool is_followed(const struct reading *r, const struct chunk *c, uint8_t next[CHUNK_HEAD])
{
	uint64_t at = c->addr + c->bytes, bytes = c->bytes;
	uint8_t head[CHUNK_HEAD];
	unsigned int i;

	for (i = 0; i < FOLLOWERS && at != r->area->end; i++, at += bytes) {
		bytes = read_chunk(r, at, bytes, head);
		if (!bytes)
			return false;
		if (!i)
			memcpy(next, head, sizeof(head));
	}
	return true;
}

/* Returns true if the chunks from there on lead to one in which the page is. */
static bool take_from(const struct reading *r, uint64_t at)
{
	uint8_t head[CHUNK_HEAD], next[CHUNK_HEAD] = { 0 };
	struct chunk c = { .bytes = 0 };
	unsigned int i;

	for (i = 0; i < ANCHOR_STEPS && at <= r->page; i++, at += c.bytes) {
		c = (struct chunk){ .addr = at, .bytes = read_chunk(r, at, c.bytes, head) };
		if (!c.bytes)
			return false;
		if (at + c.bytes < r->page + r->mem->page_bytes)
			continue;
		if (!is_followed(r, &c, next) || !judge_chunk(r, next, &c))
			return false;
		take_chunk(r, &c);
		keep_anchor(r, c.addr);
		return true;
	}
	return false;
}

static bool take_anchored(const struct reading *r)
{
	unsigned int i;

	for (i = 0; i <= ANCHORS_BACK; i++) {
		uint64_t addr = r->page - ((uint64_t)i << ANCHOR_SHIFT);
		const struct anchor *a = anchor_of(r, addr);

		if (a->process == r->mem->process && a->addr >= r->area->start &&
		    a->addr >> ANCHOR_SHIFT == addr >> ANCHOR_SHIFT && take_from(r, a->addr))
			return true;
	}
	return false;
}

static void take_large(const struct reading *r, const struct heap_window *w)
{
	uint32_t off = (uint32_t)(r->page - w->at) + CHUNK_ALIGN, tries = 0;

	while (off && tries < TRIES) {
		struct chunk c = { .addr = w->at + (off -= CHUNK_ALIGN) };
		uint8_t next[CHUNK_HEAD] = { 0 };

		if (links[off / CHUNK_ALIGN] != 1)
			continue;
		c.bytes = chunk_bytes(r, w, off);
		if (c.bytes < r->mem->page_bytes)
			continue;
		tries++;
		if (is_followed(r, &c, next) && judge_chunk(r, next, &c)) {
			take_chunk(r, &c);
			keep_anchor(r, c.addr);
			return;
		}
	}
}

/* A longer chain is needed where it can have more links: sizes may fit by chance. */
static const struct {
	uint32_t back;
	uint16_t links;
} windows[] = { { 16u << 10, 12 }, { 64u << 10, 8 }, { 256u << 10, 6 }, { 1u << 20, 4 } };

void page_chunks_take_heap(const struct reading *r)
{
	uint64_t last = windows[ARRAY_SIZE(windows) - 1].back, floor = r->area->start, first;
	struct heap_window w = { .bytes = 0 };
	size_t i;

	if (take_anchored(r))
		return;
	if (r->page - floor > last)
		floor = r->page - last;
	first = r->mem->first(r->mem->ctx, r->page, floor);
	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		if (take_window(r, first, windows[i].back, windows[i].links, &w))
			return;
		if (r->page - first <= windows[i].back)
			break;
	}
	if (w.bytes)
		take_large(r, &w);
}
