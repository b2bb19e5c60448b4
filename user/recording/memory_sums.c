// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* memory_sums.c - see memory_sums.h. */
#include "recording/memory_sums.h"

#include "base/json.h"
#include "recording/recording.h"
#include "recording/summary_lines.h"
#include "resolve/process.h"

/* ---- sums ---- */

void memory_sums_stats(struct memory_sums *m, const struct process_stats *s)
{
	m->allocs = s->allocs;
	m->touched = s->alloc_bytes;
	m->held = s->held_bytes;
	m->not_walked = s->alloc_unwalked;
}

void memory_sums_check(struct memory_sums *m, const struct memory_check *c)
{
	if (!m->checks++) {
		m->rss_anon_begin = c->rss_anon;
		m->swapped_begin = c->swapped;
		m->held_begin = c->held;
	}
	m->rss_anon_end = c->rss_anon;
	m->swapped_end = c->swapped;
	m->held_end = c->held;
	m->unchecked = c->unchecked;
}

void memory_sums_add(struct memory_sums *sum, const struct memory_sums *m)
{
	sum->allocs += m->allocs;
	sum->touched += m->touched;
	sum->held += m->held;
	sum->not_walked += m->not_walked;
	sum->checks += m->checks;
	sum->rss_anon_begin += m->rss_anon_begin;
	sum->rss_anon_end += m->rss_anon_end;
	sum->swapped_begin += m->swapped_begin;
	sum->swapped_end += m->swapped_end;
	sum->held_begin += m->held_begin;
	sum->held_end += m->held_end;
	sum->unchecked += m->unchecked;
	sum->collections += m->collections;
	sum->not_kept += m->not_kept;
	sum->beyond_threads += m->beyond_threads;
}

/* 0: it did not grow. */
static uint64_t growth(const struct memory_sums *m)
{
	uint64_t begin = m->rss_anon_begin + m->swapped_begin;
	uint64_t end = m->rss_anon_end + m->swapped_end;

	return end > begin ? end - begin : 0;
}

/*
 * Which share of the growth from the first check to the last, as the kernel counts it (RssAnon and
 * VmSwap), is memory that is held. It exceeds 1 if memory from before has gone. false: there was no
 * growth, or no check.
 */
static bool memory_sums_explained(const struct memory_sums *m, double *share)
{
	uint64_t grown = growth(m);
	uint64_t held = m->held_end > m->held_begin ? m->held_end - m->held_begin : 0;

	if (grown)
		*share = (double)held / (double)grown;
	return grown;
}

/* ---- session.json ---- */

void memory_json_process(struct json *j, const struct memory_sums *m)
{
	double share;

	json_uint(j, "allocations", m->allocs);
	json_uint(j, "touched_bytes", m->touched);
	json_uint(j, "held_bytes", m->held);
	json_uint(j, "unchecked_bytes", m->unchecked);
	json_uint(j, "rss_anon_begin", m->rss_anon_begin);
	json_uint(j, "rss_anon_end", m->rss_anon_end);
	json_uint(j, "swapped_begin", m->swapped_begin);
	json_uint(j, "swapped_end", m->swapped_end);
	if (memory_sums_explained(m, &share))
		json_double(j, "explained", share);
	else
		json_null(j, "explained");
	json_uint(j, "collections", m->collections);
	json_uint(j, "not_walked", m->not_walked);
	json_uint(j, "stacks_not_kept", m->not_kept);
	json_uint(j, "threads_not_kept", m->beyond_threads);
}

void memory_json(struct json *j, const struct memory_sums *sum, const struct recording_memory *how)
{
	json_object(j, "memory");
	json_bool(j, "exact", how->exact);
	json_uint(j, "every_bytes", how->every_bytes);
	json_uint(j, "min_block_bytes", how->min_block_bytes);
	json_uint(j, "interval_us", how->interval_us);
	memory_json_process(j, sum);
	json_object_end(j);
}

/* ---- the summary ---- */

void memory_print(const struct memory_sums *sum, FILE *out)
{
	char text[96];
	double share;

	summary_remark(out, "touched", sum->touched, "bytes");
	if (memory_sums_explained(sum, &share))
		snprintf(text, sizeof(text), "bytes: %.1f %% of the memory by which the processes "
			 "have grown", 100 * share);
	else
		snprintf(text, sizeof(text), "bytes; the processes have not grown");
	summary_remark(out, "held at the end", sum->held, text);
	if (sum->unchecked)
		summary_remark(out, "not looked at", sum->unchecked,
			       "bytes, which may have gone: they count as held");
	if (sum->not_walked)
		summary_share(out, "without a stack", sum->not_walked, sum->allocs,
			      "the allocations: no budget was left");
	if (sum->not_kept)
		summary_share(out, "stacks not kept", sum->not_kept, sum->allocs,
			      "the allocations: there were too many different stacks");
	if (sum->beyond_threads)
		summary_share(out, "threads not kept", sum->beyond_threads, sum->allocs,
			      "the allocations: a process had more than 65,535 threads");
	if (sum->collections)
		summary_count(out, "collections", sum->collections);
}
