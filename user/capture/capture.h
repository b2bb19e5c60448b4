/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture.h - the BPF programs while they sample, the processes that are sampled, and the records
 * from the ring buffer, which are turned into events for an observer.
 */
#ifndef TACHBPF_CAPTURE_H
#define TACHBPF_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "recording/capture_counts.h"
#include "resolve/record_mode.h"

/* Where unwind tables are kept on disk, shared by recordings. */
#define CAPTURE_NATIVE_TABLES "/var/cache/tachbpf/unwind"
/* What debuginfod servers sent. */
#define CAPTURE_DEBUG_FILES "/var/cache/tachbpf/debug"

struct event_spec;
struct kallsyms;
struct proc_filter;
struct capture;
struct identities;
struct observer;
struct process;

enum sampler_event {
	SAMPLER_ANY,		/* hardware cycles if available, else cpu-clock */
	SAMPLER_CYCLES,		/* hardware cycles; virtual machines often have none */
	SAMPLER_CLOCK,		/* the kernel's cpu-clock */
};

#define SAMPLER_RATE_MAX_HZ 50000	/* fits raw_header.rate_hz */

struct capture_args {
	bool all;			/* every process on the host */
	pid_t first;			/* the process that is added first: its files are read
					 * while the BPF programs are loaded; 0: unknown */
	bool children;			/* select the children of selected processes, too */
	bool reads_begin;		/* the observer reads live data of a process that begins:
					 * it is told at once, otherwise within batch_ms */
	bool gc;			/* stacks get <GC> frames */
	bool opcodes;			/* frames get the opcode of their instruction */
	bool native_threads;		/* ticks in threads without Python are events, too */
	bool self_time;			/* measure how long samples take */
	bool native;			/* stacks include machine code */
	bool native_full;		/* of these, the interpreter's own, too */
	bool native_lines;		/* they have lines, and inlined functions */
	const char *debug_urls;		/* debuginfod servers for its names; NULL: none */
	bool debug_later;		/* nothing waits for them, as native_args.debug_later */
	bool (*ends_wait)(void);	/* true: capture_stop() waits no longer for servers. NULL:
					 * it waits for its minute */
	bool trace_context;		/* their thread's context: capture_trace_process() */
	bool async;			/* an asyncio task's awaiters replace the loop */
	bool task_names;		/* ... and the task's name is a frame */
	bool bursts;			/* capture_thin() may be called */
	bool share_names;		/* as process_args.share_names */
	bool no_sample_limit;		/* no walk is cut off because its time is used up */
	bool no_direct_reads;		/* a helper reads all memory: skeleton.h */
	uint32_t rate_hz;
	int batch_ms;			/* a sample's longest wait in the ring buffer; 0: 100 ms */
	int quiet_batch_ms;		/* the same while no process and no code object has been
					 * new for a second; 0: no longer than batch_ms */
	const struct record_mode_def *mode;	/* outlives the capture */
	uint64_t min_wait_ns;		/* shorter waits are not recorded */
	uint64_t every_bytes;		/* --mode mem: one page fault per N bytes; at least a
					 * page */
	double interval_s;		/* --mode mem: how often pages are checked; 0: 1 s */
	bool contents;			/* --mode mem: look what is in some pages (MEMORY_FATE) */
	bool census;			/* --mode mem: its objects are counted now and then, with
					 * the worker of CAPTURE_CENSUS */
	bool allocations;		/* every block of one process: capture_heap.c */
	uint64_t min_block_bytes;	/* ... of at least N bytes */
	bool costly;			/* ... even if that takes much of a CPU: --accept-cost */
	const struct kallsyms *kernel;	/* the kernel's symbols; NULL: no kernel stacks. Outlives
					 * the capture */
	enum sampler_event event;	/* what ticks */
	const struct event_spec *event_spec;	/* events are recorded, and ticks only discover
						 * processes; NULL: ticks are recorded. Outlives
						 * the capture */
	uint64_t event_every;		/* one of N events; 0: of hardware's, rate_hz a second */
	const char *cpu_list;		/* "0-3,7"; NULL: all CPUs */
	struct proc_filter *proc_filter;	/* conditions; NULL: none. Outlives the capture,
						 * or lives until capture_set_filter() has
						 * replaced it */
	bool filter_may_change;		/* capture_set_filter() may be called. Costs a tick a few
					 * ns, and 3 MiB of kernel memory; the conditions' fields
					 * are not constants for the verifier then */
	struct identities *identities;	/* containers seen so far; outlives the capture */
	struct observer *observer;	/* receives the events; outlives the capture */
};

