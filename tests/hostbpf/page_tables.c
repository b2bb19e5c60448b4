// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * page_tables.c - see page_tables.h.
 *
 * Physical memory has a place for tables and one for each size of page. Adjacent pages of the
 * target are never adjacent in it.
 */
#include "page_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bpf/kcompat.bpf.h"

#define TABLES_MAX 4096
#define TABLE_BYTES 4096ull
#define TABLE_WORDS 512
#define TABLES_AT (TABLES_GIB * TABLE_GIB + 0x123000)
#define BASE_OF_4 0xffff8a1240000000ull	/* at random, as the kernel chooses them */
#define BASE_OF_5 0xff12345640000000ull
#define ENTRY_OF_TABLE (ENTRY_PRESENT | ENTRY_WRITE | ENTRY_USER | ENTRY_ACCESSED)
/* No code, and a protection key: bits that say nothing of what may be read. */
#define ENTRY_OF_PAGE (ENTRY_OF_TABLE | ENTRY_DIRTY | 5ull << 60)
#define ENTRY_IS_LARGE (1ull << 7)
#define PHYSICAL 0x00007ffffffff000ull
/* Results of kernel_words() that are valid at a time. */
#define RESULTS 64

struct page_tables page_tables;

/* Pages of one size: the n-th is at `at` + 2 * n * bytes. */
static u64 addrs[3][1 << 15];	/* in the target */
static struct pages {
	u64 at, bytes;
	u64 *addrs;
	u32 cnt;
} sizes[] = {
	{ .at = 1ull << 32, .bytes = 4096, .addrs = addrs[0] },
	{ .at = 1ull << 36, .bytes = TABLE_MIB2, .addrs = addrs[1] },
	{ .at = 1ull << 40, .bytes = TABLE_GIB, .addrs = addrs[2] },
};

static u64 tables[TABLES_MAX][TABLE_WORDS];
static u32 table_cnt;
static int depth;
static u64 mark;	/* direct_map.encrypted */

static void die(const char *what, u64 v)
{
	fprintf(stderr, "page_tables: %s (%llx)\n", what, (unsigned long long)v);
	abort();
}

u64 page_tables_base(void)
{
	return depth == 5 ? BASE_OF_5 : BASE_OF_4;
}

/* ---- tables ---- */

static u64 new_table(void)
{
	if (table_cnt == TABLES_MAX)
		die("too many tables", table_cnt);
	memset(tables[table_cnt], 0, TABLE_BYTES);
	return TABLES_AT + table_cnt++ * TABLE_BYTES;
}

/* The entry for addr of the table at this physical address. bytes: that an entry stands for. */
static u64 *entry_of(u64 table, u64 addr, u64 bytes)
{
	return &tables[(table - TABLES_AT) / TABLE_BYTES][addr / bytes % TABLE_WORDS];
}

/* page_tables_entry(); make: tables that are missing. */
static u64 *walk_to(u64 addr, u64 bytes, bool make)
{
	u64 step = 4096ull << 9 * (depth - 1), table = TABLES_AT, *entry;

	for (;; step /= TABLE_WORDS) {
		entry = entry_of(table, addr, step);
		if (step == bytes)
			return entry;
		if (!*entry && make)
			*entry = new_table() | ENTRY_OF_TABLE | mark;
		table = *entry & PHYSICAL & ~mark;
		if (!*entry || *entry & ENTRY_IS_LARGE)
			die("no table for", addr);
	}
}

u64 *page_tables_entry(u64 addr, u64 bytes)
{
	return walk_to(addr, bytes, false);
}

u64 *page_tables_loaded(u64 addr)
{
	u64 at = addr - page_tables_base() - TABLES_AT;

	return at < table_cnt * TABLE_BYTES ? &tables[0][0] + at / 8 : NULL;
}

u64 page_tables_entry_at(u64 addr, u64 bytes)
{
	u64 *entry = page_tables_entry(addr, bytes);

	return page_tables_base() + TABLES_AT + (u64)((u8 *)entry - (u8 *)tables);
}

/* Let one page of this size have what is at addr. */
static void add_page(struct pages *size, u64 addr, u64 flags)
{
	u64 *entry = walk_to(addr, size->bytes, true);

	if (size->cnt == sizeof(*addrs) / sizeof(**addrs))
		die("too many pages", size->cnt);
	size->addrs[size->cnt] = addr;
	*entry = (size->at + 2 * size->cnt++ * size->bytes) | flags | mark;
}

static void add_small(u64 addr)
{
	if (addr < 1ull << (9 * depth + 11))
		add_page(&sizes[0], addr, ENTRY_OF_PAGE);
}

void page_tables_join(u64 addr, u64 bytes)
{
	add_page(&sizes[bytes == TABLE_GIB ? 2 : 1], addr, ENTRY_OF_PAGE | ENTRY_IS_LARGE);
}

void page_tables_build(int levels, u64 encrypted)
{
	u32 i;

	page_tables = (struct page_tables){ 0 };
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		sizes[i].cnt = 0;
	depth = levels;
	mark = encrypted;
	table_cnt = 0;
	host.mm.pgd = (void *)(page_tables_base() + new_table());
	host_mem_each(add_small);
	direct_map.encrypted = encrypted;
	direct_map.base = page_tables_base();
}

/* ---- what the kernel sees ---- */

/* What is at this physical address, and on its page behind it; NULL: there is no memory. */
static const u8 *physical(u64 at)
{
	u64 n, off;
	u32 i;

	if (at - TABLES_AT < table_cnt * TABLE_BYTES)
		return (const u8 *)tables + (at - TABLES_AT);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		n = (at - sizes[i].at) / sizes[i].bytes / 2;
		off = (at - sizes[i].at) % (2 * sizes[i].bytes);
		if (at >= sizes[i].at && n < sizes[i].cnt && off < sizes[i].bytes)
			return host_mem_at(sizes[i].addrs[n] + off);
	}
	return NULL;
}

/*
 * The kernel's structures are where the test has them. The system copies, because it says no if
 * nothing is there.
 */
static void copy_own(void *dst, u64 addr, size_t len)
{
	struct iovec to = { dst, len }, from = { (void *)addr, len };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0)
		memset(dst, 0, len);
}

/* Copy from the direct map. dst: zeros. */
static void copy_direct(u8 *dst, u64 addr, size_t len)
{
	const u8 *from;
	size_t n;

	page_tables.loads++;
	if (page_tables.before_load)
		page_tables.before_load(addr);
	for (; len; addr += n, dst += n, len -= n) {
		n = TABLE_BYTES - addr % TABLE_BYTES;
		if (n > len)
			n = len;
		from = addr < page_tables_base() ? NULL : physical(addr - page_tables_base());
		if (from)
			memcpy(dst, from, n);
	}
}

void *bpf_rdonly_cast(const void *obj, u32 btf_id)
{
	static u8 results[RESULTS][KERNEL_WORDS * 8];
	static u32 cnt;
	u8 *result = results[cnt++ % RESULTS];
	u64 addr = (u64)obj;

	memset(result, 0, sizeof(*results));
	if (addr - (u64)&host < sizeof(host) - sizeof(*results))
		memcpy(result, obj, sizeof(*results));
	else if (addr >> 63 && host.mm.pgd)
		copy_direct(result, addr, sizeof(*results));
	else if (!(addr >> 63))
		copy_own(result, addr, sizeof(*results));
	return result;
}
