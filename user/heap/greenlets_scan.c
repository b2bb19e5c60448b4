// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* greenlets_scan.c - see greenlets_scan.h. */
#include "heap/greenlets_scan.h"

#include <errno.h>
#include <string.h>

#include "base/time.h"

/* Pages whose presence is asked for at a time, in steps of STEP_PAGES. */
#define STEP_PAGES 16u
#define STEPS 32u
#define WORDS 8192u
/* A table of addresses, half full. */
#define TABLE (4 * GREENLETS_SCAN_TYPES_MAX)

struct scan {
	struct heap_mem *mem;
	uint64_t table[TABLE];
	uint64_t lo, span;
	uint32_t type_at;
	bool (*found)(void *ctx, uint64_t addr);
	void *ctx;
	bool ended;
	uint64_t words[WORDS];
};

static uint32_t slot_of(uint64_t addr)
{
	return (uint32_t)(addr * 0x9e3779b97f4a7c15ull >> 40) % TABLE;
}

static void add_types(struct scan *s, const uint64_t *types, uint32_t cnt)
{
	uint64_t hi = 0;
	uint32_t i, at;

	s->lo = UINT64_MAX;
	for (i = 0; i < cnt && i < GREENLETS_SCAN_TYPES_MAX; i++) {
		if (!types[i])
			continue;
		for (at = slot_of(types[i]); s->table[at]; at = (at + 1) % TABLE)
			;
		s->table[at] = types[i];
		s->lo = types[i] < s->lo ? types[i] : s->lo;
		hi = types[i] > hi ? types[i] : hi;
	}
	s->span = hi - s->lo;
}

static bool is_type(const struct scan *s, uint64_t word)
{
	uint32_t at;

	for (at = slot_of(word); s->table[at]; at = (at + 1) % TABLE)
		if (s->table[at] == word)
			return true;
	return false;
}

static void take_words(struct scan *s, uint64_t addr, uint32_t cnt)
{
	uint32_t i;

	for (i = 0; i < cnt && !s->ended; i++)
		if (s->words[i] - s->lo <= s->span && is_type(s, s->words[i]))
			s->ended = !s->found(s->ctx, addr + 8ull * i - s->type_at);
}

static void scan_run(struct scan *s, uint64_t addr, uint64_t end)
{
	uint64_t n;

	for (; addr < end && !s->ended && !s->mem->ended; addr += n) {
		n = end - addr < sizeof(s->words) ? end - addr : sizeof(s->words);
		if (!heap_mem_read(s->mem, addr, s->words, n))
			take_words(s, addr, (uint32_t)(n / 8));
	}
}

/* Runs of pages that are in memory. */
static void scan_map(struct scan *s, uint64_t start, uint64_t end)
{
	uint64_t step = STEP_PAGES * (uint64_t)s->mem->page_bytes, addr, at, run;
	uint16_t pages[STEPS];
	uint32_t i;

	for (addr = start; addr < end && !s->ended && !s->mem->ended; addr += STEPS * step) {
		if (now_ns() - s->mem->begin_ns > s->mem->time_ns)
			s->mem->ended = true;
		heap_mem_pages(s->mem, addr, (uint32_t)step, pages, STEPS);
		run = 0;
		for (i = 0; i <= STEPS * STEP_PAGES; i++) {
			at = addr + i * (uint64_t)s->mem->page_bytes;
			if (i < STEPS * STEP_PAGES && at < end &&
			    pages[i / STEP_PAGES] >> i % STEP_PAGES & 1) {
				run = run ? run : at;
				continue;
			}
			if (run)
				scan_run(s, run, at < end ? at : end);
			run = 0;
		}
	}
}

int greenlets_scan(struct heap_mem *mem, const struct heap_maps *maps, const uint64_t *types,
		   uint32_t cnt, uint32_t type_at, bool (*found)(void *ctx, uint64_t addr),
		   void *ctx)
{
	static struct scan s;
	bool left_out = maps->cut;
	size_t i;

	memset(&s, 0, sizeof(s));
	s.mem = mem;
	s.type_at = type_at;
	s.found = found;
	s.ctx = ctx;
	add_types(&s, types, cnt);
	for (i = 0; i < maps->cnt && !s.ended && !mem->ended; i++) {
		if (maps->list[i].end - maps->list[i].start > GREENLETS_MAP_BYTES_MAX)
			left_out = true;
		else
			scan_map(&s, maps->list[i].start, maps->list[i].end);
	}
	return s.ended || mem->ended || left_out ? -E2BIG : 0;
}
