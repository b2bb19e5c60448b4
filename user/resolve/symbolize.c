// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * symbolize.c - names and lines of frames, with a cache. See symbolize.h.
 */
#include "resolve/symbolize.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "resolve/budget.h"
#include "resolve/code_objects.h"
#include "resolve/frame_cache.h"

/* Limit of frames in the intern table, which are kept until the profile ends. */
#define FRAMES_MAX (1u << 20)
#define FRAME_BYTES 64

/* Limit of pending frames: each needs a row of its own in the frame table. */
#define PENDING_MAX 1024	/* fits known_frame.pending1 */

/* A frame that was returned as <unresolved>, because there was no time to read its code object. */
struct pending {
	struct raw_frame raw;
	uint32_t id;			/* from intern_later() */
	uint32_t emitted;		/* how often it was returned */
	uint64_t samples;		/* one bit each: of symbolizer_judge_later() */
};

struct symbolizer {
	struct intern *in;
	bool opcodes;
	struct code_objects codes;
	struct frame_cache frames;
	struct pending *pending;
	uint32_t pending_cnt;
	size_t pending_cap;
	uint32_t unresolved;		/* frame id of <unresolved> */
	uint32_t trampoline;		/* symbolizer_trampoline() */
	struct symbolizer_stats stats;
};

struct symbolizer *symbolizer_new(const struct cpython_image *image, struct target_mem mem,
				  struct intern *in, bool opcodes)
{
	struct symbolizer *sym = calloc(1, sizeof(*sym));

	if (!sym)
		return NULL;
	sym->in = in;
	sym->opcodes = opcodes;
	code_objects_init(&sym->codes, image, mem, in, &sym->stats);
	sym->unresolved = UINT32_MAX;
	sym->trampoline = UINT32_MAX;
	if (!frame_cache_init(&sym->frames)) {
		free(sym);
		errno = ENOMEM;
		return NULL;
	}
	return sym;
}

void symbolizer_set_owner(struct symbolizer *sym, uint32_t uid)
{
	code_objects_set_owner(&sym->codes, uid);
}

size_t symbolizer_leave_names(struct symbolizer *sym)
{
	return code_objects_leave_names(&sym->codes);
}

void symbolizer_free(struct symbolizer *sym)
{
	if (!sym)
		return;
	code_objects_free(&sym->codes);
	frame_cache_free(&sym->frames);
	free(sym->pending);
	free(sym);
}

/* Empties the cache if it is full. */
static void forget_if_full(struct symbolizer *sym)
{
	if (!code_objects_are_full(&sym->codes) && sym->frames.table.cnt < CODE_OBJECTS_MAX)
		return;
	code_objects_forget(&sym->codes);
	frame_cache_forget(&sym->frames);
}

const struct symbolizer_stats *symbolizer_stats(const struct symbolizer *sym)
{
	return &sym->stats;
}

uint32_t symbolizer_trampoline(const struct symbolizer *sym)
{
	return sym->trampoline;
}

void symbolizer_refill(struct symbolizer *sym)
{
	code_objects_refill(&sym->codes);
}

int symbolizer_learn(struct symbolizer *sym, const struct raw_code *raw, size_t len)
{
	forget_if_full(sym);
	return code_objects_learn(&sym->codes, raw, len);
}

static int add_frame(struct symbolizer *sym, const struct frame *f, uint32_t *id)
{
	uint32_t before = intern_tables(sym->in)->frame_cnt;
	int err = intern_frame(sym->in, f, id);

	if (intern_tables(sym->in)->frame_cnt != before)
		code_objects_count_names(&sym->codes, FRAME_BYTES);
	return err;
}

static bool has_room_for_frame(const struct symbolizer *sym)
{
	return intern_tables(sym->in)->frame_cnt < FRAMES_MAX &&
	       !budget_names_full(sym->codes.budget);
}

