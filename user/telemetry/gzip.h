/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* gzip.h - bytes in memory as a gzip member in memory. */
#ifndef TACHBPF_GZIP_H
#define TACHBPF_GZIP_H

#include "base/util.h"

/* zlib's. 6 makes profiles a tenth smaller, and takes 2.3 times as long (bench_window). */
#define GZIP_LEVEL 1

/* Append the compressed bytes to out. 0 or -ENOMEM; then out is as it was. */
int gzip_bytes(const void *data, size_t len, int level, struct buf *out);
/*
 * Append what a gzip member was made of. 0; -EFBIG: it is more than max bytes; -EBADMSG: it is
 * none; -ENOMEM. After an error, out is as it was.
 */
int gunzip_bytes(const void *data, size_t len, size_t max, struct buf *out);

#endif
