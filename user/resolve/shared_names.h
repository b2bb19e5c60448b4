/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * shared_names.h - one table of names and frames for all processes of a user that have the same
 * interpreter: most of them have much code in common, and children of a fork all of it.
 *
 * A table only grows, until the last of its processes leaves it. So none joins one that has become
 * large: it begins another one. What processes have added to it stays charged to their user's
 * budget as long as the table lives.
 */
#ifndef TACHBPF_SHARED_NAMES_H
#define TACHBPF_SHARED_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct cpython_image;
struct intern;
struct shared_names;

/* image is only compared. Returns NULL if there is no memory. */
struct shared_names *shared_names_join(const struct cpython_image *image, uint32_t uid);
/* The table; valid until shared_names_leave(). */
struct intern *shared_names_table(const struct shared_names *s);
/* Takes over bytes that a process has charged to its user's budget. */
void shared_names_take(struct shared_names *s, size_t budget_bytes);
/* Frees the table if nobody is left. s may be NULL. */
void shared_names_leave(struct shared_names *s);

#endif
