// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_tasks.c - time of waiting asyncio tasks as events: of a thread that does not exist, beside
 * the one that runs their loop. See process.h.
 */
#include <errno.h>

#include "model/thread_names.h"
#include "resolve/process_parts.h"

#define THREAD_NAME "asyncio tasks"

int process_waiting_task(struct process *p, uint32_t tid, uint64_t interp_id,
			 const struct raw_frame *frames, uint32_t cnt, uint64_t time_ns,
			 uint64_t weight)
{
	uint32_t ids[EVENT_MAX_FRAMES], i;
	struct event ev = {
		.time_us = time_ns / US_NS, .thread_id = process_tasks_tid(tid),
		.interp_id = (uint32_t)interp_id, .weight = weight, .frames = ids,
	};
	int err = 0;

	if (!weight)
		return 0;
	for (i = 0; !err && i < cnt && i < EVENT_MAX_FRAMES; i++)
		err = symbolizer_frame(p->sym, &frames[i], &ids[i]);
	if (err)
		return process_without_memory(p, (uint32_t)ev.thread_id, err);
	ev.nframes = i;
	if (!thread_names_find(p->names, (uint32_t)ev.thread_id))
		process_rename(p, (uint32_t)ev.thread_id, THREAD_NAME);
	p->stats.frames += ev.nframes * process_samples_in(p, &ev);
	p->stats.task_waits += process_samples_in(p, &ev);
	return process_deliver(p, &ev);
}
