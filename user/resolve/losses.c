// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * losses.c - see losses.h.
 */
#include "resolve/losses.h"

#include <stdlib.h>
#include <string.h>

const struct loss_name loss_names[LOSS_CNT] = {
	[LOSS_RING_FULL] = { "ring_full", "samples: the ring buffer was full",
		{ CNT_RING_FULL }, true },
	[LOSS_BUSY] = { "busy", "samples: the tick interrupted another BPF program",
		{ CNT_BUSY }, true },
	[LOSS_WAITS_RING_FULL] = { "waits_ring_full",
		"starts or ends of waits: the ring buffer was full",
		{ CNT_WAIT_LOST, CNT_SWITCH_IN_LOST } },
	[LOSS_WAITS_UNREADABLE] = { "waits_unreadable",
		"stacks of waits: the thread state could not be read",
		{ CNT_WAIT_UNREADABLE } },
	[LOSS_WAITS_FORGOTTEN] = { "waits_forgotten",
		"waits: their process has more than 8,192 threads", { 0 } },
	[LOSS_EXTRAS_RING_FULL] = { "extras_ring_full",
		"exception types or kernel stacks: the ring buffer was full",
		{ CNT_EXTRA_LOST } },
	[LOSS_NATIVE_RING_FULL] = { "native_ring_full",
		"native frames: the ring buffer was full",
		{ CNT_NATIVE_LOST } },
	[LOSS_ASYNC_RING_FULL] = { "async_ring_full",
		"chains of awaiting tasks: the ring buffer was full",
		{ CNT_ASYNC_LOST } },
	[LOSS_ALLOCS_RING_FULL] = { "allocs_ring_full",
		"page faults or allocations: the ring buffer was full",
		{ CNT_ALLOC_LOST }, true },
	[LOSS_FREES_RING_FULL] = { "frees_ring_full",
		"frees or moves of memory: the ring buffer was full, or the budget was used up",
		{ CNT_FREE_LOST } },
	[LOSS_BLOCKS_FULL] = { "blocks_full",
		"allocations: too many live blocks or allocating threads",
		{ CNT_BLOCK_LOST } },
	[LOSS_EVENTS_BEYOND] = { "events_beyond",
		"events: taking them would need more than an eighth of a CPU",
		{ CNT_EVENT_BEYOND }, true },
	[LOSS_COLLECTIONS] = { "collections_unknown",
		"collections: implausible counters, or too many interpreters", { 0 } },
	[LOSS_LATE_DISCOVERY] = { "late_discovery",
		"samples: the process was not yet recognised as Python", { 0 }, true },
	[LOSS_THREAD_STATE_UNREADABLE] = { "thread_state_unreadable",
		"samples: the thread state could not be read",
		{ CNT_TSTATE_UNREADABLE }, true },
	[LOSS_THREAD_STATE_UNCERTAIN] = { "thread_state_uncertain",
		"samples: it is unknown which thread state belongs to the thread",
		{ CNT_TSTATE_UNCERTAIN }, true },
	[LOSS_ORPHANS] = { "orphans",
		"samples of processes that ended before they were known", { 0 }, true },
	[LOSS_WRITE] = { "write", "samples that could not be written to the file", { 0 }, true },
	[LOSS_NO_FILE] = { "no_file",
		"samples of processes whose file could not be created", { 0 }, true },
	[LOSS_MEMORY] = { "memory", "samples: no memory", { 0 }, true },
	[LOSS_LIFECYCLE_EVENTS] = { "lifecycle_events",
		"exec, fork or exit records: the ring buffer was full",
		{ CNT_LIFECYCLE_LOST } },
	[LOSS_PROCESS_TABLE_FULL] = { "process_table_full",
		"processes not profiled, or only in part: the process table was full",
		{ CNT_PROCS_FULL } },
};

const char *loss_text(const char *key)
{
	int i;

	for (i = 0; i < LOSS_CNT; i++)
		if (!strcmp(loss_names[i].key, key))
			return loss_names[i].text;
	return NULL;
}

enum loss_cause loss_of_counter(enum counter which)
{
	int cause, i;

	for (cause = 0; which && cause < LOSS_CNT; cause++)
		for (i = 0; i < LOSS_COUNTERS; i++)
			if (loss_names[cause].counters[i] == which)
				return cause;
	return LOSS_CNT;
}

uint64_t losses_counted(enum loss_cause cause, const uint64_t *bpf)
{
	const enum counter *counters = loss_names[cause].counters;
	uint64_t sum = 0;
	int i;

	for (i = 0; i < LOSS_COUNTERS; i++)
		sum += counters[i] ? bpf[counters[i]] : 0;
	return sum;
}

/* Returns the thread's row, a new one if there is room. NULL: there is no room. */
static struct thread_losses *row_of(struct losses_of_threads *l, uint32_t tid)
{
	uint32_t i;

	for (i = 0; i < l->cnt; i++)
		if (l->list[i].tid == tid)
			return &l->list[i];
	if (l->cnt == LOSS_THREADS_MAX)
		return NULL;
	l->list[l->cnt].tid = tid;
	return &l->list[l->cnt++];
}

static const struct thread_losses *find_thread(const struct losses_of_threads *l, uint32_t tid)
{
	uint32_t i;

	for (i = 0; l && i < l->cnt; i++)
		if (l->list[i].tid == tid)
			return &l->list[i];
	return NULL;
}

void losses_add(struct losses_of_threads **l, uint32_t tid, enum loss_cause cause, uint64_t cnt)
{
	struct thread_losses *row;

	if (!cnt || !tid)
		return;
	if (!*l)
		*l = calloc(1, sizeof(**l));
	row = *l ? row_of(*l, tid) : NULL;
	if (row)
		row->lost[cause] += (uint32_t)cnt;
}

void losses_add_since(struct losses_of_threads **l, const struct losses_of_threads *from,
		      const struct losses_of_threads *before)
{
	const struct thread_losses *now, *then;
	uint32_t i;
	int cause;

	for (i = 0; from && i < from->cnt; i++) {
		now = &from->list[i];
		then = find_thread(before, now->tid);
		for (cause = 0; cause < LOSS_CNT; cause++)
			losses_add(l, now->tid, cause,
				   now->lost[cause] - (then ? then->lost[cause] : 0));
	}
}
