/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pywalk.bpf.h - follows the chain of a thread's frames, from the current one to the outermost.
 *
 * All of that memory may be hostile: every offset is masked immediately before its use, and every
 * chain is bounded. A chain that fails its checks is begun again at the caller, or has no frames.
 */
#ifndef TACHBPF_PYWALK_H
#define TACHBPF_PYWALK_H

#include "native.bpf.h"
#include "pyasync.bpf.h"
#include "pycode.bpf.h"
#include "pygc.bpf.h"

/* End the walk without frames: the memory does not contain a stack. Returns as walk_step(). */
static __always_inline int discard_stack(struct scratch *s, struct walk *w)
{
	w->n = 0;
	w->entries = 0;
	s->sample.flags = w->gc_top | RAW_UNREADABLE;
	s->sample.gc_at = 0;
	return 1;
}

static __always_inline int fetch_cframe(struct scratch *s, struct cframe *c, u64 addr)
{
	int err = read_words(addr + s->l.cframe_frame, 2);

	c->frame = s->words[0];
	c->previous = s->words[1];
	return err;
}

int walk_from_caller(void);
/*
 * Start again with the caller's frames. When C calls the interpreter in 3.11 and 3.12, it sets
 * tstate->cframe to the new _PyCFrame some instructions before it fills that in (v3.12.0,
 * Python/ceval.c, _PyEval_EvalFrameDefault()). Until then the memory has an old _PyCFrame, or
 * anything. In a valid chain, the first entry frame (3.12: shim) was entered from the frame in the
 * previous _PyCFrame. If a chain fails this check, the stack begins at the previous _PyCFrame. If
 * that one fails it as well, its address was invalid, too. Returns as walk_step(). The function has
 * external linkage, so the verifier checks it once and not at every step.
 */
__weak __noinline int walk_from_caller(void)
{
	struct scratch *s;
	struct cframe c;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 1;
	w = &s->walk;
	if (w->from_caller)
		return discard_stack(s, w);
	count_one(CNT_ENTERING);
	s->sample.flags = w->gc_top;
	s->sample.gc_at = 0;
	w->from_caller = 1;
	w->entered = 0;
	w->n = 0;
	w->entries = 0;
	w->shim = 1;
	w->fr = w->entered_from;
	w->low = w->fr + 1;
	w->cframe = w->from_cframe;
	w->unchecked = w->caller_cframe != 0;
	if (!w->caller_cframe)
		return 0;
	/* Its call may have returned, and other data may have overwritten it. */
	if (fetch_cframe(s, &c, w->caller_cframe) ||
	    !is_cframe(&c, w->caller_cframe, w->ts))
		return discard_stack(s, w);
	w->entered_from = c.frame;
	return 0;
}

/*
 * Frame n has no readable code object: returns true if this is not a stack. True for the first
 * frame, because code that runs is in memory. Also true if the previous frame has none either: then
 * the chain leads through objects and their types, which are not frames.
 */
static __always_inline bool is_no_stack(const struct raw_sample *s, u32 n)
{
	return !n || !s->frames[(n - 1) & (ABI_MAX_FRAMES - 1)].id;
}

/*
 * Returns true if the frame fr is the caller of the first frame. A call makes the new frame current
 * some instructions before it stores the caller in the frame (v3.12.1, Python/ceval_macros.h,
 * DISPATCH_INLINED(), as gcc 12 compiles it). Until then the field has the caller of an earlier
 * frame at this address, perhaps of a call that has returned. In the chunk, the true caller ends
 * where the new frame begins.
 */
static __always_inline bool is_caller(struct scratch *s, struct walk *w, u64 fr, u64 code)
{
	u32 room;

	if (fr < w->chunk || fr >= w->entered) {	/* another chunk: cannot be checked */
		w->entered = 0;
		return true;
	}
	room = frame_room(s, code);
	if (room && fr + room != w->entered) {
		count_one(CNT_ENTERING);
		return false;
	}
	w->entered = 0;
	return true;
}

/* Returns true if the first frame is on the data stack (3.11+) and has executed no instruction. */
static __always_inline bool has_not_begun(const struct scratch *s, const struct walk *w, u64 fr)
{
	return s->l.fr_owner != ABI_NO_OFF && fr - w->chunk < CHUNK_BYTES &&
	       s->sample.frames[0].lasti == RAW_LASTI_NONE;
}

int end_of_chain(void);
/*
 * The last frame has no caller. Check whether an intact chain ends there. Returns as walk_step().
 * With external linkage, too.
 */
