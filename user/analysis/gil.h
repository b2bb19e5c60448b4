/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gil.h - the GIL in one profile: who had it, who waited for it, and where both were meanwhile.
 *
 * A profile is run through twice: first for the holders, then for those that wait.
 * Everything is counted in samples. Memory grows with threads and with what is
 * distinct, up to the bounds here; what does not fit is counted as left out.
 */
#ifndef TACHBPF_GIL_H
#define TACHBPF_GIL_H

#include "model/event.h"
#include "model/process_frame.h"

#define GIL_PAIRS_MAX (1u << 20)
#define GIL_STACKS_MAX_BYTES (64u << 20)
/* Then come GIL_OTHER_LINES, one for each process. */
#define GIL_LINES_MAX (1u << 20)
#define GIL_OTHER_LINES "<other lines>"
#define GIL_NO_LINE UINT32_MAX

struct gil;

enum gil_known {
	GIL_KNOWN,		/* waits are in the profile, or there was none */
	GIL_NOT_RECORDED,	/* its mode has no threads that wait */
	GIL_NO_GIL,		/* a free-threaded Python, as somebody says or as it looks */
	GIL_NEVER_SEEN,		/* no thread has or wants it */
};

struct gil_process {
	uint32_t tgid;			/* 0: the profile's own */
	char comm[PROCESS_FRAME_BYTES];
	uint64_t samples, held;
	uint64_t on_cpu;		/* or perhaps */
	uint64_t wanted, waited;	/* the GIL: all samples that wait for it; those that count */
	uint64_t first_us, last_us;	/* of its samples */
	bool crowded;			/* several threads have what should be one GIL */
	/* Waits whose holder, stack, or pair of lines did not fit. */
	uint64_t holds_left_out, stacks_left_out, pairs_left_out;
};

struct gil_thread {
	uint64_t thread_id;
	uint32_t interp_id, process;
	uint32_t open;			/* gil_holders.h's */
	bool is_main;
	uint64_t samples, held, waited;
	uint64_t first_us, last_us;
};

/* A line of one process. place: a frame of gil_tables(). */
struct gil_line {
	uint32_t process, place;
	uint64_t held;			/* samples with the GIL */
	uint64_t waited;		/* samples that wait for it, here */
	uint64_t blamed;		/* samples of others that wait meanwhile */
};

/* So many samples waited at one line while the GIL was held at another. */
struct gil_pair {
	uint32_t holder;		/* lines' numbers; GIL_NO_LINE: nobody was seen with it */
	uint32_t waiter;
	uint64_t waited;
};

struct gil_stack {
	uint32_t process, n;
	const uint32_t *places;		/* innermost first */
	uint64_t waited;
};

/* tables outlive it up to gil_waits_done(). shared: they may tell processes apart. NULL with errno. */
struct gil *gil_new(const struct profile_meta *meta, const struct profile_tables *tables,
		    bool shared);
void gil_free(struct gil *g);

/* First run; ctx is the gil. 0 or -ENOMEM, likewise below. */
int gil_hold_event(void *ctx, const struct event *ev);
int gil_holds_done(struct gil *g);
/* Second run: which samples come decides which waits count. */
int gil_wait_event(void *ctx, const struct event *ev);
void gil_waits_done(struct gil *g);

/* free_threaded: somebody has said so. */
enum gil_known gil_known(const struct gil *g, const struct gil_process *p, bool free_threaded);
/* false: running threads are not in the profile, so nobody can be seen with the GIL. */
bool gil_holders_known(const struct gil_process *p);

/* The results; there is one process at least. */
const struct gil_process *gil_processes(const struct gil *g, uint32_t *cnt);
const struct gil_thread *gil_threads(const struct gil *g, uint32_t *cnt);
const struct gil_line *gil_lines(const struct gil *g, uint32_t *cnt);
uint32_t gil_pair_cnt(const struct gil *g);
struct gil_pair gil_pair(const struct gil *g, uint32_t i);
uint32_t gil_stack_cnt(const struct gil *g);
struct gil_stack gil_stack(const struct gil *g, uint32_t i);
const struct profile_tables *gil_tables(const struct gil *g);

#endif
