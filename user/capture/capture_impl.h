/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_impl.h - what capture.c (the BPF programs, who is alive), capture_records.c (what
 * the ring buffer tells), capture_look.c (which processes are Python), capture_filter.c and
 * capture_wait.c share. Nobody else includes it.
 */
#ifndef TACHBPF_CAPTURE_IMPL_H
#define TACHBPF_CAPTURE_IMPL_H

#include "base/u64map.h"
#include "capture/capture.h"
#include "capture/counters.h"
#include "capture/offcpu_scan.h"
#include "resolve/process.h"
#include "target/candidates.h"
#include "target/discover.h"
#include "target/exe_cache.h"

struct proc_filter_eval;

struct capture {
	struct capture_args args;
	struct tachbpf_bpf *skel;
	struct ring_buffer *ring;
	struct sampler *sampler;
	struct discovery *discovery;
	struct exe_cache *exes;
	struct proc_filter_eval *filter_eval;	/* NULL: there are no conditions */
	struct u64map processes;	/* tgid -> struct process */
	struct candidates candidates;
	struct counters counters;	/* as of the last read_counters() */
	double startup_cpu_s;
	uint64_t orphans, unidentified, received, seen, table_full;
	uint64_t take_until_ns;		/* then the ring buffer may wait; UINT64_MAX: never */
	uint32_t taken;			/* records */
	uint64_t taken_ns;		/* all until then; but for what the ring buffer refused */
	uint32_t housekeeps;		/* seconds, about */
	const struct record_mode_def *mode;
	bool asleep_due;		/* processes were found in which nobody has looked for those that sleep */
	uint64_t asleep_ns;		/* when all before were done */
	struct offcpu_scan_counts asleep;
	uint64_t stop_ns;		/* no record is later than this; 0: not stopped */
	int err;			/* the first error that ends the capture */
};

/* An error that ends the capture: the first one counts. 0 is none. */
void capture_fail(struct capture *s, int err);

/* The end of what is recorded of it: now, or at end_ns (CLOCK_MONOTONIC). */
void capture_drop_process(struct capture *s, struct process *p);
void capture_end_process(struct capture *s, struct process *p, uint64_t end_ns);
/* NULL: s->err says why. */
struct process *capture_add_process(struct capture *s, const struct process_args *args);

/* What all processes begin with. */
void capture_process_args(const struct capture *s, struct process_args *args);

/* A record, from the ring buffer or as if it were. */
void capture_take(struct capture *s, void *data, size_t len);

/* ---- capture_wait.c ---- */

/* Before the programs are loaded: which ones the mode needs, and what they shall do. */
void capture_choose_programs(struct capture *s);
/* From now on it is told when threads leave their CPUs. 0 or -errno; logs why. */
int capture_follow_scheduler(struct capture *s);
void capture_leave_scheduler(struct capture *s);
/* Threads that sleep in processes that were found since. */
void capture_look_asleep(struct capture *s);
/* The time that threads of a process have waited so far becomes samples. */
void capture_settle_waits(struct capture *s, struct process *p);

/* ---- capture_look.c ---- */

/* For py_proc.ident, even: the kernel's own are odd. */
uint64_t capture_new_ident(pid_t tgid);
/* What the kernel has in py_procs. false: nothing. */
bool capture_kernel_knows(struct capture *s, pid_t tgid, struct py_proc *py);
/* It let the process in at its exec, and nothing was wrong with it so far. */
bool capture_is_arrival(struct capture *s, pid_t tgid, uint64_t start_ns);

/*
 * The conditions, capture_filter.c. Before the programs are loaded: settings. 0 or -errno.
 */
int capture_choose_config(struct capture *s);
/* Is it to be looked at? false: no, or not yet; cand may be gone. */
bool capture_is_chosen(struct capture *s, struct candidate *cand);
/* Likewise, of one that is only listed so far. */
bool capture_chooses(struct capture *s, pid_t tgid);
/* The kernel was not sure, or was: false, nothing is to be made of it. */
bool capture_exec_is_chosen(struct capture *s, const struct raw_exec *ev);

/* Look at a process now: what it is, and when to look again. */
void capture_look(struct capture *s, struct candidate *cand);
void capture_look_at_due(struct capture *s);

#endif
