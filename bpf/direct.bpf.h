/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * direct.bpf.h - reads memory of the current process through the kernel's direct map.
 *
 * bpf_probe_read_user() costs about 70 ns, whatever it reads. The kernel has mapped all physical
 * memory at one place, its direct map. So this file does what the CPU does: it follows the page
 * tables of the process, four loads, and loads from the page itself. That costs about 10 ns.
 *
 * Nothing here can fault: bpf_rdonly_cast() (6.2, a35b9af4ec2c) makes loads from any address, and
 * one that fails gives 0. What was read is what the process has at this address: interrupts are
 * off, so nobody frees the page tables, and the page's entry in them is loaded once more after the
 * page was read. If it has changed, or if anything is unusual, bpf_probe_read_user() reads.
 *
 * x86-64 only. User space finds the direct map (user/capture/skeleton.h).
 */
#ifndef TACHBPF_DIRECT_H
#define TACHBPF_DIRECT_H

#include "pyscratch.bpf.h"

#if defined(__TARGET_ARCH_x86)
#define HAVE_DIRECT HAVE_ANY_LOAD
#else
#define HAVE_DIRECT 0
#endif

/* Bits of an entry in a page table (arch/x86/include/asm/pgtable_types.h). */
#define ENTRY_USABLE 5		/* present, and the process may read it */
#define ENTRY_LARGE (1 << 7)	/* above the last level: the entry is a page itself */
#define ENTRY_SPECIAL (1 << 9)	/* the kernel does not count this page as memory */
#define ENTRY_ADDRESS 0x00007ffffffff000ULL
#define ENTRY_HIGH 0x000f800000000000ULL	/* direct_map.encrypted, or there is no memory */
/* The levels of page tables: the lowest bit of an address that each uses, and its bits. */
#define LEVEL_4 39
#define LEVEL_3 30
#define LEVEL_1 12
#define LEVEL_BITS 9
#define TABLE_MASK 511
/* With four levels the direct map begins above this, with five below it. */
#define FOUR_LEVELS_BASE 0xffff800000000000ULL
/* No memory is above this, unless a program asks for it; the fifth level has one entry for it. */
#define DIRECT_END (1ULL << 47)

/* Returns true if the entry leads to memory that the process may read. */
static __always_inline bool is_usable(u64 entry, u64 encrypted)
{
	return (entry & (ENTRY_USABLE | ENTRY_HIGH)) == (ENTRY_USABLE | encrypted);
}

/*
 * The direct map's address of the fourth level of a task's page tables; 0: it has none. base,
 * encrypted: of struct direct_map.
 */
static __always_inline u64 page_table_of(const struct task_struct *task, u64 base, u64 encrypted)
{
	u64 mm, table, entry;

	if (!HAVE_DIRECT)
		return 0;
	mm = *kernel_words((u64)&task->mm);
	table = *kernel_words(mm + bpf_core_field_offset(struct mm_struct, pgd));
	if (!table || table >= FOUR_LEVELS_BASE)
		return table;
	entry = *kernel_words(table);
	return is_usable(entry, encrypted) ? base + (entry & ENTRY_ADDRESS) : 0;
}

/*
 * Follow the page table `table` to the page at addr, and set *page except its key. Returns false if
 * the page is not there, or not ordinary memory; then *page is unchanged. *map is read at each
 * level: there is little room on the stack.
 */
static __always_inline bool follow_tables(const volatile struct direct_map *map, u64 table,
					  u64 addr, struct direct_page *page)
{
	u64 at, entry, below;
	int level;

	if (addr >= DIRECT_END)
		return false;
#pragma clang loop unroll(disable)
	for (level = LEVEL_4; level >= LEVEL_1; level -= LEVEL_BITS) {
		at = table + (addr >> level & TABLE_MASK) * 8;
		entry = *kernel_words(at);
		if (!is_usable(entry, map->encrypted))
			return false;
		if (level == LEVEL_1 || (level <= LEVEL_3 && entry & ENTRY_LARGE))
			break;
		table = map->base + (entry & ENTRY_ADDRESS);
	}
	if (entry & ENTRY_SPECIAL)
		return false;
	below = (1ULL << level) - 1;
	page->at = map->base + (entry & ENTRY_ADDRESS & ~below) + (addr & below);
	page->entry_at = at;
	page->entry = entry;
	return true;
}

/*
 * The same from the highest level to a page of the usual size; false also if the page is a large
 * one. It is unrolled and has one way to the end, so it takes less time, here and in the verifier.
 */
static __always_inline bool follow_to_small(const volatile struct direct_map *map, u64 table,
					    u64 addr, struct direct_page *page)
{
	u64 at, entry, base = map->base, encrypted = map->encrypted;
	int level;

	if (addr >= DIRECT_END)
		return false;
#pragma unroll
	for (level = LEVEL_4; level >= LEVEL_1; level -= LEVEL_BITS) {
		at = table + (addr >> level & TABLE_MASK) * 8;
		entry = *kernel_words(at);
		if (unlikely(!is_usable(entry, encrypted)))
			return false;
		table = base + (entry & ENTRY_ADDRESS);
		if (level != LEVEL_1 && level <= LEVEL_3 && unlikely(entry & ENTRY_LARGE))
			return false;
	}
	if (unlikely(entry & ENTRY_SPECIAL))
		return false;
	page->at = table;
	page->entry_at = at;
	page->entry = entry;
	return true;
}

/*
 * Returns true if the page has not changed. Other bits of its entry may change: the CPU sets one
 * when it accesses the page, a fork one for copy on write.
 */
static __always_inline bool is_still(const struct direct_page *page)
{
	return !((*kernel_words(page->entry_at) ^ page->entry) &
		 (ENTRY_ADDRESS | ENTRY_USABLE));
}

#endif
