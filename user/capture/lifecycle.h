/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lifecycle.h - the life of a process as a capture sees it: one state, and one table that says
 * which event leads to which state.
 *
 * A transition does three things together: it writes the process's entry in the map py_procs, it
 * calls the observer's begin() or end(), and it changes the state. Nothing else calls begin() and
 * end().
 *
 * lifecycle.c neither inspects nor judges processes: capture_inspect.c, capture_filter.c and
 * capture_records.c find out which event has happened.
 */
#ifndef TACHBPF_LIFECYCLE_H
#define TACHBPF_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/link.h"
#include "base/lru.h"
#include "base/u64map.h"
#include "bpf/abi.h"
#include "capture/native_life.h"
#include "resolve/process.h"
#include "target/inspect_schedule.h"

struct bpf_map;
struct observer;

enum proc_state {
	PROC_UNKNOWN,		/* there is no struct tracked for it */
	PROC_SEEN,		/* it runs, and its program was not inspected yet */
	PROC_OTHER,		/* no Python was found; it is inspected again later */
	PROC_UNREADY,		/* a Python that cannot be walked yet; inspected again soon */
	PROC_REFUSED,		/* an unsupported Python */
	PROC_PROFILED,		/* the BPF side walks its threads */
	PROC_PAUSED,		/* it was profiled; the BPF side does not walk it now */
	PROC_STATE_CNT,
};

enum proc_event {
	PROC_EV_ASKED,		/* the BPF side asks what the process is (RAW_UNKNOWN); or user
				 * space learned of it by another record, from /proc, by -p */
	PROC_EV_EXEC,		/* it executed a program, and the BPF side did not admit it */
	PROC_EV_EXEC_SEEN,	/* it executed the profiled program: an inspection came before
				 * the record */
	PROC_EV_ADMITTED,	/* the BPF side admitted it, at its exec or its fork */
	PROC_EV_EXCLUDED,	/* it does not meet the user's conditions */
	PROC_EV_DISMISSED,	/* the conditions have changed, it does not meet them, and its
				 * last records were taken */
	PROC_EV_DISPLACED,	/* its place in py_procs goes to a user who has fewer */
	/* Results of an inspection: */
	PROC_EV_FOUND,		/* a Python, but not the profiled one */
	PROC_EV_FOUND_SAME,	/* the profiled Python */
	PROC_EV_FOUND_NOTHING,	/* no Python */
	PROC_EV_FOUND_UNCHANGED,	/* the files of the last inspection */
	PROC_EV_FOUND_UNREADY,	/* a Python that cannot be walked yet */
	PROC_EV_FOUND_UNSUPPORTED,	/* an unsupported Python */
	PROC_EV_INSPECT_FAILED,	/* none: the process could not be inspected */
	PROC_EV_ENDED,		/* it has ended, or its pid belongs to another process */
	PROC_EVENT_CNT,
};

/* Seconds of the wheel. A process due later enters lifecycle.soon early, and leaves again. */
#define LATER_SLOTS 128

/* A process. Only lifecycle_step() changes its state. */
/* The time for chains of tasks in a period: capture_chains.c. */
struct chain_time {
	uint64_t period;		/* number of the period; 0: none yet */
	uint64_t spent_ns;		/* ... in it */
};

