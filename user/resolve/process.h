/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process.h - one profiled process: raw samples in, events to the observer out.
 *
 * Owns the process' names, its symbolizer and the last stack of each thread. Knows no libbpf
 * and no file.
 */
#ifndef TACHBPF_PROCESS_H
#define TACHBPF_PROCESS_H

#include "bpf/abi.h"
#include "cpython/image.h"
#include "host/identity.h"
#include "host/proc.h"
#include "model/event.h"
#include "model/thread_names.h"
#include "resolve/waits.h"

struct kallsyms;
struct observer;
struct process;

/* What happened to a process' samples. */
struct process_stats {
	uint64_t samples;	/* events that the observer took */
	uint64_t truncated;	/* stacks deeper than EVENT_MAX_FRAMES, or with a broken end */
	uint64_t unreadable;	/* stacks with an <unreadable frame> */
	uint64_t unresolved;	/* frames that came out as <unresolved> */
	uint64_t native;	/* frames of machine code: <native>, for nobody reads their names */
	uint64_t frames;	/* all frames */
	uint64_t code_cnt;	/* code objects with names */
	uint64_t code_without_lines;	/* of them: no line table */
	uint64_t code_repeated;	/* records of code objects that had names already */
	uint64_t process_reads;	/* names read from the process, not from the ring buffer */
	uint64_t discovered_late;	/* ticks before the process was found to be Python */
	uint64_t write_lost;	/* events that the observer could not take (disk full ...) */
	uint32_t threads;
	struct wait_stats waits;
};

/* How to begin. */
struct process_args {
	pid_t tgid;
	uint64_t start_ns;	/* start_boottime of the process */
	const char *comm;	/* copied */
	const char *command;	/* copied; NULL: as /proc has it */
	const struct cpython_image *image;	/* outlives the process */
	struct py_proc py;	/* how the kernel walks it; kept for forks. runtime 0: not known */
	bool opcodes;
	struct identity identity;
	struct observer *observer;	/* takes the events; outlives the process */
	enum profile_unit unit;	/* what an event's weight counts */
	struct wait_rules waits;	/* interval_ns 0: no process_switch_out() will come */
	bool wait_frames, runnable_frames;	/* see record_mode.h */
	const struct kallsyms *kernel;	/* what the kernel's functions are called; NULL: nobody asks */
};

/* NULL with errno. Calls no observer. */
struct process *process_new(const struct process_args *args);
void process_free(struct process *p);

/* How many samples an event is: where its weight does not count samples, it is one. */
uint64_t process_samples_in(const struct process *p, const struct event *ev);

/* What the observer has attached to the process; NULL: nothing. Not freed with it. */
void process_set_observed(struct process *p, void *observed);
void *process_observed(const struct process *p);

/* What goes with the next record of its thread that has the same time. 0, -EBADMSG or -ENOMEM. */
int process_extra(struct process *p, const struct raw_extra *x, size_t len);

/*
 * Take one record of len bytes. 0, or the observer's -errno: the event counts as lost
 * (write_lost).
 */
int process_sample(struct process *p, const struct raw_sample *raw, size_t len);

/*
 * A thread leaves its CPU, has one again, ends. How long it was without one goes to the
 * observer as soon as it is known; process_emit_open_waits(): for all threads, up to now_ns.
 * Errors as process_sample().
 */
int process_switch_out(struct process *p, const struct raw_sample *raw, size_t len);
int process_switch_in(struct process *p, const struct raw_switch_in *run);
void process_thread_exit(struct process *p, uint32_t tid);
int process_emit_open_waits(struct process *p, uint64_t now_ns);

/* A thread is called so from now on (hostile), whether it was seen yet or not. */
void process_rename(struct process *p, uint32_t tid, const char *comm);
/*
 * Its threads' names; the process' own, comm, is not among them. NULL: there are none. They
 * live as long as the process, or as somebody keeps them.
 */
const struct thread_names *process_thread_names(const struct process *p);

/* Take the names of a code object; before the samples that need them. 0 or -errno. */
int process_code(struct process *p, const struct raw_code *raw, size_t len);

/*
 * Frames that there was no time to read the names of get them now, if there is time. Once a
 * second, and at the end. 0 or -ENOMEM.
 */
int process_retry_names(struct process *p);

/* The process' memory can no longer be read. */
void process_gone(struct process *p);

/*
 * When the kernel was told of it (CLOCK_MONOTONIC), 0: it told us; and when we had begun to
 * look: what it executed since then we do not know.
 */
void process_set_admitted(struct process *p, uint64_t inspected_ns, uint64_t time_ns);
uint64_t process_inspected(const struct process *p);
uint64_t process_admitted(const struct process *p);

pid_t process_tgid(const struct process *p);
/* start_boottime, ns; 0: not known. */
uint64_t process_start_ns(const struct process *p);
/* What the ids in its events mean. */
const struct profile_tables *process_tables(const struct process *p);
/* Its start was not known so far. */
void process_set_start(struct process *p, uint64_t start_ns);
const char *process_comm(const struct process *p);
/* As it was executed; NULL: ask /proc. */
const char *process_command(const struct process *p);
const struct identity *process_identity(const struct process *p);
const struct cpython_image *process_image(const struct process *p);
const struct py_proc *process_py(const struct process *p);
/* Filled to the moment. */
void process_stats(const struct process *p, struct process_stats *out);
void process_add_discovered_late(struct process *p, uint64_t ticks);

#endif
