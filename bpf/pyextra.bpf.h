/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyextra.bpf.h - additions to a sample: the type of an exception, and the kernel's stack.
 *
 * Few recordings ask for them. They have a record of their own (RAW_EXTRA), so other recordings
 * do not pay for them.
 */
#ifndef TACHBPF_PYEXTRA_H
#define TACHBPF_PYEXTRA_H

#include "losses.bpf.h"
#include "pyread.bpf.h"

/* The context argument of a BPF_PROG(). */
#ifndef BPF_PROG_CTX
#define BPF_PROG_CTX ctx
#endif

/*
 * Offsets in PyTypeObject (Include/cpython/object.h), counted from the end of its PyObject
 * header. The header is as long as that of a str (str_length), also in debug and free-threaded
 * builds, where it is longer. ob_type is its last word in all builds.
 */
#define TP_NAME 8
#define TP_FLAGS 152
#define TPFLAGS_TYPE_SUBCLASS (1ull << 31)

/*
 * Read the name of the exception's type into s->extra; "": unreadable. s->exception is the
 * exception or, up to 3.10 and for a propagating one in 3.11, its type.
 */
static __always_inline void read_exception(struct scratch *s, struct py_proc *p)
{
	u32 header = p->l.str_length;
	u64 type, meta, flags = 0, name;

	s->extra.exception[0] = 0;
	if (read_user(&type, 8, s->exception + header - 8) ||
	    read_user(&flags, 8, type + header + TP_FLAGS))
		return;
	meta = type;
	if (flags & TPFLAGS_TYPE_SUBCLASS)
		type = s->exception;
	if (!meta || read_user(&name, 8, type + header + TP_NAME))
		return;
	bpf_probe_read_user_str(s->extra.exception, RAW_EXCEPTION, (void *)name);
}

/*
 * Send a RAW_EXTRA for s->sample if there is something to send. kernel: also the kernel's stack;
 * then ctx must be one that bpf_get_stack() accepts.
 */
static __always_inline void send_extra(void *ctx, bool kernel, struct scratch *s,
				       struct py_proc *p)
{
	struct raw_extra *x = &s->extra;
	u64 size = 0;
	long n;

	x->exception[0] = 0;
	if (cfg_exceptions && s->sample.status & STATUS_HAS_EXCEPTION)
		read_exception(s, p);
	if (kernel && cfg_kernel_stacks) {
		n = bpf_get_stack(ctx, x->kernel, sizeof(x->kernel), 0);
		size = n < 0 ? 0 : n;
	}
	if (!x->exception[0] && !size)
		return;
	x->h = s->sample.h;
	x->h.kind = RAW_EXTRA;
	x->tid = (u32)bpf_get_current_pid_tgid();
	x->interp_id = s->sample.interp_id;
	x->nkernel = size / 8;
	size += offsetof(struct raw_extra, kernel);
	barrier_var(size);
	if (size <= sizeof(*x) && bpf_ringbuf_output(&events, x, size, BPF_RB_NO_WAKEUP))
		count_end(CNT_EXTRA_LOST);
}

#endif
