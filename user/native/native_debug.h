/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_debug.h - debug files from debuginfod servers, for files whose symbols (or lines) are
 * nowhere on this host. Meanwhile their names are provisional. Without native_args.debug_urls all
 * of this does nothing.
 */
#ifndef TACHBPF_NATIVE_DEBUG_H
#define TACHBPF_NATIVE_DEBUG_H

#include "native/native_state.h"

/* Returns 0 or -errno. */
int debug_begin(struct native *n);
void debug_end(struct native *n);

/* The names helper lacks the file's symbols or lines: its debug file is wanted, once. */
void debug_want(struct native *n, struct file *f);
/* Returns true if the file may still get one. */
bool debug_may_come(const struct native *n, const struct file *f);
/* Takes answers, and asks for the next file. */
void debug_poll(struct native *n);
/* Returns the number of files whose debug file is still awaited. */
size_t debug_waits(const struct native *n);

#endif
