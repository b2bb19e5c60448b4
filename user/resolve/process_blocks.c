// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* process_blocks.c - see process_blocks.h. */
#include "resolve/process_blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "memory/block_book.h"
#include "memory/block_life.h"
#include "memory/block_look.h"
#include "model/event.h"
#include "resolve/process_internal.h"

/* Limit on stacks with a life table of their own, of 1 KiB each; others share one. */
#define LIVES_MAX (64u * 1024)
/* Of the blocks freed in a burst, so many are looked at after it: of a stack, and of all. */
#define FREED_OF_STACK 32u
#define FREED_MAX 2048u
/*
 * After so many bursts, what is used again is taken off, if there are no more blocks than that: it
 * takes up to 2 us for each. At the end there may be any number.
 */
#define CORRECTED_BURSTS 8
#define CORRECTED_BLOCKS 32768u

/* Why a block is gone. */
enum why_gone { FREED, FOUND_FREED, GIVEN_AGAIN, USED_AGAIN };

struct process_blocks {
	struct process *p;
	int (*emit)(struct process *p, struct memory_event *ev);
	struct block_book *book;
	uint64_t time_ns;	/* of the record that is being taken */
	uint32_t tid;		/* ... and its thread */
	bool of_map;		/* ... and whether it is of a mapping */
	enum why_gone why;
	/* The rest is for bursts. */
	double weight;		/* of a block; 0: there are no bursts */
	double speed;		/* of the process in this burst: 0 to 1 */
	uint64_t begin_ns;	/* of the burst; 0: none is going on */
	uint64_t first_ns;	/* of the first one */
	uint64_t watched_ns;	/* time of those that have ended */
	uint64_t lived_ns;	/* ... as long as the process needs for the same without probes */
	struct u64map lives;	/* stack + 1 -> struct block_life */
	struct block_life shared;
	struct block_place freed[FREED_MAX];	/* in the last burst; looked at next */
	struct block_life *freed_lives[FREED_MAX];	/* of their stacks */
	size_t freed_cnt;
	struct block_judge judge;
	uint64_t corrected_ns;	/* when correct_blocks() was called last; 0: never */
	uint32_t corrected_ticks;	/* ... and ticks_at() then */
	struct memory_sampled sampled;
	double again_variance;
};

/* ---- events ---- */

static int emit_block(struct process_blocks *b, enum memory_change change, const struct block *of)
{
	struct memory_event ev = {
		.change = change, .time_us = b->time_ns / US_NS, .addr = of->addr,
		.bytes = of->weighed, .stack = of->stack, .thread_id = b->tid,
	};

	return b->emit(b->p, &ev);
}

/* ---- lives ---- */

/* The time since the burst began, at the process' usual speed. */
static uint64_t lived_since(const struct process_blocks *b, uint64_t time_ns)
{
	return b->begin_ns && time_ns > b->begin_ns ?
	       (uint64_t)((double)(time_ns - b->begin_ns) * b->speed) : 0;
}

/* For how long blocks have been watched, in ticks (block_life.h). */
static uint32_t ticks_at(const struct process_blocks *b, uint64_t time_ns)
{
	uint64_t ns = b->lived_ns + lived_since(b, time_ns);

	return ns / BLOCK_TICK_NS < UINT32_MAX ? (uint32_t)(ns / BLOCK_TICK_NS) : UINT32_MAX;
}

static uint64_t watched_for(const struct process_blocks *b, const struct block *of)
{
	uint32_t now = ticks_at(b, b->time_ns);

	return now > of->ticks ? now - of->ticks : 0;
}

static struct block_life *life_of(struct process_blocks *b, uint32_t stack)
{
	struct block_life *l = u64map_get(&b->lives, (uint64_t)stack + 1);

	if (l)
		return l;
	l = b->lives.cnt < LIVES_MAX ? calloc(1, sizeof(*l)) : NULL;
	if (l && !u64map_put(&b->lives, (uint64_t)stack + 1, l))
		return l;
	free(l);
	return &b->shared;
}

static void count_life(struct process_blocks *b, const struct block *gone)
{
	struct block_life *l = life_of(b, gone->stack);

	if (b->why == FREED)
		block_life_freed(l, watched_for(b, gone));
	else
		block_life_left(l, watched_for(b, gone));
	if (b->why == FREED && !b->of_map && b->freed_cnt < FREED_MAX &&
	    l->listed < FREED_OF_STACK) {
		l->listed++;
		b->freed_lives[b->freed_cnt] = l;
		b->freed[b->freed_cnt++] = (struct block_place){ gone->addr, gone->bytes, false };
	}
	if (b->why == FOUND_FREED)
		b->sampled.found += gone->weighed;
}

/* block_book_fns */
static int block_gone(void *ctx, const struct block *gone)
{
	struct process_blocks *b = ctx;

	if (b->weight > 0 && b->why != USED_AGAIN)
		count_life(b, gone);
	return emit_block(b, MEMORY_FREE, gone);
}

static int block_left(void *ctx, const struct block *left)
{
	return emit_block(ctx, MEMORY_ALLOC, left);
}

