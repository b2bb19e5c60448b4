/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* shown_text.h - what a parser may make of hostile text that is shown. */
#ifndef SHOWN_TEXT_H
#define SHOWN_TEXT_H

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* Abort unless s, which has room for size bytes, is terminated UTF-8 without control characters. */
static inline void check_shown_text(const char *s, size_t size)
{
	size_t len = strnlen(s, size), n;
	uint32_t cp;

	if (len == size)
		abort();
	for (; len; s += n, len -= n) {
		n = utf8_char(s, len, &cp);
		if (!n || !utf8_printable(cp))
			abort();
	}
}

#endif
