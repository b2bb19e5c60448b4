/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* string_ref.h - text owned by somebody else. */
#ifndef TACHBPF_STRING_REF_H
#define TACHBPF_STRING_REF_H

#include <stdint.h>
#include <string.h>

/* Not NUL-terminated, may contain NULs; valid UTF-8 if we made it. */
struct string_ref {
	const char *data;
	uint32_t len;
};

static inline struct string_ref string_of(const char *s)
{
	return (struct string_ref){ s, (uint32_t)strlen(s) };
}

#endif
