/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arith.h - sums and products of counts and times that saturate instead of overflowing, and
 * percentages.
 */
#ifndef TACHBPF_ARITH_H
#define TACHBPF_ARITH_H

#include <stdint.h>

/* Returns a + b; UINT64_MAX if the sum does not fit. */
static inline uint64_t add_capped(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Returns a * b; UINT64_MAX if the product does not fit. */
static inline uint64_t mul_capped(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Returns part as a percentage of whole; 0 if whole is 0. */
static inline double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

#endif
