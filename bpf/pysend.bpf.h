/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pysend.bpf.h - sends a walked stack through the ring buffer. */
#ifndef TACHBPF_PYSEND_H
#define TACHBPF_PYSEND_H

#include "pyscratch.bpf.h"
#include "thread_ctx.bpf.h"

/*
 * Flags for the ring buffer: wake user space only if cfg_wakeup_bytes wait. Otherwise user space
 * reads when its own timer fires.
 */
static __always_inline u64 wakeup_flags(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= cfg_wakeup_bytes ?
		       BPF_RB_FORCE_WAKEUP :
		       BPF_RB_NO_WAKEUP;
}

/*
 * The same for a record of `size` bytes, of which a CPU may send many: it asks only once per
 * UNASKED_BYTES, because asking costs about 20 ns.
 */
#define UNASKED_BYTES 4096
static __always_inline u64 seldom_wakeup_flags(struct scratch *s, u64 size)
{
	s->unasked += size;
	if (likely(s->unasked < UNASKED_BYTES))
		return BPF_RB_NO_WAKEUP;
	s->unasked = 0;
	return wakeup_flags();
}

int count_flags(u32 flags);
/* Count what is wrong with a stack. With external linkage: few have such flags. Returns 0. */
__weak __noinline int count_flags(u32 flags)
{
	if (flags & RAW_TRUNCATED)
		count_one(CNT_TRUNCATED);
	if (flags & RAW_UNREADABLE)
		count_one(CNT_UNREADABLE_FRAME);
	if (flags & RAW_BROKEN_END)
		count_one(CNT_BROKEN_END);
	if (flags & RAW_SWITCHING)
		count_one(CNT_SWITCHING);
	return 0;
}

/*
 * Complete the record except the part after its frames, and count its flags. Its header, stack and
 * status must be filled in. Returns its size in bytes so far.
 */
static __always_inline u64 complete_sample(struct raw_sample *sample, u64 pid_tgid)
{
	u32 n = sample->nframes;

	sample->tid = (u32)pid_tgid;
	sample->cpu = bpf_get_smp_processor_id();
	if (sample->flags & (RAW_TRUNCATED | RAW_UNREADABLE | RAW_BROKEN_END | RAW_SWITCHING))
		count_flags(sample->flags);
	if (n > ABI_MAX_FRAMES)
		n = ABI_MAX_FRAMES;
	return offsetof(struct raw_sample, frames) + n * sizeof(struct raw_frame);
}

/*
 * Send the first size bytes of s->sample. p: the process' entry; NULL: without its thread's
 * context. joined: s->switch_in is sent with it. now: user space takes it at once. Returns
 * CNT_SAMPLE or CNT_RING_FULL.
 */
static __always_inline enum counter output_sample(struct scratch *s, u64 size,
						  const struct py_proc *p, bool joined, bool now)
{
	struct raw_sample *sample = &s->sample;
	u64 flags;
	long err;

	barrier_var(size);
	if (size > offsetof(struct raw_sample, trace_room))
		return CNT_RING_FULL;
	if (cfg_trace_context && p && p->trace.how && !(sample->flags & RAW_NOT_WALKED))
		size += add_trace(s, size, p);
	flags = now ? BPF_RB_FORCE_WAKEUP : seldom_wakeup_flags(s, size);
	barrier_var(size);
	if (size > sizeof(*sample))
		return CNT_RING_FULL;
	err = joined ? bpf_ringbuf_output(&events, &s->switch_in, sizeof(s->switch_in) + size,
					  flags) :
		       bpf_ringbuf_output(&events, sample, size, flags);
	return err ? CNT_RING_FULL : CNT_SAMPLE;
}

/*
 * Complete s->sample and send it; count its flags. Its header, stack and status must be filled in.
 * p: the process' entry; NULL: without its thread's context. Returns CNT_SAMPLE or CNT_RING_FULL.
 */
static __always_inline enum counter send_sample(struct scratch *s, const struct py_proc *p,
						u64 pid_tgid)
{
	return output_sample(s, complete_sample(&s->sample, pid_tgid), p, false, false);
}

#endif
