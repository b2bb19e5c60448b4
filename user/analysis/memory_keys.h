/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_keys.h - the keys of memory rows: numbers for stacks, functions, processes ... of several
 * files, and what each number stands for. For memory_rows.c.
 */
#ifndef TACHBPF_MEMORY_KEYS_H
#define TACHBPF_MEMORY_KEYS_H

#include "analysis/memory_rows.h"

struct memory_keys;

/* Returns NULL if out of memory. Freed by memory_keys_free(). */
struct memory_keys *memory_keys_new(enum mem_by by);
void memory_keys_free(struct memory_keys *k);
/* The following allocations are of this file, which must stay valid until the next call. */
void memory_keys_begin(struct memory_keys *k, const struct memory_source *source);
/* Sets *key to that of an ALLOC's row, dense from 0 on. Returns 0 or -ENOMEM. */
int memory_keys_of(struct memory_keys *k, const struct mlyze_event *alloc, uint32_t *key);
/* What a key stands for, valid until the next call of memory_keys_of(). */
struct memory_key memory_keys_get(const struct memory_keys *k, uint32_t key);
/* The tables that frames of keys are in. */
const struct profile_tables *memory_keys_tables(const struct memory_keys *k);

#endif