struct tracked {
	pid_t tgid;
	uint64_t start_ns;		/* start_boottime; 0: unknown */
	enum proc_state state;
	struct process *process;	/* NULL except in PROC_PROFILED and PROC_PAUSED */
	uint64_t inspected_ns;		/* of process: when its inspection began; earlier execs are
					 * older (CLOCK_MONOTONIC) */
	uint64_t admitted_ns;		/* ... when it got its entry in py_procs: earlier ticks are
					 * discovered late. Both 0: the BPF side has admitted it */
	struct lru_item place;		/* in lifecycle.places, if it has a struct process */
	struct inspect_schedule schedule;
	struct inspect_schedule async;	/* when to look for asyncio, with --async */
	struct async_homes *homes;	/* ... found in CPython 3.8 to 3.13; NULL: nothing */
	struct chain_time chain_time;	/* ... and the time that its chains took */
	bool async_old;			/* counted in capture.async_old_cnt */
	bool selected;			/* the user's conditions were checked and are met */
	bool stuck;			/* one of its files did not answer, which was logged */
	bool has_entry;			/* its entry in py_procs may be given to others */
	bool executed;			/* the capture saw the exec of its program */
	bool orphan;			/* the BPF side walks it, although it is not profiled */
	bool other;			/* asked about, and known not to be Python */
	uint64_t asked;			/* its RAW_UNKNOWN since plain_ns: ticks without an event */
	uint64_t bpf_ticks;		/* py_proc.ticks at the last inspection */
	uint64_t plain_ns;		/* begin of the last inspection that found no Python to
					 * walk; 0: none did. Nothing is lost of the earlier
					 * ticks */
	uint64_t plain_ticks;		/* py_proc.ticks then, or before the first tick at which
					 * the process had mapped other code since */
	bool plain;			/* no such tick is known */
	uint64_t gone_ns;		/* when it was first found to have ended; 0: not yet */
	uint64_t program;		/* proc_stat.program of what it executes; 0: unknown */
	bool program_seen;		/* by an inspection, before the record of its exec */
	uint64_t moved_ns;		/* when it was first found to execute another; 0: not yet */
	uint64_t files;			/* hash of its files, by discovery_inspect(); 0: none */
	uint64_t exec_pages;		/* for py_proc.exec_pages; 0: unknown */
	struct link due;	/* in lifecycle.soon or .later; in neither if nothing is due */
	bool soon;			/* it is in lifecycle.soon */
	struct link heard;	/* in lifecycle.heard */
};

/* What a step needs besides the event. */
struct step {
	const struct process_args *args;	/* ADMITTED, FOUND: the process that begins */
	uint64_t inspected_ns;	/* FOUND: it executed the program by then (CLOCK_MONOTONIC) */
	uint64_t end_ns;	/* when the process ended (CLOCK_MONOTONIC); 0: now */
	uint8_t unselected;	/* EXCLUDED, DISMISSED: UNSELECTED_* bits */
	pid_t parent;		/* ADMITTED at a fork: the parent process; otherwise 0 */
};

/* Zero-initialise; then set table and observer, and with --native machine.native. */
struct lifecycle {
	struct bpf_map *table;		/* py_procs */
	struct observer *observer;
	struct native_life machine;	/* machine code of the profiled processes */
	struct u64map tracked;		/* tgid -> struct tracked */
	uint32_t unseen_after;		/* for proc_table_remove_unseen() */
	struct lru places;		/* the profiled processes, by user */
	struct link *soon;	/* those that may be due within DUE_AHEAD_NS */
	struct link *later[LATER_SLOTS];	/* the others, by their second */
	uint64_t soon_until;		/* `soon` has those of all seconds before this one */
	struct link *due_at;	/* where lifecycle_next_due() continues */
	struct link *heard;	/* those that may have something to do each second */
	struct link *heard_at;	/* where lifecycle_next_heard() continues */
	uint32_t begun_cnt, live_cnt;	/* processes profiled so far, and now */
	uint32_t forgotten;		/* how many had ended at lifecycle_forget_ended() */
	uint64_t table_full;		/* did not fit into the table, or gave way */
	uint64_t stop_ns;		/* when sampling ended (CLOCK_MONOTONIC); 0: it goes on */
	int err;			/* the first error that ends the capture; 0: none */
};

/* Frees all processes, without calling the observer. */
void lifecycle_free(struct lifecycle *l);

/* Reports an error that ends the capture; 0: no error. The first error is kept in l->err. */
void lifecycle_fail(struct lifecycle *l, int err);

/* Returns NULL if the process is not tracked. */
struct tracked *lifecycle_find(struct lifecycle *l, pid_t tgid);

/* Returns the struct process of a process that is profiled or paused, otherwise NULL. */
struct process *lifecycle_process(struct lifecycle *l, pid_t tgid);

/* Its entry in py_procs is written now, after what was seen at inspected_ns (CLOCK_MONOTONIC). */
void lifecycle_set_admitted(struct tracked *t, uint64_t inspected_ns);

