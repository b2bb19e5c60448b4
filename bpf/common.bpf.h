/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * common.bpf.h - the maps, settings and counters that all programs share.
 *
 * Programs in perf and scheduler context write per-CPU arrays and change map values in place.
 * Only user space and programs in process context insert and delete entries of hash maps. So
 * no program takes a lock of a hash map with interrupts off.
 */
#ifndef TACHBPF_COMMON_H
#define TACHBPF_COMMON_H

#include "kregs.bpf.h"
#include "abi.h"

/* map_flags of an array that a process of ours maps: BPF_F_MMAPABLE, include/uapi/linux/bpf.h */
#define MAP_IN_USER_SPACE (1 << 10)

/*
 * Settings. User space sets them before it loads the programs, and the verifier removes the
 * code that they disable.
 */
extern const volatile bool cfg_all;	/* every process, not only those in py_procs and watched */
extern const volatile bool cfg_reads_begin; /* user space reads data of a process when it begins,
					     * before that is gone: wake it */
extern const volatile bool cfg_gc;	/* report whether a thread collects garbage             */
extern const volatile bool cfg_gc_stats; /* ticks look for collections: see_collections()  */
extern const volatile unsigned int cfg_period_ns; /* mean period of the ticks; 0: unknown */
extern const volatile unsigned int cfg_wakeup_bytes; /* wake user space when this many bytes wait
						      * in the ring buffer */
extern const volatile unsigned int cfg_codes_bytes; /* send no code objects when more than this
						     * waits */
extern const volatile unsigned int cfg_limit_ns; /* time that each sample has; 0: no limit */
extern const volatile unsigned int cfg_tick_ns; /* what it earns: see budget.bpf.h */
extern const volatile bool cfg_self_time; /* measure how long samples take */
extern const volatile unsigned long long cfg_hierarchies; /* hierarchies whose new cgroups
							   * are sent: bit 0 is v2 */
extern const volatile struct filter_config cfg_filter; /* the user's conditions on processes */

/* What the mode requires; user/resolve/record_mode.h has the modes. */
extern const volatile bool cfg_ticks;	/* ticks walk; without it they only discover processes */
extern const volatile bool cfg_scan_only; /* on_switch() does not run: it needs no help of ticks  */
extern const volatile unsigned char cfg_need_status; /* send only samples that have one of these
						      * STATUS_* bits; 0: send all */
extern const volatile bool cfg_native_threads; /* send ticks of threads without a Python stack */
extern const volatile bool cfg_runnable; /* also send switch-outs of runnable threads        */
extern const volatile bool cfg_exceptions; /* send the types of exceptions               */
extern const volatile bool cfg_trace_context; /* send the contexts that threads publish      */
extern const volatile bool cfg_kernel_stacks; /* send the kernel's stack: of blocked threads, and
					     * of ticks that interrupted the kernel */
extern const volatile bool cfg_native;	/* walk and send the machine code's frames, too */
extern const volatile bool cfg_async;	/* walk the tasks that await a thread's asyncio task */
extern const volatile bool cfg_task_names; /* ... and send the name of that task             */
extern const volatile unsigned int cfg_page_bytes; /* size of a base page */
extern const volatile bool cfg_contents; /* user space looks into pages that were touched now */
extern const volatile bool cfg_stamps;	/* do not send a stack again that the thread had before */
extern const volatile unsigned int cfg_wait_slots; /* slots in wait_slots, a power of two      */

/* 1: user space wants no samples now. There are no ticks then, and no switch-outs are sent. */
extern volatile unsigned int capture_paused;

/*
 * 1: user space waits for long, because nothing has been new. The next record that brings news
 * wakes it and sets this to 0 (wakeup_new()), so a storm of such records wakes it once.
 */
extern volatile unsigned int waits_long;

/*
 * 1: user space has used up its time for chains of tasks (user/capture/capture_chains.c), so
 * RAW_TASK does not wake it.
 */