struct process_blocks *process_blocks_new(struct process *p,
					  int (*emit)(struct process *p, struct memory_event *ev))
{
	static const struct block_book_fns fns = { .gone = block_gone, .left = block_left };
	struct process_blocks *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->p = p;
	b->emit = emit;
	b->book = block_book_new(&fns, b);
	if (b->book)
		return b;
	free(b);
	return NULL;
}

void process_blocks_free(struct process_blocks *b)
{
	size_t pos = 0;
	void *life;

	if (!b)
		return;
	while ((life = u64map_next(&b->lives, &pos)))
		free(life);
	u64map_free(&b->lives);
	block_book_free(b->book);
	free(b);
}

/* ---- records ---- */

static uint64_t weigh(const struct process_blocks *b, uint64_t bytes)
{
	double weighed = (double)bytes * b->weight;

	if (!(b->weight > 0))
		return bytes;
	return weighed < 0x1p63 ? (uint64_t)(weighed + 0.5) : 1ull << 63;
}

int process_blocks_alloc(struct process_blocks *b, const struct raw_sample *raw, uint32_t stack)
{
	struct block block = {
		.addr = raw_sample_memory(raw)->addr, .bytes = raw_sample_memory(raw)->bytes,
		.time_ns = raw->h.time_ns, .stack = stack,
	};
	int err;

	b->time_ns = raw->h.time_ns;
	b->tid = raw->tid;
	b->why = GIVEN_AGAIN;
	block.weighed = weigh(b, block.bytes);
	block.ticks = ticks_at(b, block.time_ns);
	err = raw->h.why == ALLOC_MAP ? block_book_map(b->book, &block) :
					block_book_add(b->book, &block);
	if (err == -ENOSPC) {
		process_add_lost(b->p, raw->tid, LOSS_BLOCKS_FULL, 1);
		return 0;
	}
	return err ? err : emit_block(b, MEMORY_ALLOC, &block);
}

int process_blocks_freed(struct process_blocks *b, const struct raw_free *raw)
{
	b->time_ns = raw->h.time_ns;
	b->tid = raw->tid;
	b->why = FREED;
	b->of_map = raw->h.why == ALLOC_MAP;
	if (b->of_map)
		return block_book_unmap(b->book, raw->addr, raw->bytes, raw->h.time_ns);
	return block_book_remove(b->book, raw->addr, raw->h.time_ns);
}

/* ---- bursts ---- */

static void forget_freed(struct process_blocks *b)
{
	while (b->freed_cnt)
		b->freed_lives[--b->freed_cnt]->listed = 0;
}

int process_blocks_burst(struct process_blocks *b, uint64_t time_ns, double weight, double speed)
{
	struct memory_event ev = { .change = MEMORY_BURST, .time_us = time_ns / US_NS };

	b->weight = weight;
	b->speed = speed;
	b->begin_ns = time_ns;
	b->first_ns = b->first_ns ? b->first_ns : time_ns;
	forget_freed(b);
	b->sampled.bursts++;
	return b->emit(b->p, &ev);
}

/* The first ones of a round are the freed ones, then those that are in use. */
size_t process_blocks_list(struct process_blocks *b, uint64_t *pos, struct block_place *places,
			   size_t max)
{
	static struct block blocks[BLOCK_LOOKS_MAX];
	static bool mappings[BLOCK_LOOKS_MAX];
	size_t n = 0, i;

	max = max < BLOCK_LOOKS_MAX ? max : BLOCK_LOOKS_MAX;
	if (b->freed_cnt && max >= FREED_MAX) {
		n = b->freed_cnt;
		memcpy(places, b->freed, n * sizeof(*places));
		return n;
	}
	n = block_book_list(b->book, pos, blocks, mappings, max);
	for (i = 0; i < n; i++)
		places[i] = (struct block_place){ blocks[i].addr, blocks[i].bytes, mappings[i] };
	return n;
}

static void take_freed(struct process_blocks *b, const struct block_place *places,
		       const struct block_words *words, size_t cnt)
{
	enum block_allocator allocator = block_judge_says(&b->judge);
	size_t i;

	for (i = 0; allocator && i < cnt; i++) {
		b->freed_lives[i]->looked++;
		b->freed_lives[i]->used += !block_is_gone(allocator, &places[i], &words[i]);
	}
	forget_freed(b);
}

static int take_gone(struct process_blocks *b, const struct block_place *place)
{
	return place->mapping ?
	       block_book_unmap(b->book, place->addr, place->bytes, UINT64_MAX) :
	       block_book_remove(b->book, place->addr, UINT64_MAX);
}

int process_blocks_looked(struct process_blocks *b, uint64_t now_ns,
			  const struct block_place *places, const struct block_words *words,
			  size_t cnt, bool *gone)
{
	enum block_allocator allocator;
	size_t i;
	int err = 0;

	memset(gone, 0, cnt * sizeof(*gone));
	if (b->freed_cnt) {
		take_freed(b, places, words, cnt);
		return 0;
	}
	for (i = 0; i < cnt; i++)
		block_judge_take(&b->judge, &places[i], &words[i]);
	allocator = block_judge_says(&b->judge);
	b->time_ns = now_ns;
	b->tid = 0;
	b->why = FOUND_FREED;
	for (i = 0; !err && i < cnt; i++) {
		gone[i] = block_is_gone(allocator, &places[i], &words[i]);
		if (gone[i])
			err = take_gone(b, &places[i]);
	}
	return err;
}

