// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mlyze_fates.c - see mlyze_fates.h. */
#include "formats/mlyze/mlyze_fates.h"

static uint64_t bytes_of(const struct mlyze_mark *m, const char *key)
{
	uint64_t v = mlyze_mark_number(m, key, 0);

	return v < INT64_MAX ? v : INT64_MAX;
}

int mlyze_fate_take(struct buf *list, const struct mlyze_mark *m)
{
	const struct mlyze_fate fate = {
		.stack = mlyze_mark_number(m, "stack", UINT64_MAX),
		.pages = bytes_of(m, "pages"), .own = bytes_of(m, "own"),
		.reused = bytes_of(m, "reused"), .unused = bytes_of(m, "unused"),
	};

	if (list->len / sizeof(fate) >= MLYZE_FATES_MAX)
		return 0;
	return buf_add(list, &fate, sizeof(fate));
}
