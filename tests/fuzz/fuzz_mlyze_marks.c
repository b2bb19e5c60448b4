// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_mlyze_marks.c - any bytes as a marker's name; what is read of it can be written, and is the
 * same then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/mlyze/mlyze_marks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "not so: %s\n", what);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mlyze_mark m, again;
	struct mlyze_mark_text t;
	char *copy = malloc(size + 1);
	uint32_t i;

	require(copy != NULL, "memory");
	memcpy(copy, data, size);
	mlyze_mark_parse(copy, size, &m);
	free(copy);
	require(m.cnt <= MLYZE_MARK_KEYS, "so many keys");
	require(m.word != MARK_NONE || !m.cnt, "nothing of what is not ours");
	if (!m.word)
		return 0;
	mlyze_mark_begin(&t, m.word);
	for (i = 0; i < m.cnt; i++)
		mlyze_mark_put(&t, m.pairs[i].key, m.pairs[i].value);
	require(t.len < sizeof(t.text) && !t.text[t.len], "a text with an end");
	mlyze_mark_parse(t.text, t.len, &again);
	require(again.word == m.word && again.cnt <= m.cnt, "the same word");
	for (i = 0; i < again.cnt && again.cnt == m.cnt; i++)
		require(!strcmp(again.pairs[i].key, m.pairs[i].key) &&
			!strcmp(again.pairs[i].value, m.pairs[i].value), "the same pairs");
	return 0;
}
