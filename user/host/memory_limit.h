/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* memory_limit.h - how much memory our own cgroup, and those above it, let us use. */
#ifndef TACHBPF_MEMORY_LIMIT_H
#define TACHBPF_MEMORY_LIMIT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct memory_limit {
	uint64_t limit;		/* bytes: memory.max of v2, memory.limit_in_bytes of v1 */
	uint64_t left;		/* bytes of it that are free or reclaimable file cache */
	char path[PATH_MAX];	/* the cgroup, as in /proc/PID/cgroup */
};

/* Find the limit with the least left. Returns false if there is no limit. */
bool memory_limit_find(struct memory_limit *out);

#endif
