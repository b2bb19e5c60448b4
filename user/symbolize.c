// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * symbolize.c - frames by name and line, with a cache in front. See symbolize.h.
 */
#include "symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "u64map.h"
#include "util.h"

struct known_code {
	struct code_object code;
	struct known_code *next;	/* same hash */
	uint64_t addr;
	uint32_t id;
	bool resolved;
	uint32_t file, func;		/* string ids */
};

/* One slot of the frame cache: the raw frame as sent, and its answer. */
struct known_frame {
	struct raw_frame raw;		/* code 0: free */
	uint32_t id;
	bool resolved;
};

struct symbolizer {
	const struct cpython_image *image;
	struct target_mem mem;
	struct intern *in;
	bool opcodes, gone;
	struct u64map codes;		/* hash of (addr, id) -> chain of known_code */
	struct known_frame *frames;	/* open addressing, power of two, at most half full */
	size_t frame_cap, frame_cnt;
	uint32_t unresolved;		/* frame id of <unresolved> */
	struct symbolizer_stats stats;
};

struct symbolizer *symbolizer_new(const struct cpython_image *image, struct target_mem mem,
				  struct intern *in, bool opcodes)
{
	struct symbolizer *sym = calloc(1, sizeof(*sym));

	if (!sym)
		return NULL;
	sym->image = image;
	sym->mem = mem;
	sym->in = in;
	sym->opcodes = opcodes;
	sym->frame_cap = 256;
	sym->frames = calloc(sym->frame_cap, sizeof(*sym->frames));
	sym->unresolved = UINT32_MAX;
	if (!sym->frames) {
		free(sym);
		errno = ENOMEM;
		return NULL;
	}
	return sym;
}

void symbolizer_free(struct symbolizer *sym)
{
	struct known_code *c, *next;
	size_t pos = 0;

	if (!sym)
		return;
	while ((c = u64map_next(&sym->codes, &pos)))
		for (; c; c = next) {
			next = c->next;
			code_free(&c->code);
			free(c);
		}
	u64map_free(&sym->codes);
	free(sym->frames);
	free(sym);
}

void symbolizer_target_gone(struct symbolizer *sym)
{
	sym->gone = true;
}

const struct symbolizer_stats *symbolizer_stats(const struct symbolizer *sym)
{
	return &sym->stats;
}

static uint64_t raw_hash(const struct raw_frame *raw)
{
	return hash_u64(raw->code ^ (uint64_t)raw->lasti << 40 ^ (uint64_t)raw->id << 8);
}

static bool raw_equal(const struct raw_frame *a, const struct raw_frame *b)
{
	return a->code == b->code && a->lasti == b->lasti && a->id == b->id;
}

static struct known_frame *frame_slot(struct known_frame *frames, size_t cap,
				      const struct raw_frame *raw)
{
	size_t i = raw_hash(raw) & (cap - 1);

	while (frames[i].raw.code && !raw_equal(&frames[i].raw, raw))
		i = (i + 1) & (cap - 1);
	return &frames[i];
}

static int frames_grow(struct symbolizer *sym)
{
	size_t cap = sym->frame_cap * 2, i;
	struct known_frame *bigger = calloc(cap, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	for (i = 0; i < sym->frame_cap; i++)
		if (sym->frames[i].raw.code)
			*frame_slot(bigger, cap, &sym->frames[i].raw) = sym->frames[i];
	free(sym->frames);
	sym->frames = bigger;
	sym->frame_cap = cap;
	return 0;
}

/* Read the code object from the process; whatever goes wrong is remembered too. */
static int read_code(struct symbolizer *sym, struct known_code *c)
{
	int err;

	if (sym->gone)
		return 0;
	err = code_read(&sym->mem, &sym->image->layout, &sym->image->objects, c->addr, &c->code);
	if (err == -ESRCH)
		sym->gone = true;
	if (err)
		return 0;
	/* id 0: the kernel could not take the fingerprint, so there is nothing to compare. */
	if (c->id && c->code.identity != c->id) {
		code_free(&c->code);
		return 0;
	}
	err = intern_string(sym->in, c->code.file, c->code.file_len, &c->file);
	if (!err)
		err = intern_string(sym->in, c->code.name, c->code.name_len, &c->func);
	if (err)
		return err;
	c->resolved = true;
	sym->stats.code_cnt++;
	return 0;
}

/* The code object of a raw frame, read now or before. */
static int find_code(struct symbolizer *sym, const struct raw_frame *raw, struct known_code **out)
{
	uint64_t key = hash_u64(raw->code ^ (uint64_t)raw->id << 20);
	struct known_code *first = u64map_get(&sym->codes, key), *c;
	int err;

	for (c = first; c; c = c->next)
		if (c->addr == raw->code && c->id == raw->id)
			break;
	/* Without a fingerprint an address proves nothing the second time. */
	if (c && (c->id || !c->resolved)) {
		*out = c;
		return 0;
	}
	if (c) {
		code_free(&c->code);
		c->resolved = false;
		*out = c;
		return read_code(sym, c);
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->addr = raw->code;
	c->id = raw->id;
	c->next = first;
	if (u64map_put(&sym->codes, key, c)) {
		free(c);
		return -ENOMEM;
	}
	err = read_code(sym, c);
	*out = c;
	return err;
}

static int make_frame(struct symbolizer *sym, const struct known_code *c,
		      const struct raw_frame *raw, uint32_t *id)
{
	struct frame f = { .file = c->file, .func = c->func, .opcode = OPCODE_NONE };
	struct code_position pos;

	code_position(&c->code, raw->lasti, &pos);
	f.line = pos.line;
	f.end_line = pos.end_line;
	f.column = pos.column;
	f.end_column = pos.end_column;
	if (sym->opcodes && raw->lasti != RAW_LASTI_NONE && !sym->gone)
		f.opcode = code_opcode(&sym->mem, &sym->image->layout, c->code.minor, raw->code,
				       raw->lasti);
	return intern_frame(sym->in, &f, id);
}

static int unresolved_frame(struct symbolizer *sym, uint32_t *id)
{
	int err = 0;

	if (sym->unresolved == UINT32_MAX)
		err = intern_synthetic(sym->in, "<unresolved>", &sym->unresolved);
	*id = sym->unresolved;
	return err;
}

static int resolve(struct symbolizer *sym, const struct raw_frame *raw, struct known_frame *slot)
{
	struct known_code *code;
	int err = find_code(sym, raw, &code);

	if (err)
		return err;
	slot->resolved = code->resolved;
	err = code->resolved ? make_frame(sym, code, raw, &slot->id) :
			       unresolved_frame(sym, &slot->id);
	slot->raw = *raw;
	return err;
}

int symbolizer_frame(struct symbolizer *sym, const struct raw_frame *raw, uint32_t *id)
{
	struct known_frame *slot, once;
	int err = 0;

	slot = frame_slot(sym->frames, sym->frame_cap, raw);
	if (!slot->raw.code && raw->id && raw->code) {
		if (sym->frame_cnt * 2 >= sym->frame_cap) {
			if (frames_grow(sym))
				return -ENOMEM;
			slot = frame_slot(sym->frames, sym->frame_cap, raw);
		}
		err = resolve(sym, raw, slot);
		if (err) {
			slot->raw.code = 0;
			return err;
		}
		sym->frame_cnt++;
	} else if (!slot->raw.code) {
		slot = &once;
		err = resolve(sym, raw, slot);
	}
	if (!slot->resolved)
		sym->stats.unresolved++;
	*id = slot->id;
	return err;
}
