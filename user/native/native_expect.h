/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_expect.h - files that a program will map, before it is executed: its own, its dynamic
 * linker, and the libraries that these need. Their tables are made, and count as used for a while.
 *
 * Where a library is, is a guess: a wrong one costs a table that nobody uses.
 */
#ifndef TACHBPF_NATIVE_EXPECT_H
#define TACHBPF_NATIVE_EXPECT_H

#include "native/native_state.h"

/* Sends the next question to the opener, if it can take one; forgets files whose time is over. */
void expect_ask(struct native *n);
/* Takes the opener's FOUND, with its data in n->data. */
void expect_found(struct native *n, const struct elf_message *m);
/* Takes the helper's NEEDS about a file, with its data in n->data. Returns 0 or -EBADMSG. */
int expect_needs(struct native *n, const struct file *f, const struct elf_message *m);
/* The opener was lost: what it was asked has no answer. */
void expect_lost(struct native *n);
/* Returns true if further files may be found. */
bool expect_waits(const struct native *n);
void expect_free(struct native *n);

#endif
