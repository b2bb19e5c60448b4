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

#endif
