// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* mem_contents.c - see mem_contents.h. */
#include "commands/mem_contents.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

bool mem_rows_are_judged(const struct memory_row *rows, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt; i++)
		if (memory_reused_share(&rows[i].contents) >= 0)
			return true;
	return false;
}

void mem_text_contents(const struct memory_contents *c)
{
	double share = memory_reused_share(c);

	if (share < 0)
		return;
	printf("  reused     %.0f %% of %" PRIu64 " pages that were looked at%s\n", share * 100,
	       c->pages, memory_reuse_is_large(c) ? ": other objects are in them now" : "");
}

void mem_print_reused(const struct memory_contents *c)
{
	double share = memory_reused_share(c);
	char text[16] = "-";

	if (share >= 0)
		snprintf(text, sizeof(text), "%.0f %%", share * 100);
	printf("%*s ", MEM_REUSED_COLUMNS, text);
}

void mem_json_contents(struct json *j, const struct memory_contents *c)
{
	double share = memory_reused_share(c);

	if (!c->pages) {
		json_null(j, "contents");
		return;
	}
	json_object(j, "contents");
	json_double(j, "reused_pct", share >= 0 ? share * 100 : NAN);
	json_uint(j, "pages", c->pages);
	json_uint(j, "own_bytes", c->own);
	json_uint(j, "reused_bytes", c->reused);
	json_uint(j, "unused_bytes", c->unused);
	json_object_end(j);
}
