/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* host_size.h - what the sizes of the BPF maps follow from: the host and what its kernel can do. */
#ifndef TACHBPF_HOST_SIZE_H
#define TACHBPF_HOST_SIZE_H

#include <stdbool.h>
#include <stdint.h>

struct host_size {
	uint32_t cpus;		/* possible ones, online or not */
	uint32_t pid_max;	/* every pid is lower than this; 0: unknown */
	uint32_t processes;	/* at present; 0: unknown */
	bool grows;		/* hash maps may allocate an entry when it is inserted, also if
				 * programs in interrupts read them (since Linux 6.1, commit
				 * 96da3f7d489d). Before, all entries must be allocated at once */
};

/* Asks the kernel. count: also for the number of processes. What cannot be had is unknown. */
void host_size_find(struct host_size *out, bool count);

#endif