__weak __noinline int end_of_chain(void)
{
	struct raw_sample *out;
	u32 zero = 0, last;
	struct scratch *s;
	struct walk *w;
	bool compiled;
	u64 kept;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 1;
	w = &s->walk;
	out = &s->sample;
	if (s->l.end_shim && !w->shim && w->n && w->owner == FRAME_OWNED_BY_THREAD) {
		kept = kept_of(w->last);
		if (kept) {
			if (w->unchecked || !is_on_c_stack(w, kept))
				out->flags |= RAW_SWITCHING;
			return 1;
		}
	}
	if (w->unchecked)
		return walk_from_caller();
	last = out->frames[(w->n - 1) & (ABI_MAX_FRAMES - 1)].lasti;
	compiled = w->n && !w->shim && raw_lasti_is_line(last);
	/*
	 * A call makes the new frame current before it stores the caller (3.11.2 built by gcc 12).
	 * Until then the field has the caller of an earlier frame at this address. If that was a
	 * generator that is suspended now, the chain ends at the generator's frame. Or it was
	 * compiled code that has returned, and was the caller itself.
	 */
	if (w->owner == FRAME_OWNED_BY_GENERATOR && w->n > 1 && (w->n == 2 || !compiled) &&
	    out->frames[0].lasti == RAW_LASTI_NONE)
		return discard_stack(s, w);
	/* Compiled code that runs outside of all calls of the interpreter has no shim. */
	if (s->l.end_shim && !w->shim && !compiled)
		out->flags |= RAW_BROKEN_END;
	return 1;
}

/* Add the frame at fr to the stack as raw. owner: its _PyInterpreterFrame.owner. */
static __always_inline void keep_frame(struct scratch *s, struct walk *w, u64 fr, u32 owner,
				       struct raw_frame raw)
{
	s->sample.frames[w->n & (ABI_MAX_FRAMES - 1)] = raw;
	w->owner = owner;
	w->last = fr;
	if (!w->n && !owner && has_not_begun(s, w, fr))
		w->entered = fr;
	w->n++;
}

int judge_entry(u64 fr);
/*
 * The frame fr has the caller that the call of w->cframe was entered from (3.12), so it is the
 * shim of that call, whose owner may not be stored yet; or greenlet has taken the shim off the
 * chain, and the chain is confirmed. Returns 0. The function has external linkage, so the verifier
 * checks it only once.
 */
__weak __noinline int judge_entry(u64 fr)
{
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	w = &s->walk;
	if (w->fr && is_near_cframe(w, fr))
		w->shim = 1;
	else if (!w->shim && is_near_cframe(w, kept_of(fr)))
		w->unchecked = 0;
	return 0;
}

/*
 * Returns true if C code has called the interpreter with the frame fr of this step (3.11). Compiled
 * code does not set is_entry.
 */
static __always_inline bool is_entry(const struct scratch *s, u64 fr, const struct frame_fields *f)
{
	return f->is_entry && !may_have_line(s, fr, f->owner);
}

/* raw_frame.lasti of the frame fr of this step. */
static __always_inline u32 place_of(const struct scratch *s, u64 fr, u64 code,
				    const struct frame_fields *f)
{
	u32 line = RAW_LASTI_NONE;

	if (may_have_line(s, fr, f->owner))
		line = own_line(fr, s->walk.object);
	return line != RAW_LASTI_NONE ? line : offset_of(s, code, f->ip, s->walk.tlbc);
}

/* One step: the frame at w->fr. Returns 0 to continue; 1: the chain ends or cannot be followed. */
static __always_inline int walk_step(struct scratch *s, struct code_cache *cache,
				     struct walk *w)
{
	struct raw_sample *out = &s->sample;
	struct frame_fields f;
	u64 code, fr = w->fr;
	u32 id;

	if (unlikely(w->out_of_time)) {
		out->flags |= RAW_TRUNCATED;
		count_one(CNT_CUT_OFF);
		return 1;
	}
	if (unlikely(!fr))
		return end_of_chain();
	if (unlikely(fetch_fields(s, w, &f))) {
		if (w->unchecked)
			return walk_from_caller();
		out->flags |= RAW_UNREADABLE;
		return 1;
	}
	code = f.code & ~(u64)s->l.code_tag_mask;
	w->fr = f.previous;
	w->shim = f.owner >= s->l.skip_owner;
	if (unlikely(w->unchecked && s->l.end_shim && w->fr == w->entered_from))
		judge_entry(fr);
	if (unlikely(w->unchecked && (w->shim || is_entry(s, fr, &f)))) {
		if (w->fr != w->entered_from)
			return walk_from_caller();
		w->unchecked = 0;
	}
	if (cfg_native && w->shim)
		note_entry(fr);
	if (unlikely(w->gc_looks && w->shim))
		note_gc_shim(s, w, fr);
	if (w->shim || !code)
		return 0;
	if (!f.owner) {
		w->low = fr;
		if (unlikely(w->entered && !is_caller(s, w, fr, code)))
			return discard_stack(s, w);
	}
	if (unlikely(w->n >= ABI_MAX_FRAMES)) {
		out->flags |= RAW_TRUNCATED;
		return 1;
	}
	id = id_of_frame(s, cache, fr, code, w);
	if (unlikely(w->unchecked && !id && is_no_stack(out, w->n)))
		return walk_from_caller();
	if (unlikely(id == CODE_ID_HIDDEN))
		return 0;
	if (cfg_async)
		async_note_frame(fr, code, f.owner);
	keep_frame(s, w, fr, f.owner, (struct raw_frame){
		.code = code,
		.lasti = place_of(s, fr, code, &f),
		.id = id,
	});
	if (cfg_native && is_entry(s, fr, &f))
		note_entry(0);
	if (unlikely(w->gc_looks))
		note_gc_frame(fr, f.is_entry | (s->l.fr_is_entry == ABI_NO_OFF));
	return 0;
}

