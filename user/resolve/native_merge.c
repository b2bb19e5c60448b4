// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * native_merge.c - see native_merge.h.
 *
 * A run is a sequence of Python frames in one eval frame. Runs and C frames are each traversed
 * once, innermost first: each run looks for its eval frame after that of the previous run.
 *
 * From 3.11 on an entry has the address of something in its eval frame (3.12+: the shim, 3.11: the
 * _PyCFrame), so the eval frame is known even without its name. Where no address is known, the next
 * frame of class EVAL is taken. Counting from the innermost is right for a greenlet, and where one
 * interpreter was called by another: frames further out have Python frames that this sample lacks.
 * But an evaluation function that is just starting or ending has no Python frame (up to 3.10 in one
 * of 20 samples of programs that do little except call): it is skipped if exactly one is left.
 *
 * With a gap, the calls that have no eval frame inside it are counted from the outermost, too:
 * those that have none outside it either are in the gap.
 */
#include "resolve/native_merge.h"

#include "native/native.h"

/*
 * At most this many frames can be inside an eval frame that has not linked its Python frame yet, or
 * no longer has it: v3.6.15 Python/ceval.c, exit_eval_frame, calls _Py_CheckFunctionResult(), which
 * calls PyErr_Occurred() and that _PyThreadState_UncheckedGet().
 */
#define PROLOGUE_DEPTH 3
#define NOT_FOUND UINT32_MAX
/* A larger "frame" is a jump from one stack to another. */
#define FRAME_BYTES_MAX (64u << 20)

struct merging {
	const struct native_merge_in *in;
	struct native_merge *out;
	uint32_t next;		/* the first C frame that is not in out */
	uint32_t search;	/* the first C frame that can be the next run's eval frame */
	uint32_t given;		/* Python frames that are in a run */
	uint32_t waiting;	/* ... and not in out: their eval frame was not found */
	uint32_t gap;		/* the index that stands for the gap; NOT_FOUND: there is none */
	uint32_t in_gap;	/* runs without an address that may still be found in it */
	uint32_t interpreter;	/* its file; 0: unknown */
	bool all;		/* leave out no C frame */
	bool placed;		/* an entry's address was found in an eval frame */
};

static void put_item(struct merging *m, uint32_t item)
{
	if (m->out->cnt < NATIVE_MERGE_MAX)
		m->out->items[m->out->cnt++] = (uint16_t)item;
}

static void put_python(struct merging *m)
{
	for (; m->waiting; m->waiting--)
		put_item(m, NATIVE_MERGE_PYTHON);
}

static bool is_folded(const struct merging *m, uint32_t i)
{
	const struct native_merge_in *in = m->in;
	uint32_t file = in->raw->frames[i].file;

	return !in->full && in->classes[i] == NATIVE_UNNAMED && i + 1 < in->raw->nframes &&
	       (in->raw->frames[i + 1].file == file || (file && file == m->interpreter));
}

/* Adds the C frames before this one. */
static void put_native(struct merging *m, uint32_t end)
{
	for (; m->next < end; m->next++) {
		uint8_t class = m->in->classes[m->next];

		if (m->next == m->gap)
			put_item(m, NATIVE_MERGE_GAP);
		else if (is_folded(m, m->next))
			m->out->folded++;
		else if (m->all || class == NATIVE_CODE || class == NATIVE_UNNAMED)
			put_item(m, m->next);
	}
}

static uint32_t next_eval(const struct native_merge_in *in, uint32_t from)
{
	uint32_t i;

	for (i = from; i < in->raw->nframes; i++)
		if (in->classes[i] == NATIVE_EVAL)
			return i;
	return NOT_FOUND;
}

/* Returns the next run's eval frame, which is the gap if the next one is outside of it. */
static uint32_t find_eval(struct merging *m)
{
	uint32_t eval = next_eval(m->in, m->search);

	if (m->gap == NOT_FOUND || m->search > m->gap || eval < m->gap || !m->in_gap)
		return eval;
	m->in_gap--;
	return m->gap;
}

static uint32_t count_evals(const struct native_merge_in *in, uint32_t from, uint32_t end)
{
	uint32_t i, cnt = 0;

	for (i = from; i < end; i++)
		cnt += in->classes[i] == NATIVE_EVAL;
	return cnt;
}

/* There is a gap, and there will be this many runs. */
static void begin_gap(struct merging *m, uint32_t runs)
{
	const struct native_merge_in *in = m->in;
	uint32_t inside = count_evals(in, 0, m->gap), outside = 0;

	/* Otherwise the outermost calls of both sides are not the same ones. */
	if (in->raw->end == NATIVE_WHOLE && in->python_whole)
		outside = count_evals(in, m->gap + 1, in->raw->nframes);
	m->in_gap = runs > inside + outside ? runs - inside - outside : 0;
}

