/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_trace.h - switches the thread contexts (OTEP 4947) of a process on: its events get trace
 * id, span id and attributes of what their thread works on (struct event, trace).
 *
 * Whoever reads process contexts (telemetry/process_ctx.h) knows which processes announce thread
 * contexts, and calls this for them. The process' children have the same memory after a fork, so
 * they are read at the same place without a call; an exec ends it.
 */
#ifndef TACHBPF_CAPTURE_TRACE_H
#define TACHBPF_CAPTURE_TRACE_H

#include <sys/types.h>

struct capture;

/*
 * Read the thread contexts of a profiled process from now on. To be called when it is found to
 * announce them, and again at each later look at its process context that says the same: the
 * library may have been loaded or changed meanwhile. From the thread that calls capture_poll();
 * asks the inspector and the reader, so it takes 1 ms, and up to their deadlines if the process'
 * files block (then it is not asked for a while).
 *
 * 0; -ENOENT: no file of the process has the variable (yet); -EAGAIN, -EBUSY: call again in a
 * second; -ESRCH: it is not profiled; -EOPNOTSUPP: the capture was started without
 * capture_args.trace_context; other -errno of thread_ctx_find().
 */
int capture_trace_process(struct capture *s, pid_t tgid);

#endif
