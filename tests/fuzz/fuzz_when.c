// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fuzz_when.c - any text as a condition: accepted ones are sane, errors point into the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recording/when.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_judged(const struct when *w)
{
	struct when_list l = { .list = { *w }, .cnt = 1 };
	struct when_facts facts = { 0 };
	struct when_process p = { 0 };
	char text[WHEN_TEXT_BYTES];
	uint32_t i;

	facts.values[w->metric] = w->over * 2 + 1;
	facts.known[w->metric] = true;
	for (i = 1; i < w->seconds; i++)
		if (when_second(&l, &p, &facts))
			abort();
	if (when_second(&l, &p, &facts) != 1 || when_second(&l, &p, &facts))
		abort();
	if (!strstr(when_text(w, &p, 0, text), " s"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *why = NULL;
	struct when w;
	size_t at;
	int err;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	err = when_parse(text, &w, &at, &why);
	if (at > strlen(text) || (err && !why))
		abort();
	if (!err && (!(w.over >= 0) || !w.seconds || w.seconds > WHEN_SECONDS_MAX ||
		     w.metric >= WHEN_METRICS || text[at]))
		abort();
	if (!err)
		check_judged(&w);
	free(text);
	return 0;
}
