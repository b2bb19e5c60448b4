// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* shared_names.c - see shared_names.h. */
#include "resolve/shared_names.h"

#include <stdlib.h>

#include "model/intern.h"
#include "resolve/budget.h"

/* Nobody joins a table that has more: its names may be those of programs that have ended. */
#ifndef JOIN_BYTES_MAX
#define JOIN_BYTES_MAX ((size_t)4 << 20)
#endif
/* As many of the last tables that began are looked at. */
#define LOOKS_MAX 64

struct shared_names {
	struct shared_names *next, **from;
	const struct cpython_image *image;
	uint32_t uid, processes;
	struct intern *in;
	struct budget *budget;		/* NULL: root */
	size_t budget_bytes;
};

static struct shared_names *first;	/* the last one that began */

static struct shared_names *find_table(const struct cpython_image *image, uint32_t uid)
{
	struct shared_names *s = first;
	int looks = 0;

	for (; s && looks < LOOKS_MAX; s = s->next, looks++)
		if (s->image == image && s->uid == uid && intern_bytes(s->in) <= JOIN_BYTES_MAX)
			return s;
	return NULL;
}

static struct shared_names *begin_table(const struct cpython_image *image, uint32_t uid)
{
	struct shared_names *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct shared_names){ .next = first, .from = &first, .image = image, .uid = uid,
				    .in = intern_new() };
	if (!s->in) {
		free(s);
		return NULL;
	}
	s->budget = budget_join(uid);
	if (first)
		first->from = &s->next;
	first = s;
	return s;
}

struct shared_names *shared_names_join(const struct cpython_image *image, uint32_t uid)
{
	struct shared_names *s = find_table(image, uid);

	if (!s)
		s = begin_table(image, uid);
	if (s)
		s->processes++;
	return s;
}

struct intern *shared_names_table(const struct shared_names *s)
{
	return s->in;
}

void shared_names_take(struct shared_names *s, size_t budget_bytes)
{
	if (s->budget)
		s->budget_bytes += budget_bytes;
}

void shared_names_leave(struct shared_names *s)
{
	if (!s || --s->processes)
		return;
	if (s->budget)
		s->budget->names -= s->budget_bytes;
	budget_leave(s->budget);
	intern_free(s->in);
	*s->from = s->next;
	if (s->next)
		s->next->from = s->from;
	free(s);
}
