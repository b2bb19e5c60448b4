// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * totals.c - see totals.h.
 */
#include "recording/totals.h"

#include <string.h>

#include "base/time.h"
#include "base/util.h"
#include "recording/async_sums.h"

void totals_add(struct totals *t, const struct process_stats *s, bool no_file)
{
	int i;

	t->samples += s->samples;
	t->frames += s->frames;
	t->truncated += s->truncated;
	t->unreadable += s->unreadable;
	t->switching += s->switching;
	t->unresolved += s->unresolved;
	for (i = 0; i < LOSS_CNT; i++)
		t->named[i] += row_lost(s, i, no_file);
	t->repeated += s->code_repeated;
	native_sums_add(&t->native, s);
	async_stats_add(&t->async, &s->async);
	t->waits.waits += s->waits.waits;
	t->waits.repaired += s->waits.repaired;
	t->waits.guessed += s->waits.guessed;
}

static void add_row(void *ctx, const struct row *row)
{
	struct totals *t = ctx;

	totals_add(t, &row->stats, row_has_no_file(row));
	memory_sums_add(&t->memory, &row->memory);
}

/* A cause is counted by the BPF side for all processes, or by user space for each. */
void totals_losses(struct totals *t, const struct capture_counts *c)
{
	uint64_t counted;
	int i;

	t->lost_total = t->lost_samples = 0;
	for (i = 0; i < LOSS_CNT; i++) {
		counted = losses_counted(i, c->bpf);
		if (i == LOSS_ORPHANS)
			counted = c->orphans;
		if (i == LOSS_PROCESS_TABLE_FULL)
			counted += c->table_full;
		t->lost[i] = counted > t->named[i] ? counted : t->named[i];
		t->lost_total += t->lost[i];
		t->lost_samples += loss_names[i].is_sample ? t->lost[i] : 0;
	}
}

void totals_sum(const struct recording *r, const struct capture_counts *c, struct totals *t)
{
	memset(t, 0, sizeof(*t));
	recording_each_row(r, add_row, t);
	t->cpu_s = cpu_time_s() - c->startup_cpu_s;
	t->elapsed_s = ((r->end_ns ? r->end_ns : now_ns()) - r->start_ns) / 1e9;
	totals_losses(t, c);
}
