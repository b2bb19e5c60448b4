/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * common_end.h - the length of the common suffix of two arrays: of two stacks with the innermost
 * frame first, their common roots.
 */
#ifndef TACHBPF_COMMON_END_H
#define TACHBPF_COMMON_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Compares 8 bytes of each: 0 if they are the same. */
static inline uint64_t common_end_differ(const uint8_t *a, const uint8_t *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x ^ y;
}

/* Returns true if 32 bytes are the same. A call of memcmp() would take longer. */
static inline bool common_end_few(const uint8_t *a, const uint8_t *b)
{
	return !(common_end_differ(a, b) | common_end_differ(a + 8, b + 8) |
		 common_end_differ(a + 16, b + 16) | common_end_differ(a + 24, b + 24));
}

/*
 * Elements have 1 to 32 bytes, a power of two, and are equal if all bytes are. a and b: the arrays'
 * ends; compares at most `most` elements before them. Identical arrays cost one memcmp().
 */
static inline size_t common_end(const void *a, const void *b, size_t most, size_t bytes)
{
	const size_t few = 32, many = 16 * few, end = most * bytes;
	const uint8_t *x = a, *y = b;
	size_t n = 0;

	if (!end || (!memcmp(x - end, y - end, bytes) && !memcmp(x - end, y - end, end)))
		return most;
	while (n + many <= end && !memcmp(x - n - many, y - n - many, many))
		n += many;
	while (n + few <= end && common_end_few(x - n - few, y - n - few))
		n += few;
	while (n + bytes <= end && !memcmp(x - n - bytes, y - n - bytes, bytes))
		n += bytes;
	return n / bytes;
}

#endif