static int make_frame(struct symbolizer *sym, const struct known_code *c,
		      const struct raw_frame *raw, uint32_t *id)
{
	struct frame f = { .file = c->file, .func = c->func, .opcode = OPCODE_NONE };
	struct code_position pos;
	int err;

	if (c->trampoline) {
		f.line = f.end_line = LINE_NONE;
		f.column = f.end_column = COLUMN_NONE;
		err = add_frame(sym, &f, id);
		sym->trampoline = *id;
		return err;
	}
	code_position(&c->code, raw->lasti, &pos);
	f.line = pos.line;
	f.end_line = pos.end_line;
	f.column = pos.column;
	f.end_column = pos.end_column;
	f.first_line = c->code.firstlineno > 0 ? c->code.firstlineno : 0;
	if (sym->opcodes && raw->lasti < RAW_LASTI_LINE && !sym->codes.gone)
		f.opcode = code_objects_opcode(&sym->codes, c, raw->lasti);
	return add_frame(sym, &f, id);
}

static int unresolved_frame(struct symbolizer *sym, uint32_t *id)
{
	int err = 0;

	if (sym->unresolved == UINT32_MAX)
		err = intern_synthetic(sym->in, FRAME_SYNTHETIC, "<unresolved>",
				       &sym->unresolved);
	*id = sym->unresolved;
	return err;
}

/* Remembers a frame for symbolizer_retry(). Without room or memory it stays <unresolved>. */
static void add_pending(struct symbolizer *sym, const struct raw_frame *raw,
			struct known_frame *slot)
{
	struct pending *bigger;
	uint32_t id;

	if (sym->pending_cnt == PENDING_MAX || !has_room_for_frame(sym))
		return;
	bigger = array_grow(sym->pending, sym->pending_cnt, &sym->pending_cap, sizeof(*bigger));
	if (!bigger)
		return;
	sym->pending = bigger;
	if (intern_later(sym->in, sym->unresolved, &id))
		return;
	code_objects_count_names(&sym->codes, FRAME_BYTES);
	sym->pending[sym->pending_cnt++] = (struct pending){ .raw = *raw, .id = id };
	slot->pending1 = sym->pending_cnt;
	slot->id = id;
}

static void drop_pending(struct symbolizer *sym, uint32_t i)
{
	const struct pending *last = &sym->pending[--sym->pending_cnt];
	struct known_frame *slot;

	if (!sym->pending_cnt) {
		free(sym->pending);
		sym->pending = NULL;
		sym->pending_cap = 0;
	}
	if (i == sym->pending_cnt)
		return;
	sym->pending[i] = *last;
	slot = frame_cache_slot(&sym->frames, &last->raw);
	if (slot->raw.code && slot->pending1 == sym->pending_cnt + 1)
		slot->pending1 = i + 1;
}

/* The samples that have the pending frame have a coroutine. */
static void count_coroutines(struct symbolizer *sym, const struct pending *p)
{
	const uint64_t samples = p->samples;
	uint32_t i;

	sym->stats.late_coroutines += (unsigned int)__builtin_popcountll(samples);
	for (i = 0; samples && i < sym->pending_cnt; i++)
		sym->pending[i].samples &= ~samples;
}

/*
 * Gives the pending frame's row the contents of the frame `as`. A trampoline stays <unresolved>,
 * because it can no longer be dropped from the stacks that were returned.
 */
static void name_pending(struct symbolizer *sym, uint32_t i, uint32_t as, bool coroutine)
{
	const struct pending *p = &sym->pending[i];

	if (coroutine)
		count_coroutines(sym, p);
	if (as != sym->trampoline) {
		intern_name_later(sym->in, p->id, as);
		sym->stats.unresolved -= p->emitted;
	}
	drop_pending(sym, i);
}

static int resolve_slot(struct symbolizer *sym, const struct raw_frame *raw,
			struct known_frame *slot)
{
	struct known_code *code;
	int err = code_objects_find(&sym->codes, raw, &code);
	bool later;

