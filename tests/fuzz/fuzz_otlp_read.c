// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_otlp_read.c - any bytes through the reader of OTLP profiles.
 */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The last byte also says what is to count. */
	enum reader_value value = size ? data[size - 1] % (VALUE_BOTH + 1) : VALUE_DEFAULT;

	return fuzz_reader("otlp", value, data, size);
}