/* ---- the end ---- */

/* For block_book_sweep(). */
static bool count_watched(void *ctx, const struct block *block)
{
	struct process_blocks *b = ctx;

	block_life_left(life_of(b, block->stack), watched_for(b, block));
	return false;
}

/* For block_book_sweep(). */
static bool count_no_more(void *ctx, const struct block *block)
{
	struct process_blocks *b = ctx;

	block_life_goes_on(life_of(b, block->stack), watched_for(b, block));
	return false;
}

/* The probability that the block is in its first use, if it was at the last correction. */
static double first_use(const struct process_blocks *b, const struct block_life *l,
			const struct block *block, bool at_most)
{
	uint64_t age = b->time_ns > block->time_ns ? b->time_ns - block->time_ns : 0;
	double now, then = 1;

	if (!l->freed_cnt)
		return 1;
	now = block_life_first_use(l, age / BLOCK_TICK_NS, watched_for(b, block), at_most);
	if (b->corrected_ns > block->time_ns && b->corrected_ticks >= block->ticks)
		then = block_life_first_use(l, (b->corrected_ns - block->time_ns) / BLOCK_TICK_NS,
					    b->corrected_ticks - block->ticks, at_most);
	return now < then ? now / then : 1;
}

/* For block_book_sweep(). */
static bool is_used_again(void *ctx, const struct block *block)
{
	struct process_blocks *b = ctx;
	struct block_life *l = life_of(b, block->stack);
	double first = first_use(b, l, block, false);

	l->again += (double)block->weighed * (1 - first);
	l->doubtful += (double)block->weighed * (first_use(b, l, block, true) - first);
	b->sampled.looked_used += (uint64_t)((double)block->weighed * first);
	return block_life_is_over(l, block->weighed, first);
}

static void close_lives(struct process_blocks *b)
{
	struct block_life *l;
	size_t pos = 0;

	block_book_sweep(b->book, count_watched, b);
	block_life_close(&b->shared);
	while ((l = u64map_next(&b->lives, &pos)))
		block_life_close(l);
	block_book_sweep(b->book, count_no_more, b);
}

/*
 * Passes on as freed what counts as used again, as of now. In between, too: else a process whose
 * blocks are used again and again would seem to grow until the end.
 */
static int correct_blocks(struct process_blocks *b)
{
	int err;

	b->why = USED_AGAIN;
	b->tid = 0;
	b->sampled.looked_used = 0;
	close_lives(b);
	err = block_book_sweep(b->book, is_used_again, b);
	b->corrected_ns = b->time_ns;
	b->corrected_ticks = ticks_at(b, b->time_ns);
	return err;
}

int process_blocks_burst_end(struct process_blocks *b, uint64_t time_ns)
{
	if (!b->begin_ns)
		return 0;
	b->lived_ns += lived_since(b, time_ns);
	b->watched_ns += time_ns > b->begin_ns ? time_ns - b->begin_ns : 0;
	b->sampled.over_us = (time_ns - b->first_ns) / US_NS;
	b->begin_ns = 0;
	b->time_ns = time_ns;
	if (b->sampled.bursts % CORRECTED_BURSTS || block_book_cnt(b->book) > CORRECTED_BLOCKS)
		return 0;
	return correct_blocks(b);
}

/*
 * The hazard of n frees is known to 1 / sqrt(n) of itself; half of what depends on ages that nobody
 * was watched at is taken for an error.
 */
static void add_again(struct process_blocks *b, const struct block_life *l)
{
	b->sampled.again += (uint64_t)l->again;
	if (l->freed_cnt)
		b->again_variance += l->again * l->again / (double)l->freed_cnt;
	b->again_variance += l->doubtful * l->doubtful / 4;
}

static void add_all_again(struct process_blocks *b)
{
	struct block_life *l;
	size_t pos = 0;

	add_again(b, &b->shared);
	while ((l = u64map_next(&b->lives, &pos)))
		add_again(b, l);
}

int process_blocks_end(struct process_blocks *b, uint64_t now_ns)
{
	struct memory_event ev = { .change = MEMORY_SAMPLED };
	int err;

	if (!(b->weight > 0))
		return 0;
	err = b->begin_ns ? process_blocks_burst_end(b, now_ns) : 0;
	if (err)
		return err;
	b->time_ns = now_ns;
	err = correct_blocks(b);
	add_all_again(b);
	b->sampled.looked_used += b->sampled.again;
	b->sampled.watched_us = b->watched_ns / US_NS;
	b->sampled.again_error = (uint64_t)sqrt(b->again_variance);
	b->sampled.allocator = block_allocator_name(block_judge_says(&b->judge));
	ev.time_us = now_ns / US_NS;
	ev.sampled = b->sampled;
	b->weight = 0;
	return err ? err : b->emit(b->p, &ev);
}
