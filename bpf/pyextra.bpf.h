/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pyextra.bpf.h - what few ask for and no stack has room for: an exception's type, and the
 * kernel's own stack.
 *
 * Both go in front of the sample, in a record of their own, so that nobody else pays for them.
 */
#ifndef TACHBPF_PYEXTRA_H
#define TACHBPF_PYEXTRA_H

#include "pyscratch.bpf.h"

/* What a BPF_PROG() was given. */
#ifndef BPF_PROG_CTX
#define BPF_PROG_CTX ctx
#endif

/*
 * PyTypeObject (Include/cpython/object.h), which begins with a PyVarObject: the header, as
 * long as that of a str, and a size. A debug or free-threaded build has a longer header,
 * behind whose other words ob_type is the last one.
 */
#define TP_NAME 8
#define TP_FLAGS 152
#define TPFLAGS_TYPE_SUBCLASS (1ull << 31)

/* s->exception's: it is one, or (up to 3.10, and 3.11's that propagates) the type itself. */
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

/* kernel: its stack, too, in a program that has ctx for that. */
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
		count(CNT_EXTRA_LOST);
}

#endif
