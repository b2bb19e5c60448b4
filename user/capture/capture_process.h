/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_process.h - how the process that runs a capture appears to the kernel: its workers, its
 * limits, its rights.
 */
#ifndef TACHBPF_CAPTURE_PROCESS_H
#define TACHBPF_CAPTURE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

struct worker_kind;

/* What only some captures do, with workers of its own. */
enum capture_part {
	CAPTURE_NATIVE = 1,	/* --native */
	CAPTURE_MEMORY = 2,	/* --mode mem */
	CAPTURE_BLOCKS = 4,	/* --allocations */
	CAPTURE_PROBES = 8,	/* -e uprobe:, usdt: */
	CAPTURE_DEBUGINFOD = 16,	/* debug_urls */
	CAPTURE_CENSUS = 32,	/* capture_args.census */
};

/*
 * The kinds of workers (worker.h) that a capture with these parts (bits of enum capture_part) can
 * have, for the keeper's list: without a part the keeper lacks the rights of its workers. They are
 * in the order of the parts. Returns how many.
 */
#define CAPTURE_WORKERS_MAX 11
size_t capture_workers(unsigned int parts, const struct worker_kind *kinds[CAPTURE_WORKERS_MAX]);

/*
 * Call it between capture_new() and capture_start(). Raises the limit of open files (two a process
 * are open in a recording) and, if the user has not set it, the priority: on a busy host we must
 * get a CPU soon to empty the ring buffer, or samples and names are lost. workers: there is a
 * keeper, so the rights of this process are dropped (privileges_drop_for_recording()).
 */
void capture_process_prepare(bool workers);

#endif
