// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_mimalloc.c - hostile segments of mimalloc, and pages that change while they are read.
 *
 * Input: a byte for the version and build, one for what is special; then pokes into a segment with
 * pages of each kind: the slice (one byte), where in it and what is written there (two bytes each).
 * The second half of the pokes may happen while pages are read.
 */
#include "tests/fuzz/check.h"
#include "tests/unit/cpython/fake_mimalloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define POKE_BYTES 5
#define SMALL 48
#define MEDIUM 20480

static struct fake_segment f;
static struct mimalloc_segment s;
static struct mimalloc_blocks b;
static uint8_t buf[MIMALLOC_SLICE_BYTES];

static const uint8_t *pokes;
static size_t poke_bytes;

static void poke(const uint8_t *at, size_t len)
{
	uint16_t words[2];

	for (; len >= POKE_BYTES; at += POKE_BYTES, len -= POKE_BYTES) {
		memcpy(words, at + 1, sizeof(words));
		fake_put(&f, at[0] % (FAKE_SLICES - 1) * (uint64_t)MIMALLOC_SLICE_BYTES + words[0],
			 words[1], 2);
	}
}

static void poke_later(struct fake_segment *fake)
{
	(void)fake;
	poke(pokes, poke_bytes);
}

/* Memory is at every address. */
static int read_everywhere(void *ctx, uint64_t addr, void *bytes, size_t len)
{
	uint64_t off = (addr - FAKE_SEGMENT) % (sizeof(f.bytes) - MIMALLOC_SLICE_BYTES);

	check(len <= MIMALLOC_SLICE_BYTES);
	return fake_segment_read(ctx, FAKE_SEGMENT + off, bytes, len);
}

static void fill(const struct fake_layout *l)
{
	uint32_t i;

	fake_segment_make(&f, l, 0);
	fake_page_make(&f, f.info, 1, SMALL, 100, l->free_threaded ? MIMALLOC_GC : 0);
	fake_page_make(&f, f.info + 1, 8, MEDIUM, 20, 0);
	fake_page_make(&f, f.info + 9, 3, 3 * MIMALLOC_SLICE_BYTES, 1, 0);
	for (i = 0; i < 9; i++) {
		uint16_t list = i % 3 == 0 ? 16 : i % 3 == 1 ? l->local_free : l->thread_free;

		fake_free(&f, f.info, SMALL, i * 10, list);
		fake_free(&f, f.info + 1, MEDIUM, i * 2, list);
	}
}

static void read_page(const struct target_mem *mem, int l,
		      struct mimalloc_page *p)
{
	uint32_t i, used = 0;

	check(p->start >= s.addr && p->start + p->block_bytes * p->capacity <= s.addr + s.bytes);
	check(p->capacity && p->capacity <= MIMALLOC_BLOCKS_MAX && p->tag < MIMALLOC_TAGS);
	if (mimalloc_page_read(mem, l, p, buf, 256, &b))
		return;
	check(b.cnt <= MIMALLOC_BLOCKS_MAX && b.used <= b.cnt && b.len <= b.stride);
	check(b.cnt * b.stride <= sizeof(buf));
	for (i = 0; i < b.cnt; i++)
		used += mimalloc_in_use(&b, i);
	check(used == b.used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target_mem mem = { fake_segment_read, &f };
	int l;
	size_t half;
	uint32_t i;

	if (size < 2)
		return 0;
	fill(&fake_layouts[data[0] % FAKE_LAYOUTS]);
	half = data[1] & 1 ? (size - 2) / 2 : size - 2;
	if (data[1] & 2)
		mem.read = read_everywhere;
	poke(data + 2, half);
	pokes = data + 2 + half;
	poke_bytes = size - 2 - half;
	f.change = poke_later;
	f.change_at = 1 + data[1] / 4 % 4;
	l = mimalloc_layout_find(f.bytes, MIMALLOC_HEADER_BYTES, FAKE_SEGMENT,
				 f.l->free_threaded);
	if (l < 0 || mimalloc_segment_read(l, f.bytes, MIMALLOC_HEADER_BYTES, FAKE_SEGMENT, &s))
		return 0;
	check(s.page_cnt <= MIMALLOC_SLICES && s.bytes >= MIMALLOC_SLICE_BYTES);
	for (i = 0; i < s.page_cnt; i++)
		read_page(&mem, l, &s.pages[i]);
	return 0;
}
