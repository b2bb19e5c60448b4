/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_parts.h - struct process, and what the files process*.c offer each other: none of it is
 * for anybody else.
 */
#ifndef TACHBPF_PROCESS_PARTS_H
#define TACHBPF_PROCESS_PARTS_H

#include "model/intern.h"
#include "resolve/jit_watch.h"
#include "resolve/native_frames.h"
#include "resolve/native_records.h"
#include "resolve/other_frames.h"
#include "resolve/process.h"
#include "resolve/python_names.h"
#include "resolve/symbolize.h"
#include "resolve/threads.h"

#define US_NS 1000

struct process {
	struct process_args args;
	char comm[PROC_COMM_MAX];
	char *command;
	struct intern *in;
	struct symbolizer *sym;
	void *observed;		/* the observer's */
	uint64_t admitted_ns, inspected_ns;
	struct threads threads;
	struct process_stats stats;
	struct losses_of_threads *losses;	/* NULL: none yet */
	struct other_frames others;
	struct waits *waits;	/* NULL: the mode has no waits */
	struct thread_names *names;	/* NULL: none yet */
	struct thread_names *given;	/* those that the Python program gave; NULL: none yet */
	struct python_names python;
	struct jit_watch jit;
	struct native_frames *native;	/* NULL: without machine code */
	struct native_records native_records;
	bool ended;		/* the observer has returned an error: the capture ends */
};

/* ---- process_account.c ---- */

/* Pass an event to the observer, and count whether it was taken. 0 or the observer's -errno. */
int process_deliver(struct process *p, const struct event *ev);
/*
 * A record for which there is no memory (err is -ENOMEM) is lost; the other processes' recording
 * goes on. tid: whose it is; 0: of several threads. Returns 0 then, else err.
 */
int process_without_memory(struct process *p, uint32_t tid, int err);

/* ---- process_names.c ---- */

void process_names_init(struct process *p);
/* Read the names of a new thread. */
void process_names_of_thread(struct process *p, uint32_t tid);

/* ---- process_stack.c ---- */

/* The thread's last stack, made if it has none. NULL: no memory. */
struct thread *process_thread(struct process *p, uint32_t tid, uint32_t interp_id);
/* Take the stack of a record; *t is its thread. 0 or -errno. */
int process_take_stack(struct process *p, const struct raw_sample *raw, size_t len,
		       struct thread **t);

/* ---- process_native.c ---- */

/*
 * Put the machine code of a record, if it has any, and its Python frames, so many, into one order.
 * python_whole: the last of them is the thread's first function. 0 or -ENOMEM; then out->cnt is 0.
 */
int process_take_native(struct process *p, const struct raw_head *raw, bool python_whole,
			struct native_stack *out);

/* ---- process_event.c ---- */

/* Make an event of t's stack. weight: in the profile's unit. wait: NULL for a sample. */
int process_emit(struct process *p, const struct thread *t, const struct raw_head *raw,
		 uint64_t weight, const struct wait_stretch *wait);

#endif
