// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * chrome.c - writes a timeline in Chrome's Trace Event Format, JSON (docs/format-trace.md). See
 * trace.h.
 *
 * A slice is one complete event ("X"), written when it ends. A caller's is thus behind those that
 * it called, and viewers sort by time: so each begins a nanosecond later than its caller's.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "formats/formats.h"
#include "formats/trace/trace.h"

/* t->own: whether something was written. */
static void start_item(struct trace *t, char kind, const struct trace_lane *lane)
{
	bool *some = t->own;

	writer_text(t->w, *some ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	*some = true;
	writer_char(t->w, kind);
	writer_text(t->w, "\",\"pid\":");
	writer_int(t->w, lane->pid);
	writer_text(t->w, ",\"tid\":");
	writer_int(t->w, lane->tid);
}

static void put_text(struct trace *t, const char *key, const char *text)
{
	writer_text(t->w, key);
	json_string_in(t->w, string_of(text));
}

/* Times are in us, with three decimals. */
static void put_time(struct trace *t, const char *key, uint64_t ns)
{
	writer_text(t->w, key);
	writer_ms(t->w, (int64_t)ns);
}

static void put_number(struct trace *t, const char *key, uint64_t v)
{
	writer_text(t->w, key);
	writer_uint(t->w, v);
}

static void put_head(struct trace *t)
{
	writer_text(t->w, "{\"otherData\":{\"exporter\":\"tachbpf " TACHBPF_VERSION
			  "\",\"clock\":\"CLOCK_MONOTONIC\"},\"traceEvents\":[");
}

static void put_lane(struct trace *t, const struct trace_lane *lane)
{
	bool process = lane->kind == LANE_PROCESS;

	if (lane->kind == LANE_COUNTER)
		return;
	start_item(t, 'M', lane);
	put_text(t, ",\"name\":", process ? "process_name" : "thread_name");
	put_text(t, ",\"args\":{\"name\":", lane->name);
	writer_text(t->w, "}}");
	if (process)
		return;
	start_item(t, 'M', lane);
	put_number(t, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":", lane->id);
	writer_text(t->w, "}}");
}

/* Writes the name, and where the function is. */
static void put_name(struct trace *t, const struct trace_name *name)
{
	bool function = name->label != TRACE_NO_LABEL;
	char *func = function ? trace_function(t, name->label) : NULL;
	char *file = function ? trace_file(t, name->label) : NULL;

	if (function && (!func || !file))
		trace_fail(t, -ENOMEM);
	put_text(t, ",\"name\":", name->text ? name->text : func ? func : "");
	writer_text(t->w, ",\"args\":{");
	if (name->text && func)
		put_text(t, "\"function\":", func);
	if (file && *file) {
		put_text(t, name->text ? ",\"file\":" : "\"file\":", file);
		put_number(t, ",\"line\":", stacks_line(t->stacks, name->label));
	}
	free(func);
	free(file);
}

static void put_begin(struct trace *t, const struct trace_lane *lane)
{
}

/* Starts the lane's innermost slice, which ends then. */
static void start_slice(struct trace *t, const struct trace_lane *lane, uint64_t end_ns)
{
	uint64_t begin_ns = lane->open[lane->cnt - 1].begin_ns + lane->cnt - 1;

	if (begin_ns > end_ns)
		begin_ns = end_ns;
	start_item(t, 'X', lane);
	put_time(t, ",\"ts\":", begin_ns);
	put_time(t, ",\"dur\":", end_ns - begin_ns);
}

static void put_end(struct trace *t, const struct trace_lane *lane, uint64_t at_ns)
{
	if (lane->kind == LANE_REGIONS)
		return;
	start_slice(t, lane, at_ns);
	put_name(t, &lane->open[lane->cnt - 1].name);
	writer_text(t->w, "}}");
}

static void put_instant(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
			const struct trace_name *name, uint64_t weight)
{
	start_item(t, 'i', lane);
	put_time(t, ",\"s\":\"t\",\"ts\":", at_ns);
	put_name(t, name);
	if (weight > 1)
		put_number(t, name->label == TRACE_NO_LABEL ? "\"weight\":" : ",\"weight\":",
			   weight);
	writer_text(t->w, "}}");
}

static void put_args(struct trace *t, const struct trace_fact *facts, size_t cnt)
{
	size_t i;

	writer_text(t->w, ",\"args\":{");
	for (i = 0; i < cnt; i++) {
		put_text(t, i ? "," : "", facts[i].name);
		writer_char(t->w, ':');
		if (!facts[i].text)
			writer_uint(t->w, facts[i].number);
		else if (facts[i].is_json)
			writer_text(t->w, facts[i].text);
		else
			put_text(t, "", facts[i].text);
	}
	writer_text(t->w, "}}");
}

static void put_facts(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
		      const char *name, const struct trace_fact *facts, size_t cnt)
{
	start_item(t, 'i', lane);
	put_time(t, ",\"s\":\"p\",\"ts\":", at_ns);
	put_text(t, ",\"name\":", name);
	put_args(t, facts, cnt);
}

/* It is whole now, and not written when it ends. */
static void put_region(struct trace *t, const struct trace_lane *lane,
		       const struct trace_fact *facts, size_t cnt)
{
	const struct trace_slice *s = &lane->open[lane->cnt - 1];

	start_slice(t, lane, s->end_ns);
	put_text(t, ",\"name\":", s->name.text);
	put_args(t, facts, cnt);
}

static void put_counter(struct trace *t, const struct trace_lane *lane, uint64_t at_ns,
			uint64_t value)
{
	start_item(t, 'C', lane);
	put_time(t, ",\"ts\":", at_ns);
	put_text(t, ",\"name\":", lane->name);
	put_number(t, ",\"args\":{\"%\":", value);
	writer_text(t->w, "}}");
}

static void put_tail(struct trace *t)
{
	writer_text(t->w, "\n]}\n");
}

static void free_chrome(struct trace *t)
{
	free(t->own);
}

static const struct trace_ops chrome_ops = {
	.sink = &sink_chrome, .head = put_head, .lane = put_lane, .begin = put_begin,
	.end = put_end, .region = put_region, .instant = put_instant, .facts = put_facts,
	.counter = put_counter, .tail = put_tail, .free = free_chrome,
};

static struct sink *chrome_open(const struct sink_args *args)
{
	bool *some = calloc(1, sizeof(*some));
	struct sink *s = some ? trace_open(args, &chrome_ops, some) : NULL;

	if (!s) {
		free(some);
		errno = ENOMEM;
	}
	return s;
}

const struct sink_ops sink_chrome = {
	.name = "chrome",
	.help = "timeline as Chrome's trace JSON, for many viewers",
	.open = chrome_open,
	.begin = trace_begin,
	.region = trace_region,
	.event = trace_event,
	.end = trace_end,
	.close = trace_close,
	.suffix = ".chrome.json",
	.no_bytes = "a timeline shows time; pprof and speedscope have bytes",
};
