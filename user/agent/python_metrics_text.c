// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* python_metrics_text.c - writes the metrics of Python processes as text. */
#include <stdio.h>

#include "agent/python_metrics_parts.h"
#include "base/util.h"

/* Counters of a family; if it has several samples, the label distinguishes them. */
struct counter_row {
	const char *name;
	enum python_counter first;
	unsigned int what;	/* PYTHON_METRICS_*; 0: always */
	bool ns;
	const char *label;	/* NULL: one counter */
	const char *values[PYTHON_WAITS];
	unsigned int others;	/* as what: for all values but the first */
	const char *help;
};

static const struct counter_row rows[] = {
	{ "tachbpf_python_cpu_seconds", PYTHON_CPU, PYTHON_METRICS_CPU, true,
	  .help = "CPU time of all threads, sampled; with native_threads: false only of threads "
		  "that run Python." },
	{ "tachbpf_python_gil_held_seconds", PYTHON_GIL_ON_CPU, PYTHON_METRICS_GIL, true,
	  .label = "state", .values = { "on_cpu", "off_cpu" }, .others = PYTHON_METRICS_GIL_WAIT,
	  .help = "Time during which a thread held the GIL, by whether it was on a CPU." },
	{ "tachbpf_python_gil_wait_seconds", PYTHON_GIL_WAIT, PYTHON_METRICS_GIL_WAIT, true,
	  .help = "Time that threads spent waiting for the GIL, summed over threads." },
	{ "tachbpf_python_off_cpu_seconds", PYTHON_OFF_CPU, PYTHON_METRICS_OFF_CPU, true,
	  .label = "kind", .values = { "lock", "io", "sleep", "runnable", "held", "other" },
	  .help = "Time that threads spent off CPU except for GIL waits, by "
		  "what they waited for." },
	{ "tachbpf_python_gc_seconds", PYTHON_GC, PYTHON_METRICS_GC | PYTHON_METRICS_GIL, true,
	  .help = "CPU time of garbage collections, including what they call." },
	{ "tachbpf_python_exception_seconds", PYTHON_EXCEPTION_NS, PYTHON_METRICS_EXCEPTIONS, true,
	  .help = "Sampled time in which a thread handled or propagated an exception." },
	{ "tachbpf_python_exception_samples", PYTHON_EXCEPTIONS, PYTHON_METRICS_EXCEPTIONS, false,
	  .help = "Samples with an exception; not the number of exceptions." },
	{ "tachbpf_python_memory_touched_bytes", PYTHON_TOUCHED, PYTHON_METRICS_MEMORY, false,
	  .help = "New memory touched by processes, from sampled page faults." },
	{ "tachbpf_python_gc_collections", PYTHON_COLLECTIONS, PYTHON_METRICS_MEMORY, false,
	  .help = "Garbage collections, by the interpreters' own counters." },
	{ "tachbpf_python_gc_collected_objects", PYTHON_COLLECTED, PYTHON_METRICS_MEMORY, false,
	  .help = "Objects freed by garbage collections." },
	{ "tachbpf_python_gc_uncollectable_objects", PYTHON_UNCOLLECTABLE, PYTHON_METRICS_MEMORY,
	  false, .help = "Uncollectable objects found by garbage collections." },
	{ "tachbpf_python_starts", PYTHON_STARTS, 0, false,
	  .help = "Python processes started while the agent ran, including forked ones." },
};

static const struct python_service *next_row(const struct python_metrics *m,
					     const struct python_service *s)
{
	if (s == &m->other)
		return NULL;
	do {
		s = s->next;
	} while (s != &m->services && !python_has_row(s));
	return s == &m->services ? &m->other : s;
}

/* Every row, "other" last. */
#define EACH_ROW(m, s) for ((s) = next_row(m, &(m)->services); (s); (s) = next_row(m, s))

static void put_counters(const struct python_metrics *m, const struct counter_row *row,
			 struct metrics_text *t)
{
	bool others = (row->others & m->what) == row->others;
	struct metric_label labels[PYTHON_LABELS_ALL];
	const struct python_service *s;
	size_t i, cnt;

	metrics_family(t, row->name, METRIC_COUNTER, row->help);
	EACH_ROW(m, s)
		for (i = 0; i < PYTHON_WAITS && (!i || (others && row->values[i])); i++) {
			uint64_t value = s->counters[row->first + i];

			cnt = python_labels(m, s, row->label, row->values[i], labels);
			(row->ns ? metrics_ns : metrics_count)(t, labels, cnt, value);
		}
}

static void put_processes(const struct python_metrics *m, const struct python_service *s,
			  const uint32_t by_version[PYTHON_VERSIONS], struct metrics_text *t)
{
	struct metric_label labels[PYTHON_LABELS_ALL];
	size_t cnt = python_labels(m, s, "python", "", labels);
	char version[16];
	uint32_t i;

	labels[cnt - 1].value = version;
	for (i = 0; i < PYTHON_VERSIONS; i++) {
		const struct python_version *v = &m->versions[i];

		if (!by_version[i])
			continue;
		if (i == PYTHON_VERSIONS - 1)
			snprintf(version, sizeof(version), "other");
		else
			snprintf(version, sizeof(version), "%u.%u%s", v->major, v->minor,
				 v->free_threaded ? "t" : "");
		metrics_count(t, labels, cnt, by_version[i]);
	}
}

