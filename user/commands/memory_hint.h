/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_hint.h - what tables of --mode mem say about themselves: a function that touched a page
 * first need not be the one whose objects are in it now; and which commands tell what stays.
 */
#ifndef TACHBPF_MEMORY_HINT_H
#define TACHBPF_MEMORY_HINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The heading of a table of functions; blocks: by --allocations, all or some of them. */
const char *memory_heading(bool blocks);

/*
 * Prints, after such a table of pages, what it does not say and the commands for it, in lines of at
 * most width columns; 0: no terminal. tgid: the process; 0: there are several, or none. lives: it
 * still runs, as far as is known. type: of objects, that grew, any bytes; "": unknown.
 */
void memory_print_hint(FILE *out, uint32_t tgid, bool lives, const char *type, size_t width);

#endif