/*
 * Returns true if t is the process that started at start_ns (start_boottime). If the start of
 * t was not known yet, it is start_ns from now on.
 */
bool lifecycle_confirm_start(struct tracked *t, uint64_t start_ns);

/*
 * Returns how many ticks have asked about a process that is gone and may have been Python; 0 if its
 * executable tells.
 */
uint64_t lifecycle_unidentified(const struct tracked *t);

/*
 * Tracks the process that started at start_ns (0: unknown), if it is not tracked yet, and steps by
 * PROC_EV_ASKED. An earlier process with this pid ends. NULL: no memory, which ends the capture.
 */
struct tracked *lifecycle_ask(struct lifecycle *l, pid_t tgid, uint64_t start_ns);

/*
 * Tracks the process of step->args, if it is not tracked yet, and steps by PROC_EV_ADMITTED. NULL:
 * no memory, or the observer's begin() failed; both end the capture.
 */
struct tracked *lifecycle_admit(struct lifecycle *l, const struct step *step);

/*
 * Returns true if the BPF side has admitted the process at its exec, and nothing has shown since
 * then that this was wrong. Its RAW_EXEC may not have been taken yet. start_ns: 0 if unknown.
 */
bool lifecycle_bpf_admitted(struct lifecycle *l, pid_t tgid, uint64_t start_ns);

/*
 * Makes the transition for an event. step: NULL if the event needs nothing. If the new state is
 * PROC_UNKNOWN, t is freed. Returns 0; -EINVAL: the event cannot happen in this state; other
 * -errno: the map py_procs has no room. After an error nothing has changed.
 */
int lifecycle_step(struct lifecycle *l, struct tracked *t, enum proc_event event,
		   const struct step *step);

/* A new value for py_proc.ident. It is even; the BPF side makes odd ones. */
uint64_t lifecycle_new_ident(pid_t tgid);

/*
 * Ends the processes without a struct process that no longer exist. Most ends are not reported:
 * these processes are found when they are inspected again, but one that is refused is not. Call it
 * every few seconds. Returns how many ticks asked about those that were never inspected.
 */
uint64_t lifecycle_sweep_gone(struct lifecycle *l);

/*
 * What processes took that have ended since the last call goes back to the kernel: malloc() keeps
 * it, because blocks of living ones lie between.
 */
void lifecycle_forget_ended(struct lifecycle *l);

/*
 * Returns the next process that has a struct process; NULL: no more. Start with *pos = 0. The
 * process may end before the next call.
 */
struct tracked *lifecycle_next_profiled(struct lifecycle *l, size_t *pos);

/* ---- lifecycle_due.c: inspections that are due ---- */

/* Processes that become due within the next second are in lifecycle.soon: the width of a slot. */
#define DUE_AHEAD_NS 1000000000ull

/*
 * Processes whose inspection is due at now_ns, in no order; as lifecycle_next_profiled(). Only for
 * one iteration at a time.
 */
struct tracked *lifecycle_next_due(struct lifecycle *l, uint64_t now_ns, size_t *pos);
/* The smallest inspect_wait_ns() of all processes; at most limit_ns. */
uint64_t lifecycle_wait_ns(struct lifecycle *l, uint64_t now_ns, uint64_t limit_ns);
/* The number of young processes: inspect_is_young(). */
uint32_t lifecycle_young_cnt(struct lifecycle *l);
/*
 * Processes with news, until lifecycle_quiet(); as lifecycle_next_profiled(). Only for one
 * iteration at a time.
 */
struct tracked *lifecycle_next_heard(struct lifecycle *l, size_t *pos);
/* t has nothing to do until there is news of it. */
void lifecycle_quiet(struct tracked *t);
/*
 * The schedule of t may change now, and it may have something to do. lifecycle.c calls this for
 * every process that it hands out by lifecycle_find().
 */
void lifecycle_touch(struct lifecycle *l, struct tracked *t);
/* Call it before t is freed. */
void lifecycle_forget_due(struct lifecycle *l, struct tracked *t);

#endif
