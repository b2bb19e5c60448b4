/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * waits.h - the time that a process' threads are off their CPUs, as samples.
 *
 * In: a thread left its CPU, came back, ended. Out: so many samples from then on, an
 * interval apart. Each kind of time keeps what is left over of an interval for the thread's
 * next wait of that kind: sums are exact, however short the waits. Owns no stack: of those
 * it knows the head of the record, and hands it back.
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
	WAIT_CPU,		/* it could run */
	WAIT_KIND_CNT,
};

struct wait_rules {
	uint64_t interval_ns;	/* 0: nobody wants waits */
	uint64_t min_ns;	/* shorter ones are left out; of what counts */
	bool runnable;		/* WAIT_CPU counts */
};

/* Samples that are all alike. */
struct wait_stretch {
	const struct raw_head *head;	/* of its last record */
	enum wait_kind kind;
	uint64_t time_ns;	/* of the first one */
	uint64_t cnt;		/* interval_ns apart, at least one */
};
/* 0 or -errno, which is passed on. */
typedef int (*wait_fn)(void *ctx, const struct wait_stretch *stretch);

struct wait_stats {
	uint64_t waits;		/* that began */
	uint64_t repaired;	/* whose end was lost: the thread's next sign of life ended it */
	uint64_t not_walked;	/* that have the thread's stack of before */
};

/* fn is called from the functions below. NULL with errno. */
struct waits *waits_new(const struct wait_rules *rules, wait_fn fn, void *ctx);
void waits_free(struct waits *w);

/* A thread is on its CPU with this stack. 0 or -errno, likewise below. */
int waits_tick(struct waits *w, const struct raw_sample *raw);
/*
 * It leaves its CPU. *head: what is to be remembered; of one that was not looked at the
 * last one, and raw says nothing of its stack.
 */
int waits_switch_out(struct waits *w, const struct raw_sample *raw);
int waits_switch_in(struct waits *w, const struct raw_switch_in *run);
void waits_exit(struct waits *w, uint32_t tid);

/* The time until now_ns of all that wait, now: they may do so for hours. */
int waits_emit_open(struct waits *w, uint64_t now_ns);

void waits_stats(const struct waits *w, struct wait_stats *out);

#endif