/*
 * Returns the first frame, starting with this one, that has the address in its part of the stack.
 * All addresses are modulo 2^32: a signal handler may have another stack (sigaltstack) than the
 * code that it interrupted.
 */
static uint32_t frame_around(const struct raw_native *raw, uint64_t at, uint32_t from)
{
	uint32_t off = (uint32_t)(at - raw->sp), start, bytes, i;

	for (i = from; i < raw->nframes; i++) {
		start = i ? raw->frames[i - 1].below : 0;
		bytes = raw->frames[i].below - start;
		if (bytes <= FRAME_BYTES_MAX && off - start < bytes)
			return i;
	}
	return NOT_FOUND;
}

/* Returns true if the walk should have met the frame that has the address. */
static bool was_walked(const struct raw_native *raw, uint64_t at)
{
	return raw->end == NATIVE_WHOLE ||
	       (at && raw->nframes && at - raw->sp < raw->frames[raw->nframes - 1].below);
}

/* Takes the next run: cnt Python frames, and an address in their eval frame, or 0. */
static void take_run(struct merging *m, uint32_t cnt, uint64_t at)
{
	const struct raw_native *raw = m->in->raw;
	uint32_t eval = at ? frame_around(raw, at, m->search) : find_eval(m);

	m->given += cnt;
	m->waiting += cnt;
	if (eval == NOT_FOUND) {
		m->out->uncertain |= cnt && was_walked(raw, at);
		return;
	}
	m->placed |= at != 0;
	m->search = eval;
	if (eval == m->gap) {	/* the next run's may be in it, too */
		put_native(m, eval + 1);
		put_python(m);
		return;
	}
	put_native(m, eval);
	put_python(m);
	if (m->all)
		put_item(m, eval);
	m->next = m->search = eval + 1;
}

static void take_entries(struct merging *m)
{
	const struct native_merge_in *in = m->in;
	uint32_t i, upto, python = in->python;

	for (i = 0; i < in->raw->nentries; i++) {
		upto = in->raw->entries[i].frames;
		m->out->uncertain |= upto < m->given || upto > python;
		upto = upto < m->given ? m->given : upto > python ? python : upto;
		take_run(m, upto - m->given, in->raw->entries[i].at);
	}
	/* The walk did not reach the entry of the last ones. */
	if (m->given < python) {
		m->out->uncertain |= in->python_whole;
		take_run(m, python - m->given, 0);
	}
}

static bool has_addresses(const struct raw_native *raw)
{
	return raw->nentries && raw->entries[0].at;
}

/* Skips an innermost eval frame that has no Python frame. */
static void skip_prologue(struct merging *m, uint32_t runs)
{
	const struct native_merge_in *in = m->in;
	uint32_t first = next_eval(in, 0);

	if (in->raw->end != NATIVE_WHOLE || !in->python_whole || first > PROLOGUE_DEPTH)
		return;
	if (count_evals(in, first, in->raw->nframes) == runs + 1)
		m->search = first + 1;
}

/* Adds what is outside the last run's eval frame or, if it has none, outside the previous one. */
static void put_rest(struct merging *m)
{
	const struct native_merge_in *in = m->in;
	bool whole = in->raw->end == NATIVE_WHOLE;

	if (whole && in->python_whole && in->python && !m->placed &&
	    next_eval(in, m->search) != NOT_FOUND)
		m->out->uncertain = true;
	if (m->all || m->waiting) {
		put_native(m, in->raw->nframes);
		if (!whole)
			put_item(m, NATIVE_MERGE_END);
	}
	put_python(m);
}

void native_merge(const struct native_merge_in *in, struct native_merge *out)
{
	struct merging m = {
		.in = in, .out = out, .all = in->full || !in->python,
		.gap = in->raw->left_out ? RAW_NATIVE_INNER : NOT_FOUND,
	};
	uint32_t runs = in->without_entries ? in->python : in->raw->nentries, i;
	uint32_t eval = next_eval(in, 0);

	if (eval != NOT_FOUND)
		m.interpreter = in->raw->frames[eval].file;
	out->cnt = 0;
	out->uncertain = false;
	out->folded = 0;
	if (in->raw->left_out)
		begin_gap(&m, runs);
	else if (in->without_entries || !has_addresses(in->raw))
		skip_prologue(&m, runs);
	if (in->without_entries)
		for (i = 0; i < in->python; i++)
			take_run(&m, 1, 0);
	else
		take_entries(&m);
	put_rest(&m);
}
