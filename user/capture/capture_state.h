/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_state.h - struct capture, and the parts that it consists of; for the files of this room
 * only.
 *
 * A file calls only later ones of this list: capture.c, capture_add.c, capture_wait.c,
 * capture_records.c, capture_inspect.c, capture_filter.c, capture_losses.c, capture_native.c,
 * capture_heap.c, capture_bursts.c, capture_census.c, capture_memory.c, capture_event.c,
 * capture_faults.c, capture_ticks.c, capture_tasks.c, capture_chains.c, capture_async.c,
 * lifecycle.c.
 */
#ifndef TACHBPF_CAPTURE_STATE_H
#define TACHBPF_CAPTURE_STATE_H

#include "base/util.h"
#include "asyncio/tasks.h"
#include "bpf/abi_await.h"
#include "capture/capture.h"
#include "capture/host_size.h"
#include "capture/lifecycle.h"
#include "capture/native_maps.h"
#include "recording/capture_counts.h"

/* The BPF side's per-CPU counters (abi.h, enum counter). */
struct counters {
	uint64_t sum[CNT_MAX];
	struct cpu_ticks *cpus;	/* cpu_cnt CPUs that have ticked */
	size_t cpu_cnt;
};

/* An executable whose interpreter was passed to exe_cache_seen(): see say_seen(). */
struct exe_seen {
	uint64_t dev, ino;
	const struct cpython_image *image;	/* only compared */
	uint16_t self_below;
	uint64_t time_ns;		/* when */
};
#define EXES_SEEN 64

struct capture {
	struct capture_args args;
	const struct record_mode_def *mode;
	struct tachbpf_bpf *skel;
	struct host_size host;
	struct ring_buffer *ring;
	struct sampler *sampler;
	struct capture_faults *faults;	/* NULL: page faults are no events */
	struct capture_event *event;	/* for -e; NULL: there is none */
	struct discovery *discovery;
	struct exe_cache *exes;
	struct exe_seen exes_seen[EXES_SEEN];	/* at a place by its inode */
	struct proc_filter_eval *filter_eval;	/* NULL: no conditions, and never will be */
	uint64_t filter_changed_ns;	/* records older than this are judged again; 0: none,
					 * UINT64_MAX: all, while the conditions change */
	struct buf found;		/* capture_add.c: pid_t of the processes of the host ... */
	size_t found_at;		/* ... and how many of them were inspected */
	struct lifecycle life;		/* the processes; its err ends the capture */
	struct map_set native_maps;	/* with --native */
	struct capture_heap *heap;	/* of --allocations; NULL: there are none */
	struct capture_memory *memory;	/* NULL: without --mode mem */
	struct capture_census *census;	/* NULL: without args.census */
	uint64_t async_next_ns;		/* --async: when to look next (CLOCK_MONOTONIC) */
	uint32_t async_begun;		/* ... life.begun_cnt at the last look */
	uint32_t async_old_cnt;		/* ... processes whose asyncio has no tasks to be seen */
	uint32_t async_found_cnt;	/* ... processes that have loaded asyncio */
	uint8_t async_minor;		/* ... 3.minor of the last one that has not */
	struct capture_chains *chains;	/* capture_chains.c's; NULL: none yet */
	struct capture_tasks *tasks;	/* capture_tasks.c's; NULL: none yet */
	struct counters counters;	/* as of the last read_counters() */
	uint64_t no_event;		/* as in struct capture_counts; the same */
	struct loss_reader *losses;	/* NULL: no BPF programs, in a test */
	void *loss_tables;		/* what it reads */
	size_t loss_tables_bytes;
	double startup_cpu_s;		/* as in struct capture_counts, like the next line */
	uint64_t orphans, unidentified, received, files_stuck;
	uint64_t take_until_ns;		/* when to stop taking records; UINT64_MAX: never */
	uint32_t taken;			/* records taken so far */
	uint64_t taken_ns;		/* records older than this were taken or lost */
	bool some_new;			/* ... one of which said that something is new */
	uint64_t new_ns;		/* when that last happened; 0: never */
	uint32_t housekeeps;		/* calls of capture_housekeep() */
	capture_chosen_fn chosen;	/* as in capture_thin(); NULL: there is no burst */
	void *chosen_ctx;
	bool scan_due;			/* a process was found whose threads may be off-CPU */
	uint64_t scanned_ns;		/* begin of the last off-CPU scan; 0: none yet */
	struct u64map scanned;		/* tid -> struct scanned_thread; only with scan_only */
	struct offcpu_scan_counts scan;
};

/*
 * A part of a capture. capture.c calls the parts in the order of its table, and stops and frees
 * them in the opposite order. Each function may be NULL, and does nothing if the user did not ask
 * for the part. Results are 0, or -errno after logging.
 */
