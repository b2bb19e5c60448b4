// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* shared_text.c - see shared_text.h. */
#include "base/shared_text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct shared_text {
	size_t holders;
	char text[];
};

/* The copy that was requested last, as long as it is held. */
static struct shared_text *last;

const char *shared_text_get(const char *text)
{
	size_t size = strlen(text) + 1;

	if (!last || strcmp(last->text, text)) {
		struct shared_text *t = malloc(sizeof(*t) + size);

		if (!t)
			return NULL;
		t->holders = 0;
		memcpy(t->text, text, size);
		last = t;
	}
	last->holders++;
	return last->text;
}

void shared_text_drop(const char *text)
{
	struct shared_text *t;

	if (!text)
		return;
	t = (struct shared_text *)(text - offsetof(struct shared_text, text));
	if (--t->holders)
		return;
	if (last == t)
		last = NULL;
	free(t);
}
