// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_loops.c - see look_loops.h. */
#include "look/look_loops.h"

#include "base/util.h"
#include "host/time_ns.h"
#include "look/look_thread.h"
#include "memory/remote_mem.h"
#include "resolve/process.h"

static void forget_times(struct loop_state *s)
{
	s->busy_ns = s->late_ns = s->turn_ns = s->nth = LOOP_UNKNOWN;
}

static int read_loops(const struct process *p, const struct tasks_at *at, struct loop_states *out)
{
	const struct loop_states *found;
	int64_t clock_ns;
	bool no_clock = time_ns_offset(process_tgid(p), &clock_ns) != 0;
	int err = remote_loop_states(process_tgid(p), at, clock_ns, &found);
	uint32_t i;

	*out = (struct loop_states){ .cnt = 0 };
	if (err)
		return err;
	*out = *found;
	for (i = 0; no_clock && i < out->cnt; i++)
		forget_times(&out->loop[i]);
	return 0;
}

void look_loops_take(const struct process *p, const struct tasks_at *at, struct look_loops *out)
{
	out->err = read_loops(p, at, &out->s);
}

const struct loop_state *look_loop_of(const struct look_loops *l, uint32_t tid)
{
	uint32_t i;

	for (i = 0; !l->err && i < l->s.cnt; i++)
		if (tid && l->s.loop[i].tid == tid)
			return &l->s.loop[i];
	return NULL;
}

void look_loops_check(const struct process *p, const struct tasks_at *at, struct look_loops *l)
{
	struct look_loops now;
	uint32_t i;

	look_loops_take(p, at, &now);
	for (i = 0; !l->err && i < l->s.cnt; i++) {
		struct loop_state *s = &l->s.loop[i];
		const struct loop_state *same = look_loop_of(&now, s->tid);

		if (!same || same->addr != s->addr || same->turn_ns != s->turn_ns ||
		    same->nth != s->nth)
			forget_times(s);
		else
			s->busy_ns = same->busy_ns;
	}
}

void look_loops_of_threads(const struct process *p, const struct look_loops *l,
			   struct look_thread *threads, size_t cnt)
{
	size_t i;

	for (i = 0; !l->err && l->s.cnt && i < cnt; i++)
		threads[i].loop = look_loop_of(l, look_own_tid(process_tgid(p),
							       (uint32_t)threads[i].tid));
}