struct source_ops {
	bool scans;	/* a part of captures that only scan, too; they have no others */
	/* Before the BPF programs are loaded: chooses programs, their settings, the maps' sizes. */
	int (*configure)(struct capture *s);
	/* The programs are loaded, but not attached yet. Logs nothing. */
	int (*load)(struct capture *s);
	/* They are attached: opens what needs rights that are dropped later, starts workers. */
	int (*open)(struct capture *s);
	/* Once opened: a descriptor that is readable when poll() has something to do; -1: none. */
	int (*fd)(const struct capture *s);
	/* Before the recording's time begins: does what may take long. Errors: lifecycle_fail(). */
	void (*prepare)(struct capture *s);
	/* Begins to sample. */
	int (*start)(struct capture *s);
	/* At each capture_poll(): does what is due. Errors: lifecycle_fail(). */
	void (*poll)(struct capture *s);
	/* How long poll() has nothing to do, unless fd() says so; at most limit_ns. */
	uint64_t (*wait_ns)(struct capture *s, uint64_t now_ns, uint64_t limit_ns);
	/* Stops sampling in place, or resumes. */
	void (*pause)(struct capture *s, bool pause);
	/* CPUs may have gone online or offline: called every few seconds. */
	void (*refresh)(struct capture *s);
	/* Stops sampling. */
	void (*stop)(struct capture *s);
	/* All have stopped, all records were taken: waits some seconds for what is open. */
	void (*settle)(struct capture *s);
	/* s->skel still exists, processes do not. The part may not have been configured. */
	void (*free)(struct capture *s);
};

extern const struct source_ops
	capture_filter_source,		/* conditions on processes */
	capture_losses_source,		/* what the BPF side could not send */
	capture_wait_source,		/* off-CPU time, and threads that the mode wants */
	capture_event_source,		/* for -e */
	capture_ticks_source,		/* the clocks of all CPUs */
	capture_faults_source,		/* for --mode mem: page faults */
	capture_processes_source,	/* which processes are Python */
	capture_memory_source,		/* for --mode mem: which pages are still there */
	capture_census_source,		/* for --mode mem: which objects there are */
	capture_native_source,		/* for --native: machine code */
	capture_heap_source,		/* for --allocations: an allocator's functions */
	capture_async_source,		/* for --async: where tasks are */
	capture_chains_source,		/* for --async: who awaits a sample's task */
	capture_tasks_source;		/* for --async: what waiting tasks wait for */

/*
 * Returns true if no program runs by itself: user space lists threads, and walks those that are
 * off-CPU.
 */
static inline bool capture_only_scans(const struct capture *s)
{
	return s->mode->scan_only && !s->mode->ticks;
}

/* ---- counters.c ---- */

/* Reads the map `sample_times` behind fd. Returns 0 or -errno. */
int counters_read_cost(struct sample_cost *cost, int fd);
/*
 * Reads the map `counters` behind fd. *c is zero or was filled by an earlier call; the caller frees
 * it by counters_free(). Returns 0 or -errno.
 */
int counters_read(struct counters *c, int fd);
void counters_free(struct counters *c);

/* ---- calls between parts, besides filters and inspections ---- */

/*
 * Adds what was lost since the last call to the processes (process_add_lost()). Call it once a
 * second, and before a process ends, so that its losses are in its row. Costs almost nothing while
 * nothing is lost.
 */
void capture_take_losses(struct capture *s);

/*
 * Walks the threads that are off-CPU now, in processes that were found since the last call. No
 * switch-out of these threads was seen. Only with record_mode_def.waits.
 */
void capture_wait_scan(struct capture *s);
/* Emits the time that threads of all processes have waited so far, as samples. */
void capture_wait_emit_open(struct capture *s);

/* Returns true if hardware cycles tick, false if the kernel's cpu-clock does. */
bool capture_ticks_are_hardware(const struct capture *s);
/*
 * The number of ticks, at most, that a CPU lacked because it was online before it got a new event.
 * How much of that time it was idle is unknown.
 */
uint64_t capture_ticks_missed(const struct capture *s, int cpu);
/* In a burst, judges the processes that were not judged yet. Call it about once a second. */
void capture_thin_more(struct capture *s);

/* Returns true if the ticks of this mode begin before all processes are inspected. */
bool capture_finds_late(const struct record_mode_def *mode);

/* The user has chosen this process; before capture_start(). */
void capture_event_choose(struct capture *s, pid_t tgid);
/* Likewise. The first one is the one whose allocator is probed. */
void capture_heap_choose(struct capture *s, pid_t tgid);
/* It has executed another program: its probes are gone. */
void capture_heap_exec(struct capture *s, pid_t tgid);

/*
 * Where its tasks are, for the functions of memory/remote_mem.h: async (3.14+) or homes, l, objects
 * and interps; the rest is 0. Returns false if that is unknown.
 */
bool capture_async_at(const struct capture *s, const struct tracked *t, struct tasks_at *at);
/* Looks for asyncio at once: the BPF side knows it, by the process' parent. */
void capture_async_look(struct capture *s, struct tracked *t);
/* The process has mapped code, and perhaps asyncio. */
void capture_async_changed(struct capture *s, struct tracked *t);

/*
 * Takes a RAW_TASK: reads who awaits the task, and passes a RAW_ASYNC to the process. A record that
 * is too short is -EBADMSG; other results as process_take().
 */
int capture_chains_take(struct capture *s, struct tracked *t, const struct raw_task *q, size_t len);
/* The callbacks that may be awaiters' so far; NULL: none. */
const struct async_others *capture_chains_others(const struct capture *s);

#endif
