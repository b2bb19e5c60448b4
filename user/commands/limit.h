/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * limit.h - --limit: how many rows of a table are shown, and the line that says so.
 */
#ifndef TACHBPF_LIMIT_H
#define TACHBPF_LIMIT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How many of all rows are shown; all of them if limit is 0. */
static inline size_t limit_rows(uint32_t limit, size_t all)
{
	return limit && limit < all ? limit : all;
}

/* After a table of shown rows: print how many rows were left out, if any. */
static inline void limit_print_more(const char *indent, size_t all, size_t shown)
{
	if (shown < all)
		printf("%s... and %zu more; --limit 0 shows all\n", indent, all - shown);
}

#endif
