// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sums.c - see sums.h. */
#include "recording/sums.h"

#include <inttypes.h>
#include <math.h>

#include "base/arith.h"
#include "base/bytes_text.h"
#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "recording/capture_counts.h"
#include "recording/recording.h"
#include "resolve/process.h"

/* ---- lines of the summary ---- */

static void print_begin(FILE *out, const char *name, uint64_t cnt)
{
	fprintf(out, "  %-*s %*llu", SUMMARY_NAME_COLUMNS, name, SUMMARY_COUNT_COLUMNS,
		(unsigned long long)cnt);
}

void summary_count(FILE *out, const char *name, uint64_t cnt)
{
	print_begin(out, name, cnt);
	fputc('\n', out);
}

void summary_share(FILE *out, const char *name, uint64_t cnt, uint64_t all, const char *of)
{
	print_begin(out, name, cnt);
	fprintf(out, "  %7.3f %% of %s\n", percent(cnt, all), of);
}

void summary_remark(FILE *out, const char *name, uint64_t cnt, const char *remark)
{
	print_begin(out, name, cnt);
	fprintf(out, "  %s\n", remark);
}

void summary_share_any(FILE *out, const char *name, uint64_t cnt, uint64_t all, const char *of)
{
	if (cnt)
		summary_share(out, name, cnt, all, of);
}

void summary_remark_any(FILE *out, const char *name, uint64_t cnt, const char *remark)
{
	if (cnt)
		summary_remark(out, name, cnt, remark);
}

void summary_cause(FILE *out, uint64_t cnt, const char *text)
{
	fprintf(out, "    %*llu  %s\n", SUMMARY_COUNT_COLUMNS, (unsigned long long)cnt, text);
}

/* ---- statistics of a process ---- */

#define STATS(member) COLUMN(NULL, struct process_stats, member)
static const struct column stats_columns[] = {
	STATS(samples), STATS(code_cnt), STATS(code_without_lines), STATS(threads),
	/* From here on also relative to a time: */
	STATS(truncated), STATS(shortened), STATS(frames_left_out), STATS(unreadable),
	STATS(switching), STATS(unresolved),
	STATS(native), STATS(frames), STATS(native_frames),
	STATS(native_unnamed), STATS(native_folded), STATS(native_ends), STATS(native_changed),
	STATS(merge_uncertain), STATS(async),
	STATS(native_thread), STATS(no_frames), STATS(code_repeated), STATS(process_reads),
	STATS(lost),
	/* From here on only relative to a time: shared files have none of these. */
	STATS(allocs), STATS(alloc_bytes), STATS(alloc_unwalked), STATS(waits),
};
#define ONLY_ADDED 4
#define ONLY_SINCE 4

void stats_add(struct process_stats *sum, const struct process_stats *s)
{
	table_add(stats_columns, ARRAY_SIZE(stats_columns) - ONLY_SINCE, sum, s);
	sum->jit |= s->jit;
}

void stats_since(struct process_stats *s, const struct process_stats *before)
{
	table_subtract(stats_columns + ONLY_ADDED, ARRAY_SIZE(stats_columns) - ONLY_ADDED, s,
		       before);
}

/* ---- native frames ---- */

const struct native_end_name native_end_names[NATIVE_END_CNT] = {
	[NATIVE_WHOLE] = { "whole", "whole" },
	[NATIVE_DEPTH] = { "too_deep", "deeper than 4096 frames" },
	[NATIVE_NO_REGS] = { "no_registers", "thread's registers unknown" },
	[NATIVE_NO_MAPPINGS] = { "mappings_unknown", "process' mappings not read yet" },
	[NATIVE_NO_MAPPING] = { "not_mapped", "code in a mapping that was not read yet" },
	[NATIVE_JIT] = { "jit", "JIT code" },
	[NATIVE_NO_TABLE] = { "table_not_ready", "unwind table of the library not built yet" },
	[NATIVE_NO_ROW] = { "no_unwind_information", "code without unwind information" },
	[NATIVE_UNSUPPORTED] = { "unsupported", "unsupported unwind rule" },
	[NATIVE_UNREADABLE] = { "unreadable", "stack could not be read" },
	[NATIVE_NO_PROGRESS] = { "no_progress", "no progress towards the caller" },
	[NATIVE_TIME] = { "late", "cut off after the time limit" },
};

void native_sums_add(struct native_sums *sum, const struct process_stats *s)
{
	int i;

	sum->frames += s->native_frames;
	sum->unnamed += s->native_unnamed;
	sum->folded += s->native_folded;
	sum->uncertain += s->merge_uncertain;
	sum->changed += s->native_changed;
	for (i = 0; i < NATIVE_END_CNT; i++)
		sum->ends[i] += s->native_ends[i];
}

