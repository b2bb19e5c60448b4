/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * page_frames.h - what page frames are (/proc/kpageflags), and which frame is at a process' address
 * (/proc/PID/pagemap). For the worker of page_check.h.
 */
#ifndef TACHBPF_PAGE_FRAMES_H
#define TACHBPF_PAGE_FRAMES_H

#include "memory/page_book.h"

struct page_frames {
	int pagemap, flags;	/* descriptors; flags -1: kinds of frames are not known */
	uint32_t page_bytes;
	bool known;		/* a page frame number was seen, so they are shown to us */
	uint32_t steps;		/* huge pages that may still be looked at beside those asked about */
	uint64_t run_lo, run_hi, run_bytes;	/* the last run of huge pages; run_bytes 0: none */
};

/*
 * Fill states[0..cnt) for addrs, which are sorted; may wait for the process' memory map. 0 or
 * -errno.
 */
int page_frames_look(struct page_frames *f, const uint64_t *addrs, size_t cnt,
		     struct page_state *states);

#endif
