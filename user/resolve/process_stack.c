// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * process_stack.c - takes a record's stack and keeps it with its thread: Python frames, data that
 * came with them, and their order among native frames. See process_internal.h.
 *
 * Most frames of a stack are the same as in the thread's last sample. So the last stack is kept
 * right-aligned (the root at the array's end), a new one is compared with it from the root, and
 * only frames that differ are resolved.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/common_end.h"
#include "base/util.h"
#include "native/native.h"
#include "resolve/native_merge.h"
#include "resolve/process_internal.h"

#define CACHE_LINE 64	/* bytes; on machines where it differs, this is only slower */

/*
 * Returns how many frames at the root are the same as in the last stack. Another CPU has written
 * the record: all of it is prefetched, to avoid waiting for each cache line.
 */
static uint32_t shared_frames(const struct thread *t, const struct raw_frame *frames, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i += CACHE_LINE / sizeof(*frames))
		__builtin_prefetch(frames + i);
	return (uint32_t)common_end(t->raw_end, frames + n,
				    t->known < n ? t->known : n, sizeof(*frames));
}

/* *coroutine: see symbolizer_frame(). 0, -ENOMEM, or -EBADMSG: the BPF side sends no such kind. */
static int resolve_frame(struct process *p, const struct raw_frame *raw, uint32_t *id,
			 bool *coroutine)
{
	*coroutine = false;
	switch (raw_frame_kind(raw)) {
	case FRAME_PYTHON:
		return symbolizer_frame(p->sym, raw, id, coroutine);
	case FRAME_NATIVE:
		p->stats.native++;
		return other_frame(&p->others, FRAME_OF_NATIVE, id);
	case FRAME_KERNEL:
		return other_frame_of_kernel(&p->others, raw->code, id);
	case FRAME_SYNTHETIC:
		return other_frame_of_interpreter(&p->others, raw->code, id);
	default:
		return -EBADMSG;
	}
}

int process_python_frame(struct process *p, const struct raw_frame *raw, uint32_t *id)
{
	return symbolizer_frame(p->sym, raw, id, NULL);
}

/*
 * The outermost coroutine's frame is one that t's last stack had, too, or that of the fresh ones
 * which end with the outermost of them; 0: they have none.
 */
static void note_coroutine(struct thread *t, uint32_t fresh, uint32_t outermost)
{
	if (t->coroutine > t->nframes - fresh)
		t->coroutine = 0;
	if (outermost && !t->coroutine)
		t->coroutine = t->nframes - outermost + 1;
}

/*
 * Resolves the innermost frames, which t's last stack did not have. t->known ends before a frame
 * that could not be resolved, so that this frame is counted in each sample, and before a frame
 * without a fingerprint, because its address may have another code object in the next sample. 0 or
 * -errno.
 */
static int resolve_fresh(struct process *p, struct thread *t, const struct raw_frame *frames,
			 uint32_t fresh)
{
	const struct symbolizer_stats *stats = symbolizer_stats(p->sym);
	uint32_t *ids = t->ids_end - t->nframes, outermost = 0, coroutines, i;
	bool coroutine;
	int err;

	for (i = 0; i < fresh; i++) {
		uint64_t unresolved = stats->unresolved;
		uint32_t n = symbolizer_known(p->sym, &frames[i], fresh - i, &ids[i], &coroutines);

		outermost = coroutines ? i + coroutines : outermost;
		i += n;
		if (i == fresh)
			break;
		err = resolve_frame(p, &frames[i], &ids[i], &coroutine);
		if (err)
			return err;
		outermost = coroutine ? i + 1 : outermost;
		if (stats->unresolved != unresolved || !frames[i].id)
			t->known = t->nframes - i - 1;
	}
	note_coroutine(t, fresh, outermost);
	return 0;
}

/* Fills t with the sample's stack. 0 or -errno: t has none. */
static int resolve_stack(struct process *p, struct thread *t, const struct raw_sample *raw)
{
	uint32_t n = raw->nframes, fresh;
	int err = n < t->cap ? 0 : thread_reserve(t, n);

	if (!err) {
		fresh = n - shared_frames(t, raw->frames, n);
		memcpy(t->raw_end - n, raw->frames, fresh * sizeof(*raw->frames));
		t->nframes = t->known = n;
		if (fresh)
			err = resolve_fresh(p, t, raw->frames, fresh);
		else
			note_coroutine(t, 0, 0);
	}
	if (err)
		t->nframes = t->known = t->coroutine = 0;
	return err;
}

