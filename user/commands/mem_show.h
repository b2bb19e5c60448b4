/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mem_show.h - the data that tachbpf mem has about a file, and its output as text and JSON. Only
 * for cmd_mem.c, mem_show.c and mem_json.c.
 */
#ifndef TACHBPF_MEM_SHOW_H
#define TACHBPF_MEM_SHOW_H

#include "analysis/memory_rows.h"
#include "analysis/memory_series.h"
#include "base/json.h"
#include "commands/options.h"
#include "formats/mlyze/type_growth.h"

/* One file being shown. */
struct mem_trace {
	const char *path;
	const char *shown;		/* path, escaped */
	struct input *in;
	struct mlyze_file *file;	/* NULL: header or metadata are damaged */
	struct mlyze_notes notes;
	struct mlyze_error error;	/* rule 0: none */
	uint32_t pid;			/* of its process; 0: unknown */
	const char *comm, *container;
	/* If rows are shown: */
	struct mlyze_stats stats;
	struct memory_list list;
	struct memory_grown grown;
	struct type_growths types;
};

/* Rows, sorted. */
struct mem_rows {
	const struct memory_rows *all;
	const struct memory_row *list;
	size_t cnt, shown;	/* all; those that --limit allows */
	bool of_file;		/* of one file, not sums over several */
	/* Of the files, as they were recorded: */
	bool pages, blocks;	/* there are some of pages that were touched; of blocks that were
				 * allocated (all of them, or in bursts) */
	uint32_t pid;		/* the process, if there is one file; 0: several, or unknown */
	bool exited;		/* that process has ended */
	const char *type;	/* of its objects, that grew, any bytes; "": none, or unknown */
};

/* Prints the head of a file. */
void mem_text_file(const struct mem_options *opts, const struct mem_trace *t);
/* Prints the table. intervals: the most memory_list.intervals of a file; range: --from or --to. */
void mem_text_rows(const struct mem_options *opts, const struct mem_rows *rows,
		   uint32_t intervals, bool range);

/* Writes an object for a file. rows NULL: only whether it follows the rules of its format. */
void mem_json_file(struct json *j, const struct mem_options *opts, const struct mem_trace *t,
		   const struct mem_rows *rows);
/* Writes the members row_count and rows. */
void mem_json_rows(struct json *j, const struct mem_options *opts, const struct mem_rows *rows);

#endif
