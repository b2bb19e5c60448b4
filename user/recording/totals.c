// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * totals.c - see totals.h.
 */
#include "recording/totals.h"

#include <string.h>

#include "base/util.h"

const struct loss_name loss_names[LOSS_CNT] = {
	[LOSS_RING_FULL] = { "ring_full", "samples: the ring buffer was full" },
	[LOSS_BUSY] = { "busy", "samples: the tick interrupted another BPF program" },
	[LOSS_WAITS_RING_FULL] = { "waits_ring_full",
		"begins or ends of waits: the ring buffer was full" },
	[LOSS_WAITS_UNREADABLE] = { "waits_unreadable",
		"stacks of waits: the thread state could not be read" },
	[LOSS_WAITS_FORGOTTEN] = { "waits_forgotten",
		"waits: their process has more than 8,192 threads" },
	[LOSS_EXTRAS_RING_FULL] = { "extras_ring_full",
		"exception types or kernel stacks: the ring buffer was full" },
	[LOSS_LATE_DISCOVERY] = { "late_discovery",
		"samples: the process was not yet known to be Python" },
	[LOSS_THREAD_STATE_UNREADABLE] = { "thread_state_unreadable",
		"samples: the thread state could not be read" },
	[LOSS_THREAD_STATE_UNCERTAIN] = { "thread_state_uncertain",
		"samples: it is not known which thread state belongs to the thread" },
	[LOSS_ORPHANS] = { "orphans",
		"samples of processes that had ended before they were known" },
	[LOSS_WRITE] = { "write", "samples that could not be written to the file" },
	[LOSS_NO_FILE] = { "no_file",
		"samples of processes whose file could not be created" },
	[LOSS_MEMORY] = { "memory", "samples: no memory" },
	[LOSS_LIFECYCLE_EVENTS] = { "lifecycle_events",
		"exec, fork or exit records: the ring buffer was full" },
	[LOSS_PROCESS_TABLE_FULL] = { "process_table_full",
		"processes that were not profiled, or not to their end: the process table "
		"was full" },
};

void totals_add(struct totals *t, const struct process_stats *s, bool no_file)
{
	t->samples += s->samples;
	t->frames += s->frames;
	t->truncated += s->truncated;
	t->unreadable += s->unreadable;
	t->switching += s->switching;
	t->unresolved += s->unresolved;
	t->discovered_late += s->discovered_late;
	t->write_lost += no_file ? 0 : s->write_lost;
	t->no_file += no_file ? s->write_lost : 0;
	t->memory_lost += s->memory_lost;
	t->repeated += s->code_repeated;
	t->waits.waits += s->waits.waits;
	t->waits.repaired += s->waits.repaired;
	t->waits.guessed += s->waits.guessed;
	t->waits.forgotten += s->waits.forgotten;
}

static void add_row(void *ctx, const struct row *row)
{
	totals_add(ctx, &row->stats, row_has_no_file(row));
}

void totals_losses(struct totals *t, const struct capture_counts *c)
{
	int i;

	t->lost[LOSS_RING_FULL] = c->bpf[CNT_RING_FULL];
	t->lost[LOSS_BUSY] = c->bpf[CNT_BUSY];
	t->lost[LOSS_WAITS_RING_FULL] = c->bpf[CNT_WAIT_LOST] + c->bpf[CNT_SWITCH_IN_LOST];
	t->lost[LOSS_WAITS_UNREADABLE] = c->bpf[CNT_WAIT_UNREADABLE];
	t->lost[LOSS_WAITS_FORGOTTEN] = t->waits.forgotten;
	t->lost[LOSS_EXTRAS_RING_FULL] = c->bpf[CNT_EXTRA_LOST];
	t->lost[LOSS_LATE_DISCOVERY] = t->discovered_late;
	t->lost[LOSS_THREAD_STATE_UNREADABLE] = c->bpf[CNT_TSTATE_UNREADABLE];
	t->lost[LOSS_THREAD_STATE_UNCERTAIN] = c->bpf[CNT_TSTATE_UNCERTAIN];
	t->lost[LOSS_ORPHANS] = c->orphans;
	t->lost[LOSS_WRITE] = t->write_lost;
	t->lost[LOSS_NO_FILE] = t->no_file;
	t->lost[LOSS_MEMORY] = t->memory_lost;
	t->lost[LOSS_LIFECYCLE_EVENTS] = c->bpf[CNT_LIFECYCLE_LOST];
	t->lost[LOSS_PROCESS_TABLE_FULL] = c->bpf[CNT_PROCS_FULL] + c->table_full;
	t->lost_total = 0;
	for (i = 0; i < LOSS_CNT; i++)
		t->lost_total += t->lost[i];
}

void totals_sum(const struct recording *r, const struct capture_counts *c, struct totals *t)
{
	memset(t, 0, sizeof(*t));
	recording_each_row(r, add_row, t);
	t->cpu_s = cpu_time_s() - c->startup_cpu_s;
	t->elapsed_s = ((r->end_ns ? r->end_ns : now_ns()) - r->start_ns) / 1e9;
	totals_losses(t, c);
}
