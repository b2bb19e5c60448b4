/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * source_book.h - the source text behind a profile's lines, for what people read: summaries,
 * reports, annotations, pages. It is the text that the recording kept or, without one, the file on
 * this machine; but not if a process of the profiles had another root, where that path means
 * another file. Each file is read once.
 */
#ifndef TACHBPF_SOURCE_BOOK_H
#define TACHBPF_SOURCE_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/source_lookup.h"

struct profile_set;

/* A file, or why there is no text: then line_cnt is 0. */
struct source_pages {
	struct string_ref path;
	const char *text;	/* NULL: none */
	const uint32_t *starts;	/* line_cnt + 1 of them: where each line of text begins */
	uint32_t line_cnt;
	bool kept;		/* by the recording: it is what ran */
};

/*
 * set: whose sources are used, as far as its filter accepts their processes; NULL: only files of
 * this machine. It must outlive the book. NULL: no memory.
 */
struct source_book *source_book_new(const struct profile_set *set);
void source_book_free(struct source_book *b);
/*
 * Uses only what the recordings kept, and opens no file that a frame names: for record, which may
 * have root's rights, and must not wait for a file system.
 */
void source_book_only_kept(struct source_book *b);

/*
 * Finds a file by the path that a frame has. What is returned is valid until source_book_free();
 * NULL: no memory. If several processes had different files of this path, it is the first one's.
 */
const struct source_pages *source_book_file(struct source_book *b, struct string_ref path);

/* A line of it, from 1 on, without its line end; empty: there is none. */
struct string_ref source_pages_line(const struct source_pages *pages, int32_t line);
/* The same for a path, without the indentation. */
struct string_ref source_book_line(struct source_book *b, struct string_ref path, int32_t line);

/* The same book for pages; valid as long as it. */
struct source_lookup source_book_lookup(struct source_book *b);

/*
 * Writes what the recordings kept, as one of them does, next to a new file or into a new directory
 * that is made from them. path: that of the new recording. Nothing kept: writes nothing, and
 * removes what an earlier recording there had kept. 0 or -errno; logs why.
 */
int source_book_save(struct source_book *b, const char *path);

#endif
