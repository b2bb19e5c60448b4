/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * shared_text.h - shares consecutive identical texts: the command lines of thousands of processes
 * that one has forked. A request for the same text as the previous one returns the same copy.
 *
 * All functions must be called from one thread only.
 */
#ifndef TACHBPF_SHARED_TEXT_H
#define TACHBPF_SHARED_TEXT_H

/* Returns a copy of text, which the caller drops. NULL: no memory. */
const char *shared_text_get(const char *text);
/* Drops a copy; the last drop frees it. text may be NULL. */
void shared_text_drop(const char *text);

#endif
