// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * read_error.c - see read_error.h.
 */
#include "formats/read_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int reason_say(const struct reason *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->why, why->size, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

int reason_at(const struct reason *why, uint64_t off, const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(why->why, why->size, "damaged at byte %llu: ", (unsigned long long)off);
	va_start(ap, fmt);
	if (n > 0 && (size_t)n < why->size)
		vsnprintf(why->why + n, why->size - n, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

int reason_memory(const struct reason *why)
{
	snprintf(why->why, why->size, "out of memory");
	return -ENOMEM;
}
