/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * heap_show.h - what tachbpf heap shows: a process or a table of processes, as text and JSON; also
 * the growth between two censuses, which tachbpf diff shows, too. For cmd_heap.c and heap_diff.c.
 *
 * Names in censuses are hostile: they are escaped where they are printed.
 */
#ifndef TACHBPF_HEAP_SHOW_H
#define TACHBPF_HEAP_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/text.h"
#include "commands/options.h"
#include "heap/census.h"
#include "target/pythons.h"

/* The first member of the JSON: its key, whose value is the version. */
#define HEAP_JSON_KEY "heap_census"
#define HEAP_JSON_VERSION 1

/* One process. */
struct heap_shown {
	int32_t pid;
	const char *program;	/* what people recognise it by (command_label()); printable */
	const char *python;	/* the version; "": unknown */
	const struct heap_census *census;
	const struct heap_census *before;	/* an earlier one; NULL: growth is not shown */
	const struct heap_growth *growth;	/* between the two: growth_cnt of them */
	size_t growth_cnt;
};

/* Where and how text is shown. */
struct heap_screen {
	FILE *out;
	size_t width;		/* in columns; 0: nothing is cut or wrapped */
	uint32_t limit;		/* of rows; 0: all */
	enum heap_sort sort;
	bool next;		/* name the next commands, for a process that runs */
};

/* Returns true if the growth is more than its error, in objects or in bytes. */
bool heap_has_grown(const struct heap_growth *g);

/* Prints what a process holds or, with a census before, what has grown. Returns 0 or -ENOMEM. */
int heap_text_census(const struct heap_screen *s, const struct heap_shown *p);
int heap_text_growth(const struct heap_screen *s, const struct heap_shown *p);

/* A table with one line for each process. */
struct heap_lines {
	struct heap_line *list;
	size_t cnt, cap;
	bool growth;		/* of growth since a first census */
};
/* Returns 0 or -ENOMEM. */
int heap_lines_add(struct heap_lines *l, const struct heap_shown *p);
/* Prints them, those with most memory, or most growth, first. */
void heap_lines_print(const struct heap_screen *s, struct heap_lines *l);
void heap_lines_free(struct heap_lines *l);

/* ---- small parts ---- */

#define HEAP_COUNT_BYTES 32
/* Writes a number with commas between thousands, its sign first: "1,234", "-1,234". Returns out. */
const char *heap_count_text(int64_t n, char out[HEAP_COUNT_BYTES]);
/* The same with "+" before positive numbers. */
const char *heap_more_text(int64_t n, char out[HEAP_COUNT_BYTES]);
/* Returns n; INT64_MAX if it does not fit. */
int64_t heap_signed(uint64_t n);
/* Prints formatted text in lines of at most the screen's width, which begin at column indent. */
int heap_say(const struct heap_screen *s, size_t indent, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Returns a hostile name as printable text, which is cut if it is longer than out. */
#define HEAP_SHOWN_BYTES (4 * HEAP_NAME_BYTES)
const char *heap_name(const char *name, char out[HEAP_SHOWN_BYTES]);
/* Names the command that says who keeps objects of a type; NULL: any. */
void heap_next_why(const struct heap_screen *s, int32_t pid, const char *type);
/* Returns true if not all pools of the process were read. */
bool heap_is_sampled(const struct heap_census *c);
/* Prints what was left out of a census, and of which part it was taken. Returns 0 or -ENOMEM. */
int heap_text_foot(const struct heap_screen *s, const struct heap_census *c);
/* Returns what is per minute out of an amount in this many minutes. */
int64_t heap_per_minute(int64_t amount, double minutes);

/* ---- JSON ---- */

/* Begins and ends the document. failed: processes that were named and could not be read. */
void heap_json_begin(struct json *j, FILE *out);
void heap_json_end(struct json *j, FILE *out, size_t failed);
/* Writes the members that say which process it is. */
void heap_json_identity(struct json *j, const struct heap_shown *p, const struct python *python);
/* Writes a process, whose python is needed. All types are in it, whatever the limit. */
void heap_json_process(struct json *j, const struct heap_shown *p, const struct python *python);
/* Writes the array "types" of what has changed. */
void heap_json_growth(struct json *j, const struct heap_growth *list, size_t cnt);

#endif
