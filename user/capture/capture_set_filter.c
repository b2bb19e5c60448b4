// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * capture_set_filter.c - replaces the conditions on processes while the capture runs.
 *
 * First the BPF side gets the new conditions, so that nothing is judged by the old ones any more.
 * Then all verdicts that are left are made again: of entries of excluded processes, of tracked
 * processes, of processes that nobody knew, and of records that lie in the ring buffer.
 */
#include <bpf/libbpf.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_filter.h"
#include "capture/capture_losses.h"
#include "capture/capture_state.h"
#include "capture/proc_table.h"
#include "host/proc.h"

/* Records are taken once per this number of processes that are judged, and for so long at most. */
#define TAKE_PROCESSES 128
#define TAKE_NS 100000000ull
/* The last records of excluded processes: those that are not taken in this time are orphans. */
#define TAKE_LAST_NS 1000000000ull
/* From one inspection of a newly selected process to the next: samples wait meanwhile. */
#define INSPECT_APART_NS 1000000ull
#define INSPECT_WITHIN_NS 1000000000ull

struct change {
	struct capture *s;
	uint64_t begin_ns;
	uint32_t judged, selected;	/* processes; newly selected ones */
};

static void take_records(struct capture *s, uint64_t limit_ns)
{
	s->take_until_ns = now_ns() + limit_ns;
	ring_buffer__consume(s->ring);	/* an error comes again, to capture_poll() */
}

/* A process that is not tracked. Without args.all, its tick asks if it was chosen by -p. */
static int find_selected(struct change *c, pid_t tgid)
{
	struct capture *s = c->s;
	struct proc_info who;
	struct tracked *t;

	if (!s->args.all || tgid == getpid() || proc_info_read(tgid, &who) ||
	    who.stat.kernel_thread || !capture_filter_meets(s, tgid))
		return 0;
	t = lifecycle_ask(&s->life, tgid, 0);
	if (!t)
		return s->life.err;
	t->schedule.next_ns = c->begin_ns + c->selected++ * INSPECT_APART_NS % INSPECT_WITHIN_NS;
	return 0;
}

static int judge(void *ctx, pid_t tgid)
{
	struct change *c = ctx;
	struct tracked *t;

	if (!(++c->judged % TAKE_PROCESSES))
		take_records(c->s, TAKE_NS);
	t = lifecycle_find(&c->s->life, tgid);
	if (!t)
		return find_selected(c, tgid);
	capture_filter_judge_again(c->s, t);
	return 0;
}

/* End the processes that are excluded. Their last samples were taken. */
static void dismiss(struct capture *s)
{
	struct step step = { .unselected = 0 };
	struct tracked *t;
	struct py_proc py;
	size_t pos = 0;

	while ((t = lifecycle_next_profiled(&s->life, &pos))) {
		if (t->state != PROC_PAUSED || !proc_table_get(s->life.table, t->tgid, &py) ||
		    !(py.unselected & UNSELECTED_FOR_SURE))
			continue;
		step.unselected = py.unselected;
		lifecycle_step(&s->life, t, PROC_EV_DISMISSED, &step);
	}
}

int capture_set_filter(struct capture *s, struct proc_filter *filter)
{
	struct change c = { .s = s };
	int err;

	take_records(s, TAKE_NS);	/* those left are from after the beginning of the change */
	err = capture_filter_change(s, filter);
	if (err)
		return err;
	c.begin_ns = now_ns();
	proc_table_remove_all_unseen(s->life.table);
	lifecycle_fail(&s->life, proc_each(judge, &c));
	s->filter_changed_ns = now_ns();
	take_records(s, TAKE_LAST_NS);
	capture_take_losses(s);
	dismiss(s);
	log_debug("conditions changed in %.1f ms: %u processes judged, %u newly selected",
		  (now_ns() - c.begin_ns) / 1e6, c.judged, c.selected);
	return s->life.err;
}
