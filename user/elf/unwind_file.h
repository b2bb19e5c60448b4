/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_file.h - format of a file's unwind table in a memfd and in the cache on disk: the header,
 * then the parts as struct unwind_table (abi_native.h) describes them, from byte UNWIND_FILE_HEAD
 * on, in the layout that they have in the native memory. A mapping of it can be copied unchanged.
 */
#ifndef TACHBPF_ELF_UNWIND_FILE_H
#define TACHBPF_ELF_UNWIND_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_native.h"

#define UNWIND_FILE_MAGIC 0x31574e5548434154ull	/* "TACHUNW1" */
#define UNWIND_FILE_VERSION 1u	/* a file of another version is not read: the table is rebuilt */
#define UNWIND_FILE_HEAD NATIVE_CHUNK
/* A larger table is refused: 6 million rows. libtorch_cpu has about 2 million. */
#define UNWIND_FILE_BYTES_MAX (64u << 20)

struct unwind_file {
	uint64_t magic;
	uint32_t version, machine;	/* EM_* */
	uint64_t hash[2];	/* of what the table was built from; see unwind_hash() */
	uint64_t start;		/* this and the following: as in struct unwind_table */
	uint32_t bytes, row_cnt, index_at, ext_at, ext_cnt, shift;
	uint64_t total;		/* bytes of all parts, in whole chunks, without the header */
	/* Statistics of building it, for `tachbpf doctor` and tests. */
	uint32_t fdes, fdes_bad, rows_unsupported, pad;
};

/*
 * Returns true if the mapping of len bytes is a table whose parts are where the header says. The
 * content of rows, index and rules is not checked: the BPF side bounds each use.
 */
bool unwind_file_is_valid(const void *map, size_t len);
/* The value in the map unwind_tables for a valid table that is copied to chunks from `chunk` on. */
struct unwind_table unwind_file_table(const struct unwind_file *f, uint32_t chunk, uint32_t stamp);

/*
 * The index of a table's rows (struct unwind_table): it leaves about UNWIND_INDEX_ROWS rows to
 * search for an address.
 */

#define UNWIND_INDEX_ROWS 8u
#define UNWIND_SHIFT_MAX 31u

/* Entries of an index: one for each 2^shift bytes, and one for the end. */
static inline uint64_t unwind_index_cnt(uint32_t bytes, uint32_t shift)
{
	return ((bytes + (1ull << shift) - 1) >> shift) + 1;
}

/* The shift for row_cnt rows in this many bytes; at most UNWIND_SHIFT_MAX. */
uint32_t unwind_index_shift(uint32_t bytes, uint32_t row_cnt);
/* Fill an index of unwind_index_cnt() entries. The first row is at address 0. */
void unwind_index_fill(uint32_t *index, uint32_t bytes, uint32_t shift,
		       const struct unwind_row *rows, uint32_t row_cnt);

#endif
