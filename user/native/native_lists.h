/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_lists.h - lists of mappings, each of one process and of those that it has forked, in the
 * native memory.
 */
#ifndef TACHBPF_NATIVE_LISTS_H
#define TACHBPF_NATIVE_LISTS_H

#include "native/native_state.h"

/* A new list with a copy of cnt mappings; its files have one reference more. NULL: no memory. */
struct list *list_new(struct native *n, const struct mapping *maps, uint32_t cnt);
/* One process less has it. l may be NULL. */
void list_put(struct native *n, struct list *l);
/*
 * Write it, if it says something else than the native memory. 0: *wrote says if it did; -EAGAIN, or
 * other -errno: it is as it was.
 */
int list_write(struct native *n, struct list *l, bool *wrote);

#endif
