/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* elf_opener.h - the helper's side of its socket to the opener: receives files, sends requests. */
#ifndef TACHBPF_ELF_OPENER_H
#define TACHBPF_ELF_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_helper/elf_lines.h"
#include "elf_helper/elf_segments.h"
#include "elf_helper/elf_symbols.h"
#include "elf_helper/elf_wire.h"
#include "elf_helper/perf_map.h"

/* A request that is not answered within this time has no file. A disk may be slow. */
#define ELF_OPENER_WAIT_MS 5000

struct elf_opener {
	int fd;
	struct elf_files *files;
	uint32_t request;	/* number of the last request */
	bool has_secret;
	uint8_t secret[ELF_SECRET_BYTES];
};

/* Takes all messages of the opener. Returns 0; -EPIPE: it has ended; -EBADMSG; another -errno. */
int elf_opener_take(struct elf_opener *o);

/*
 * Requests a file: kind WANT_*, about the file of this number. Returns its descriptor, owned by the
 * caller; -ENOENT: there is none; -ETIMEDOUT; another -errno.
 */
int elf_opener_ask(struct elf_opener *o, uint32_t kind, uint32_t file, const void *data,
		   size_t bytes);

/* Sends the table to be stored. Returns 0 or -errno. */
int elf_opener_store(struct elf_opener *o, uint32_t file, const uint64_t hash[2], int table);

/*
 * The files that were passed to the helper, by their numbers, and the tables built from them. Both
 * are limited: the least recently used ones are dropped.
 */

#define ELF_FILES_MAX 512u
#define ELF_FILES_TABLE_BYTES (256u << 20)

struct elf_held {
	uint32_t file;		/* 0: the slot is free */
	int fd;
	uint64_t used;		/* the highest was used last */
	/* The rest is built on demand, and may be dropped: elf_files_drop_tables(). */
	bool symbols_tried, lines_tried, perf_tried, debug_asked;
	bool lacks_symbols;	/* there was no .symtab */
	int debug_fd, mini_fd, alt_fd;	/* -1: none */
	struct elf_symbols *symbols;
	bool partial;		/* they are not all: there is no symbol table */
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

/* Returns the file of this number and marks it as used; NULL: there is none. */
struct elf_held *elf_files_get(struct elf_files *f, uint32_t file);
/* All that was made of the file is made anew. */
void elf_files_reread(struct elf_files *f, uint32_t file);
void elf_files_forget(struct elf_files *f, uint32_t file);
void elf_files_free(struct elf_files *f);

/* Frees tables, not the busy file's, until at most ELF_FILES_TABLE_BYTES are left in all. */
void elf_files_trim(struct elf_files *f);

#endif
