/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process_ctx_watch.h - when to look for the process context of a process that lives on.
 *
 * No event says that a context was published, and a look costs a list of mappings. So it is looked
 * for when the process is found, a second later, and then after twice as long each time: a context
 * is found before the process is twice as old as it was then, and 500 processes without one cost
 * a look in two seconds. A known context is looked at each minute, which is one read of 32 bytes.
 */
#ifndef TACHBPF_PROCESS_CTX_WATCH_H
#define TACHBPF_PROCESS_CTX_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/otel_signs.h"
#include "telemetry/process_ctx.h"

#define PROCESS_CTX_SEARCH_S_MAX 1024
#define PROCESS_CTX_KNOWN_S 60

/* Of one process; zero but for mappings, which struct discovered may have. 64 bytes. */
struct process_ctx_watch {
	struct otel_mappings mappings;
	uint32_t wait_s;		/* between the last two looks */
	uint64_t due_ns;
	uint64_t known_ns;		/* published_ns of the last context; 0: none */
};

/* Is it time to look? Costs a comparison. now_ns: any monotonic clock, always the same. */
static inline bool process_ctx_due(const struct process_ctx_watch *w, uint64_t now_ns)
{
	return now_ns >= w->due_ns;
}

/*
 * Look for the context of a process (proc_living_task() of it), by the reader worker, and set the
 * next time. 0: *out is a new one, or it has changed. -EALREADY: it has not. -ENOENT: there is none
 * (yet). Else -errno of process_ctx_read_any() or reader_otel_mappings(). In the main process.
 */
int process_ctx_look(struct process_ctx_watch *w, pid_t task, uint64_t now_ns, bool hurry,
		     struct process_ctx *out);

#endif