/* The sum of all services without a row. */
static void add_up_others(const struct python_metrics *m, struct python_service *sum,
			  uint64_t *cnt)
{
	const struct python_service *s;
	uint32_t i;

	*sum = m->other;
	*cnt = 0;
	PYTHON_EACH_SERVICE(m, s) {
		if (python_has_row(s))
			continue;
		(*cnt)++;
		sum->threads += s->threads;
		for (i = 0; i < PYTHON_MEMORY; i++)
			sum->memory[i] += s->memory[i];
		for (i = 0; i < PYTHON_VERSIONS; i++)
			sum->by_version[i] += s->by_version[i];
	}
}

static void put_gauge(const struct python_metrics *m, const struct python_service *s,
		      uint64_t value, struct metrics_text *t)
{
	struct metric_label labels[PYTHON_LABELS_ALL];

	metrics_count(t, labels, python_labels(m, s, NULL, NULL, labels), value);
}

static void put_memory(const struct python_metrics *m, const struct python_service *others,
		       struct metrics_text *t)
{
	static const struct {
		const char *name, *help;
	} families[PYTHON_MEMORY] = {
		[PYTHON_HELD] = { "tachbpf_python_memory_held_bytes",
			"Memory still held of what processes have touched since profiling began, "
			"from sampled page faults." },
		[PYTHON_RSS_ANON] = { "tachbpf_python_memory_anonymous_bytes",
			"Anonymous memory of these processes as the kernel counts it (RssAnon)." },
		[PYTHON_SWAPPED] = { "tachbpf_python_memory_swapped_bytes",
			"Their memory that is swapped out (VmSwap)." },
	};
	const struct python_service *s;
	size_t i;

	for (i = 0; i < PYTHON_MEMORY && m->what & PYTHON_METRICS_MEMORY; i++) {
		metrics_family(t, families[i].name, METRIC_GAUGE, families[i].help);
		EACH_ROW(m, s)
			put_gauge(m, s, s == &m->other ? others->memory[i] : s->memory[i], t);
	}
}

static void put_gauges(const struct python_metrics *m, struct metrics_text *t)
{
	const struct python_service *s;
	struct python_service others;
	uint64_t cnt;

	add_up_others(m, &others, &cnt);
	metrics_family(t, "tachbpf_python_processes", METRIC_GAUGE,
		       "Python processes being profiled, by Python version; \"t\": free-threaded.");
	EACH_ROW(m, s)
		put_processes(m, s, s == &m->other ? others.by_version : s->by_version, t);
	metrics_family(t, "tachbpf_python_threads", METRIC_GAUGE,
		       "Threads of these processes, including those without Python code.");
	EACH_ROW(m, s)
		put_gauge(m, s, s == &m->other ? others.threads : s->threads, t);
	put_memory(m, &others, t);
	metrics_family(t, "tachbpf_agent_services_in_other", METRIC_GAUGE,
		       "Services without metrics of their own (metrics.services), counted under "
		       "the service \"other\".");
	metrics_count(t, NULL, 0, cnt);
}

/* Event loops. What nobody knows is left out. */
static const struct {
	const char *name, *help;
	bool ns;
} loop_families[PYTHON_LOOPS] = {
	[PYTHON_LOOPS_RUNNING] = { "tachbpf_python_asyncio_loops",
		"Event loops that run in the service's processes." },
	[PYTHON_LOOPS_TASKS] = { "tachbpf_python_asyncio_tasks",
		"asyncio tasks of the service's processes." },
	[PYTHON_LOOPS_READY] = { "tachbpf_python_asyncio_ready_callbacks",
		"Callbacks that were ready to run in one process, at most in the last minute." },
	[PYTHON_LOOPS_LONGEST] = { "tachbpf_python_asyncio_longest_callback_seconds",
		"Time that one callback has blocked its event loop, at least, in the last minute.",
		.ns = true },
	[PYTHON_LOOPS_LAG] = { "tachbpf_python_asyncio_lag_seconds",
		"Time by which timers or events were late in an event loop, at least, in the last "
		"minute.", .ns = true },
};

static void put_loop(const struct python_metrics *m, const struct python_service *s, size_t i,
		     struct metrics_text *t)
{
	struct metric_label labels[PYTHON_LABELS_ALL];
	size_t cnt;

	if (s->loops[i] == PYTHON_LOOPS_UNKNOWN)
		return;
	cnt = python_labels(m, s, NULL, NULL, labels);
	(loop_families[i].ns ? metrics_ns : metrics_count)(t, labels, cnt, s->loops[i]);
}

static void put_loops(const struct python_metrics *m, struct metrics_text *t)
{
	const struct python_service *s;
	size_t i;

	for (i = 0; i < PYTHON_LOOPS && m->what & PYTHON_METRICS_LOOPS; i++) {
		metrics_family(t, loop_families[i].name, METRIC_GAUGE, loop_families[i].help);
		PYTHON_EACH_SERVICE(m, s)
			if (python_has_row(s))
				put_loop(m, s, i, t);
		put_loop(m, &m->other, i, t);
	}
}

void python_metrics_render(const struct python_metrics *m, struct metrics_text *t)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if ((rows[i].what & m->what) == rows[i].what)
			put_counters(m, &rows[i], t);
	put_gauges(m, t);
	put_loops(m, t);
}
