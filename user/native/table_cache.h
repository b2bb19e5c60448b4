/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * table_cache.h - unwind tables in a directory of ours, each in a file named by its hash; and the
 * secret of the hashes. Only our own user may write there: files that others could have written are
 * not used.
 */
#ifndef TACHBPF_TABLE_CACHE_H
#define TACHBPF_TABLE_CACHE_H

#include <stdint.h>

#include "native/native_wire.h"

#define TABLE_CACHE_BYTES (512ull << 20)	/* all files */
#define TABLE_CACHE_FILES 4096u

/*
 * Opens the directory; creates it and its parent if they are missing. Returns the descriptor or
 * -errno; -EPERM: it is not ours, or others may write in it.
 */
int table_cache_open(const char *dir);
/* Reads the secret, or creates one. Returns 0 or -errno. */
int table_cache_secret(int dir, uint8_t secret[NATIVE_SECRET_BYTES]);
/*
 * Opens the table with this hash, and notes that it was used. Returns the descriptor; -ENOENT;
 * -EPERM: it is not ours; another -errno.
 */
int table_cache_find(int dir, const uint64_t hash[2]);
/* Copies a table of at most UNWIND_FILE_BYTES_MAX and its head from fd. Returns 0 or -errno. */
int table_cache_store(int dir, const uint64_t hash[2], int fd);
/* Removes the least recently used files until at most this many bytes and files are left. */
void table_cache_prune(int dir, uint64_t bytes, uint32_t files);

#endif