uint64_t native_sums_stacks(const struct native_sums *s)
{
	return s->ends[NATIVE_WHOLE] + native_sums_cut(s);
}

uint64_t native_sums_cut(const struct native_sums *s)
{
	uint64_t cut = 0;
	int i;

	for (i = NATIVE_WHOLE + 1; i < NATIVE_END_CNT; i++)
		cut += s->ends[i];
	return cut;
}

#define NATIVE(key, member) COLUMN(key, struct native_counts, member)
static const struct column native_columns[] = {
	NATIVE("files", files), NATIVE("tables", tables), NATIVE("tables_cached", tables_cached),
	NATIVE("tables_failed", tables_failed), NATIVE("tables_evicted", tables_evicted),
	NATIVE("build_us", build_us), NATIVE("memory_bytes", memory_bytes), NATIVE("names", names),
	NATIVE("names_unknown", names_unknown), NATIVE("names_mangled", names_mangled),
	NATIVE("processes_cut", processes_cut), NATIVE("files_stuck", stuck),
	NATIVE("helper_restarts", helper_restarts), NATIVE("debug_asked", debug_asked),
	NATIVE("debug_found", debug_found),
};

void native_counts_since(struct native_counts *now, const struct native_counts *before)
{
	struct native_counts then = *before;

	then.files = 0;
	then.memory_bytes = 0;
	table_subtract(native_columns, ARRAY_SIZE(native_columns), now, &then);
}

/* all: include causes that did not occur. */
static void json_native_sums(struct json *j, const struct native_sums *s, bool all)
{
	int i;

	json_uint(j, "frames", s->frames);
	json_uint(j, "unnamed", s->unnamed);
	json_uint(j, "folded", s->folded);
	json_uint(j, "uncertain", s->uncertain);
	json_uint(j, "changed", s->changed);
	json_object(j, "ends");
	for (i = 0; i < NATIVE_END_CNT; i++)
		if (all || s->ends[i])
			json_uint(j, native_end_names[i].key, s->ends[i]);
	json_object_end(j);
}

void native_json(struct json *j, const struct native_sums *s, const struct capture_counts *c)
{
	json_object(j, "native");
	json_native_sums(j, s, true);
	table_json(j, native_columns, ARRAY_SIZE(native_columns), &c->native);
	json_object_end(j);
}

void native_json_process(struct json *j, const struct process_stats *s)
{
	struct native_sums sums = { .frames = 0 };

	native_sums_add(&sums, s);
	json_object(j, "native");
	json_native_sums(j, &sums, false);
	json_object_end(j);
}

static void print_helpers(const struct native_counts *n, FILE *out)
{
	summary_remark_any(out, "tables dropped", n->tables_evicted,
			   "unwind tables replaced by more used ones");
	summary_remark_any(out, "too many mappings", n->processes_cut,
			   "processes that are unwound only in part");
	summary_remark_any(out, "names left mangled", n->names_mangled,
			   "C++ and Rust names that take too long to demangle");
	summary_remark_any(out, "debug files", n->debug_found, "received from debuginfod servers");
	summary_remark_any(out, "stuck libraries", n->stuck,
			   "files that did not respond when opened");
	summary_remark_any(out, "helper restarts", n->helper_restarts,
			   "tachbpf-elf crashed or timed out on a file");
}

void native_print(const struct native_sums *s, const struct capture_counts *c, uint64_t frames,
		  FILE *out)
{
	uint64_t cut = native_sums_cut(s), stacks = native_sums_stacks(s);
	int i;

	summary_share(out, "native frames", s->frames, frames, "the frames");
	summary_share_any(out, "without a symbol", s->unnamed, s->frames,
			  "these; install debug symbols, such as python3-dbg");
	summary_remark_any(out, "folded", s->folded,
			   "frames without a symbol, shown as their caller (--native=full: all)");
	summary_share(out, "partly unwound", cut, stacks, "the native stacks");
	for (i = NATIVE_WHOLE + 1; i < NATIVE_END_CNT; i++)
		if (s->ends[i])
			summary_cause(out, s->ends[i], native_end_names[i].text);
	summary_share_any(out, "uncertain order", s->uncertain, stacks,
			  "the native stacks: some native frames may be out of place");
	summary_share_any(out, "changed code", s->changed, stacks,
			  "the native stacks: their process has written to code that they were in");
	print_helpers(&c->native, out);
}

/* ---- asyncio tasks ---- */

