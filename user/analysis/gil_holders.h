/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gil_holders.h - finds the line at which the GIL was held at a given time. Add the holding samples
 * in any order, sort, then search.
 *
 * The caller chooses the numbers of processes, threads and lines. Memory is limited: GIL_HOLDS_MAX
 * stretches of 40 bytes; gil_holders_add() reports samples that do not fit.
 */
#ifndef TACHBPF_GIL_HOLDERS_H
#define TACHBPF_GIL_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#define GIL_HOLDS_MAX (4u << 20)
#define GIL_NOBODY UINT32_MAX

struct gil_holders;

/* A sample that holds the GIL; for gil_holders_find(), one that waits for it. */
struct gil_moment {
	uint64_t time_us;
	uint32_t process, interp_id, thread, line;
};

/*
 * tolerance_us: distance from a sample up to which its thread counts as the holder. one_gil: all
 * interpreters of a process share the GIL. Returns NULL with errno. Freed by gil_holders_free().
 */
struct gil_holders *gil_holders_new(uint64_t tolerance_us, bool one_gil);
void gil_holders_free(struct gil_holders *h);

/*
 * Adds a sample. *open: the thread's last stretch, which the caller keeps for each thread,
 * initially 0. Returns 0; -ENOSPC if the table is full and the sample is left out; -ENOMEM.
 */
int gil_holders_add(struct gil_holders *h, const struct gil_moment *m, uint32_t *open);

/* Call this after the last gil_holders_add() and before gil_holders_find(). */
void gil_holders_sort(struct gil_holders *h);

/*
 * Returns true if several threads of the process repeatedly held its GIL at the same time. Then
 * there is no GIL: in free-threaded builds the status bit "gil" means that a thread is attached.
 */
bool gil_holders_crowded(const struct gil_holders *h, uint32_t process);

/*
 * Returns the line at which the GIL that m waits for was held, and in *thread the thread that held
 * it; both are GIL_NOBODY if no holder was near enough. thread may be NULL.
 */
uint32_t gil_holders_find(const struct gil_holders *h, const struct gil_moment *m,
			  uint32_t *thread);

#endif