/* Loads the BPF programs; sampling does not begin yet. Returns NULL with errno after logging. */
struct capture *capture_new(const struct capture_args *args);
void capture_free(struct capture *s);

/*
 * Selects a running process. Returns 0; -ESRCH: no such process; -ENOENT: it is not Python;
 * -ENOTSUP: an unsupported Python; other -errno: it cannot be inspected. All these are logged.
 * -EAGAIN: it does not meet the conditions now; not logged.
 */
int capture_add(struct capture *s, pid_t tgid);

/* Selects the present and later descendants of a process. Returns 0 or -errno. */
int capture_add_children(struct capture *s, pid_t tgid);

/*
 * With --native: the tables of the program that this command executes are ready at its first
 * sample. words: as for execvp(3). Of a script it is the interpreter. Where the program is no
 * Python, so are those of the first Python that a further word names: it may execute that one, as
 * env(1) and timeout(1) do. Call it before capture_start().
 */
void capture_expect(struct capture *s, char *const words[]);

/*
 * Selects a process that may become Python; with WATCH_CHILDREN its later children, too. Returns 0
 * or -errno.
 */
int capture_watch(struct capture *s, pid_t tgid, enum watch how);

/*
 * Switches on the thread contexts (OTEP 4947) of a profiled process: from now on its events get
 * trace id, span id and attributes of what their thread works on (struct event, trace). Readers of
 * process contexts (telemetry/process_ctx.h) know which processes announce thread contexts. After a
 * fork the process's children have the same memory, so they are read at the same place without a
 * call; an exec ends it.
 *
 * Call it when a process is found to announce them, and again at each later look at its process
 * context that says the same: the library may have been loaded or changed meanwhile. From the
 * thread that calls capture_poll(); asks the inspector and the reader, so it takes 1 ms, and up to
 * their deadlines if the process's files block (then it is not asked for a while).
 *
 * Returns 0; -ENOENT: no file of the process has the variable (yet); -EAGAIN, -EBUSY: call again in
 * a second; -ESRCH: it is not profiled; -EOPNOTSUPP: the capture was started without
 * capture_args.trace_context; other -errno of thread_ctx_find().
 */
int capture_trace_process(struct capture *s, pid_t tgid);

/* With args.all, inspects all processes of the host; then samples. 0, or -errno after logging. */
int capture_start(struct capture *s);

/*
 * Waits up to timeout_ms, or until a signal comes; then takes the records that have arrived and
 * inspects the processes that are due. Returns 0; -errno: an error that ends the capture (no
 * memory, or a file cannot be written).
 */
int capture_poll(struct capture *s, int timeout_ms);

/*
 * Changes the rate of a started capture, on all CPUs in place: the ticks go on, and each event's
 * tick_ns says what it stands for. Time of a CPU that got no tick because its timer was restarted
 * is paid back with ticks of the new rate (tick_jitter.h). Intervals of waits keep their length. A
 * system call and an interrupt for each CPU: 3 us, in virtual machines 30 us. Returns 0; -EINVAL:
 * not started, or not 1 to SAMPLER_RATE_MAX_HZ; other -errno: hardware cycles, and the kernel
 * refused (more than kernel.perf_event_max_sample_rate): then the rate stays. Logs nothing.
 */
int capture_set_rate(struct capture *s, uint32_t hz);

/*
 * Pauses a started capture, or resumes it. In a pause there are no samples, and no waits begin;
 * open waits are emitted up to now at both ends of the pause. The capture still follows processes
 * by their forks, execs and exits (a process that becomes Python by loading a library is found at
 * its first tick after the pause). A system call and an interrupt for each CPU.
 */
