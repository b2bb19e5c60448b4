// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * totals.c - see totals.h.
 */
#include "recording/totals.h"

#include <string.h>

#include "base/util.h"

const struct loss_name loss_names[LOSS_CNT] = {
	[LOSS_RING_FULL] = { "ring_full", "ring buffer full" },
	[LOSS_BUSY] = { "busy", "ticks in the middle of another program" },
	[LOSS_WAITS_RING_FULL] = { "waits_ring_full",
		"waits, or their ends, with the ring buffer full" },
	[LOSS_WAITS_UNREADABLE] = { "waits_unreadable",
		"waits of threads whose state was unreadable" },
	[LOSS_EXTRAS_RING_FULL] = { "extras_ring_full",
		"exceptions' types or kernel stacks with the ring buffer full" },
	[LOSS_LATE_DISCOVERY] = { "late_discovery",
		"before the process was known to be Python" },
	[LOSS_THREAD_STATE_UNREADABLE] = { "thread_state_unreadable",
		"thread state unreadable" },
	[LOSS_THREAD_STATE_UNCERTAIN] = { "thread_state_uncertain",
		"of a thread whose state could not be told from others" },
	[LOSS_ORPHANS] = { "orphans", "of a process that could not be told" },
	[LOSS_WRITE] = { "write", "could not be written" },
	[LOSS_LIFECYCLE_EVENTS] = { "lifecycle_events", "exec, fork or exit events lost" },
	[LOSS_PROCESS_TABLE_FULL] = { "process_table_full",
		"processes beyond the table's size" },
};

static void add_row(void *ctx, const struct row *row)
{
	const struct process_stats *s = &row->stats;
	struct totals *t = ctx;

	t->samples += s->samples;
	t->frames += s->frames;
	t->truncated += s->truncated;
	t->unreadable += s->unreadable;
	t->unresolved += s->unresolved;
	t->discovered_late += s->discovered_late;
	t->write_lost += s->write_lost;
	t->repeated += s->code_repeated;
	t->waits.waits += s->waits.waits;
	t->waits.repaired += s->waits.repaired;
	t->waits.not_walked += s->waits.not_walked;
}

static void sum_losses(const struct capture_counts *c, struct totals *t)
{
	int i;

	t->lost[LOSS_RING_FULL] = c->kernel[CNT_RING_FULL];
	t->lost[LOSS_BUSY] = c->kernel[CNT_BUSY];
	t->lost[LOSS_WAITS_RING_FULL] = c->kernel[CNT_WAIT_LOST] + c->kernel[CNT_SWITCH_IN_LOST];
	t->lost[LOSS_WAITS_UNREADABLE] = c->kernel[CNT_WAIT_UNREADABLE];
	t->lost[LOSS_EXTRAS_RING_FULL] = c->kernel[CNT_EXTRA_LOST];
	t->lost[LOSS_LATE_DISCOVERY] = t->discovered_late;
	t->lost[LOSS_THREAD_STATE_UNREADABLE] = c->kernel[CNT_TSTATE_UNREADABLE];
	t->lost[LOSS_THREAD_STATE_UNCERTAIN] = c->kernel[CNT_TSTATE_UNCERTAIN];
	t->lost[LOSS_ORPHANS] = c->orphans;
	t->lost[LOSS_WRITE] = t->write_lost;
	t->lost[LOSS_LIFECYCLE_EVENTS] = c->kernel[CNT_LIFECYCLE_LOST];
	t->lost[LOSS_PROCESS_TABLE_FULL] = c->kernel[CNT_PROCS_FULL] + c->table_full;
	for (i = 0; i < LOSS_CNT; i++)
		t->lost_total += t->lost[i];
}

void totals_sum(const struct recording *r, const struct capture_counts *c, struct totals *t)
{
	memset(t, 0, sizeof(*t));
	recording_each_row(r, add_row, t);
	t->cpu_s = cpu_time_s() - c->startup_cpu_s;
	t->elapsed_s = ((r->end_ns ? r->end_ns : now_ns()) - r->start_ns) / 1e9;
	sum_losses(c, t);
}
