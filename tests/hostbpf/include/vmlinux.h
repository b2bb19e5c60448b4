/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * vmlinux.h - the kernel's types as far as bpf/ uses them, for the host.
 *
 * Shadows vmlinux/<arch>/vmlinux.h when bpf/ is compiled for tests/hostbpf.
 */
#ifndef HOSTBPF_VMLINUX_H
#define HOSTBPF_VMLINUX_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

struct thread_struct {
	unsigned long fsbase;
	struct {
		unsigned long tp_value;
	} uw;
};

struct signal_struct {
	struct {
		int counter;
	} live;
};

struct task_struct {
	unsigned int flags;
	int pid, tgid;
	unsigned long nvcsw, nivcsw;
	u64 start_boottime;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct thread_struct thread;
};

#endif
