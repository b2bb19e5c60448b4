/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_lists.h - lists of mappings in the native memory, each shared by a process and its forks.
 */
#ifndef TACHBPF_NATIVE_LISTS_H
#define TACHBPF_NATIVE_LISTS_H

#include "native/native_state.h"

/* Creates a list with a copy of cnt mappings, and references their files. NULL: no memory. */
struct list *list_new(struct native *n, const struct mapping *maps, uint32_t cnt);
/* Drops a process's reference. l may be NULL. */
void list_put(struct native *n, struct list *l);
/*
 * Writes the list if it differs from the native memory; *wrote tells whether it did. Returns 0, or
 * -EAGAIN or another -errno with nothing changed.
 */
int list_write(struct native *n, struct list *l, bool *wrote);

#endif
