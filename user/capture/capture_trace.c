// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* capture_trace.c - see capture_trace.h. */
#include "capture/capture_trace.h"

#include <errno.h>
#include <string.h>

#include "capture/capture_state.h"
#include "capture/proc_table.h"
#include "target/thread_ctx_place.h"
#include "tachbpf.skel.h"

/*
 * Write the place into the process' entry. If the process executes a program at this moment, the
 * BPF side has deleted the entry, and an old one may be written back. It must not look like one
 * that the BPF side has made at that exec (odd ident, exe): reinstate() in capture_records.c, or
 * the inspection that follows the exec, then writes the right one.
 */
static int put(struct capture *s, const struct tracked *t, const struct thread_ctx_place *place)
{
	struct py_proc py;

	if (!proc_table_get(s->life.table, t->tgid, &py) ||
	    (t->start_ns && py.start_ns && py.start_ns != t->start_ns))
		return -EAGAIN;		/* lost, or another process' */
	if (py.state != PY_PROC_PYTHON)
		return -EAGAIN;		/* its libpython is not found yet */
	if (!memcmp(&py.trace, place, sizeof(py.trace)))
		return 0;
	py.trace = *place;
	py.exe = 0;
	if (py.ident & 1)
		py.ident = lifecycle_new_ident(t->tgid);
	return proc_table_put(s->life.table, t->tgid, &py);
}

int capture_trace_process(struct capture *s, pid_t tgid)
{
	struct tracked *t = lifecycle_find(&s->life, tgid);
	struct thread_ctx_place place;
	int err;

	if (!s->args.trace_context)
		return -EOPNOTSUPP;
	if (!t || !t->process)
		return -ESRCH;
	err = thread_ctx_find(tgid, &place);
	if (!err)
		err = put(s, t, &place);
	if (!err)
		process_set_trace(t->process, &place);
	return err;
}
