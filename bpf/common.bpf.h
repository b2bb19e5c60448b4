/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * common.bpf.h - the maps, settings and counters that all programs share.
 *
 * Programs in perf and scheduler context only change per-CPU arrays and map values in
 * place. User space and the lifecycle programs (process context) insert and delete the
 * entries of the hash maps. So no bucket lock is ever taken with interrupts off.
 */
#ifndef TACHBPF_COMMON_H
#define TACHBPF_COMMON_H

#include "kcompat.bpf.h"
#include "abi.h"

/*
 * Settings: constant once the programs are loaded, so the verifier removes the code that
 * they disable.
 */
extern const volatile bool cfg_all;	/* every process, not only those in py_procs and watched */
extern const volatile bool cfg_gc;	/* find out whether a thread collects garbage           */
extern const volatile unsigned int cfg_period_ns; /* mean period of the ticks; 0: unknown        */
extern const volatile unsigned int cfg_sent_slots; /* slots in the table of code
						    * objects that were sent */
extern const volatile unsigned int cfg_wakeup_bytes; /* wake user space when so much
						      * waits in the ring buffer */
extern const volatile unsigned int cfg_codes_bytes; /* send no code objects when
						     * more than this waits */
extern const volatile unsigned int cfg_limit_ns; /* time limit of a sample; 0: none */
extern const volatile bool cfg_self_time; /* measure how long samples take */
extern const volatile unsigned long long cfg_hierarchies; /* hierarchies whose new cgroups
							   * are sent: bit 0 is v2 */
extern const volatile struct filter_config cfg_filter; /* conditions on processes */

/* What the mode requires; user/resolve/record_mode.h and waits.h have the modes. */
extern const volatile bool cfg_ticks;	/* walk at ticks; else ticks only discover processes */
extern const volatile unsigned char cfg_need_status; /* a sample has one of these
						      * STATUS_* bits at least; 0: any */
extern const volatile bool cfg_runnable; /* send waits of threads that are runnable, too     */
extern const volatile bool cfg_exceptions; /* send the types of exceptions               */
extern const volatile bool cfg_kernel_stacks; /* send the kernel's stack of threads that block */
extern const volatile unsigned int cfg_wait_slots; /* a power of two                           */

/* The current period of each CPU's ticks, indexed by CPU; user space changes it while they tick. */
extern struct tick_period tick_periods[TICK_CPUS_MAX];

/* Entries for all processes that have run; an exit frees its entry. 16384 * about 300 bytes. */
#define MAX_PROCS 16384

struct procs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCS);
	__type(key, u32);
	__type(value, struct py_proc);
};
/* Executables, not processes: those of the host and of the images of its containers. */
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

/* tgid -> how to walk the process */
extern struct procs_map py_procs SEC(".maps");
/* exe_key() -> template for a process that runs this executable; user space inserts */
extern struct exes_map known_exes SEC(".maps");
/* tgid -> enum watch: processes that are selected before it is known whether they are Python */
extern struct watched_map watched SEC(".maps");
/* *_key() -> MARK_*: user space's verdicts on cgroups, uids and comms */
extern struct marks_map marks SEC(".maps");
extern struct counters_map counters SEC(".maps");
extern struct sample_times_map sample_times SEC(".maps");
extern struct events_map events SEC(".maps");

static __always_inline void count_n(enum counter which, u64 n)
{
	u32 zero = 0;
	u64 *c = bpf_map_lookup_elem(&counters, &zero);

	/*
	 * Only this CPU writes here, and perf programs do not nest: no atomic operation is
	 * needed.
	 */
	if (c)
		c[which] += n;
}

static __always_inline void count(enum counter which)
{
	count_n(which, 1);
}

#endif
