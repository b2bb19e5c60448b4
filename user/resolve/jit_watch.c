// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* jit_watch.c - see jit_watch.h. */
#include "resolve/jit_watch.h"

#include <errno.h>

/* Checks in each of the first seconds, then at the 8th, 16th, ... */
#define EACH_UNTIL 4
#define THREADS_LOOKED_AT 4
#define FRAMES_LOOKED_AT 4

/*
 * Returns 1 if the frame's code object has been compiled and is still the one that was sampled, 0
 * if not; -ESRCH: the process has ended.
 */
static int is_compiled(const struct target_mem *mem, const struct cpython_image *image,
		       const struct raw_frame *frame)
{
	uint64_t executors = 0;
	int err;

	if (!frame->id || raw_frame_kind(frame) != FRAME_PYTHON)
		return 0;
	err = mem->read(mem->ctx, frame->code + image->objects.co_executors, &executors,
			sizeof(executors));
	if (err || !executors)
		return err == -ESRCH ? err : 0;
	return !code_check(mem, &image->layout, frame->code, frame->id);
}

bool jit_watch_begins(const struct jit_watch *w, const struct cpython_image *image,
		      const struct threads *threads)
{
	return image->objects.co_executors && !w->found && w->turns < EACH_UNTIL &&
	       threads->by_key.cnt;
}

void jit_watch_look(struct jit_watch *w, const struct target_mem *mem,
		    const struct cpython_image *image, const struct threads *threads)
{
	const struct thread *t;
	uint32_t turn = ++w->turns, looked = 0, i;
	size_t pos = 0;
	int found = 0;

	if (!image->objects.co_executors || w->found || (turn > EACH_UNTIL && turn & (turn - 1)))
		return;
	while (!found && looked++ < THREADS_LOOKED_AT &&
	       (t = u64map_next(&threads->by_key, &pos)))
		for (i = 0; !found && i < t->known && i < FRAMES_LOOKED_AT; i++)
			found = is_compiled(mem, image, t->raw_end - t->known + i);
	w->found = found > 0;
}
