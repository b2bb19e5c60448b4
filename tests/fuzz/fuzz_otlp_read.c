// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_otlp_read.c - any bytes through the reader of OTLP profiles. None are pprof's, too.
 */
#include "fuzz_reader.h"

#include "formats/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The last byte also says what is to count. */
	enum reader_value value = size ? data[size - 1] % (VALUE_BOTH + 1) : VALUE_DEFAULT;
	const struct input in = { "input", data, size };

	if (size)
		require(!reader_otlp.probe(&in) || !reader_pprof.probe(&in), "of one format");
	return fuzz_reader("otlp", value, data, size);
}
