// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* capture_find.c - see capture_find.h. */
#include "capture/capture_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "capture/capture_filter.h"
#include "capture/capture_inspect.h"
#include "capture/capture_state.h"
#include "host/proc.h"

static int list(void *ctx, pid_t tgid)
{
	struct capture *s = ctx;

	return buf_add(&s->found, &tgid, sizeof(tgid));
}

static size_t left(const struct capture *s)
{
	return s->found.len / sizeof(pid_t) - s->found_at;
}

static void inspect_one(struct capture *s, pid_t tgid)
{
	struct proc_info who;
	struct tracked *t;

	/* What is tracked was heard of by a record. */
	if (tgid == getpid() || lifecycle_find(&s->life, tgid) || proc_info_read(tgid, &who) ||
	    who.stat.kernel_thread || !capture_filter_meets(s, tgid))
		return;
	t = lifecycle_ask(&s->life, tgid, 0);
	if (!t)
		return;
	t->selected = true;
	capture_inspect_read(s, t, &who);
}

/* Inspect so many of the processes that are left, and go on until until_ns (CLOCK_MONOTONIC). */
static void inspect_some(struct capture *s, size_t least, uint64_t until_ns)
{
	size_t cnt;
	pid_t tgid;

	for (cnt = 0; left(s) && !s->life.err && (cnt < least || now_ns() < until_ns); cnt++) {
		memcpy(&tgid, s->found.data + s->found_at++ * sizeof(tgid), sizeof(tgid));
		inspect_one(s, tgid);
	}
	if (!left(s))
		capture_find_free(s);
}

bool capture_finds_late(const struct record_mode_def *mode)
{
	return mode->ticks && !mode->waits && !mode->scan_only && !mode->memory && !mode->events;
}

int capture_find(struct capture *s)
{
	int err = proc_each(list, s);

	if (err)
		return err;
	inspect_some(s, capture_finds_late(s->mode) ? FIND_FIRST : SIZE_MAX,
		     now_ns() + FIND_FIRST_NS);
	if (left(s))
		log_debug("%zu processes are left to be inspected while it records", left(s));
	return s->life.err;
}

void capture_find_more(struct capture *s)
{
	if (left(s))
		inspect_some(s, 1, now_ns() + FIND_SLICE_NS);
}

bool capture_finds(const struct capture *s)
{
	return left(s);
}

void capture_find_free(struct capture *s)
{
	buf_free(&s->found);
	s->found_at = 0;
}
