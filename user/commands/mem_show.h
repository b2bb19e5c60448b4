/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mem_show.h - what tachbpf mem knows of a file, and the two forms in which it is shown. Only for
 * cmd_mem.c and mem_show.c.
 */
#ifndef TACHBPF_MEM_SHOW_H
#define TACHBPF_MEM_SHOW_H

#include "analysis/memory_moments.h"
#include "analysis/memory_rows.h"
#include "base/json.h"
#include "commands/options.h"

/* One file while it is shown. */
struct mem_trace {
	const char *path;
	const char *shown;		/* path, escaped */
	struct input *in;
	struct mlyze_file *file;	/* NULL: header or metadata are damaged */
	struct mlyze_notes notes;
	struct mlyze_error error;	/* rule 0: none */
	uint32_t pid;			/* of its process; 0: not known */
	const char *comm, *container;
	/* If rows are shown: */
	struct mlyze_stats stats;
	struct memory_list list;
	struct memory_grown grown;
};

/* Rows, sorted. */
struct mem_rows {
	const struct memory_rows *all;
	const struct memory_row *list;
	size_t cnt, shown;	/* all; as many as --limit lets through */
	bool of_file;		/* of one file, not the sums of several */
};

/* The head of a file. */
void mem_text_file(const struct mem_options *opts, const struct mem_trace *t);
/* The table. intervals: memory_list.intervals of the files, the most; range: --from or --to. */
void mem_text_rows(const struct mem_options *opts, const struct mem_rows *rows,
		   uint32_t intervals, bool range);

/* An object for a file. rows NULL: only whether it keeps the rules of its format. */
void mem_json_file(struct json *j, const struct mem_options *opts, const struct mem_trace *t,
		   const struct mem_rows *rows);
/* The members row_count and rows. */
void mem_json_rows(struct json *j, const struct mem_options *opts, const struct mem_rows *rows);

#endif
