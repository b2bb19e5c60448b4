/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * table_cache.h - unwind tables in a directory of ours, each in a file that is named by its hash;
 * and the secret that the hashes are made with. Only our own user may write there: what others
 * could have written is not used.
 */
#ifndef TACHBPF_TABLE_CACHE_H
#define TACHBPF_TABLE_CACHE_H

#include <stdint.h>

#include "native/native_wire.h"

#define TABLE_CACHE_BYTES (512ull << 20)	/* all files */
#define TABLE_CACHE_FILES 4096u

/*
 * Open the directory; it and its parent are created if they are missing. The descriptor, or -errno;
 * -EPERM: it is not ours, or others may write in it.
 */
int table_cache_open(const char *dir);
/* Read the secret, or make one. 0 or -errno. */
int table_cache_secret(int dir, uint8_t secret[NATIVE_SECRET_BYTES]);
/*
 * Open the table of this hash, and note that it was used. The descriptor; -ENOENT; -EPERM: it is
 * not ours; other -errno.
 */
int table_cache_find(int dir, const uint64_t hash[2]);
/* Copy a table of at most UNWIND_FILE_BYTES_MAX and its head from fd. 0 or -errno. */
int table_cache_store(int dir, const uint64_t hash[2], int fd);
/* Remove the files that were not used for longest, until so many bytes and files are left. */
void table_cache_prune(int dir, uint64_t bytes, uint32_t files);

#endif
