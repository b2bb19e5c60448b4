/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* string_ref.h - text owned by somebody else; the beginnings and ends of texts. */
#ifndef TACHBPF_STRING_REF_H
#define TACHBPF_STRING_REF_H

#include <stdbool.h>
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

static inline bool ref_is(struct string_ref s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.data, text, s.len);
}

/* Returns < 0, 0 or > 0, as memcmp(); of two texts that begin alike, the shorter is less. */
static inline int ref_compare(struct string_ref a, struct string_ref b)
{
	int diff = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

	return diff ? diff : (a.len > b.len) - (a.len < b.len);
}

static inline bool ref_starts_with(struct string_ref s, const char *head)
{
	size_t len = strlen(head);

	return s.len >= len && !memcmp(s.data, head, len);
}

/* There must be something before the tail. */
static inline bool ref_ends_with(struct string_ref s, const char *tail)
{
	size_t len = strlen(tail);

	return s.len > len && !memcmp(s.data + s.len - len, tail, len);
}

static inline bool starts_with(const char *s, const char *head)
{
	return !strncmp(s, head, strlen(head));
}

/* There must be something before the tail. */
static inline bool ends_with(const char *s, const char *tail)
{
	size_t len = strlen(s), tail_len = strlen(tail);

	return len > tail_len && !strcmp(s + len - tail_len, tail);
}

#endif
