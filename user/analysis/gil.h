/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gil.h - the GIL in one profile: which threads held it, which waited for it, and at which
 * lines.
 *
 * A profile is read twice: first for the holders, then for the waiting threads. All numbers
 * are samples. Memory grows with threads and with what is distinct, up to the bounds here;
 * what does not fit is counted as left out.
 */
#ifndef TACHBPF_GIL_H
#define TACHBPF_GIL_H

#include "model/event.h"
#include "model/process_frame.h"

#define GIL_PAIRS_MAX (1u << 20)
#define GIL_STACKS_MAX_BYTES (64u << 20)
/* After them come the GIL_OTHER_LINES, one for each process. */
#define GIL_LINES_MAX (1u << 20)
#define GIL_OTHER_LINES "<other lines>"
#define GIL_NO_LINE UINT32_MAX

struct gil;

enum gil_known {
	GIL_KNOWN,		/* waits are in the profile, or there was none */
	GIL_NOT_RECORDED,	/* the profile's mode does not include waiting threads */
	GIL_NO_GIL,		/* a free-threaded Python, as stated or as its samples suggest */
	GIL_NEVER_SEEN,		/* no thread holds it or waits for it */
};

struct gil_process {
	uint32_t tgid;			/* 0: the profile's own */
	char comm[PROCESS_FRAME_BYTES];
	uint64_t samples, held;
	uint64_t on_cpu;		/* on-CPU, or possibly on-CPU */
	uint64_t wanted, waited;	/* all samples that wait for the GIL;
					 * those of them that are counted */
	uint64_t first_us, last_us;	/* times of its first and last sample */
	bool crowded;			/* several threads hold what should be one GIL */
	/* Holding samples, waiting stacks and pairs of lines that did not fit into the tables. */
	uint64_t holds_left_out, stacks_left_out, pairs_left_out;
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

/* How many samples waited at one line while the GIL was held at another. */
struct gil_pair {
	uint32_t holder;		/* lines' numbers; GIL_NO_LINE: no holder was seen */
	uint32_t waiter;
	uint64_t waited;
};

struct gil_stack {
	uint32_t process, n;
	const uint32_t *places;		/* innermost first */
	uint64_t waited;
};

/*
 * tables must stay valid until gil_waits_done(). shared: they may have process frames. NULL
 * with errno. Freed by gil_free().
 */
struct gil *gil_new(const struct profile_meta *meta, const struct profile_tables *tables,
		    bool shared);
void gil_free(struct gil *g);

/* First pass; ctx is the gil. This and the following functions return 0 or -ENOMEM. */
int gil_hold_event(void *ctx, const struct event *ev);
/* Ends the first pass. */
int gil_holds_done(struct gil *g);
/* Second pass: only the samples that are passed here count as waits. */
int gil_wait_event(void *ctx, const struct event *ev);
/* Ends the second pass. */
void gil_waits_done(struct gil *g);

/* What is known about the process' GIL. free_threaded: it is known to be a free-threaded build. */
enum gil_known gil_known(const struct gil *g, const struct gil_process *p, bool free_threaded);
/* false: running threads are not in the profile, so no holder can be seen. */
bool gil_holders_known(const struct gil_process *p);

/* The results; there is at least one process. */
const struct gil_process *gil_processes(const struct gil *g, uint32_t *cnt);
/* The results' tables. Views are valid until gil_free(); an index is below the count. */
const struct gil_thread *gil_threads(const struct gil *g, uint32_t *cnt);
const struct gil_line *gil_lines(const struct gil *g, uint32_t *cnt);
uint32_t gil_pair_cnt(const struct gil *g);
struct gil_pair gil_pair(const struct gil *g, uint32_t i);
uint32_t gil_stack_cnt(const struct gil *g);
struct gil_stack gil_stack(const struct gil *g, uint32_t i);
const struct profile_tables *gil_tables(const struct gil *g);

#endif
