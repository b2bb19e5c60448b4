// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_otlp_split.c - any bytes as an encoded request that is cut in two. The halves of what can
 * be cut can be read again, and together are hardly larger than twice the whole.
 */
#include <errno.h>
#include <stdlib.h>

#include "telemetry/otlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a half may have more than the whole: keys and lengths, entries 0. */
#define MORE(size) ((size) * 2 + 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf parts[2] = { 0 }, again[2] = { 0 };
	int i, k, err = otlp_split(data, size, parts);

	if (err && (parts[0].len || parts[1].len))
		abort();
	for (i = 0; !err && i < 2; i++) {
		if (parts[i].len > MORE(size))
			abort();
		k = otlp_split(parts[i].data, parts[i].len, again);
		if (k && k != -ERANGE)
			abort();
	}
	for (i = 0; i < 2; i++) {
		buf_free(&parts[i]);
		buf_free(&again[i]);
	}
	return 0;
}
