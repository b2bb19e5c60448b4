/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind_file.h - a file's unwind table as it lies in a memfd and in the cache on disk: the header,
 * then the parts as struct unwind_table (abi_native.h) describes them, from byte UNWIND_FILE_HEAD
 * on, in the layout that they have in the native memory. Who maps it can copy it as it is.
 */
#ifndef TACHBPF_ELF_UNWIND_FILE_H
#define TACHBPF_ELF_UNWIND_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_native.h"

#define UNWIND_FILE_MAGIC 0x31574e5548434154ull	/* "TACHUNW1" */
#define UNWIND_FILE_VERSION 1u	/* another one is not read: a table is built anew */
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
	/* What building it has met, for `tachbpf doctor` and tests. */
	uint32_t fdes, fdes_bad, rows_unsupported, pad;
};

/*
 * Is the mapping of len bytes a table whose parts lie where the header says? What is in rows, index
 * and rules is not checked: the BPF side bounds each use.
 */
bool unwind_file_is_valid(const void *map, size_t len);
/* The value of the map unwind_tables for a valid table that is copied to chunks from `chunk` on. */
struct unwind_table unwind_file_table(const struct unwind_file *f, uint32_t chunk, uint32_t stamp);

#endif
