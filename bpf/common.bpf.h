/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * common.bpf.h - maps, settings, counters: what all programs share.
 *
 * Programs in perf and scheduler context update per-CPU arrays and values in
 * place only; entries of the hash maps come and go from user space and from the
 * lifecycle programs (process context), so no bucket lock is ever taken with
 * interrupts off.
 */
#ifndef TACHBPF_COMMON_H
#define TACHBPF_COMMON_H

#include "kcompat.bpf.h"
#include "abi.h"

/* Settings: constant once loaded, so what is not asked for is not there. */
extern const volatile bool cfg_all;	/* every process, not only those in py_procs and watched */
extern const volatile bool cfg_gc;	/* tell when a thread collects garbage                  */
extern const volatile unsigned int cfg_period_ns; /* between ticks, on average; 0: not known     */
extern const volatile unsigned int cfg_sent_slots; /* of the table of code objects that were sent   */
extern const volatile unsigned int cfg_wakeup_bytes; /* wake user space when this much is waiting        */
extern const volatile unsigned int cfg_codes_bytes; /* no names when more than this is waiting         */
extern const volatile unsigned int cfg_limit_ns; /* what a sample may take; 0: no limit                */
extern const volatile bool cfg_self_time; /* measure what samples take                              */
extern const volatile unsigned long long cfg_hierarchies; /* new cgroups of these are told of: 1 << number, 0 is v2 */
extern const volatile struct select_config cfg_select; /* who is to be recorded, of all or those watched */

/* The mode: see user/resolve/waits.h for what becomes of it. */
extern const volatile bool cfg_ticks;	/* walk at ticks; else they only find processes      */
extern const volatile unsigned char cfg_need_status; /* of these bits (STATUS_*) one at least; 0: any */
extern const volatile bool cfg_runnable; /* tell of threads that could run, too              */
extern const volatile bool cfg_exceptions; /* tell exceptions' types                     */
extern const volatile bool cfg_kernel_stacks; /* tell where in the kernel threads wait        */
extern const volatile unsigned int cfg_wait_slots; /* a power of two                           */

/* By CPU: the periods of their clocks, which user space changes while they tick. */
extern struct tick_period tick_periods[TICK_CPUS_MAX];

/* Room for processes that ran since we looked; exits free. 16384 * ~220 bytes. */
#define MAX_PROCS 16384

struct procs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCS);
	__type(key, u32);
	__type(value, struct py_proc);
};
/* Binaries, not processes: those of a host and of its containers' images. */
#define MAX_EXES 4096

struct exes_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_EXES);
	__type(key, u64);
	__type(value, struct py_exe);
};
struct watched_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCS);
	__type(key, u32);
	__type(value, u32);
};
struct marks_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);	/* user space sets the real size */
	__type(key, u64);
	__type(value, u32);
};
struct counters_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64[CNT_MAX]);
};
struct sample_times_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct sample_times);
};
struct events_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096 * 1024);	/* user space sets the real size */
};

/* tgid -> how to walk it */
extern struct procs_map py_procs SEC(".maps");
/* exe_key() -> what a process of it will be; user space inserts */
extern struct exes_map known_exes SEC(".maps");
/* tgid -> enum watch: selected although not known to be Python yet */
extern struct watched_map watched SEC(".maps");
/* mark_of_*() -> MARK_*: what user space thinks of cgroups, uids and names */
extern struct marks_map marks SEC(".maps");
extern struct counters_map counters SEC(".maps");
extern struct sample_times_map sample_times SEC(".maps");
extern struct events_map events SEC(".maps");

static __always_inline void count_n(enum counter which, u64 n)
{
	u32 zero = 0;
	u64 *c = bpf_map_lookup_elem(&counters, &zero);

	/* Only this CPU writes, and perf programs do not nest: no atomic needed. */
	if (c)
		c[which] += n;
}

static __always_inline void count(enum counter which)
{
	count_n(which, 1);
}

#endif
