/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gil.h - the GIL in one profile: which threads held it, which waited for it, and at which lines.
 *
 * A profile is read twice: first for the holders, then for the waiting threads. All counts are
 * weights of samples. Memory grows with the number of threads and of distinct lines, pairs and
 * stacks, up to the limits below; samples beyond them are counted as left out.
 */
#ifndef TACHBPF_GIL_H
#define TACHBPF_GIL_H

#include "analysis/gil_cells.h"
#include "model/event.h"
#include "model/process_frame.h"

#define GIL_PAIRS_MAX (1u << 20)
#define GIL_STACKS_MAX_BYTES (64u << 20)
/* Beyond that, samples at new lines count for one line of their process, GIL_OTHER_LINES. */
#define GIL_LINES_MAX (1u << 20)
#define GIL_OTHER_LINES "<other lines>"
#define GIL_NO_LINE UINT32_MAX

struct gil;

enum gil_known {
	GIL_KNOWN,		/* the profile has all waits, if there were any */
	GIL_NOT_RECORDED,	/* the profile's mode does not include waiting threads */
	GIL_NO_GIL,		/* a free-threaded Python: known, or inferred from samples */
	GIL_NEVER_SEEN,		/* no thread holds it or waits for it */
};

struct gil_process {
	uint32_t tgid;			/* 0: the profile's own */
	char comm[PROCESS_FRAME_BYTES];
	uint64_t samples, held;
	uint64_t on_cpu;		/* status on-cpu or unknown */
	uint64_t wanted, waited;	/* samples that wait for the GIL: all of the first pass,
					 * and those of the second pass */
	uint64_t first_us, last_us;	/* times of its first and last sample */
	bool crowded;			/* several threads hold what should be one GIL */
	/* Holding samples, waiting stacks and pairs of lines that did not fit into the tables. */
	uint64_t holds_left_out, stacks_left_out, pairs_left_out, cells_left_out;
};

struct gil_thread {
	uint64_t thread_id;
	uint32_t interp_id, process;
	uint32_t open;			/* for gil_holders_add() */
	bool is_main;
	uint64_t samples, held, waited;
	uint64_t first_us, last_us;
};

/* A line of one process. place: a frame of gil_tables(). */
struct gil_line {
	uint32_t process, place;
	uint64_t held;			/* samples that hold the GIL here */
	uint64_t waited;		/* samples that wait for it here */
	uint64_t blamed;		/* samples of others that wait
					 * while a thread holds it here */
};

/* Samples that waited at one line while the GIL was held at another. */
struct gil_pair {
	uint32_t holder;		/* indices of lines; GIL_NO_LINE: no holder was found */
	uint32_t waiter;
	uint64_t waited;
};

struct gil_stack {
	uint32_t process, n;
	const uint32_t *places;		/* innermost first */
	uint64_t waited;
};

/*
 * tables must stay valid until gil_waits_done(). shared: samples may have process frames. Returns
 * NULL with errno. Freed by gil_free().
 */
struct gil *gil_new(const struct profile_meta *meta, const struct profile_tables *tables,
		    bool shared);
void gil_free(struct gil *g);

/* Also collects threads with lines, for gil_cells(): before the first pass. 0 or -ENOMEM. */
int gil_collect_cells(struct gil *g);

/* First pass, for all samples; ctx is the gil. Returns 0 or -ENOMEM. */
int gil_hold_event(void *ctx, const struct event *ev);
/* Ends the first pass. Returns 0 or -ENOMEM. */
int gil_holds_done(struct gil *g);
/* Second pass: only samples passed to this count as waits. Returns 0 or -ENOMEM. */
int gil_wait_event(void *ctx, const struct event *ev);
/* Ends the second pass. */
void gil_waits_done(struct gil *g);

/* Returns what is known of the process's GIL. free_threaded: its Python is such a build. */
enum gil_known gil_known(const struct gil *g, const struct gil_process *p, bool free_threaded);
/* Returns false if the profile has no running threads, so that no holder is known. */
bool gil_holders_known(const struct gil_process *p);

/*
 * Return the results, valid until gil_free(): arrays of *cnt rows (at least one process), and pairs
 * and stacks by an index below their count. gil_tables() has the frames that are places.
 */
const struct gil_process *gil_processes(const struct gil *g, uint32_t *cnt);
const struct gil_thread *gil_threads(const struct gil *g, uint32_t *cnt);
const struct gil_line *gil_lines(const struct gil *g, uint32_t *cnt);
uint32_t gil_pair_cnt(const struct gil *g);
struct gil_pair gil_pair(const struct gil *g, uint32_t i);
uint32_t gil_stack_cnt(const struct gil *g);
struct gil_stack gil_stack(const struct gil *g, uint32_t i);
const struct profile_tables *gil_tables(const struct gil *g);
/* Returns NULL if gil_collect_cells() was not called. */
const struct gil_cells *gil_cells(const struct gil *g);

#endif
