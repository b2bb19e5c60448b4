// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* budget.c - see budget.h. */
#include "resolve/budget.h"

#include <stdlib.h>

#include "base/u64map.h"

/* Limits of one user. A thousand typical processes need half as much. */
#ifndef NAMES_OF_USER_MAX
#define NAMES_OF_USER_MAX (1ull << 30)
#define CODES_OF_USER_MAX (512ull << 20)
#endif

static struct u64map budgets;	/* uid -> struct budget, of users that have processes */

struct budget *budget_join(uint32_t uid)
{
	struct budget *b = uid ? u64map_get(&budgets, uid) : NULL;

	if (!uid)
		return NULL;
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (!b || u64map_put(&budgets, uid, b)) {
			free(b);
			return NULL;
		}
		b->uid = uid;
	}
	b->processes++;
	return b;
}

void budget_leave(struct budget *b)
{
	if (!b || --b->processes)
		return;
	u64map_remove(&budgets, b->uid);
	free(b);
	if (!budgets.cnt) {
		u64map_free(&budgets);
		budgets = (struct u64map){ .cnt = 0 };
	}
}

bool budget_names_full(const struct budget *b)
{
	return b && b->names >= NAMES_OF_USER_MAX;
}

bool budget_codes_full(const struct budget *b)
{
	return b && b->codes >= CODES_OF_USER_MAX;
}
