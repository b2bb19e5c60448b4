/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_observer.h - an observer that keeps in memory what a capture or a process hands it, and
 * can refuse it.
 */
#ifndef TACHBPF_MEMORY_OBSERVER_H
#define TACHBPF_MEMORY_OBSERVER_H

#include "resolve/observer.h"
#include "resolve/process.h"
#include "tests/unit/tach_test.h"

struct memory_observer {
	struct observer observer;
	const struct profile_tables *tables;	/* of the process that began last */
	struct events events;			/* of all processes */
	int begin_err, event_err;		/* what to return */
	char calls[4096];			/* "start\nbegin 12\nevent 12\nend 12\n" */
};

static inline void memory_observer_note(struct memory_observer *m, const char *call, pid_t tgid)
{
	size_t len = strlen(m->calls);

	snprintf(m->calls + len, sizeof(m->calls) - len, tgid ? "%s %d\n" : "%s\n", call, tgid);
}

static inline void memory_observer_start(struct observer *o, uint64_t now_ns)
{
	assert_true(now_ns > 0);
	memory_observer_note((struct memory_observer *)o, "start", 0);
}

static inline int memory_observer_begin(struct observer *o, struct process *p)
{
	struct memory_observer *m = (struct memory_observer *)o;

	memory_observer_note(m, "begin", process_tgid(p));
	if (m->begin_err)
		return m->begin_err;
	m->tables = process_tables(p);
	process_set_observed(p, m);
	return 0;
}

static inline int memory_observer_event(struct observer *o, struct process *p,
					const struct event *ev)
{
	struct memory_observer *m = (struct memory_observer *)o;
	uint32_t i;

	assert_ptr_equal(process_observed(p), m);
	if (m->event_err)
		return m->event_err;
	assert_in_range(ev->nframes, 0, EVENT_MAX_FRAMES);
	for (i = 0; i < ev->nframes; i++)
		assert_in_range(ev->frames[i], 0, process_tables(p)->frame_cnt - 1);
	memory_observer_note(m, "event", process_tgid(p));
	return keep_event(&m->events, ev);
}

static inline int memory_observer_end(struct observer *o, struct process *p, uint64_t end_ns)
{
	(void)end_ns;
	memory_observer_note((struct memory_observer *)o, "end", process_tgid(p));
	return 0;
}

static inline int memory_observer_tick(struct observer *o)
{
	memory_observer_note((struct memory_observer *)o, "tick", 0);
	return 0;
}

static inline void memory_observer_stop(struct observer *o, double missed_pct)
{
	assert_true(missed_pct >= 0 && missed_pct <= 100);
	memory_observer_note((struct memory_observer *)o, "stop", 0);
}

static inline bool memory_observer_remark(struct observer *o, pid_t tgid, uint32_t uid,
					  const char *comm, const char *text)
{
	assert_true(comm[0] && text[0]);
	memory_observer_note((struct memory_observer *)o, "remark", tgid);
	return false;	/* nothing goes to the log */
}

static const struct observer_ops memory_observer_ops = {
	.start = memory_observer_start,
	.begin = memory_observer_begin,
	.event = memory_observer_event,
	.end = memory_observer_end,
	.tick = memory_observer_tick,
	.stop = memory_observer_stop,
	.remark = memory_observer_remark,
};

#define MEMORY_OBSERVER { .observer = { &memory_observer_ops } }

static inline void memory_observer_free(struct memory_observer *m)
{
	events_free(&m->events);
}

#endif
