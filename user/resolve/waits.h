/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * waits.h - turns the off-CPU time of a process' threads into samples.
 *
 * In: ticks, switch-outs, switch-ins and exits of threads. Out: samples, an interval apart. For
 * each thread and kind of wait, the rest of time that is shorter than an interval is added to the
 * next wait of that kind: so sums are exact, however short the waits are. Of stacks it keeps only
 * the head of each thread's last record, which it passes to wait_fn.
 */
#ifndef TACHBPF_WAITS_H
#define TACHBPF_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct waits;

/* What a thread waits for. */
enum wait_kind {
	WAIT_BLOCKED,
	WAIT_GIL,
	WAIT_CPU,		/* it is runnable */
	WAIT_KIND_CNT,
};

struct wait_rules {
	uint64_t interval_ns;	/* 0: waits are not recorded */
	uint64_t min_ns;	/* shorter waits are left out; without runnable, a wait's length
				 * does not include the time after its wake-up */
	bool runnable;		/* WAIT_CPU is recorded */
};

/* Samples of one thread that differ only in their time. */
struct wait_stretch {
	const struct raw_head *head;	/* of the thread's last record */
	enum wait_kind kind;
	uint64_t time_ns;	/* time of the first sample (CLOCK_MONOTONIC) */
	uint64_t cnt;		/* number of samples, interval_ns apart; at least 1 */
};
/* Returns 0 or -errno, which the function that called it returns. */
typedef int (*wait_fn)(void *ctx, const struct wait_stretch *stretch);

struct wait_stats {
	uint64_t waits;		/* waits that began */
	uint64_t repaired;	/* waits whose switch-in was lost: the next record ended them */
	uint64_t guessed;	/* waits that were not walked: they have the stack before them */
	uint64_t forgotten;	/* waits whose end is lost: their process has too many threads */
};

/* The functions below call fn. NULL with errno. */
struct waits *waits_new(const struct wait_rules *rules, wait_fn fn, void *ctx);
void waits_free(struct waits *w);

/* Take the sample of a tick. Returns 0, -ENOMEM or the result of fn, as the other functions. */
int waits_tick(struct waits *w, const struct raw_head *raw);
/* A tick in the thread, which has no Python stack now: a wait that has not ended ends. */
int waits_no_stack(struct waits *w, uint32_t tid, uint64_t now_ns);
/*
 * Take a thread's switch-out. Its record has a stack; with RAW_NOT_WALKED it has none, and the
 * wait gets the thread's last stack, if one is known. If none is and the record is a
 * RAW_SWITCH_SAME, the wait counts as forgotten.
 */
int waits_switch_out(struct waits *w, const struct raw_head *raw);
int waits_switch_in(struct waits *w, const struct raw_switch_in *run);
/* The thread has ended. True: *interp_id is the interpreter of its last record with a stack. */
bool waits_exit(struct waits *w, uint32_t tid, uint32_t *interp_id);
/*
 * The last stack of a thread in an interpreter is not known any more. If that is where the thread
 * was last, it is forgotten, with the rest of its wait, which counts as lost if the thread lives.
 */
void waits_forget(struct waits *w, uint32_t tid, uint32_t interp_id, bool lives);

/* Emit the time until now_ns of all waits that have not ended; they may last for hours. */
int waits_emit_open(struct waits *w, uint64_t now_ns);

void waits_stats(const struct waits *w, struct wait_stats *out);

#endif
