/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* process_memory.h - struct process_memory, for the files process_memory*.c only. */
#ifndef TACHBPF_PROCESS_MEMORY_H
#define TACHBPF_PROCESS_MEMORY_H

#include "memory/page_book.h"
#include "model/memory_event.h"
#include "resolve/process_parts.h"

struct process_memory {
	struct page_book *pages;
	struct intern *stacks;	/* strings: a stack's ids */
	uint64_t stack_bytes;
	uint64_t last_us;	/* of the last event */
	uint64_t asked_ns;	/* of the answer that is being taken */
	uint64_t before;	/* bytes that the process had before anything was seen */
	bool before_known;
	struct memory_check check;	/* that waits for pages which were touched before it */
	uint64_t check_ns;	/* when the kernel's figures were read; 0: none waits */
	uint64_t since;		/* bytes: what is held, less what was at check_ns; wraps */
	struct pages_round round;
};

#endif
