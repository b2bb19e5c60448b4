// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fault_period.c - see fault_period.h. */
#include "capture/fault_period.h"

/* The periods of an event are its mean plus or minus its part of this. */
#define SPREAD 4
/* So large a period fits 32 bits with its spread. */
#define PAGES_MAX (1u << 28)
/* A change of an event takes an interrupt of its CPU: 3 to 10 us, in virtual machines 30 us. */
#define CPU_TURN_NS 100000000ull
#define TURN_NS_MIN 10000000ull

uint32_t fault_period(uint64_t every_bytes, uint32_t page_bytes, uint64_t random)
{
	uint64_t mean = every_bytes / page_bytes;
	uint32_t spread;

	if (mean > PAGES_MAX)
		mean = PAGES_MAX;
	if (mean <= 1)
		return 1;
	spread = mean < SPREAD ? 1 : (uint32_t)mean / SPREAD;
	return (uint32_t)mean - spread + (uint32_t)(random % (2 * spread + 1));
}

uint64_t fault_turn_ns(unsigned int cpus)
{
	uint64_t ns = CPU_TURN_NS / (cpus ? cpus : 1);

	return ns < TURN_NS_MIN ? TURN_NS_MIN : ns;
}
