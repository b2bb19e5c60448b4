/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * own_cpu.h - the CPU time of the agent and of its workers, including those that have ended.
 *
 * Workers are children of the agent or of its keeper. Nobody waits for the keeper's children
 * (SIGCHLD is ignored there), so the kernel does not add up their time: what a worker had used at
 * the last look is kept. The sum lacks what workers used between the last look and their end. A
 * look costs some 50 us: a few small files of /proc, and a clock of each worker.
 */
#ifndef TACHBPF_AGENT_OWN_CPU_H
#define TACHBPF_AGENT_OWN_CPU_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OWN_CPU_CHILDREN_MAX 64

/* Zero-initialise it. */
struct own_cpu {
	uint64_t ended_ns;		/* of children that have ended */
	struct own_cpu_child {
		pid_t pid;
		uint64_t ns;
		int seen;		/* in this look */
	} children[OWN_CPU_CHILDREN_MAX];
	size_t cnt;
};

/* User and system time so far, in ns. It never decreases. */
uint64_t own_cpu_ns(struct own_cpu *c);
/* The part of it that the main process used. */
uint64_t own_cpu_main_ns(void);
/* Resident memory now, in bytes: of the main process; of the children seen last. */
uint64_t own_cpu_main_rss(void);
uint64_t own_cpu_children_rss(const struct own_cpu *c);

#endif
