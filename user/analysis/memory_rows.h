/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_rows.h - who holds memory: the sums of .mlyze files by stack, function, file, line,
 * process, container or thread.
 *
 * By function, file and line, bytes belong to the innermost Python function, which allocated them
 * (model/stack_frame.h). Rows of several files are joined if they have the same key. Memory grows
 * with distinct keys and with the largest file, not with the number of files.
 */
#ifndef TACHBPF_MEMORY_ROWS_H
#define TACHBPF_MEMORY_ROWS_H

#include "formats/mlyze/mlyze_notes.h"
#include "formats/mlyze/mlyze_stats.h"

enum mem_by {
	MEM_BY_STACK, MEM_BY_FILE, MEM_BY_FUNCTION, MEM_BY_LINE, MEM_BY_PROCESS, MEM_BY_CONTAINER,
	MEM_BY_THREAD,
};
enum mem_sort {
	MEM_SORT_LIVE, MEM_SORT_ALLOCATED, MEM_SORT_GROWING, MEM_SORT_PEAK, MEM_SORT_COUNT,
};

/*
 * What has become of the held memory, as far as its pages were looked at (sampled page faults, at
 * the end of the recording): bytes that stand for the others of the row.
 */
struct memory_contents {
	uint64_t pages;		/* number of pages that were looked at */
	uint64_t own;		/* still what was made there at first */
	uint64_t reused;	/* used by others since */
	uint64_t unused;	/* free, but kept by the allocator of the process */
};

struct memory_row {
	struct mlyze_sums sums;
	struct memory_contents contents;	/* all 0: unknown */
	int64_t held;		/* bytes: live at the end, minus those live at the beginning if
				 * the range does not begin with the file */
	double growth;		/* of held, bytes per minute; see memory_series.h */
	double touched_error;	/* bytes: one standard deviation, if blocks were recorded in ... */
	double held_error;	/* ... bursts (memory_error.h); else 0 */
	bool leaks;		/* it grew in each interval, in at least one file */
	uint32_t key;		/* for memory_rows_key() */
	uint64_t id;		/* in the rows of one file, by stack: the stack's id in the file */
};

/* The subject of a row. Strings have any bytes, and live as long as the rows; NULL: unknown. */
struct memory_key {
	const uint32_t *frames;	/* by stack: of memory_rows_tables(), innermost first */
	size_t frame_cnt;
	const struct frame *own;	/* the frame that allocated, in which only the fields
					 * that distinguish rows have a value, and the lowest
					 * line; NULL: not by code, or a stack without frames */
	uint32_t pid;		/* by process and thread; 0: unknown */
	uint64_t tid;		/* by thread */
	const char *comm, *thread, *container;
};

/* One file and its process. */
struct memory_source {
	const struct mlyze_file *file;
	const struct mlyze_notes *notes;
	uint32_t pid;
	const char *comm, *container;
	const struct thread_names *names;
};

/* What to include from all files. */
struct memory_scope {
	enum mem_by by;
	uint64_t from_us, to_us;	/* as in struct mlyze_stats_args, of this file */
	uint32_t intervals;		/* for memory_row.leaks */
};

/* The rows of one file. */
struct memory_list {
	struct memory_row *rows;	/* cnt of them, each with an allocation or live bytes */
	size_t cnt;
	uint32_t intervals;		/* number of intervals: memory_series_intervals() */
	struct memory_row total;	/* of all of them; leaks and key are unused */
};

struct memory_rows;

/* Creates an empty set of rows. Returns NULL if out of memory. Freed by memory_rows_free(). */
struct memory_rows *memory_rows_new(enum mem_by by);
void memory_rows_free(struct memory_rows *all);

/*
 * Adds up one file: *stats, its total sums, for mlyze_stats_free(); *list, its rows, for
 * memory_list_free(); and joins them to all. Returns 0 or -ENOMEM.
 */
int memory_rows_add(struct memory_rows *all, const struct memory_source *source,
		    const struct memory_scope *scope, struct mlyze_stats *stats,
		    struct memory_list *list);
void memory_list_free(struct memory_list *list);

/* Returns the rows of all files so far, which the caller frees; NULL: out of memory. */
struct memory_row *memory_rows_list(const struct memory_rows *all, size_t *cnt);
/* Sorts rows; leaks: keeps only those that leak. Returns the number of rows left. */
size_t memory_rows_sort(struct memory_row *rows, size_t cnt, enum mem_sort sort, bool leaks);

/*
 * The share that is no longer what was made there at first, 0 to 1; -1: too few pages were looked
 * at to say.
 */
double memory_reused_share(const struct memory_contents *c);
/* Returns true if it is so large that who touched a page first says little of what is in it. */
bool memory_reuse_is_large(const struct memory_contents *total);

struct memory_key memory_rows_key(const struct memory_rows *all, uint32_t key);
const struct profile_tables *memory_rows_tables(const struct memory_rows *all);

#endif