/* ---- what comes before a stack's record, and belongs to it ---- */

int process_keep_extra(struct process *p, const void *record, size_t len)
{
	const struct raw_extra *x = record;
	struct thread *t;

	if (x->nkernel > RAW_KERNEL_FRAMES ||
	    len < offsetof(struct raw_extra, kernel) + x->nkernel * sizeof(x->kernel[0]))
		return -EBADMSG;
	t = process_thread(p, x->tid, x->interp_id);
	len = offsetof(struct raw_extra, kernel) + x->nkernel * sizeof(x->kernel[0]);
	return t ? thread_set_extra(t, x, len) : -ENOMEM;
}

int process_keep_native(struct process *p, const void *record, size_t len)
{
	return p->native ? native_records_put(&p->native_records, record, len) : -EBADMSG;
}

/*
 * Sets t's exception and kernel stack to those of this record's RAW_EXTRA, or clears them. A tick
 * has no scheduler frames to leave out: it has interrupted those it shows.
 */
static int take_extra(struct process *p, struct thread *t, const struct raw_head *raw)
{
	bool tick = raw->h.kind == RAW_SAMPLE;
	const struct raw_extra *x = t->extra ? &t->extra->raw : NULL;
	uint32_t i;
	int err = 0;

	t->nkernel = 0;
	t->exception = UINT32_MAX;
	if (!x || x->h.time_ns != raw->h.time_ns)
		return 0;
	if (x->exception[0])
		err = other_frame_of_exception(&p->others, x->exception, &t->exception);
	i = !p->args.kernel ? x->nkernel : tick ? 0 : other_frames_first_of_kernel(&p->others, x);
	for (; !err && i < x->nkernel; i++) {
		err = other_frame_of_kernel(&p->others, x->kernel[i],
					    &t->extra->kernel[t->nkernel]);
		t->nkernel += !err;
	}
	return err;
}

/* ---- machine code ---- */

_Static_assert(NATIVE_MERGE_MAX < NATIVE_STACK_MAX, "there is room for an id of each item");

/*
 * Adds one C frame: several ids if functions are inlined in it and there is room for them beside
 * one id of each of the `more` items that follow; else only the last, that of the function itself.
 */
static int put_native_frame(struct process *p, struct native_known *known, uint32_t more,
			    struct native_stack *out)
{
	const uint32_t *ids;
	uint32_t cnt, i;
	int err = native_frames_ids(p->native, known, &ids, &cnt);

	if (err)
		return err;
	for (i = out->cnt + cnt + more > NATIVE_STACK_MAX ? cnt - 1 : 0; i < cnt; i++) {
		out->ids[out->cnt++] = ids[i];
		out->frames++;
	}
	return 0;
}

/* Turns the items of a merged stack into ids. */
static int put_merged(struct process *p, const struct raw_native *raw, const struct native_merge *m,
		     struct native_known *const known[], struct native_stack *out)
{
	uint32_t i, id;
	int err = 0;

	out->left_out = raw->left_out;
	for (i = 0; !err && i < m->cnt; i++) {
		if (m->items[i] == NATIVE_MERGE_PYTHON) {
			out->ids[out->cnt++] = NATIVE_STACK_PYTHON;
		} else if (m->items[i] == NATIVE_MERGE_GAP) {
			out->ids[out->cnt++] = NATIVE_STACK_GAP;
		} else if (m->items[i] == NATIVE_MERGE_END) {
			err = other_frame_of_end(&p->others, raw->end, &id);
			if (!err)
				out->ids[out->cnt++] = id;
		} else {
			err = put_native_frame(p, known[m->items[i]], m->cnt - i - 1, out);
		}
	}
	return err;
}

/* Marks the files as used, so that their tables stay. Neighbours are often in the same file. */
static void note_use_of_files(struct process *p, const struct raw_native *raw)
{
	uint32_t i;

	for (i = 0; i < raw->nframes; i++)
		if (raw->frames[i].file && (!i || raw->frames[i].file != raw->frames[i - 1].file))
			native_used(p->args.native, raw->frames[i].file);
}

