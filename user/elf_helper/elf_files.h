/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * elf_files.h - the files that were passed to the helper, by their numbers, and the tables that
 * were made of them. Both have bounds: what was not used for the longest time goes.
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
	uint32_t file;		/* 0: the place is free */
	int fd;
	uint64_t used;		/* the highest was used last */
	/* What follows is made when it is needed, and may go: elf_files_drop_tables(). */
	bool symbols_tried, lines_tried, perf_tried, debug_asked;
	int debug_fd, mini_fd, alt_fd;	/* -1: none */
	struct elf_symbols *symbols;
	struct elf_lines *lines;
	struct perf_map *perf;
	struct elf_file elf;
	struct elf_segments segments;
	size_t bytes;		/* of memory for all that */
};

struct elf_files {
	struct elf_held held[ELF_FILES_MAX];
	struct elf_held *busy;	/* a question about it is being answered: it stays. Or NULL */
	uint64_t clock;
};

/*
 * Hold the descriptor, which is ours from now on, as the file of this number; another one that had
 * the number goes.
 */
void elf_files_put(struct elf_files *f, uint32_t file, int fd);
/* The file of this number, which is used now; NULL: there is none. */
struct elf_held *elf_files_get(struct elf_files *f, uint32_t file);
void elf_files_forget(struct elf_files *f, uint32_t file);
void elf_files_free(struct elf_files *f);

/* Free tables until all have at most ELF_FILES_TABLE_BYTES, but not those of the busy file. */
void elf_files_trim(struct elf_files *f);

#endif
