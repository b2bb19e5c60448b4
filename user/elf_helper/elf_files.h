/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_files.h - the files that were passed to the helper, by their numbers, and the tables built
 * from them. Both are limited: the least recently used ones are dropped.
 */
#ifndef TACHBPF_ELF_FILES_H
#define TACHBPF_ELF_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_helper/elf_lines.h"
#include "elf_helper/elf_segments.h"
#include "elf_helper/elf_symbols.h"
#include "elf_helper/perf_map.h"

#define ELF_FILES_MAX 512u
#define ELF_FILES_TABLE_BYTES (256u << 20)

struct elf_held {
	uint32_t file;		/* 0: the slot is free */
	int fd;
	uint64_t used;		/* the highest was used last */
	/* The rest is built on demand, and may be dropped: elf_files_drop_tables(). */
	bool symbols_tried, lines_tried, perf_tried, debug_asked;
	int debug_fd, mini_fd, alt_fd;	/* -1: none */
	struct elf_symbols *symbols;
	struct elf_lines *lines;
	struct perf_map *perf;
	struct elf_file elf;
	struct elf_segments segments;
	size_t bytes;		/* of memory for all of that */
};

struct elf_files {
	struct elf_held held[ELF_FILES_MAX];
	struct elf_held *busy;	/* in a request now, so it is kept; NULL: none */
	uint64_t clock;
};

/*
 * Takes ownership of the descriptor as the file of this number; replaces another file with the
 * number.
 */
void elf_files_put(struct elf_files *f, uint32_t file, int fd);
/* Returns the file of this number and marks it as used; NULL: there is none. */
struct elf_held *elf_files_get(struct elf_files *f, uint32_t file);
void elf_files_forget(struct elf_files *f, uint32_t file);
void elf_files_free(struct elf_files *f);

/* Frees tables, not the busy file's, until at most ELF_FILES_TABLE_BYTES are left in all. */
void elf_files_trim(struct elf_files *f);

#endif
