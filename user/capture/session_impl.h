/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * session_impl.h - what session.c (the BPF programs, who is alive), session_records.c (what
 * the ring buffer tells), session_look.c (which processes are Python), session_choose.c and
 * session_wait.c share. Nobody else includes it.
 */
#ifndef TACHBPF_SESSION_IMPL_H
#define TACHBPF_SESSION_IMPL_H

#include "capture/asleep.h"
#include "target/candidates.h"
#include "capture/counters.h"
#include "target/discover.h"
#include "target/exe_cache.h"
#include "resolve/process.h"
#include "capture/session.h"
#include "base/u64map.h"

struct proc_filter_eval;

struct session {
	struct session_args args;
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
	struct asleep_counts asleep;
	uint64_t stop_ns;		/* no record is later than this; 0: not stopped */
	int err;			/* the first error that ends the session */
};

/* The end of what is recorded of it: now, or at end_ns (CLOCK_MONOTONIC). */
void session_drop_process(struct session *s, struct process *p);
void session_end_process(struct session *s, struct process *p, uint64_t end_ns);
/* NULL: s->err says why. */
struct process *session_add_process(struct session *s, const struct process_args *args);

/* What all processes begin with. */
void session_process_args(const struct session *s, struct process_args *args);

/* A record, from the ring buffer or as if it were. */
void session_take(struct session *s, void *data, size_t len);

/* ---- session_wait.c ---- */

/* Before the programs are loaded: which ones the mode needs, and what they shall do. */
void session_choose_programs(struct session *s);
/* From now on it is told when threads leave their CPUs. 0 or -errno; logs why. */
int session_follow_scheduler(struct session *s);
void session_leave_scheduler(struct session *s);
/* Threads that sleep in processes that were found since. */
void session_look_asleep(struct session *s);
/* The time that threads of a process have waited so far becomes samples. */
void session_settle_waits(struct session *s, struct process *p);

/* ---- session_look.c ---- */

/* For py_proc.ident, even: the kernel's own are odd. */
uint64_t session_new_ident(pid_t tgid);
/* What the kernel has in py_procs. false: nothing. */
bool session_kernel_knows(struct session *s, pid_t tgid, struct py_proc *py);
/* It let the process in at its exec, and nothing was wrong with it so far. */
bool session_is_arrival(struct session *s, pid_t tgid, uint64_t start_ns);

/*
 * The conditions, session_choose.c. Before the programs are loaded: settings. 0 or -errno.
 */
int session_choose_config(struct session *s);
/* Is it to be looked at? false: no, or not yet; cand may be gone. */
bool session_is_chosen(struct session *s, struct candidate *cand);
/* Likewise, of one that is only listed so far. */
bool session_chooses(struct session *s, pid_t tgid);
/* The kernel was not sure, or was: false, nothing is to be made of it. */
bool session_exec_is_chosen(struct session *s, const struct raw_exec *ev);

/* Look at a process now: what it is, and when to look again. */
void session_look(struct session *s, struct candidate *cand);
void session_look_at_due(struct session *s);

#endif
