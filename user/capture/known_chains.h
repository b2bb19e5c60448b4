/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * known_chains.h - chains of tasks that were read, for the BPF side to recognise them in later
 * samples (bpf/abi_await.h): then nothing has to be read while the task lives.
 *
 * Those that were read last are kept, of all processes together: one that drives out the others'
 * costs them a reading each.
 */
#ifndef TACHBPF_CAPTURE_KNOWN_CHAINS_H
#define TACHBPF_CAPTURE_KNOWN_CHAINS_H

#include "asyncio/chain.h"

struct bpf_map;

/* Some 1.1 MB of the kernel's memory, and up to 4 MB here. */
#define KNOWN_CHAINS_MAX 1024

struct known_chains {
	struct known_chain *slots[KNOWN_CHAINS_MAX];	/* that of an id: id % KNOWN_CHAINS_MAX */
	uint64_t last_id;
};

struct known_chain {
	uint64_t id;
	struct async_chain_key key;
	struct used_ranges ranges;		/* of a fork: one */
	char other[AWAITERS_NAME_BYTES];	/* as in struct task_chain */
	struct raw_async *raw;			/* with raw->nframes frames; NULL: a fork */
};

/*
 * Let the BPF side know the chain of tasks of process tgid that have q's callbacks, through its map
 * async_chains. Does nothing if it cannot be recognised, or there is no memory.
 */
void known_chains_put(struct known_chains *k, const struct bpf_map *map, uint32_t tgid,
		      const struct raw_task *q, const struct task_chain *chain);
/* NULL: it is kept no more, or never was. Valid until the next known_chains_put(). */
const struct known_chain *known_chains_get(const struct known_chains *k, uint64_t id);
/* Frees all; k itself is the caller's. */
void known_chains_free(struct known_chains *k);

#endif
