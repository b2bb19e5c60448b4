/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* top_session.h - the capture behind `tachbpf top`, and its counts. */
#ifndef TACHBPF_TOP_SESSION_H
#define TACHBPF_TOP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "resolve/record_mode.h"
#include "target/proc_filter.h"

struct capture;
struct identities;
struct live;
struct top_options;

struct top_session {
	const struct top_options *opts;
	struct proc_filter conditions;
	struct identities *identities;
	struct live *live;
	struct capture *capture;
	uint64_t start_ns;		/* CLOCK_MONOTONIC */
	uint64_t next_second_ns;
};

/*
 * Begin to sample in this mode, with this rate (0: the default). stacks: keep them, too. 0 or -errno, which
 * was logged; in any case top_session_end() is to be called.
 */
int top_session_begin(struct top_session *s, const struct top_options *opts, enum record_mode mode,
		      uint32_t rate_hz, bool stacks);
/* Take records for up to ms. *second: another second has passed. 0 or -errno. */
int top_session_poll(struct top_session *s, int ms, bool *second);
/* Has a signal come, or have all processes ended that were named? */
bool top_session_over(struct top_session *s);
/* Stop, and free everything. 0 or -errno. */
int top_session_end(struct top_session *s);

#endif
