/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * loss_table.h - reads which process the BPF side's losses belong to: the map losses (abi.h, struct
 * loss_table), which is in our memory. Knows no process.
 */
#ifndef TACHBPF_LOSS_TABLE_H
#define TACHBPF_LOSS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"

/* Losses of one thread, or (tid 0) of threads of a process that had no slot. */
struct loss_news {
	uint32_t tgid, tid;
	uint64_t start_ns;		/* of the process: raw_header.start_ns */
	uint32_t cnt[LOSS_KINDS];	/* since the last call; from CNT_LOSSES on */
};
/* Returns false if the process is not known yet: its losses come again, for LOSS_KEPT_NS. */
typedef bool (*loss_news_fn)(void *ctx, const struct loss_news *news);

struct loss_reader;

/* tables: the map's memory for this many CPUs; outlives the reader. NULL: no memory. */
struct loss_reader *loss_reader_new(const struct loss_table *tables, int cpus);
void loss_reader_free(struct loss_reader *r);

/*
 * Calls fn() for what was lost since the last call. While nothing is lost, this reads a number for
 * each CPU. A slot that changes its owner at this moment is left for the next call. now_ns:
 * CLOCK_MONOTONIC.
 */
void loss_reader_read(struct loss_reader *r, uint64_t now_ns, loss_news_fn fn, void *ctx);

#endif
