/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture.h - the BPF programs while they sample, the processes that are sampled, and the
 * records from the ring buffer, which become events for an observer.
 */
#ifndef TACHBPF_CAPTURE_H
#define TACHBPF_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "capture/sampler.h"
#include "recording/capture_counts.h"
#include "resolve/record_mode.h"

struct kallsyms;
struct capture;
struct identities;
struct observer;

struct capture_args {
	bool all;			/* every process on the host */
	bool children;			/* the user wants the children of selected processes */
	bool gc;			/* stacks get <GC> frames */
	bool opcodes;			/* frames get the opcode of their instruction */
	bool self_time;			/* measure how long samples take */
	bool no_sample_limit;		/* no walk is cut off by the time limit */
	uint32_t rate_hz;
	enum record_mode mode;
	uint64_t min_wait_ns;		/* shorter waits are not recorded */
	const struct kallsyms *kernel;	/* names of the kernel's functions; NULL: kernel stacks are
					 * not recorded. Outlives the capture */
	enum sampler_event event;
	const char *cpu_list;		/* "0-3,7"; NULL: all CPUs */
	uint32_t sent_codes;		/* code objects that the BPF side remembers as sent;
					 * a power of two */
	struct proc_filter *proc_filter;	/* conditions; NULL: none. Outlives the capture */
	struct identities *identities;	/* containers seen so far; outlives the capture */
	struct observer *observer;	/* receives the events; outlives the capture */
};

/* Load the BPF programs; sampling does not begin yet. NULL with errno; logs why. */
struct capture *capture_new(const struct capture_args *args);
void capture_free(struct capture *s);

/*
 * Select one running process. 0; -ESRCH: there is no such process; -ENOENT: it is not Python;
 * -ENOTSUP: a Python that is not supported; other -errno: it cannot be inspected. All these log
 * why. -EAGAIN: it does not meet the conditions now; logs nothing.
 */
int capture_add(struct capture *s, pid_t tgid);

/* Select the descendants of a process, those of now and later ones. 0 or -errno. */
int capture_add_children(struct capture *s, pid_t tgid);

/*
 * Select a process that may become Python; with WATCH_CHILDREN its later children, too. 0 or
 * -errno.
 */
int capture_watch(struct capture *s, pid_t tgid, enum watch how);

/* With args.all, inspect all processes of the host; then sample. 0 or -errno; logs why. */
int capture_start(struct capture *s);

/*
 * Wait up to timeout_ms, less if a signal comes; then take the records that have arrived and
 * inspect the processes that are due. 0; -errno: an error that ends the capture (no memory, or
 * a file cannot be written).
 */
int capture_poll(struct capture *s, int timeout_ms);

/*
 * Call the observer's tick(), follow CPUs that went online or offline, find ended processes
 * whose exit record was lost. To be called about once a second. Returns as capture_poll().
 */
int capture_housekeep(struct capture *s);

/* Stop sampling, take the records that are left, end every process. Returns as capture_poll(). */
int capture_stop(struct capture *s);

/* Fill *out with the counts so far. Its pointers are valid until the next call. */
void capture_counts(struct capture *s, struct capture_counts *out);

#endif
