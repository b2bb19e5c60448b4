// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_sources.c - any bytes as a recording's source texts: what is read of them is within the
 * limits, and the same each time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "recording/sources_file.h"

/* Reads the text. Returns a sum of all that it has. */
static uint64_t read_all(const struct buf *text)
{
	struct saved_sources s = { 0 };
	uint64_t sum = (uint64_t)saved_sources_parse(&s, text), bytes = 0;
	size_t i;

	if (s.cnt > SAVED_SOURCES_MAX || s.bytes > SAVED_SOURCES_BYTES)
		abort();
	for (i = 0; i < s.cnt; i++) {
		const struct saved_source *one = &s.list[i];

		if (!one->path.len || one->text.len > SAVED_SOURCE_BYTES ||
		    one->pid_cnt > SAVED_PIDS_MAX)
			abort();
		bytes += one->text.len;
		sum = sum * 31 + hash_bytes(one->path.data, one->path.len) + one->changed +
		      hash_bytes(one->text.data, one->text.len) +
		      hash_bytes(one->pids, one->pid_cnt * sizeof(*one->pids));
	}
	if (bytes != s.bytes)
		abort();
	saved_sources_free(&s);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct buf text = { .data = (uint8_t *)data, .len = size };

	if (read_all(&text) != read_all(&text))
		abort();
	return 0;
}
