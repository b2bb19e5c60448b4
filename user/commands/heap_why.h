/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* heap_why.h - tachbpf heap --why: who keeps the objects of a type. For cmd_heap.c. */
#ifndef TACHBPF_HEAP_WHY_H
#define TACHBPF_HEAP_WHY_H

#include "commands/heap_processes.h"
#include "commands/options.h"

/*
 * Looks for the chains of each process, and shows them. *shown: in how many there are objects of
 * this type. 0 or -ENOMEM; processes that cannot be read are counted in processes->failed.
 */
int heap_why_show(const struct heap_options *opts, struct heap_processes *processes,
		  size_t *shown);

#endif
