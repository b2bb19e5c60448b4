// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* python_loops.c - how the event loops of a service's processes fare. See python_metrics.h. */
#include "agent/python_metrics_parts.h"

/* Whether a service has the sum of its processes' figures, or the largest of them. */
static const bool sums[PYTHON_LOOPS] = {
	[PYTHON_LOOPS_RUNNING] = true, [PYTHON_LOOPS_TASKS] = true,
};

static void add_to(uint64_t sum[PYTHON_LOOPS], const uint64_t figures[PYTHON_LOOPS])
{
	size_t i;

	for (i = 0; i < PYTHON_LOOPS; i++) {
		if (figures[i] == PYTHON_LOOPS_UNKNOWN)
			continue;
		if (sum[i] == PYTHON_LOOPS_UNKNOWN)
			sum[i] = figures[i];
		else if (sums[i])
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