static int merge_native(struct process *p, const struct raw_native *raw, uint32_t python,
		 bool python_whole, struct native_stack *out)
{
	struct native_known *known[RAW_NATIVE_FRAMES];
	uint8_t classes[RAW_NATIVE_FRAMES];
	const struct native_merge_in in = {
		.raw = raw, .classes = classes, .python = python, .python_whole = python_whole,
		.without_entries = p->args.image->minor <= 10, .full = p->args.native_full,
	};
	struct native_merge merged;
	uint32_t i;

	if (native_frames_find(p->native, raw, known))
		return -ENOMEM;
	for (i = 0; i < raw->nframes; i++)
		classes[i] = known[i]->class;
	native_merge(&in, &merged);
	p->stats.merge_uncertain += merged.uncertain;
	p->stats.native_folded += merged.folded;
	return put_merged(p, raw, &merged, known, out);
}

int process_take_native(struct process *p, const struct raw_head *raw, bool python_whole,
			struct native_stack *out)
{
	struct raw_native native;
	int err;

	out->cnt = out->frames = 0;
	if (!p->native || native_records_take(&p->native_records, raw->h.time_ns, raw->tid,
					      raw->cpu, &native))
		return 0;
	p->stats.native_ends[native.end]++;
	if (native.end == NATIVE_NO_MAPPINGS || native.end == NATIVE_NO_MAPPING)
		native_stale(p->args.native, p->args.tgid);
	note_use_of_files(p, &native);
	p->stats.native_changed += native_changed(p->args.native, p->args.tgid, native.frames,
						  native.nframes);
	err = merge_native(p, &native, raw->nframes, python_whole, out);
	if (err)
		out->cnt = 0;
	return err;
}

/* ---- a whole stack ---- */

/* Sets t's native frames to those of this record, or clears them. */
static int take_native_of_thread(struct process *p, struct thread *t, const struct raw_head *raw)
{
	struct native_stack native;
	int err;

	if (!p->native)
		return 0;
	err = process_take_native(p, raw, !(raw->flags & RAW_CUT), &native);
	return err ? err : thread_set_native(t, &native);
}

/* Returns true if nothing but its stack ever came with a record of t, nor with this one. */
static bool is_bare(const struct process *p, const struct thread *t, const struct raw_head *raw)
{
	return !t->extra && !t->trace && !t->async && !p->native && !(raw->flags & RAW_TRACED) &&
	       !process_needs_task(p, t);
}

/*
 * Keeps what came with t's stack for the thread's events, or that nothing came: its context, of len
 * bytes, which follows the stack, and what was kept for this record.
 */
static int take_what_came(struct process *p, struct thread *t, const struct raw_head *raw,
			  const void *trace, size_t len)
{
	int err;

	if (is_bare(p, t, raw))
		return 0;
	err = thread_set_trace(t, trace, raw->flags & RAW_TRACED ? len : 0);
	if (!err)
		err = take_extra(p, t, raw);
	if (!err)
		err = process_take_async(p, t, raw);
	return err ? err : take_native_of_thread(p, t, raw);
}

int process_take_stack(struct process *p, const struct raw_sample *raw, size_t len,
		       struct thread **t)
{
	size_t bytes = raw_sample_bytes(raw->nframes, raw->flags);
	int err;

	if (raw->nframes > ABI_MAX_FRAMES || len < bytes)
		return -EBADMSG;
	*t = process_thread(p, raw->tid, raw->interp_id);
	if (!*t)
		return -ENOMEM;
	err = resolve_stack(p, *t, raw);
	(*t)->stack_ns = err ? 0 : raw->h.time_ns;
	return err ? err : take_what_came(p, *t, (const struct raw_head *)raw,
					  (const uint8_t *)raw + bytes, len - bytes);
}

int process_repeat_stack(struct process *p, struct thread *t, const struct raw_head *head,
			 const void *trace, size_t len)
{
	uint32_t n = t->nframes, fresh = n - t->known;
	int err;

	t->known = n;
	err = fresh ? resolve_fresh(p, t, t->raw_end - n, fresh) : 0;
	if (err)
		t->nframes = t->known = t->coroutine = t->stack_ns = 0;
	return err ? err : take_what_came(p, t, head, trace, len);
}
