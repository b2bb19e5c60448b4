// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_trio.c - see look_trio.h. */
#include "look/look_trio.h"

#include <errno.h>
#include <stdlib.h>

#include "memory/remote_mem.h"
#include "resolve/process.h"

int look_tasks_name(struct process *p, struct look_tasks *t)
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

static int take_tasks(struct process *p, struct look_tasks *t)
{
	const struct cpython_image *image = process_image(p);
	struct tasks_at at = {
		.l = image->layout, .objects = image->objects, .interps = process_interps(p),
		.library = TASKS_TRIO,
	};
	int err;

	if (!at.interps || !at.objects.interp_modules)
		return -ENOENT;
	at.async.coro = image->coro;
	at.homes.minor = image->minor < 14 ? image->minor : 0;
	at.homes.musl = process_has_musl(p);
	remote_mem_hurry(false);	/* no samples wait any more */
	err = task_walk(&task_source_remote, process_tgid(p), &at, &t->set);
	if (err)
		return err;
	err = task_set_sort(&t->set);
	if (!err)
		err = look_tasks_name(p, t);
	if (err)
		task_set_free(&t->set);
	return err;
}

void look_trio_take(struct process *p, struct look_tasks *out)
{
	*out = (struct look_tasks){ 0 };
	out->err = take_tasks(p, out);
}
