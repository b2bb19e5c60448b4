// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_frames.c - see page_frames.h. */
#include "memory/page_frames.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Entries of pagemap: Documentation/admin-guide/mm/pagemap.rst, Linux v6.6 */
#define MAP_FRAME ((1ull << 55) - 1)
#define MAP_SHARED_FILE (1ull << 61)	/* of a file, or shared */
#define MAP_SWAPPED (1ull << 62)
#define MAP_PRESENT (1ull << 63)

/* include/uapi/linux/kernel-page-flags.h, Linux v6.6 */
#define FRAME_ANON (1ull << 12)
#define FRAME_HEAD (1ull << 15)
#define FRAME_TAIL (1ull << 16)
#define FRAME_KSM (1ull << 21)
#define FRAME_THP (1ull << 22)
#define FRAME_ZERO (1ull << 24)

/* Addresses so near to each other are read together: as many as a page has entries. */
#define TOGETHER 512u
#define NEIGHBOURS_MAX UINT16_MAX

/* Addresses beyond the process' have no entries: those are empty. */
static int read_map(const struct page_frames *f, uint64_t addr, uint64_t *out, size_t cnt)
{
	off_t at = (off_t)(addr / f->page_bytes * sizeof(*out));
	ssize_t n = pread(f->pagemap, out, cnt * sizeof(*out), at);

	if (n < 0 && errno == EINVAL)
		n = 0;
	if (n < 0)
		return -errno;
	memset((char *)out + n, 0, cnt * sizeof(*out) - (size_t)n);
	return 0;
}

/* 0: not known. */
static uint64_t flags_of(const struct page_frames *f, uint64_t frame)
{
	uint64_t flags;

	return pread(f->flags, &flags, sizeof(flags), (off_t)(frame * sizeof(flags))) ==
	       sizeof(flags) ? flags : 0;
}

/* ---- huge pages ---- */

/*
 * Does a huge page of so many frames, a power of two, begin at this one? Smaller ones lie aligned
 * to their size, so if a frame in the middle is a tail, it is this page's.
 */
static bool begins(const struct page_frames *f, uint64_t frame, uint64_t frames)
{
	return flags_of(f, frame) & FRAME_HEAD && flags_of(f, frame + frames / 2) & FRAME_TAIL;
}

/* How many frames has the huge page of this frame, which is at addr? 0: it lies askew. */
static uint64_t huge_frames(const struct page_frames *f, uint64_t addr, uint64_t frame)
{
	uint64_t n, page = addr / f->page_bytes;

	for (n = f->page_bytes / 8; n > 1; n /= 2)	/* from that of a page table's size on */
		if (begins(f, frame & ~(n - 1), n))
			return (page & (n - 1)) == (frame & (n - 1)) ? n : 0;
	return 0;
}

/* Is there a huge page of this size at addr? */
static bool is_huge_at(struct page_frames *f, uint64_t addr, uint64_t bytes)
{
	uint64_t entry, frame, frames = bytes / f->page_bytes;

	if (!f->steps)
		return false;
	f->steps--;
	if (read_map(f, addr, &entry, 1) || !(entry & MAP_PRESENT) || entry & MAP_SHARED_FILE)
		return false;
	frame = entry & MAP_FRAME;
	return frame && !(frame & (frames - 1)) && flags_of(f, frame) & FRAME_ANON &&
	       begins(f, frame, frames);
}

/* Find the run of huge pages around the one at base. */
static void find_run(struct page_frames *f, uint64_t base, uint64_t bytes)
{
	uint64_t lo = base, hi = base + bytes;

	while (lo >= bytes && (base - lo) / bytes < NEIGHBOURS_MAX && is_huge_at(f, lo - bytes, bytes))
		lo -= bytes;
	while ((hi - base) / bytes <= NEIGHBOURS_MAX && is_huge_at(f, hi, bytes))
		hi += bytes;
	f->run_lo = lo;
	f->run_hi = hi;
	f->run_bytes = bytes;
}

static uint16_t at_most(uint64_t n)
{
	return n < NEIGHBOURS_MAX ? (uint16_t)n : NEIGHBOURS_MAX;
}

static void describe_huge(struct page_frames *f, struct page_state *s)
{
	uint64_t bytes = huge_frames(f, s->addr, s->frame) * f->page_bytes, base;

	s->kind = PAGE_ANON;
	if (!bytes)
		return;
	base = s->addr & ~(bytes - 1);
	if (f->run_bytes != bytes || base < f->run_lo || base >= f->run_hi)
		find_run(f, base, bytes);
	s->kind = PAGE_HUGE;
	s->huge_bytes = (uint32_t)bytes;
	s->huge_before = at_most((base - f->run_lo) / bytes);
	s->huge_after = at_most((f->run_hi - base) / bytes - 1);
}

/* ---- all pages ---- */

/* A page that KSM has merged gets another frame each time: none is named. */
static void describe(struct page_frames *f, struct page_state *s, uint64_t addr, uint64_t entry)
{
	uint64_t flags;

	*s = (struct page_state){ .addr = addr, .kind = PAGE_GONE };
	if (entry & MAP_SWAPPED) {
		s->kind = entry & MAP_SHARED_FILE ? PAGE_OTHER : PAGE_SWAPPED;
		return;
	}
	if (!(entry & MAP_PRESENT))
		return;
	s->kind = entry & MAP_SHARED_FILE ? PAGE_OTHER : PAGE_ANON;
	s->frame = entry & MAP_FRAME;
	f->known |= s->frame != 0;
	if (s->kind != PAGE_ANON || !s->frame || f->flags < 0)
		return;
	flags = flags_of(f, s->frame);
	if (flags & FRAME_ZERO)
		s->kind = PAGE_ZERO;
	else if (flags & FRAME_KSM)
		s->frame = 0;
	else if (flags & FRAME_THP && flags & FRAME_ANON)
		describe_huge(f, s);
}

int page_frames_look(struct page_frames *f, const uint64_t *addrs, size_t cnt,
		     struct page_state *states)
{
	uint64_t entries[TOGETHER], first, last;
	size_t i, end;
	int err;

	for (i = 0; i < cnt; i = end) {
		first = addrs[i] / f->page_bytes;
		for (end = i + 1; end < cnt; end++)
			if (addrs[end] < addrs[i] ||
			    addrs[end] / f->page_bytes - first >= TOGETHER)
				break;
		last = addrs[end - 1] / f->page_bytes;
		err = read_map(f, addrs[i], entries, last - first + 1);
		if (err)
			return err;
		for (; i < end; i++)
			describe(f, &states[i], addrs[i],
				 entries[addrs[i] / f->page_bytes - first]);
	}
	return 0;
}
