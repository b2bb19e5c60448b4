// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_sums.c - see native_sums.h. */
#include "recording/native_sums.h"

#include "base/json.h"
#include "recording/capture_counts.h"
#include "recording/summary_lines.h"
#include "resolve/process.h"

const struct native_end_name native_end_names[NATIVE_END_CNT] = {
	[NATIVE_WHOLE] = { "whole", "whole" },
	[NATIVE_DEPTH] = { "too_deep", "deeper than 128 frames" },
	[NATIVE_NO_REGS] = { "no_registers", "registers of the thread not known" },
	[NATIVE_NO_MAPPINGS] = { "mappings_unknown", "mappings of the process not known yet" },
	[NATIVE_NO_MAPPING] = { "not_mapped", "address in no mapping with code" },
	[NATIVE_JIT] = { "jit", "JIT code" },
	[NATIVE_NO_TABLE] = { "table_not_ready", "table of the library not built yet" },
	[NATIVE_NO_ROW] = { "no_unwind_information", "code without unwind information" },
	[NATIVE_UNSUPPORTED] = { "unsupported", "unwind rule that is not supported" },
	[NATIVE_UNREADABLE] = { "unreadable", "stack could not be read" },
	[NATIVE_NO_PROGRESS] = { "no_progress", "caller not further out" },
	[NATIVE_TIME] = { "late", "cut off after the time limit" },
};

/* ---- sums ---- */

void native_sums_add(struct native_sums *sum, const struct process_stats *s)
{
	int i;

	sum->frames += s->native_frames;
	sum->unnamed += s->native_unnamed;
	sum->uncertain += s->merge_uncertain;
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

void native_stats_add(struct process_stats *sum, const struct process_stats *s)
{
	int i;

	sum->native_frames += s->native_frames;
	sum->native_unnamed += s->native_unnamed;
	sum->merge_uncertain += s->merge_uncertain;
	for (i = 0; i < NATIVE_END_CNT; i++)
		sum->native_ends[i] += s->native_ends[i];
}

void native_stats_since(struct process_stats *s, const struct process_stats *before)
{
	int i;

	s->native_frames -= before->native_frames;
	s->native_unnamed -= before->native_unnamed;
	s->merge_uncertain -= before->merge_uncertain;
	for (i = 0; i < NATIVE_END_CNT; i++)
		s->native_ends[i] -= before->native_ends[i];
}

/* ---- session.json ---- */

/* all: also the causes that did not occur. */
static void json_sums(struct json *j, const struct native_sums *s, bool all)
{
	int i;

	json_uint(j, "frames", s->frames);
	json_uint(j, "unnamed", s->unnamed);
	json_uint(j, "uncertain", s->uncertain);
	json_object(j, "ends");
	for (i = 0; i < NATIVE_END_CNT; i++)
		if (all || s->ends[i])
			json_uint(j, native_end_names[i].key, s->ends[i]);
	json_object_end(j);
}

void native_json(struct json *j, const struct native_sums *s, const struct capture_counts *c)
{
	const struct native_counts *n = &c->native;

	json_object(j, "native");
	json_sums(j, s, true);
	json_uint(j, "files", n->files);
	json_uint(j, "tables", n->tables);
	json_uint(j, "tables_cached", n->tables_cached);
	json_uint(j, "tables_failed", n->tables_failed);
	json_uint(j, "tables_evicted", n->tables_evicted);
	json_uint(j, "build_us", n->build_us);
	json_uint(j, "memory_bytes", n->memory_bytes);
	json_uint(j, "names", n->names);
	json_uint(j, "names_unknown", n->names_unknown);
	json_uint(j, "processes_cut", n->processes_cut);
	json_uint(j, "files_stuck", n->stuck);
	json_uint(j, "helper_restarts", n->helper_restarts);
	json_object_end(j);
}

void native_json_process(struct json *j, const struct process_stats *s)
{
	struct native_sums sums = { .frames = 0 };

	native_sums_add(&sums, s);
	json_object(j, "native");
	json_sums(j, &sums, false);
	json_object_end(j);
}

/* ---- the summary ---- */

static void print_helpers(const struct native_counts *n, FILE *out)
{
	if (n->tables_evicted)
		summary_remark(out, "tables dropped", n->tables_evicted,
			       "unwind tables, for others that were needed more");
	if (n->processes_cut)
		summary_remark(out, "too many mappings", n->processes_cut,
			       "processes of which only a part is unwound");
	if (n->stuck)
		summary_remark(out, "stuck libraries", n->stuck,
			       "files that did not answer the opener");
	if (n->helper_restarts)
		summary_remark(out, "helper restarts", n->helper_restarts,
			       "a file ended tachbpf-elf, or took it too long");
}

void native_print(const struct native_sums *s, const struct capture_counts *c, uint64_t frames,
		  FILE *out)
{
	uint64_t cut = native_sums_cut(s), stacks = native_sums_stacks(s);
	int i;

	summary_share(out, "native frames", s->frames, frames, "the frames");
	if (s->unnamed)
		summary_share(out, "without a symbol", s->unnamed, s->frames,
			      "these; docs/native.md says how to install symbols");
	summary_share(out, "unwound in part", cut, stacks, "the native stacks");
	for (i = NATIVE_WHOLE + 1; i < NATIVE_END_CNT; i++)
		if (s->ends[i])
			summary_cause(out, s->ends[i], native_end_names[i].text);
	if (s->uncertain)
		summary_share(out, "uncertain order", s->uncertain, stacks,
			      "the native stacks: some native frames may be out of place");
	print_helpers(&c->native, out);
}