/* Why a stack keeps the event loop: the keys in session.json, and the texts of the summary. */
static const struct {
	const char *key, *text;
} async_ends[ASYNC_END_CNT] = {
	[ASYNC_DEPTH] = { "async_cut", "more than 16 awaiting tasks, or 128 frames of them" },
	[ASYNC_TIME] = { "async_late", "cut off after the time limit" },
	[ASYNC_CYCLE] = { "async_cycle", "tasks that await one another" },
	[ASYNC_UNREADABLE] = { "async_unreadable", "tasks that could not be read" },
	[ASYNC_NOT_SUSPENDED] = { "async_torn", "awaiting tasks that were not suspended" },
	[ASYNC_FOREIGN] = { "async_foreign", "awaiting tasks whose coroutine is not Python's" },
	[ASYNC_GONE] = { "async_gone", "tasks that ended or went on before they were read" },
	[ASYNC_SHAPE] = { "async_other", "tasks with a callback that may be an awaiter's" },
};

void async_stats_add(struct async_stats *sum, const struct async_stats *s)
{
	/* All its members are counters. */
	const struct column all = { NULL, 0, sizeof(*s) };

	table_add(&all, 1, sum, s);
}

/* Returns those that keep the event loop. */
static uint64_t async_stats_kept(const struct async_stats *s)
{
	uint64_t kept = s->no_end + s->unfound;
	int i;

	for (i = 0; i < ASYNC_END_CNT; i++)
		kept += s->ends[i];
	return kept;
}

/* Returns the number of all stacks of tasks. */
static uint64_t async_stats_stacks(const struct async_stats *s)
{
	return s->shown + s->eager + async_stats_kept(s);
}

/* What the callbacks are called that may be awaiters'. */
static void others_json(struct json *j, const struct async_others *others)
{
	uint32_t i;

	json_object(j, "async_other_names");
	for (i = 0; others && i < others->cnt; i++)
		json_uint(j, others->other[i].name, others->other[i].cnt);
	json_object_end(j);
	if (others && others->rest)
		json_uint(j, "async_other_rest", others->rest);
}

void async_json(struct json *j, const struct async_stats *s, const struct async_others *others,
		bool all)
{
	int i;

	json_object(j, "async");
	json_uint(j, "stacks", s->shown);
	json_uint(j, "several_awaiters", s->several);
	json_uint(j, "eager", s->eager);
	if (all || s->no_end)
		json_uint(j, "async_no_end", s->no_end);
	if (all || s->unfound)
		json_uint(j, "async_unfound", s->unfound);
	for (i = ASYNC_WHOLE + 1; i < ASYNC_END_CNT; i++)
		if (all || s->ends[i])
			json_uint(j, async_ends[i].key, s->ends[i]);
	if (all)
		others_json(j, others);
	json_object_end(j);
}

static void others_print(const struct async_others *others, FILE *out)
{
	char name[4 * ASYNC_OTHER_BYTES];
	uint32_t i;

	for (i = 0; others && i < others->cnt; i++)
		summary_cause(out, others->other[i].cnt,
			      escape_text(others->other[i].name, strlen(others->other[i].name),
					  name, sizeof(name)));
	if (others && others->rest)
		summary_cause(out, others->rest, "(further names)");
}

void async_print(const struct async_stats *s, const struct async_others *others, FILE *out)
{
	uint64_t stacks = async_stats_stacks(s);
	int i;

	summary_count(out, "in asyncio tasks", stacks);
	summary_share(out, "still with loop", async_stats_kept(s), stacks, "these stacks");
	if (s->no_end)
		summary_cause(out, s->no_end, "stacks that have a gap themselves");
	if (s->unfound)
		summary_cause(out, s->unfound, "coroutines of no known task: before asyncio was "
						"found, or run by another library");
	for (i = ASYNC_WHOLE + 1; i < ASYNC_END_CNT; i++)
		if (s->ends[i])
			summary_cause(out, s->ends[i], async_ends[i].text);
	if (s->ends[ASYNC_SHAPE])
		others_print(others, out);
	summary_remark_any(out, "eager tasks", s->eager,
			   "stacks of tasks that run in their creator");
	summary_remark_any(out, "several awaiters", s->several, "stacks that show the first one");
}

/* ---- memory ---- */

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

void memory_sums_fate(struct memory_sums *m, const struct memory_fate *f)
{
	m->pages_looked_at = add_capped(m->pages_looked_at, f->pages);
	m->own = add_capped(m->own, f->own);
	m->reused = add_capped(m->reused, f->reused);
	m->unused = add_capped(m->unused, f->unused);
}

