// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* python_loops.c - how the event loops of a service's processes fare. See python_metrics.h. */
#include "agent/python_metrics_parts.h"
#include "base/util.h"

static const struct {
	const char *name, *help;
	bool sum;		/* of the service's processes; else the largest */
	bool ns;
} families[PYTHON_LOOPS] = {
	[PYTHON_LOOPS_RUNNING] = { "tachbpf_python_asyncio_loops",
		"Event loops that run in the service's processes.", .sum = true },
	[PYTHON_LOOPS_TASKS] = { "tachbpf_python_asyncio_tasks",
		"asyncio tasks of the service's processes.", .sum = true },
	[PYTHON_LOOPS_READY] = { "tachbpf_python_asyncio_ready_callbacks",
		"Callbacks that were ready to run in one process, at most in the last minute." },
	[PYTHON_LOOPS_LONGEST] = { "tachbpf_python_asyncio_longest_callback_seconds",
		"Time that one callback has blocked its event loop, at least, in the last minute.",
		.ns = true },
	[PYTHON_LOOPS_LAG] = { "tachbpf_python_asyncio_lag_seconds",
		"Time by which timers or events were late in an event loop, at least, in the last "
		"minute.", .ns = true },
};

static void add_to(uint64_t sum[PYTHON_LOOPS], const uint64_t figures[PYTHON_LOOPS])
{
	size_t i;

	for (i = 0; i < PYTHON_LOOPS; i++) {
		if (figures[i] == PYTHON_LOOPS_UNKNOWN)
			continue;
		if (sum[i] == PYTHON_LOOPS_UNKNOWN)
			sum[i] = figures[i];
		else if (families[i].sum)
			sum[i] += figures[i];
		else if (figures[i] > sum[i])
			sum[i] = figures[i];
	}
}

void python_loops_forget(uint64_t figures[PYTHON_LOOPS])
{
	size_t i;

	for (i = 0; i < PYTHON_LOOPS; i++)
		figures[i] = PYTHON_LOOPS_UNKNOWN;
}

/* A service's figures are those of its processes; of one without a row, they are "other"'s. */
void python_loops_tick(struct python_metrics *m)
{
	struct python_service *s;
	struct python_process *p;

	if (!(m->what & PYTHON_METRICS_LOOPS))
		return;
	python_loops_forget(m->other.loops);
	PYTHON_EACH_SERVICE(m, s)
		python_loops_forget(s->loops);
	for (p = m->processes.next; p != &m->processes; p = p->next)
		add_to(p->service->to->loops, p->loops);
}

void python_metrics_loops(struct python_process *p, const uint64_t figures[PYTHON_LOOPS])
{
	size_t i;

	for (i = 0; p && i < PYTHON_LOOPS; i++)
		p->loops[i] = figures ? figures[i] : PYTHON_LOOPS_UNKNOWN;
}

static void put(const struct python_metrics *m, const struct python_service *s, size_t i,
		struct metrics_text *t)
{
	struct metric_label labels[PYTHON_LABELS_ALL];
	size_t cnt;

	if (s->loops[i] == PYTHON_LOOPS_UNKNOWN)
		return;
	cnt = python_labels(m, s, NULL, NULL, labels);
	(families[i].ns ? metrics_ns : metrics_count)(t, labels, cnt, s->loops[i]);
}

void python_loops_render(const struct python_metrics *m, struct metrics_text *t)
{
	const struct python_service *s;
	size_t i;

	for (i = 0; i < PYTHON_LOOPS && m->what & PYTHON_METRICS_LOOPS; i++) {
		metrics_family(t, families[i].name, METRIC_GAUGE, families[i].help);
		PYTHON_EACH_SERVICE(m, s)
			if (python_has_row(s))
				put(m, s, i, t);
		put(m, &m->other, i, t);
	}
}
