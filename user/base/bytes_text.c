// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bytes_text.c - see bytes_text.h. */
#include "base/bytes_text.h"

#include <math.h>
#include <stdio.h>

#include "base/util.h"

char *bytes_text(double bytes, char out[BYTES_TEXT_MAX])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t unit = 0;

	if (fabs(bytes) < 0.5)	/* not "-0 B" */
		bytes = 0;

	/* 1023.95 and more would be rounded to 1024.0. */
	while (unit + 1 < ARRAY_SIZE(units) && fabs(bytes) >= (unit ? 1023.95 : 1023.5)) {
		bytes /= 1024;
		unit++;
	}
	snprintf(out, BYTES_TEXT_MAX, "%.*f %s", unit ? 1 : 0, bytes, units[unit]);
	return out;
}