extern volatile unsigned int chains_wait;

/*
 * A burst: the ticks are for the processes of the map burst_procs. In another process one in
 * tick_thinning ticks walks, at random, so that no program keeps step; its sample stands for all of
 * them (raw_header.every). 0 and 1: no burst. At most THINNING_MAX.
 */
extern volatile unsigned int tick_thinning;

/* The period of each CPU's ticks, by tick_slot(). User space changes it at any time. */
extern struct tick_period tick_periods[TICK_SLOTS];
extern unsigned long long ended_procs[ENDED_SLOTS];

/* Limit on processes at a time: an exit frees the entry. User space sets the real number. */
#define MAX_PROCS 16384

/* Set by user space when it is found; until then base is 0. */
extern volatile struct direct_map direct_map;

struct procs_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PROCS);
	__type(key, u32);
	__type(value, struct py_proc);
};
struct exes_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_EXES);
	__type(key, u64);
	__type(value, struct py_exe);
};
struct other_exes_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_OTHER_EXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);	/* only user space inserts */
	__type(key, struct exe_file);
	__type(value, u32);
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
struct burst_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);	/* without bursts user space sets 1 */
	__type(key, u32);
	__type(value, u64);
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

/* tgid -> how to walk the process, or why not */
extern struct procs_map py_procs SEC(".maps");
/* exe_key() -> template for a process that executes this file; user space inserts entries */
extern struct exes_map known_exes SEC(".maps");
/* executables without Python; user space inserts entries */
extern struct other_exes_map other_exes SEC(".maps");
/* tgid -> enum watch: processes that the user has chosen by -p or as a command */
extern struct watched_map watched SEC(".maps");
/* *_key() -> MARK_*: user space's verdicts on cgroups, uids and comms */
extern struct marks_map marks SEC(".maps");
/* tgid -> start_boottime of a process of the burst; 0: judged, but not in the burst */
extern struct burst_map burst_procs SEC(".maps");
/* 0 -> a CPU's counters, by enum counter */
extern struct counters_map counters SEC(".maps");
extern struct sample_times_map sample_times SEC(".maps");
/* the ring buffer of all records */
extern struct events_map events SEC(".maps");

/* The key of a file in other_exes. */
static __always_inline void exe_file_of(const struct file *file, struct exe_file *out)
{
	const struct inode___any *inode = inode_of(file);
	const struct super_block *sb = READ_KERNEL(inode, i_sb);
	u64 magic = READ_KERNEL(sb, s_magic);

	out->ino = READ_KERNEL(inode, i_ino);
	out->size = READ_KERNEL(inode, i_size);
	ctime_of(inode, &out->ctime_s, &out->ctime_ns);
	out->dev = READ_KERNEL(sb, s_dev);
	if (magic == EXE_FS_BTRFS || magic == EXE_FS_BCACHEFS)
		out->dev = 0;
}

/*
 * Returns 0, but to the verifier it is any number. So it does not distinguish states that differ
 * only in this number.
 */
static __always_inline u32 opaque_zero(u64 v)
{
	u64 same = v;

	barrier_var(v);
	barrier_var(same);
	return v - same;
}

/* which: an enum counter */
static __always_inline void count_n(u64 which, u64 n)
{
	u32 zero = 0;
	u64 *c = bpf_map_lookup_elem(&counters, &zero);

	/* Only this CPU writes here, so no atomic operation is needed. */
	if (c)
		c[which] += n;
}

static __always_inline void count_one(enum counter which)
{
	count_n(which, 1);
}

/*
 * flags for a record with news: user space may have to read what is soon gone, so the record must
 * not wait long. User space sets waits_long before it checks whether the ring buffer is empty, so
 * only a record that is written in that microsecond waits with the samples.
 */
static __always_inline u64 wakeup_new(u64 flags)
{
	if (!waits_long)
		return flags;
	waits_long = 0;
	return BPF_RB_FORCE_WAKEUP;
}

#endif
