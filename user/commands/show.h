/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* show.h - output shared by several commands, as text and JSON: limits of rows, places, losses. */
#ifndef TACHBPF_SHOW_H
#define TACHBPF_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "model/event.h"

struct profile_file;
struct session_json;

/* Returns how many of all rows are shown; all of them if limit is 0. */
static inline size_t limit_rows(uint32_t limit, size_t all)
{
	return limit && limit < all ? limit : all;
}

/* After a table of shown rows: prints how many rows were left out, if any. */
static inline void limit_print_more(const char *indent, size_t all, size_t shown)
{
	if (shown < all)
		printf("%s... and %zu more; --limit 0 shows all\n", indent, all - shown);
}

/* Returns what amounts count in text: as profile_unit_name(), but time is in "seconds". */
const char *show_unit(enum profile_unit unit);
#define SHOW_AMOUNT_BYTES 64
/* Writes an amount without its unit, time in seconds: "12", "3.250". Returns out. */
const char *show_amount(uint64_t amount, enum profile_unit unit, char out[SHOW_AMOUNT_BYTES]);
/* Writes a profile's total with its unit: "12 samples", "3.250 s sampled". Returns out. */
const char *show_total(uint64_t amount, enum profile_unit unit, char out[SHOW_AMOUNT_BYTES]);

/* Returns "FILE:LINE" of a frame, "" if it has no file; to be freed. NULL: no memory. */
char *show_place(enum frame_kind kind, const struct string_ref *file, int32_t line);
/*
 * Writes the members "function", "file", "kind" and "line" of a row; null: it has no file or line.
 */
void show_json_row(struct json *j, const struct string_ref *func, enum frame_kind kind,
		   const struct string_ref *file, int32_t line);
/* Writes a frame as a JSON object: "function", "file" and "line", likewise. */
void show_json_frame(struct json *j, const char *key, const struct profile_tables *tables,
		     uint32_t frame);

/* ---- losses in a recording's JSON ---- */

/* Returns what a cause in the JSON means, in words, to be freed; NULL: no memory. */
char *loss_words(const char *cause);
/*
 * Prints "3 samples: the ring buffer was full; 2 ...", or "nothing". file: as in
 * session_json_losses().
 */
void losses_print(const struct session_json *session, const char *file);
/* Writes the object "lost" of the same, including causes that are 0. */
void losses_json(struct json *j, const struct session_json *session, const char *file);

/* Prints a line for each thread with losses, at most limit of them; 0: all. */
void losses_print_threads(const struct profile_file *file, const char *indent, uint32_t limit);
/* Writes the object "lost_threads", from thread id to causes; {} if there are none. */
void losses_json_threads(struct json *j, const struct profile_file *file);

/*
 * Prints the foot of report: a line for each process with losses, the largest first, with its
 * threads if by_thread. A file that several processes share has one line.
 */
void losses_print_foot(const struct profile_file *const *files, size_t cnt, uint32_t limit,
		       bool by_thread);
/* Writes the array "lost" of all these processes. */
void losses_json_foot(struct json *j, const struct profile_file *const *files, size_t cnt);

#endif
