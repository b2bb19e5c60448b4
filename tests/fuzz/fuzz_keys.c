// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fuzz_keys.c - any bytes as what a terminal sends: in pieces, whose length the first byte says. */
#include <stdint.h>
#include <stdlib.h>

#include "live/keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t piece = size ? data[0] % KEYS_BYTES + 1 : 1, at = 1, n, left;
	struct keys keys = { .len = 0 };
	char utf8[4];
	int key;

	while (at < size) {
		n = size - at < piece ? size - at : piece;
		at += keys_add(&keys, data + at, n);
		for (left = keys.len; (key = keys_next(&keys, false)); left = keys.len)
			if (key < 0 || keys.len >= left || (key < KEY_UP && !keys_utf8(key, utf8)))
				abort();
		if (keys.len == sizeof(keys.bytes))
			abort();
	}
	while (keys_next(&keys, true))
		;
	if (keys.len)
		abort();
	return 0;
}
