/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_keys.h - what rows of memory are by: numbers for stacks, functions, processes ... of
 * several files, and what each number stands for. Only for memory_rows.c.
 */
#ifndef TACHBPF_MEMORY_KEYS_H
#define TACHBPF_MEMORY_KEYS_H

#include "analysis/memory_rows.h"

struct memory_keys;

/* NULL: out of memory. Freed by memory_keys_free(). */
struct memory_keys *memory_keys_new(enum mem_by by);
void memory_keys_free(struct memory_keys *keys);

/* The following allocations are of this file, which must stay valid until the next call. */
void memory_keys_begin(struct memory_keys *keys, const struct memory_source *source);
/* The number of an ALLOC's row, dense from 0 over all files. 0 or -ENOMEM. */
int memory_keys_of(struct memory_keys *keys, const struct mlyze_event *alloc, uint32_t *key);

struct memory_key memory_keys_get(const struct memory_keys *keys, uint32_t key);
const struct profile_tables *memory_keys_tables(const struct memory_keys *keys);

#endif
