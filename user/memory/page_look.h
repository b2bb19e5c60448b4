/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_look.h - reads what is in some pages of a process: for the worker of page_check.h, which may
 * block on the process.
 */
#ifndef TACHBPF_PAGE_LOOK_H
#define TACHBPF_PAGE_LOOK_H

#include <sys/types.h>

#include "memory/page_content.h"

/*
 * Fill contents[0..cnt) for addrs, which are sorted. task: an entry of /proc with the process'
 * files; pagemap: its open file. Only pages that are there are read. Reading takes at most 1 % of a
 * CPU in the long run: beyond that, places are PLACE_UNKNOWN. last: without that limit. 0 or
 * -errno: its mappings cannot be read.
 */
int page_look(pid_t task, int pagemap, uint32_t page_bytes, const uint64_t *addrs, size_t cnt,
	      bool last, struct page_content *contents);

#endif
