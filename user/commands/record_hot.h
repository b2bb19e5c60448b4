/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record_hot.h - the parts of the answer after a recording, on standard error: the number, the
 * hottest rows (record_hot.c, record_rows.c), who waits for the GIL (record_gil.c), which objects
 * have grown (record_memory.c), the next commands (record_next.c).
 */
#ifndef TACHBPF_RECORD_HOT_H
#define TACHBPF_RECORD_HOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string_ref.h"
#include "base/text.h"
#include "heap/census.h"
#include "model/event.h"

#define HOT_ROWS 5
/* The limits of events that are read: stacks of 30 frames in about half a second, and in 50 ms. */
#ifndef HOT_EVENTS
#define HOT_EVENTS 3000000
#endif
#define HOT_EVENTS_WHILE_SAMPLING 300000
#define HOT_FILE_EVENTS 1000	/* opening a file takes as long as this many */

struct input_options;
struct record_options;
struct recording_paths;
struct recording_result;
struct source_book;

/* ---- record_rows.c ---- */

/* Prints an empty line and a heading. */
void record_heading(const char *text);
/* Returns the file's name; with its directory if it is the same in every package. */
struct string_ref record_short_file(struct string_ref file);
/* Returns "app.py:12 crunch", printable, to be freed; NULL: no memory. */
char *record_place(enum frame_kind kind, struct string_ref file, struct string_ref func,
		   int32_t line);
/* Returns "read" of "<blocked in read>", to be freed; NULL: no memory. */
char *record_what(struct string_ref what);

/* A row of a table; its texts are freed by record_cells_free(). */
struct record_cells {
	double share;
	char *what;		/* NULL: the table has no such column */
	char *place, *rest;
};
void record_cells_free(struct record_cells *cells, size_t cnt);
/* rest is cut from this side to what is left; full: not without a terminal. */
void record_cells_print(const struct record_cells *cells, size_t cnt, enum text_cut cut, bool full);

/* ---- record_gil.c ---- */
/*
 * Prints how long threads waited for the GIL, for whom, and at which lines, of the process that
 * waited most. limit: of events. 1 if no thread waited: only the number was printed; 0; or -errno.
 */
int record_print_gil(const struct input_options *input, uint64_t limit);

/* ---- record_memory.c ---- */
/* The process of a recording with --mode mem. */
struct record_memory {
	uint32_t tgid;		/* 0: there are several, or it is unknown */
	bool exited;
	char type[HEAP_NAME_BYTES];	/* that grew, any bytes; "": none, or unknown */
};
/*
 * Prints which types of objects there are more of at the end, in the process whose objects have
 * grown most. Nothing, if no process has two censuses.
 */
void record_print_types(const struct input_options *input, struct record_memory *out);

/* ---- record_next.c ---- */
/* Fills *input with those of the paths that have a profile. input->paths must be freed. */
int record_find_profiles(const struct recording_paths *p, struct input_options *input);
/* Prints the two commands that fit. */
void record_print_next(const struct record_options *opts, const struct input_options *input);
/* Prints the command that records the same with another mode, as far as it is known. */
void record_print_mode_command(const struct record_options *opts, const char *mode);

#endif
