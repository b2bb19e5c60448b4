// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_tasks.c - see look_tasks.h. */
#include "look/look_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory/remote_mem.h"
#include "resolve/process.h"
#include "target/inspector.h"

/* The names of all frames. 0 or -ENOMEM. */
static int name_frames(struct process *p, struct look_tasks *t)
{
	size_t i;
	int err = 0;

	t->frames = malloc((t->set.frame_cnt + 1) * sizeof(*t->frames));
	if (!t->frames)
		return -ENOMEM;
	for (i = 0; !err && i < t->set.frame_cnt; i++)
		err = process_python_frame(p, &t->set.frames[i], &t->frames[i]);
	return err;
}

/* Does one stand in asyncio's Lock.acquire()? Otherwise nothing more need be read. */
static bool some_acquire(const struct process *p, const struct look_tasks *t)
{
	static const char name[] = "Lock.acquire";
	const struct profile_tables *tables = process_tables(p);
	const struct string_ref *func;
	const struct task *task;
	uint32_t frame;

	for (task = t->set.tasks; task < t->set.tasks + t->set.cnt; task++) {
		if (!task->frame_cnt)
			continue;
		frame = t->frames[task->frame_at + task->frame_cnt - 1];
		func = &tables->strings[tables->frames[frame].func];
		if (func->len == sizeof(name) - 1 && !memcmp(func->data, name, func->len))
			return true;
	}
	return false;
}

static void find_locks(const struct process *p, const struct async_layout *async,
		       struct look_tasks *t)
{
	t->waits = some_acquire(p, t) ? calloc(t->set.cnt, sizeof(*t->waits)) : NULL;
	if (t->waits)
		t->locks = look_task_locks_of(p, async, t->set.tasks, t->set.cnt, t->waits);
}

static int take(struct process *p, struct look_tasks *t)
{
	struct tasks_at at = {
		.l = process_image(p)->layout, .objects = process_image(p)->objects,
		.interps = process_interps(p),
	};
	int err = inspector_async(process_tgid(p), &at.async);

	if (!err && !at.interps)
		err = -ENOENT;
	if (err)
		return err;
	remote_mem_hurry(false);	/* no samples wait any more */
	err = task_walk(&task_source_remote, process_tgid(p), &at, &t->set);
	if (err)
		return err;
	err = name_frames(p, t);
	if (err)
		task_set_free(&t->set);
	else
		find_locks(p, &at.async, t);
	return err;
}

void look_tasks_take(struct process *p, struct look_tasks *out)
{
	*out = (struct look_tasks){ 0 };
	out->err = take(p, out);
}

void look_tasks_free(struct look_tasks *t)
{
	if (!t->err)
		task_set_free(&t->set);
	free(t->frames);
	free(t->waits);
	free(t->locks);
	*t = (struct look_tasks){ 0 };
}
