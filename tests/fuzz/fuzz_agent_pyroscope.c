// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_agent_pyroscope.c - any bytes as a request for Pyroscope that is cut in two. The halves are
 * the whole, and can be cut again until one series is left.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pyroscope_push.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf parts[2] = { 0 }, again[2] = { 0 };
	int i, k, err = pyroscope_split(data, size, parts);

	if (!err && (!parts[0].len || parts[0].len + parts[1].len != size ||
		     memcmp(parts[0].data, data, parts[0].len) ||
		     memcmp(parts[1].data, data + parts[0].len, parts[1].len)))
		abort();
	for (i = 0; !err && i < 2; i++) {
		k = pyroscope_split(parts[i].data, parts[i].len, again);
		if (k && k != -ERANGE)
			abort();
	}
	for (i = 0; i < 2; i++) {
		buf_free(&parts[i]);
		buf_free(&again[i]);
	}
	return 0;
}