#define MEMORY(key, member) COLUMN(key, struct memory_sums, member)
static const struct column memory_columns[] = {
	MEMORY("allocations", allocs), MEMORY("touched_bytes", touched),
	MEMORY("held_bytes", held), MEMORY("bursts", bursts), MEMORY("unchecked_bytes", unchecked),
	MEMORY("rss_anon_begin", rss_anon_begin), MEMORY("rss_anon_end", rss_anon_end),
	MEMORY("swapped_begin", swapped_begin), MEMORY("swapped_end", swapped_end),
	MEMORY(NULL, held_begin), MEMORY(NULL, held_end), MEMORY(NULL, checks),
	/* "explained" comes between. */
	MEMORY("collections", collections), MEMORY("not_walked", not_walked),
	MEMORY("stacks_not_kept", not_kept), MEMORY("threads_not_kept", beyond_threads),
	MEMORY("pages_looked_at", pages_looked_at), MEMORY("own_bytes", own),
	 MEMORY("reused_bytes", reused), MEMORY("unused_bytes", unused),
};
#define BEHIND_EXPLAINED 8

void memory_sums_add(struct memory_sums *sum, const struct memory_sums *m)
{
	table_add(memory_columns, ARRAY_SIZE(memory_columns), sum, m);
}

/* Returns 0 if it did not grow. */
static uint64_t memory_growth(const struct memory_sums *m)
{
	uint64_t begin = m->rss_anon_begin + m->swapped_begin;
	uint64_t end = m->rss_anon_end + m->swapped_end;

	return end > begin ? end - begin : 0;
}

/*
 * Sets the share of the growth from the first check to the last, as the kernel counts it (RssAnon
 * and VmSwap), that is held memory. It exceeds 1 if earlier memory was released. False: there was
 * no growth, or no check, or what is held is known only at the end: in bursts.
 */
static bool memory_sums_explained(const struct memory_sums *m, double *share)
{
	uint64_t grown = memory_growth(m);
	uint64_t held = m->held_end > m->held_begin ? m->held_end - m->held_begin : 0;

	if (grown)
		*share = (double)held / (double)grown;
	return grown && !m->bursts;
}

void memory_json_process(struct json *j, const struct memory_sums *m)
{
	const size_t before = ARRAY_SIZE(memory_columns) - BEHIND_EXPLAINED;
	double share;

	table_json(j, memory_columns, before, m);
	json_double(j, "explained", memory_sums_explained(m, &share) ? share : NAN);
	table_json(j, memory_columns + before, BEHIND_EXPLAINED, m);
}

void memory_json(struct json *j, const struct memory_sums *sum, const struct recording_memory *how)
{
	json_object(j, "memory");
	json_bool(j, "exact", how->exact && !sum->bursts);
	json_uint(j, "every_bytes", how->every_bytes);
	json_uint(j, "min_block_bytes", how->min_block_bytes);
	json_uint(j, "interval_us", how->interval_us);
	memory_json_process(j, sum);
	json_object_end(j);
}

void memory_print_held(const struct memory_sums *sum, FILE *out)
{
	char held[BYTES_TEXT_MAX], touched[BYTES_TEXT_MAX], grown[BYTES_TEXT_MAX];

	fprintf(out, "Memory: %s held at the end, of %s touched; ",
		bytes_text((double)sum->held, held), bytes_text((double)sum->touched, touched));
	if (sum->bursts)
		fprintf(out, "sampled in %" PRIu64 " %s; ", sum->bursts,
			text_plural(sum->bursts, "burst", "bursts"));
	if (memory_growth(sum))
		fprintf(out, "growth: %s\n", bytes_text((double)memory_growth(sum), grown));
	else
		fprintf(out, "no growth\n");
}

void memory_print(const struct memory_sums *sum, FILE *out)
{
	char text[96];
	double share;

	summary_remark(out, "touched", sum->touched, "bytes");
	if (memory_sums_explained(sum, &share))
		snprintf(text, sizeof(text), "bytes: %.1f %% of the memory growth of the "
					     "processes", 100 * share);
	else
		snprintf(text, sizeof(text), sum->bursts ? "bytes" :
			 "bytes; the processes did not grow");
	summary_remark(out, "held at the end", sum->held, text);
	summary_remark_any(out, "not checked", sum->unchecked,
			   "bytes that may have been freed: counted as held");
	summary_share_any(out, "without a stack", sum->not_walked, sum->allocs,
			  "the allocations: the budget was used up");
	summary_share_any(out, "stacks not kept", sum->not_kept, sum->allocs,
			  "the allocations: there were too many different stacks");
	summary_share_any(out, "threads not kept", sum->beyond_threads, sum->allocs,
			  "the allocations: a process had more than 65,535 threads");
	if (sum->collections)
		summary_count(out, "collections", sum->collections);
}