void capture_pause(struct capture *s, bool pause);

/*
 * A burst: from now on only chosen processes are walked at every tick, others at a random one of
 * `every` ticks (at most THINNING_MAX); each event's tick_ns says what it stands for, so sums stay
 * right. chosen() is called for each profiled process: now, and in capture_housekeep() for new
 * ones; so a new process is thinned for a second. every 0 or 1: all processes are walked at every
 * tick, as before; chosen may be NULL then. Needs args.bursts; at most 4096 processes are judged,
 * later ones are thinned. Returns 0 or -errno; after an error nothing is thinned.
 */
typedef bool (*capture_chosen_fn)(void *ctx, struct process *p);
int capture_thin(struct capture *s, unsigned int every, capture_chosen_fn chosen, void *ctx);

/*
 * The CPU time in ns that the ticks' walks have taken so far, on all CPUs, by their own clock; with
 * args.self_time only. It does not include the interrupt itself and the programs that follow forks,
 * execs and switches.
 */
uint64_t capture_walk_ns(struct capture *s);

/* Returns the rate in force, in Hz. */
uint32_t capture_rate(const struct capture *s);

/*
 * Calls the observer's tick(), follows CPUs that went online or offline (every few calls), and
 * finds ended processes whose exit record was lost. Call it about once a second. Returns as
 * capture_poll().
 */
int capture_housekeep(struct capture *s);

/*
 * Brings the observer up to date: takes the records that have arrived, losses, open waits, and the
 * names that can be read. Returns as capture_poll().
 */
int capture_settle(struct capture *s);

/*
 * Walks the off-CPU threads of processes that were found since the last scan; one that runs
 * meanwhile is tried twice more. Only in a mode with scan_only; in other modes captures do it by
 * themselves. The result is in counts.scan.
 */
void capture_scan(struct capture *s);

/*
 * Also in such a mode: passes open waits to the observer, up to the last capture_poll(). The rest
 * of them follows in capture_stop().
 */
void capture_emit_waits(struct capture *s);

/* A thread whose stack such scans have found. */
struct scanned_thread {
	struct raw_offcpu_scan at;	/* as the last of them found it */
	bool still;	/* as of capture_check_scanned(): it has not run since */
};
/* NULL: no scan has found a stack of it. Valid until the next scan. */
const struct scanned_thread *capture_scanned(const struct capture *s, uint32_t tid);
/* Sets still of all of them. */
void capture_check_scanned(struct capture *s);

/*
 * A capture_scan() of chosen processes again: their threads get new stacks. counts.scan.left counts
 * theirs alone then.
 */
void capture_scan_again(struct capture *s, capture_chosen_fn chosen, void *ctx);

/*
 * capture_poll() also returns when this descriptor is readable. It may be closed at any time.
 * Returns 0 or -errno.
 */
int capture_wake_for(struct capture *s, int fd);

/*
 * Replaces the conditions; NULL: none. Only with args.filter_may_change, after capture_start() and
 * before capture_stop(), and not from a function of the observer: it calls the observer's event()
 * and end(), and takes records. *filter must live until the next call, or the capture's end.
 *
 * A process that is selected before and after loses no tick and keeps its struct process. One that
 * was profiled and is excluded now ends (observer: end()); its earlier samples come first. With
 * args.all one that is selected now is inspected within a second, even if it sleeps; without, at
 * its next tick if it was watched. Takes some 20 ms, and 0.1 ms for each process of the host;
 * records are taken meanwhile. Returns 0; -ENOTSUP: no filter_may_change; other -errno: the old
 * conditions stay (logs why), or as capture_poll().
 */
int capture_set_filter(struct capture *s, struct proc_filter *filter);

/* Stops sampling, takes remaining records, ends every process. Returns as capture_poll(). */
int capture_stop(struct capture *s);

/* Returns how many processes are profiled, or were seen so recently that they may be soon. */
uint32_t capture_live(struct capture *s);

/*
 * Fills *out with the counts so far, most of them the kernel's: takes microseconds. Its pointers
 * are valid until the next call.
 */
void capture_counts(struct capture *s, struct capture_counts *out);

#endif
