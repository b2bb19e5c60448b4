/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* bench_common.h - shared by programs that make profiles for benchmarks. One each: it has state. */
#ifndef TACHBPF_BENCH_COMMON_H
#define TACHBPF_BENCH_COMMON_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bench_state = 88172645463325252ULL;

/* A random number below `below`; the same ones in each run. */
static inline uint32_t bench_random(uint32_t below)
{
	bench_state ^= bench_state << 13;
	bench_state ^= bench_state >> 7;
	bench_state ^= bench_state << 17;
	return (uint32_t)((bench_state * 0x2545f4914f6cdd1dULL) >> 32) % below;
}

/* End the program, with errno, if what it needs is not ok. */
static inline void bench_need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

#endif
