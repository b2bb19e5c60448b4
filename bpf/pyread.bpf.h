/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyread.bpf.h - reads memory of the current process, in that process' context. Nothing else does.
 *
 * read_user() can always be called, for any size. The others are for what each sample or each frame
 * needs: they read directly (direct.bpf.h) if the program may, which takes a quarter of the time.
 * All return 0, or a negative error; then their output is zeroed.
 */
#ifndef TACHBPF_PYREAD_H
#define TACHBPF_PYREAD_H

#include "direct.bpf.h"

static __always_inline int read_user(void *dst, u32 size, u64 addr)
{
	return bpf_probe_read_user(dst, size, (const void *)addr);
}

/* The tag begins again: no page may have it. */
static __noinline void clear_pages(struct direct *d)
{
	u32 i;

#pragma unroll
	for (i = 0; i < DIRECT_PAGES; i++)
		d->pages[i].key = 0;
	d->tag = 1;
}

/* Forget the pages found by earlier programs. */
static __always_inline void forget_pages(struct direct *d)
{
	d->tag = (d->tag + 1) % PAGE_BYTES;
	if (!d->tag)
		clear_pages(d);
}

/*
 * From here on, the program may read the current process directly. It runs with interrupts off, and
 * calls end_direct() before it ends. task: the current thread.
 */
static __always_inline void begin_direct(struct scratch *s, const struct task_struct *task)
{
	u64 base = direct_map.base;

	s->direct.table = base ? page_table_of(task, base, direct_map.encrypted) : 0;
	forget_pages(&s->direct);
}

static __always_inline void end_direct(struct scratch *s)
{
	s->direct.table = 0;
}

/* Returns true if `size` bytes at addr may be read directly. */
static __always_inline bool is_direct(const struct scratch *s, u64 addr, u32 size)
{
	return HAVE_DIRECT && s->direct.table && addr % PAGE_BYTES + size <= PAGE_BYTES;
}

/* direct_page.key of the page that contains addr, if this program finds it. */
static __always_inline u64 page_key(const struct scratch *s, u64 addr)
{
	return (addr & ~(u64)(PAGE_BYTES - 1)) | s->direct.tag;
}

/* The place of a page in s->direct.pages, by its number. */
static __always_inline u32 place_of_page(u64 addr)
{
	return addr / PAGE_BYTES % DIRECT_PAGES;
}

int look_at_page(u64 addr, u32 place);
/*
 * Follow the page tables to the page that contains addr, and keep it at this place. Returns 0, or
 * -1: read_user() must read. With external linkage: all reads share this code, which at low rates
 * no cache has.
 */
__weak __noinline int look_at_page(u64 addr, u32 place)
{
	struct direct_page *page;
	struct scratch *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	barrier_var(place);	/* the verifier tracks what is checked right before its use */
	if (!HAVE_DIRECT || !s || place > APART)
		return -1;
	page = &s->direct.pages[place];
	barrier_var(page);
	page->key = page_key(s, addr);
	if (likely(follow_tables(&direct_map, s->direct.table, addr & ~(u64)(PAGE_BYTES - 1),
				 page)))
		return 0;
	page->key = 0;
	return -1;
}

/* The page that contains addr, if this program has found it before; else NULL. */
static __always_inline const struct direct_page *find_known_page(const struct scratch *s, u64 addr)
{
	const struct direct_page *page = &s->direct.pages[place_of_page(addr)];

	return page->key == page_key(s, addr) ? page : NULL;
}

/*
 * The page that contains `size` bytes from addr on, which is found or kept at this place. NULL:
 * read_user() must read them.
 */
static __always_inline const struct direct_page *find_page_at(const struct scratch *s, u64 addr,
							      u32 size, u32 place)
{
	const struct direct_page *page = &s->direct.pages[place];

	if (unlikely(!is_direct(s, addr, size)))
		return NULL;
	if (likely(page->key == page_key(s, addr)))
		return page;
	return unlikely(look_at_page(addr, place)) ? NULL : page;
}

static __always_inline const struct direct_page *find_page(const struct scratch *s, u64 addr,
							   u32 size)
{
	return find_page_at(s, addr, size, place_of_page(addr));
}

/*
 * find_page() without the call of look_at_page(), which takes some 10 ns: for what each frame has
 * on pages of its own.
 */
static __always_inline const struct direct_page *
find_page_inline(struct scratch *s, u64 addr, u32 size)
{
	struct direct_page *page = &s->direct.pages[place_of_page(addr)];

	if (unlikely(!is_direct(s, addr, size)))
		return NULL;
	if (page->key == page_key(s, addr))
		return page;
	page->key = page_key(s, addr);
	if (likely(follow_to_small(&direct_map, s->direct.table, addr, page)))
		return page;
	return look_at_page(addr, place_of_page(addr)) ? NULL : page;
}

int read_words_at(u64 addr, u32 cnt, u32 place);
/*
 * Read 1, 2 or 4 words into s->words; their page is kept at this place. With external linkage: all
 * that is not read frame by frame shares this code, which at low rates no cache has.
 */
__weak __noinline int read_words_at(u64 addr, u32 cnt, u32 place)
{
	const struct direct_page *page;
	struct scratch *s;
	u32 zero = 0;
	u64 from;

	s = bpf_map_lookup_elem(&scratches, &zero);
	barrier_var(place);
	if (!s || place > APART)
		return -1;
	page = find_page_at(s, addr, 8 * cnt, place);
	if (likely(page)) {
		from = page->at + addr % PAGE_BYTES;
		s->words[0] = *kernel_words(from);
		if (cnt > 1)
			s->words[1] = *kernel_words(from + 8);
		if (cnt > 2) {
			s->words[2] = *kernel_words(from + 16);
			s->words[3] = *kernel_words(from + 24);
		}
		if (likely(is_still(page)))
			return 0;
	}
	if (cnt == 1)
		return read_user(s->words, 8, addr);
	if (cnt == 2)
		return read_user(s->words, 16, addr);
	return read_user(s->words, 32, addr);
}

static __always_inline int read_words(u64 addr, u32 cnt)
{
	return read_words_at(addr, cnt, place_of_page(addr));
}

/* The same for READ_WORDS words, but all pages that are kept for other reads stay. */
static __always_inline int read_apart(u64 addr)
{
	return read_words_at(addr, READ_WORDS, APART);
}

static __always_inline int read_u64(struct scratch *s, u64 *v, u64 addr)
{
	int err = read_words(addr, 1);

	*v = s->words[0];
	return err;
}

#endif
