/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * chain.h - who awaits the task of a sample, and who awaits that one, in CPython 3.8 to 3.13: what
 * the BPF side determines itself from 3.14 on. Of trio's tasks, in all versions.
 *
 * The BPF side has sent what identified the task when the sample was taken (struct raw_task). The
 * chain is valid only if the task is still the same, with the same coroutine, when all was read.
 */
#ifndef TACHBPF_ASYNCIO_CHAIN_H
#define TACHBPF_ASYNCIO_CHAIN_H

#include "asyncio/awaiters.h"
#include "asyncio/tasks.h"
#include "bpf/abi_await.h"

/* Limit on reads for one chain: some 20 for each awaiting task. */
#define CHAIN_READS_MAX 2048

struct task_chain {
	struct raw_async raw;	/* as if the BPF side had sent it: with q's header, at and name */
	char other[AWAITERS_NAME_BYTES];	/* ASYNC_SHAPE: the callback's name */
	uint32_t reads;		/* reads that were made */
	uint8_t gone;		/* 1: q's task was gone: the chain is not its, but perhaps that of
				 * others with its callbacks */
	struct used_ranges ranges;	/* what it follows from, if the BPF side can recognise it */
};

/*
 * If q->trio, at->library is TASKS_TRIO. gather: of mem; for ranges. Never fails: out->raw.end
 * says how the walk ended. *out is well-formed.
 */
void task_chain_read(const struct target_mem *mem, const struct tasks_at *at,
		     const struct raw_task *q, used_gather_fn gather, struct task_chain *out);

#endif