/*
 * STEPS_A_CALL steps of the walk. Returns 1 if the walk has ended. The function has external
 * linkage, so the verifier checks the steps of one call and not of all.
 */
int walk_steps(void);
__weak __noinline int walk_steps(void)
{
	struct code_cache *cache;
	struct scratch *s;
	u32 zero = 0, i;

	s = bpf_map_lookup_elem(&scratches, &zero);
	cache = bpf_map_lookup_elem(&code_caches, &zero);
	if (!s || !cache)
		return 1;
	if (unlikely(is_clock_due(s)))
		read_clock(s);
#pragma clang loop unroll(disable)
	for (i = 0; i < STEPS_A_CALL; i++)
		if (walk_step(s, cache, &s->walk))
			return 1;
	return 0;
}

int walk_on(void);
/*
 * The steps that are left after FIRST_CALLS calls of walk_steps(). Returns 0. With external
 * linkage, too: few stacks are so deep, and the verifier would follow each call for each caller.
 */
#define FIRST_CALLS 8
__weak __noinline int walk_on(void)
{
	struct scratch *s;
	u32 zero = 0, i;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
#pragma clang loop unroll(disable)
	for (i = FIRST_CALLS; i < MAX_STEPS / STEPS_A_CALL; i++)
		if (walk_steps())
			return 0;
	s->sample.flags |= RAW_TRUNCATED;
	return 0;
}

static __always_inline void walk_frames(void)
{
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < FIRST_CALLS; i++)
		if (walk_steps())
			return;
	walk_on();
}

int read_cframe(u64 ts);
/*
 * Replace the walk's fr, which is a _PyCFrame's address, by its frame, and prepare the checks of
 * walk_from_caller() with the previous _PyCFrame. Returns 0, or -1 if it is unreadable. With
 * external linkage, too.
 */
__weak __noinline int read_cframe(u64 ts)
{
	struct cframe c, caller;
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;
	u64 addr;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return -1;
	w = &s->walk;
	addr = w->fr;
	if (fetch_cframe(s, &c, addr))
		return -1;
	w->fr = c.frame;
	w->cframe = addr;
	w->unchecked = c.previous || !is_cframe(&c, addr, ts);
	w->from_caller = !c.previous ||
			 fetch_cframe(s, &caller, c.previous) ||
			 !is_cframe(&caller, c.previous, ts);
	w->entered_from = 1;	/* no frame has this address */
	if (w->from_caller)
		return 0;
	w->entered_from = caller.frame;
	w->from_cframe = c.previous;
	if (caller.previous)
		w->caller_cframe = caller.previous;
	return 0;
}

/* Restart the walk at fr, keeping the time that it has used. */
static __always_inline void restart_walk(struct walk *w, u64 fr)
{
	w->fr = fr;
	w->win_last = 0;
	w->caller_cframe = 0;
	w->from_cframe = 0;
	w->entered = 0;
	w->n = 0;
	w->entries = 0;
	w->shim = 0;
	w->owner = 0;
}

int enter_greenlet(u64 ts);
/*
 * The walk from the _PyCFrame of the state ts has failed: another greenlet's C stack may be in its
 * place (3.11, 3.12). Prepare the walk of the greenlet that is entered. Returns 0 if its _PyCFrame
 * is not found. The function has external linkage, so the verifier checks it only once.
 */
__weak __noinline int enter_greenlet(u64 ts)
{
	u64 cframe, found;
	struct scratch *s;
	struct walk *w;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s)
		return 0;
	w = &s->walk;
	cframe = ts_u64(s, s->l.ts_frame);
	found = find_cframe(w);
	if (!found || found == cframe)
		return 0;
	restart_walk(w, found);
	s->sample.flags = w->gc_top;
	s->sample.gc_at = 0;
	if (read_cframe(ts)) {
		discard_stack(s, w);
		return 0;
	}
	w->low = w->fr + 1;
	return 1;
}

/*
 * The walk from the _PyCFrame of the state ts has failed: walk the greenlet that is entered.
 * Inline: nested calls share 512 bytes of stack.
 */
static __always_inline void walk_entered_greenlet(struct scratch *s, struct walk *w, u64 ts)
{
	u64 cframe = ts_u64(s, s->l.ts_frame);

	if (enter_greenlet(ts))
		walk_frames();
	/* A _PyCFrame in use is not below the stack pointer. */
	if (!w->n && s->sample.flags & RAW_UNREADABLE && cframe < w->sp &&
	    is_on_c_stack(w, cframe))
		s->sample.flags ^= RAW_UNREADABLE | RAW_SWITCHING;
}

#endif
