/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * losses.h - why samples are missing, and which threads of a process lost them.
 *
 * A new cause of loss needs a member of enum loss_cause and a line in losses.c. One that the BPF
 * side counts also needs a member of enum counter (abi.h), from CNT_LOSSES on.
 */
#ifndef TACHBPF_LOSSES_H
#define TACHBPF_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

/* Why a sample that should be in a file is missing. */
enum loss_cause {
	LOSS_RING_FULL,
	LOSS_BUSY,
	LOSS_WAITS_RING_FULL,
	LOSS_WAITS_UNREADABLE,
	LOSS_WAITS_FORGOTTEN,
	LOSS_EXTRAS_RING_FULL,
	LOSS_NATIVE_RING_FULL,
	LOSS_ASYNC_RING_FULL,
	LOSS_ALLOCS_RING_FULL,
	LOSS_FREES_RING_FULL,
	LOSS_BLOCKS_FULL,
	LOSS_EVENTS_BEYOND,
	LOSS_COLLECTIONS,
	LOSS_LATE_DISCOVERY,
	LOSS_THREAD_STATE_UNREADABLE,
	LOSS_THREAD_STATE_UNCERTAIN,
	LOSS_ORPHANS,
	LOSS_WRITE,
	LOSS_NO_FILE,
	LOSS_MEMORY,
	LOSS_LIFECYCLE_EVENTS,
	LOSS_PROCESS_TABLE_FULL,
	LOSS_CNT,
};

#define LOSS_COUNTERS 2
struct loss_name {
	const char *key;	/* in session.json */
	const char *text;	/* in the summary */
	enum counter counters[LOSS_COUNTERS];	/* of the BPF side; 0: none */
	bool is_sample;		/* a whole sample is lost, of a tick or an event */
};
extern const struct loss_name loss_names[LOSS_CNT];

/* Returns the text of a cause by its key; NULL: unknown, as of another version. */
const char *loss_text(const char *key);
/* Returns the cause that a counter of the BPF side counts; LOSS_CNT: it counts no loss. */
enum loss_cause loss_of_counter(enum counter which);
/* Returns how many losses of a cause the BPF side has counted. bpf: its CNT_MAX counters. */
uint64_t losses_counted(enum loss_cause cause, const uint64_t *bpf);

/* The losses of one process' threads: the first LOSS_THREADS_MAX threads that lost something. */
#define LOSS_THREADS_MAX 64
struct thread_losses {
	uint32_t tid;
	uint32_t lost[LOSS_CNT];
};
struct losses_of_threads {
	uint32_t cnt;
	struct thread_losses list[LOSS_THREADS_MAX];
};

/*
 * Adds losses of a thread to *l, which is allocated if it is NULL; the caller frees it. Losses of
 * further threads, or without memory, are counted only in the process' own sum.
 */
void losses_add(struct losses_of_threads **l, uint32_t tid, enum loss_cause cause, uint64_t cnt);
/* Adds all losses in from, minus those in before. Both may be NULL. */
void losses_add_since(struct losses_of_threads **l, const struct losses_of_threads *from,
		      const struct losses_of_threads *before);

#endif
