// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* look_question.c - see look_question.h. */
#include "look/look_question.h"

#include "resolve/process.h"

bool look_is_nested(const struct process *p)
{
	pid_t inner = process_identity(p)->ns_tgid;

	return inner && inner != process_tgid(p);
}

struct py_frames_at look_frames_at(const struct process *p)
{
	const struct cpython_image *image = process_image(p);

	return (struct py_frames_at){ .interps = process_interps(p), .layout = image->layout,
				      .objects = image->objects, .musl = process_has_musl(p) };
}
