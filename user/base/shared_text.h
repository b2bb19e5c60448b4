/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * shared_text.h - texts of which many are the same, one after the other: the command lines of thousands
 * of processes that one has forked. Who asks for the text that was asked for last gets the same copy.
 *
 * All functions must be called from one thread only.
 */
#ifndef TACHBPF_SHARED_TEXT_H
#define TACHBPF_SHARED_TEXT_H

/* A copy of text, for the caller to drop. NULL: no memory. */
const char *shared_text_get(const char *text);
/* Give a copy back; the last one to do so frees it. text may be NULL. */
void shared_text_drop(const char *text);

#endif
