// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_greenlets.c - see look_greenlets.h. */
#include "look/look_greenlets.h"

#include <errno.h>
#include <stdlib.h>

#include "heap/heap_worker.h"
#include "host/identity.h"
#include "resolve/process.h"

static struct heap_target target_of(const struct process *p)
{
	const struct cpython_image *image = process_image(p);

	return (struct heap_target){
		.tgid = process_tgid(p), .minor = image->minor,
		.free_threaded = image->free_threaded, .debug = image->debug,
		.trace_refs = image->trace_refs, .musl = process_has_musl(p),
		.interps = process_interps(p),
		.layout = image->layout, .objects = image->objects,
	};
}

/* Resolve the names of all frames. 0 or -ENOMEM. */
static int name_frames(struct process *p, struct look_greenlets *g)
{
	uint32_t i;
	int err = 0;

	g->frames = malloc((g->found->frame_cnt + 1) * sizeof(*g->frames));
	if (!g->frames)
		return -ENOMEM;
	for (i = 0; !err && i < g->found->frame_cnt; i++)
		err = process_python_frame(p, &g->found->frames[i], &g->frames[i]);
	return err;
}

void look_greenlets_take(struct process *p, struct look_greenlets *out)
{
	const struct heap_target target = target_of(p);
	pid_t own = process_identity(p)->ns_tgid;

	*out = (struct look_greenlets){ .found = malloc(sizeof(*out->found)) };
	out->err = out->found ? heap_worker_greenlets(&target, (uint32_t)(own ? own : target.tgid),
						      out->found) : -ENOMEM;
	if (!out->err)
		out->err = name_frames(p, out);
	if (out->err)
		look_greenlets_free(out);
}

void look_greenlets_free(struct look_greenlets *g)
{
	free(g->found);
	free(g->frames);
	g->found = NULL;
	g->frames = NULL;
}
