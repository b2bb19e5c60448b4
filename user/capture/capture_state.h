/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_state.h - what the files of this room share of a capture. Nobody else includes it.
 *
 * Who calls whom, one way: capture.c, capture_wait.c, capture_records.c, capture_inspect.c,
 * capture_filter.c, lifecycle.c.
 */
#ifndef TACHBPF_CAPTURE_STATE_H
#define TACHBPF_CAPTURE_STATE_H

#include "capture/capture.h"
#include "capture/counters.h"
#include "capture/lifecycle.h"
#include "recording/capture_counts.h"

struct capture {
	struct capture_args args;
	const struct record_mode_def *mode;
	struct tachbpf_bpf *skel;
	struct ring_buffer *ring;
	struct sampler *sampler;
	struct discovery *discovery;
	struct exe_cache *exes;
	struct proc_filter_eval *filter_eval;	/* NULL: there are no conditions */
	struct lifecycle life;		/* the processes; its err ends the capture */
	struct counters counters;	/* as of the last read_counters() */
	double startup_cpu_s;
	uint64_t orphans, unidentified, received;
	uint64_t take_until_ns;		/* then the ring buffer may wait; UINT64_MAX: never */
	uint32_t taken;			/* records */
	uint64_t taken_ns;		/* all until then; but for what the ring buffer refused */
	uint32_t housekeeps;		/* seconds, about */
	bool scan_due;			/* processes were found whose threads may be off-CPU already */
	uint64_t scanned_ns;		/* when that was done for all found before */
	struct offcpu_scan_counts scan;
};

#endif
