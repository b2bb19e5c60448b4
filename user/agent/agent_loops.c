// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* agent_loops.c - see agent_loops.h. */
#include "agent/agent_loops.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/agent_processes.h"
#include "agent/python_metrics.h"
#include "look/loop_poll.h"

struct agent_loops {
	struct loop_poll *poll;
};

_Static_assert(PYTHON_LOOPS_UNKNOWN == LOOP_UNKNOWN, "figures are passed on as they are");

struct agent_loops *agent_loops_new(void)
{
	struct agent_loops *l = calloc(1, sizeof(*l));

	if (l)
		l->poll = loop_poll_new();
	if (l && l->poll)
		return l;
	free(l);
	errno = ENOMEM;
	return NULL;
}

void agent_loops_free(struct agent_loops *l)
{
	if (l)
		loop_poll_free(l->poll);
	free(l);
}

void agent_loops_tick(struct agent_loops *l)
{
	if (l)
		loop_poll_tick(l->poll);
}

static void tell_metrics(const struct agent_loops *l, const struct agent_process *p)
{
	struct loop_poll_figures f;

	if (!loop_poll_of(l->poll, p->process, LOOP_HEALTH_SECONDS, &f) || !f.loops.looks) {
		python_metrics_loops(p->metrics, NULL);
		return;
	}
	python_metrics_loops(p->metrics, (const uint64_t[PYTHON_LOOPS]){
		[PYTHON_LOOPS_RUNNING] = f.loops.loops,
		[PYTHON_LOOPS_TASKS] = f.tasks,
		[PYTHON_LOOPS_READY] = f.loops.ready_max,
		[PYTHON_LOOPS_LONGEST] = f.loops.longest_ns,
		[PYTHON_LOOPS_LAG] = f.loops.lag_ns,
	});
}

void agent_loops_second(struct agent_loops *l, struct agent_process *first)
{
	struct agent_process *p;

	if (!l)
		return;
	for (p = first; p; p = p->next) {
		loop_poll_see(l->poll, p->process);
		if (p->metrics)
			tell_metrics(l, p);
	}
	loop_poll_seen(l->poll);
}

uint64_t agent_loops_next_ns(const struct agent_loops *l)
{
	return l ? loop_poll_next_ns(l->poll) : UINT64_MAX;
}

const struct loop_poll_counts *agent_loops_counts(const struct agent_loops *l)
{
	return loop_poll_counts(l->poll);
}
