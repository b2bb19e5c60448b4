/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * waits.h - turns the off-CPU time of a process' threads into samples.
 *
 * In: ticks, switch-outs, switch-ins and exits of threads. Out: samples, one interval apart. For
 * each thread and kind of wait, the remainder shorter than an interval is added to the next wait of
 * that kind, so sums are exact however short the waits are. Of stacks it keeps only the head of
 * each thread's last record, which it passes to wait_fn.
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
	uint64_t min_ns;	/* shorter waits are left out; unless runnable, a wait's length
				 * excludes the time after its wake-up */
	bool runnable;		/* WAIT_CPU is recorded */
};

/* Samples of one thread that differ only in their time. */
struct wait_stretch {
	const struct raw_head *head;	/* of the thread's last record */
	enum wait_kind kind;
	uint64_t time_ns;	/* of the first sample (CLOCK_MONOTONIC) */
	uint64_t cnt;		/* number of samples, interval_ns apart; at least 1 */
};
/* Returns 0 or -errno, which the calling function passes on. */
typedef int (*wait_fn)(void *ctx, const struct wait_stretch *stretch);

struct wait_stats {
	uint64_t waits;		/* waits that began */
	uint64_t repaired;	/* waits whose switch-in was lost, ended by the next record */
	uint64_t guessed;	/* waits that were not walked and have the previous stack */
	uint64_t forgotten;	/* waits whose end is lost: their process has too many threads */
};

/* fn receives the samples of all functions below. NULL with errno. */
struct waits *waits_new(const struct wait_rules *rules, wait_fn fn, void *ctx);
void waits_free(struct waits *w);

/* Takes the sample of a tick. Returns 0, -ENOMEM or the result of fn, like the other functions. */
int waits_tick(struct waits *w, const struct raw_head *raw);
/* Takes a tick in a thread that has no Python stack now: its open wait ends. */
int waits_no_stack(struct waits *w, uint32_t tid, uint64_t now_ns);
/*
 * Takes a thread's switch-out. With RAW_NOT_WALKED its record has no stack, and the wait gets the
 * thread's last stack, if one is known. If none is and the record is a RAW_SWITCH_SAME, the wait
 * counts as forgotten.
 */
int waits_switch_out(struct waits *w, const struct raw_head *raw);
int waits_switch_in(struct waits *w, const struct raw_switch_in *run);
/* Takes a thread's exit. If true, *interp_id is the interpreter of its last record with a stack. */
bool waits_exit(struct waits *w, uint32_t tid, uint32_t *interp_id);
/*
 * Forgets the last stack of a thread in an interpreter. If the thread was last there, the thread is
 * forgotten with the remainder of its wait, which counts as lost if the thread is alive.
 */
void waits_forget(struct waits *w, uint32_t tid, uint32_t interp_id, bool lives);

/* Emits the time until now_ns of all open waits, which may last for hours. */
int waits_emit_open(struct waits *w, uint64_t now_ns);

void waits_stats(const struct waits *w, struct wait_stats *out);

#endif
