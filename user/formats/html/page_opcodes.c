// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* page_opcodes.c - see page_opcodes.h. An opcode's number only has a meaning with its version. */
#include "formats/html/page_opcodes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/json.h"
#include "base/pairs.h"
#include "cpython/opcode_names.h"

#define VERSION_SHIFT 8
/* Frames of a table that are examined with each event: a large table may have few events. */
#define LOOK_AT 16

struct page_opcodes {
	const struct profile_tables *tables;	/* of the events */
	uint32_t version;			/* major << 16 | minor << 8 */
	uint32_t looked_at;			/* frames of these tables examined, */
	bool some;				/* and whether any of them has an opcode */
	struct pairs names;			/* version and opcode, 0 */
	struct pairs rows;			/* frame, number of the name */
	struct buf weights;			/* uint64_t by row */
	uint64_t left_out;			/* weight whose row did not fit */
};

struct page_opcodes *page_opcodes_new(void)
{
	return calloc(1, sizeof(struct page_opcodes));
}

void page_opcodes_free(struct page_opcodes *o)
{
	if (!o)
		return;
	pairs_free(&o->names);
	pairs_free(&o->rows);
	buf_free(&o->weights);
	free(o);
}

void page_opcodes_begin(struct page_opcodes *o, const struct profile_meta *meta,
			const struct profile_tables *tables)
{
	o->tables = tables;
	o->looked_at = 0;
	o->some = false;
	o->version = ((uint32_t)meta->python_major << 8 | meta->python_minor) << VERSION_SHIFT;
}

/* The frame of the tree that the event's frame i (0: innermost) became; NULL: it is hidden. */
static const struct frame *find_frame(const struct stack_tree_view *v, uint32_t share, uint32_t i,
				      uint32_t *id)
{
	uint32_t node = v->shares[share].node;

	while (node && i--)
		node = v->nodes[node].parent;
	if (!node)
		return NULL;
	*id = v->nodes[node].frame;
	return &v->tables->frames[*id];
}

static int count_row(struct page_opcodes *o, struct pair row, uint64_t weight)
{
	const uint64_t none = 0;
	uint64_t *weights;
	uint32_t id;
	int err = 0;

	if (!pairs_find(&o->rows, row, &id)) {
		if (o->rows.cnt >= PAGE_OPCODES_MAX) {
			o->left_out = add_capped(o->left_out, weight);
			return 0;
		}
		err = pairs_add(&o->rows, row, &id);
		if (!err)
			err = buf_add(&o->weights, &none, sizeof(none));
		if (err)
			return err;
	}
	weights = (uint64_t *)(void *)o->weights.data;
	weights[id] = add_capped(weights[id], weight);
	return 0;
}

/* Examines some more frames. Returns true if any may have an opcode. */
static bool look_on(struct page_opcodes *o)
{
	uint32_t cnt = o->tables->frame_cnt, i;

	for (i = 0; i < LOOK_AT && o->looked_at < cnt; i++)
		o->some |= o->tables->frames[o->looked_at++].opcode != OPCODE_NONE;
	return o->some || o->looked_at < cnt;
}

/* Returns true if frames may have opcodes. Most recordings have none. Tables may have grown. */
static inline bool may_have(struct page_opcodes *o)
{
	return o->some || (o->looked_at < o->tables->frame_cnt && look_on(o));
}

/* Not inline: few events come here, and for the others no registers are saved. */
static __attribute__((noinline)) int
add_opcode(struct page_opcodes *o, const struct stack_tree *tree, const struct event *ev)
{
	struct stack_tree_view v;
	const struct frame *f, *own;
	struct pair row;
	uint32_t i = 0;
	int err;

	/* Details and machine code on top have none: take that of their Python frame. */
	while (i < ev->nframes && o->tables->frames[ev->frames[i]].opcode == OPCODE_NONE &&
	       o->tables->frames[ev->frames[i]].kind != FRAME_PYTHON)
		i++;
	if (i == ev->nframes)
		return 0;
	f = &o->tables->frames[ev->frames[i]];
	if (f->opcode == OPCODE_NONE)
		return 0;
	v = stack_tree_view(tree);
	own = find_frame(&v, stack_tree_share(tree), i, &row.a);
	if (!own || own->line != f->line)
		return 0;
	err = pairs_add(&o->names, (struct pair){ o->version | f->opcode, 0 }, &row.b);
	return err ? err : count_row(o, row, ev->weight);
}

int page_opcodes_add(struct page_opcodes *o, const struct stack_tree *tree,
		     const struct event *ev)
{
	return may_have(o) ? add_opcode(o, tree, ev) : 0;
}

bool page_opcodes_fit(const struct page_opcodes *src)
{
	return !src->left_out;
}

int page_opcodes_join(struct page_opcodes *o, const struct page_opcodes *src,
		      const uint32_t *frames)
{
	uint32_t i, name;
	int err = 0;

	/* A name comes before its first row, even if the row does not fit. */
	for (i = 0; !err && i < src->names.cnt; i++)
		err = pairs_add(&o->names, src->names.list[i], &name);
	for (i = 0; !err && i < src->rows.cnt; i++) {
		struct page_opcode row = page_opcodes_get(src, i);

		err = pairs_add(&o->names, src->names.list[row.name], &name);
		if (!err)
			err = count_row(o, (struct pair){ frames[row.frame], name }, row.weight);
	}
	return err;
}

uint32_t page_opcodes_cnt(const struct page_opcodes *o)
{
	return o->rows.cnt;
}

struct page_opcode page_opcodes_get(const struct page_opcodes *o, uint32_t i)
{
	return (struct page_opcode){ o->rows.list[i].a, o->rows.list[i].b,
				     ((const uint64_t *)(const void *)o->weights.data)[i] };
}

void page_opcodes_json(struct json *j, const struct page_opcodes *o)
{
	char number[16];
	uint32_t i;

	if (!o->names.cnt)
		return;
	json_array(j, "opcodes");
	for (i = 0; i < o->names.cnt; i++) {
		uint32_t key = o->names.list[i].a;
		const char *name = opcode_name(key >> 16, key >> VERSION_SHIFT, key);

		snprintf(number, sizeof(number), "opcode %u", key & 0xff);
		json_string(j, NULL, name ? name : number);
	}
	json_array_end(j);
	if (o->left_out)
		json_uint(j, "opcodes_left_out", o->left_out);
}