	if (err)
		return err;
	slot->raw = *raw;
	slot->resolved = code && code->resolved && has_room_for_frame(sym);
	if (slot->resolved) {
		err = make_frame(sym, code, raw, &slot->id);
		slot->coroutine = code->code.coroutine;
		if (!err && slot->pending1)
			name_pending(sym, slot->pending1 - 1, slot->id, slot->coroutine);
		slot->pending1 = 0;
		return err;
	}
	later = !code || code->busy;
	if (slot->pending1 && !later) {
		drop_pending(sym, slot->pending1 - 1);
		slot->pending1 = 0;
	}
	if (slot->pending1)
		return 0;
	err = unresolved_frame(sym, &slot->id);
	if (!err && later && raw->id && raw->code && !sym->codes.gone)
		add_pending(sym, raw, slot);
	return err;
}

/* Adds a frame that is not in the cache; *slot is its slot. */
static int new_frame(struct symbolizer *sym, const struct raw_frame *raw,
		     struct known_frame **slot)
{
	int err;

	if (frame_cache_reserve(&sym->frames))
		return -ENOMEM;
	*slot = frame_cache_slot(&sym->frames, raw);
	err = resolve_slot(sym, raw, *slot);
	if (err)
		**slot = (struct known_frame){ 0 };
	else
		sym->frames.table.cnt++;
	return err;
}

int symbolizer_frame(struct symbolizer *sym, const struct raw_frame *raw, uint32_t *id,
		     bool *coroutine)
{
	struct known_frame *slot, once = { 0 };
	int err = 0;

	slot = frame_cache_slot(&sym->frames, raw);
	if (!slot->raw.code) {
		forget_if_full(sym);
		if (raw->id && raw->code) {
			err = new_frame(sym, raw, &slot);
		} else {
			slot = &once;
			err = resolve_slot(sym, raw, slot);
		}
	} else if (!slot->resolved) {
		/* The BPF side may have sent its code object meanwhile. */
		err = resolve_slot(sym, raw, slot);
		slot->resolved = slot->resolved && !err;
	}
	if (err)
		return err;
	if (!slot->resolved) {
		sym->stats.unresolved++;
		if (slot->pending1)
			sym->pending[slot->pending1 - 1].emitted++;
	}
	*id = slot->id;
	if (coroutine)
		*coroutine = slot->coroutine;
	return 0;
}

uint32_t symbolizer_known(const struct symbolizer *sym, const struct raw_frame *raw, uint32_t n,
			  uint32_t *ids, uint32_t *coroutines)
{
	return frame_cache_ids(&sym->frames, raw, n, ids, coroutines);
}

void symbolizer_judge_later(struct symbolizer *sym, const struct raw_frame *raw, uint32_t n)
{
	const struct known_frame *slot;
	uint64_t taken = 0, bit;
	uint32_t i;

	for (i = 0; i < sym->pending_cnt; i++)
		taken |= sym->pending[i].samples;
	bit = ~taken & (taken + 1);	/* the lowest one that is free */
	for (i = 0; bit && sym->pending_cnt && i < n; i++) {
		slot = frame_cache_slot(&sym->frames, &raw[i]);
		if (slot->pending1)
			sym->pending[slot->pending1 - 1].samples |= bit;
	}
}

uint32_t symbolizer_pending(const struct symbolizer *sym)
{
	return sym->pending_cnt;
}

int symbolizer_retry(struct symbolizer *sym)
{
	struct known_frame *slot, once;
	uint32_t i = sym->pending_cnt;
	int err = 0;

	/* From the end: drop_pending() moves the last one to the place of the dropped one. */
	while (!err && i-- > 0) {
		const struct raw_frame raw = sym->pending[i].raw;

		slot = frame_cache_slot(&sym->frames, &raw);
		if (!slot->raw.code || slot->pending1 != i + 1) {	/* it was forgotten */
			once = (struct known_frame){ .raw = raw, .pending1 = i + 1 };
			slot = &once;
		}
		err = resolve_slot(sym, &raw, slot);
	}
	return err;
}
