// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chains_scan.c - reads the writable memory piece by piece, and finds the words in it that are in a
 * set. Pages that are not in memory are left alone: reading them would bring them in.
 */
#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "heap/chains_work.h"

#define PAGE 4096u

bool chains_at_limit(struct chains *c)
{
	const struct heap_limits *l = &c->why->limits;

	if (now_ns() < c->deadline && (!l->bytes || c->out->bytes_read < l->bytes))
		return false;
	c->out->limited = true;
	return true;
}

/* Words of the piece at addr, and around it as far as they are in lo ... hi. */
struct piece {
	uint64_t addr;
	uint32_t cnt;			/* words of it */
	uint32_t before, after;		/* readable words around it */
	const uint64_t *words;
};

/*
 * Read it with its surroundings; if that fails because a part of it is gone, without them. lo, hi:
 * the run of pages.
 */
static bool read_piece(struct chains *c, uint64_t addr, uint64_t end, uint64_t lo, uint64_t hi,
		       struct piece *p)
{
	const struct target_mem *m = &c->memory->mem;
	uint64_t around = 8 * CHAINS_AROUND;
	uint64_t from = addr - lo > around ? addr - around : lo;
	uint64_t to = hi - end > around ? end + around : hi;

	if (m->read(m->ctx, from, c->piece, to - from)) {
		from = addr;
		to = end;
		if (m->read(m->ctx, from, c->piece, to - from))
			return false;
	}
	c->out->bytes_read += to - from;
	*p = (struct piece){
		.addr = addr, .cnt = (uint32_t)((end - addr) / 8),
		.before = (uint32_t)((addr - from) / 8), .after = (uint32_t)((to - end) / 8),
	};
	p->words = c->piece + p->before;
	return true;
}

typedef void (*piece_fn)(struct chains *c, const struct piece *p, void *ctx);

/* Pages disappear while we read: what cannot be read at once is read page by page. */
static void each_page(struct chains *c, uint64_t addr, uint64_t end, piece_fn fn, void *ctx)
{
	struct piece p;
	uint64_t next;

	for (; addr < end; addr = next) {
		next = (addr | (PAGE - 1)) + 1;
		if (next > end)
			next = end;
		if (read_piece(c, addr, next, addr, next, &p))
			fn(c, &p, ctx);
		else
			c->out->unread += next - addr;
	}
}

static void each_of_run(struct chains *c, uint64_t addr, uint64_t end, piece_fn fn, void *ctx)
{
	uint64_t lo = addr, next;
	struct piece p;

	for (; addr < end && !chains_at_limit(c); addr = next) {
		next = end - addr > CHAINS_PIECE ? addr + CHAINS_PIECE : end;
		if (read_piece(c, addr, next, lo, end, &p))
			fn(c, &p, ctx);
		else
			each_page(c, addr, next, fn, ctx);
	}
}

static void each_of_region(struct chains *c, const struct heap_region *r, piece_fn fn, void *ctx)
{
	const struct heap_memory *m = c->memory;
	uint64_t addr = (r->start + 7) & ~7ull, end = r->end & ~7ull, len;
	bool present = true;

	while (addr < end && !chains_at_limit(c)) {
		len = m->run ? m->run(m->run_ctx, addr, end, &present) & ~7ull : end - addr;
		if (!len || len > end - addr)
			len = end - addr;
		if (present)
			each_of_run(c, addr, addr + len, fn, ctx);
		addr += len;
	}
}

/* ---- words of a set ---- */

static void take_words(struct chains *c, const struct piece *p, void *ctx)
{
	const uint64_t mask = ~(uint64_t)c->target->layout.code_tag_mask;
	const uint64_t lo = c->search.lo, span = c->search.span;
	chains_word_fn fn = *(chains_word_fn *)ctx;
	uint32_t i, value;
	uint64_t word;

	for (i = 0; i < p->cnt; i++) {
		word = p->words[i] & mask;
		if (word - lo >= span)
			continue;
		value = chains_set_find(&c->search, word);
		if (value != CHAINS_NONE)
			fn(c, &(struct chains_word){ p->addr + 8ull * i, value, &p->words[i],
						     p->before + i, p->after + p->cnt - 1 - i });
	}
}

void chains_scan(struct chains *c, chains_word_fn fn)
{
	uint32_t i;

	c->out->scans++;
	for (i = 0; i < c->memory->region_cnt && !chains_at_limit(c); i++)
		each_of_region(c, &c->memory->regions[i], take_words, &fn);
}

/* ---- the type `type` ---- */

/* ob_type, the last word of the head, has the object's own address. */
static void take_own(struct chains *c, const struct piece *p, void *ctx)
{
	uint64_t below = c->head - 8u, *found = ctx;
	const struct heap_type *type;
	uint32_t i;

	for (i = 0; i < p->cnt && !*found; i++) {
		if (p->words[i] != p->addr + 8ull * i - below)
			continue;
		type = heap_types_at(c->types, p->words[i]);
		if (type && !strcmp(type->name, "type"))
			*found = type->addr;
	}
}

/* It is in the data of a file, except in strange builds. */
uint64_t chains_root_type(struct chains *c)
{
	uint64_t found = 0;
	uint32_t i, in_file;

	for (in_file = 1; in_file + 1 && !found; in_file--)
		for (i = 0; i < c->memory->region_cnt && !found && !chains_at_limit(c); i++)
			if ((c->memory->regions[i].file[0] != 0) == (in_file == 1))
				each_of_region(c, &c->memory->regions[i], take_own, &found);
	return found;
}
