// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dump_loops.c - asyncio's event loops in the output of `tachbpf dump`. See dump_show.h. */
#include <math.h>
#include <stdio.h>

#include "commands/dump_show.h"
#include "look/look_loops.h"

/* The time is the turn's: only its first callback has run for all of it. */
void dump_text_loop(const struct loop_state *loop)
{
	if (!loop || loop->busy_ns == LOOP_UNKNOWN || loop->busy_ns < LOOK_LOOP_BLOCKED_NS)
		return;
	printf(loop->nth ? ", its event loop has been busy for %.1f s" :
			   ", has blocked its event loop for %.1f s", loop->busy_ns / 1e9);
}

static void write_count(struct json *j, const char *key, uint64_t v)
{
	if (v == LOOP_UNKNOWN)
		json_null(j, key);
	else
		json_uint(j, key, v);
}

static void write_loop(struct json *j, const struct loop_state *s)
{
	json_object(j, NULL);
	json_uint(j, "id", s->addr);
	json_uint_known(j, "tid", s->tid);
	json_uint(j, "interpreter", s->interp_id);
	json_bool(j, "in_task", s->in_task);
	write_count(j, "ready", s->ready);
	write_count(j, "timers", s->timers);
	json_double(j, "busy", s->busy_ns == LOOP_UNKNOWN ? NAN : s->busy_ns / 1e9);
	write_count(j, "callback", s->nth);
	json_double(j, "late", s->late_ns == LOOP_UNKNOWN ? NAN : s->late_ns / 1e9);
	json_object_end(j);
}

void dump_json_loops(struct json *j, const struct look_process *p)
{
	const struct look_loops *l = p->tasks && !p->tasks->err ? &p->tasks->loops : NULL;
	uint32_t i;

	if (!l || l->err) {
		json_null(j, "loops");
		return;
	}
	json_array(j, "loops");
	for (i = 0; i < l->s.cnt; i++)
		write_loop(j, &l->s.loop[i]);
	json_array_end(j);
}
