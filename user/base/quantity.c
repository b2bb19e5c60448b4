// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* quantity.c - numbers with units. See quantity.h. */
#include "base/quantity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* *end: the first character after the number. Returns 0 or -EINVAL. */
static int parse_number(const char *text, double *value, const char **end)
{
	size_t len = strspn(text, "0123456789.");
	char digits[32], *stop;

	/* strtod() alone would accept "inf", "0x1p3" and "1e3". */
	if (!len || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, len);
	digits[len] = '\0';
	*value = strtod(digits, &stop);
	*end = text + len;
	return *stop ? -EINVAL : 0;
}

int quantity_parse(const char *text, const struct quantity_unit *units, double *value)
{
	const char *end;

	if (parse_number(text, value, &end))
		return -EINVAL;
	for (; units->name; units++) {
		if (!strcasecmp(end, units->name)) {
			*value *= units->factor;
			return 0;
		}
	}
	return -EINVAL;
}
