/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_ctx_watch.h - when to look for the process context of a running process.
 *
 * No event announces a context, and a look costs a list of mappings. So the first look is when the
 * process is found, the next a second later, and then the interval doubles each time: a context is
 * found before the process is twice as old as it was then, and 500 processes without one cost a
 * look every two seconds. A known context is checked each minute, which is one read of 32 bytes.
 */
#ifndef TACHBPF_PROCESS_CTX_WATCH_H
#define TACHBPF_PROCESS_CTX_WATCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/otel_signs.h"
#include "host/proc.h"
#include "telemetry/process_ctx.h"
#include "telemetry/program_name.h"
#include "telemetry/service.h"

#define PROCESS_CTX_SEARCH_S_MAX 1024
#define PROCESS_CTX_KNOWN_S 60

/* Of one process; zero except for mappings, which may come from struct discovered. 64 bytes. */
struct process_ctx_watch {
	struct otel_mappings mappings;
	uint32_t wait_s;		/* between the last two looks */
	uint64_t due_ns;
	uint64_t known_ns;		/* published_ns of the last context; 0: none */
};

/* Returns true if a look is due; costs a comparison. now_ns: always the same monotonic clock. */
static inline bool process_ctx_due(const struct process_ctx_watch *w, uint64_t now_ns)
{
	return now_ns >= w->due_ns;
}

/*
 * Looks for the context of a process (its proc_living_task()) by the reader worker, and sets the
 * next time. Returns 0: *out is new or has changed. -EALREADY: unchanged. -ENOENT: there is none
 * (yet). Else -errno of process_ctx_read_any() or reader_otel_mappings(). In the main process.
 */
int process_ctx_look(struct process_ctx_watch *w, pid_t task, uint64_t now_ns, bool hurry,
		     struct process_ctx *out);

/*
 * Collects what /proc says about who a process is. Workers read (memory/reader.h,
 * target/inspector.h), so this waits for them, some 20 µs each time, at worst a part of a second.
 */

/* Some 13 KiB: for one process at a time. */
struct process_facts {
	char exe[PATH_MAX];		/* "": unknown, as for all others */
	char comm[PROC_COMM_MAX];
	char cmdline[PROGRAM_CMDLINE_BYTES + 1];
	size_t cmdline_len;
	struct otel_environ env;
};

/*
 * Reads the facts about a process; what cannot be read stays empty. Returns 0, or -EBUSY: a worker
 * has not answered something, or is not asked about this process now; what is there can be used,
 * and another try may bring more. In the main process.
 */
int process_facts_read(const struct proc_info *who, struct process_facts *out);

/* Points facts to them; the other facts stay as they are. *facts stays valid as long as *p. */
void process_facts_fill(const struct process_facts *p, struct service_facts *facts);

#endif
