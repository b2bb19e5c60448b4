/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gil_holders.h - who was seen with the GIL, and when: filled in any order, then asked for moments.
 *
 * Numbers of processes, threads and lines are the caller's. Memory is bounded:
 * GIL_HOLDS_MAX stretches, 40 bytes each; what does not fit is said.
 */
#ifndef TACHBPF_GIL_HOLDERS_H
#define TACHBPF_GIL_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#define GIL_HOLDS_MAX (4u << 20)
#define GIL_NOBODY UINT32_MAX

struct gil_holders;

/* A sample with the GIL; or, for gil_holders_find(), one that waits for it. */
struct gil_moment {
	uint64_t time_us;
	uint32_t process, interp_id, thread, line;
};

/*
 * tolerance_us: how far from a sample its thread still counts as the holder. one_gil:
 * all interpreters of a process share it. NULL with errno.
 */
struct gil_holders *gil_holders_new(uint64_t tolerance_us, bool one_gil);
void gil_holders_free(struct gil_holders *h);

/*
 * *open is the caller's, one for each thread, 0 to begin with. 0; -ENOSPC: the table is full,
 * the sample is left out; -ENOMEM.
 */
int gil_holders_add(struct gil_holders *h, const struct gil_moment *m, uint32_t *open);

/* Nothing is added any more: gil_holders_find() may be called. */
void gil_holders_sort(struct gil_holders *h);

/*
 * Do threads have it at the same time, again and again? Then it is none: in free-threaded
 * builds "has the GIL" means that a thread runs Python.
 */
bool gil_holders_crowded(const struct gil_holders *h, uint32_t process);

/* The line of the thread that held what m waits for; GIL_NOBODY: none was seen near enough. */
uint32_t gil_holders_find(const struct gil_holders *h, const struct gil_moment *m);

#endif
