// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* async_sums.c - see async_sums.h. */
#include "recording/async_sums.h"

#include "base/json.h"
#include "recording/summary_lines.h"
#include "resolve/process.h"

/* Why a stack keeps the event loop: the keys in session.json, and the texts of the summary. */
static const struct {
	const char *key, *text;
} ends[ASYNC_END_CNT] = {
	[ASYNC_DEPTH] = { "async_cut", "more than 16 awaiting tasks, or 128 frames of them" },
	[ASYNC_TIME] = { "async_late", "cut off after the time limit" },
	[ASYNC_CYCLE] = { "async_cycle", "tasks that await each other" },
	[ASYNC_UNREADABLE] = { "async_unreadable", "tasks that could not be read" },
	[ASYNC_NOT_SUSPENDED] = { "async_torn", "awaiting tasks that were not suspended" },
	[ASYNC_FOREIGN] = { "async_foreign", "awaiting tasks whose coroutine is not Python's" },
};

/* ---- sums ---- */

void async_stats_add(struct async_stats *sum, const struct async_stats *s)
{
	int i;

	sum->shown += s->shown;
	sum->several += s->several;
	sum->eager += s->eager;
	sum->no_end += s->no_end;
	for (i = 0; i < ASYNC_END_CNT; i++)
		sum->ends[i] += s->ends[i];
}

void async_stats_since(struct async_stats *s, const struct async_stats *before)
{
	int i;

	s->shown -= before->shown;
	s->several -= before->several;
	s->eager -= before->eager;
	s->no_end -= before->no_end;
	for (i = 0; i < ASYNC_END_CNT; i++)
		s->ends[i] -= before->ends[i];
}

/* Those that keep the event loop because of a gap. */
static uint64_t async_stats_kept(const struct async_stats *s)
{
	uint64_t kept = s->no_end;
	int i;

	for (i = 0; i < ASYNC_END_CNT; i++)
		kept += s->ends[i];
	return kept;
}

/* The number of all stacks of tasks. */
static uint64_t async_stats_stacks(const struct async_stats *s)
{
	return s->shown + s->eager + async_stats_kept(s);
}

/* ---- session.json and the summary ---- */

void async_json(struct json *j, const struct async_stats *s, bool all)
{
	int i;

	json_object(j, "async");
	json_uint(j, "stacks", s->shown);
	json_uint(j, "several_awaiters", s->several);
	json_uint(j, "eager", s->eager);
	if (all || s->no_end)
		json_uint(j, "async_no_end", s->no_end);
	for (i = ASYNC_WHOLE + 1; i < ASYNC_END_CNT; i++)
		if (all || s->ends[i])
			json_uint(j, ends[i].key, s->ends[i]);
	json_object_end(j);
}

void async_print(const struct async_stats *s, FILE *out)
{
	uint64_t stacks = async_stats_stacks(s);
	int i;

	summary_count(out, "in asyncio tasks", stacks);
	summary_share(out, "still with loop", async_stats_kept(s), stacks, "these stacks");
	if (s->no_end)
		summary_cause(out, s->no_end, "stacks with a gap of their own");
	for (i = ASYNC_WHOLE + 1; i < ASYNC_END_CNT; i++)
		if (s->ends[i])
			summary_cause(out, s->ends[i], ends[i].text);
	if (s->eager)
		summary_remark(out, "eager tasks", s->eager,
			       "stacks of tasks that run in their creator");
	if (s->several)
		summary_remark(out, "several awaiters", s->several,
			       "stacks that show the first one");
}
