// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * direct.bpf.c - finds the direct map. No kernel tells its location, but a word of the caller's
 * memory is found only at its true location.
 */
#include "direct.bpf.h"

#define GIB (1ULL << 30)

/* Lowest address of the direct map (Documentation/arch/x86/x86_64/mm.rst). */
#define LOWEST_OF_4 0xffff888000000000ULL
#define LOWEST_OF_5 0xff11000000000000ULL

/*
 * User space runs this by BPF_PROG_TEST_RUN. Returns 1: direct_map is known now. 0: it does not
 * begin here. Negative: it begins nowhere.
 */
SEC("raw_tp")
int find_direct_map(const struct direct_trial *t)
{
	const struct task_struct *task = current_task();
	struct direct_map map = { .encrypted = t->encrypted };
	u64 table;
	struct direct_page page;

	if (!HAVE_DIRECT)
		return -1;
	/* The page table is in the direct map, too, and with five levels this is the fifth. */
	table = *kernel_words(*kernel_words((u64)&task->mm) +
			      bpf_core_field_offset(struct mm_struct, pgd));
	map.base = (table & ~(GIB - 1)) - t->below * GIB;
	if (map.base < (table >= FOUR_LEVELS_BASE ? LOWEST_OF_4 : LOWEST_OF_5))
		return -1;
	table = page_table_of(task, map.base, map.encrypted);
	if (!table || !follow_tables(&map, table, t->addr, &page) ||
	    *kernel_words(page.at) != t->word)
		return 0;
	direct_map.encrypted = map.encrypted;
	direct_map.base = map.base;
	return 1;
}
