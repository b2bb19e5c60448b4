/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gzip.h - compresses bytes in memory to a gzip member, and back. */
#ifndef TACHBPF_GZIP_H
#define TACHBPF_GZIP_H

#include "base/util.h"

/* zlib's level. 6 makes profiles a tenth smaller, but takes 2.3 times as long (bench_window). */
#define GZIP_LEVEL 1

/* Appends the compressed bytes to out. Returns 0 or -ENOMEM; then out is unchanged. */
int gzip_bytes(const void *data, size_t len, int level, struct buf *out);
/*
 * Appends the content of one or more gzip members. Returns 0; -EFBIG: more than max bytes;
 * -EBADMSG: damaged, or not gzip; -ENOMEM. After an error, out is unchanged.
 */
int gunzip_bytes(const void *data, size_t len, size_t max, struct buf *out);
/* Returns true if the bytes begin as a gzip member does. */
bool gzip_begins(const void *data, size_t len);
/* Copies the first bytes of a member's content, at most max. Returns how many; 0: it is none. */
size_t gunzip_head(const void *data, size_t len, void *out, size_t max);

#endif
