/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture.h - a recording under way: the BPF programs, the processes they see,
 * and what comes through the ring buffer.
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
	bool children;			/* of processes that are added, too */
	bool gc;			/* <GC> frames */
	bool opcodes;
	bool self_time;			/* measure what samples take */
	bool no_sample_limit;		/* none is cut because it takes long */
	uint32_t rate_hz;
	enum record_mode mode;
	uint64_t min_wait_ns;
	const struct kallsyms *kernel;	/* tell where in the kernel threads wait; NULL: do not. Outlives the capture */
	enum sampler_event event;
	const char *cpu_list;		/* NULL: all */
	uint32_t sent_codes;		/* code objects remembered as sent, a power of two */
	struct proc_filter *proc_filter;	/* conditions; NULL: none. Outlives the capture */
	struct identities *identities;	/* what is learned of containers; outlives the capture */
	struct observer *observer;	/* receives what is seen; outlives the capture */
};

/* Load the programs. Nothing is sampled yet. NULL with errno; logs why. */
struct capture *capture_new(const struct capture_args *args);
void capture_free(struct capture *s);

/*
 * Select one running process. 0; -ESRCH: there is none; -ENOENT: not Python;
 * -ENOTSUP: a Python that is not supported. Logs why. -EAGAIN: it does not meet the conditions now.
 */
int capture_add(struct capture *s, pid_t tgid);

/* Select what it has started and will start. 0 or -errno. */
int capture_add_children(struct capture *s, pid_t tgid);

/* Select a process that may become Python, and perhaps its children. 0 or -errno. */
int capture_watch(struct capture *s, pid_t tgid, enum watch how);

/* With args.all, find the Pythons there are; then sample. 0 or -errno; logs why. */
int capture_start(struct capture *s);

/*
 * Wait up to timeout_ms and take what there is. Signals end the wait early.
 * 0 or -errno (out of memory, a file that cannot be written): stop then.
 */
int capture_poll(struct capture *s, int timeout_ms);

/* Call the observer's tick(), look after CPUs and lost events. Once a second. 0 or -errno. */
int capture_housekeep(struct capture *s);

/* Sample no more, take what is left, end every process. 0 or -errno. */
int capture_stop(struct capture *s);

void capture_counts(struct capture *s, struct capture_counts *out);

#endif
