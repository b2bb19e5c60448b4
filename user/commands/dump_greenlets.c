// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dump_greenlets.c - greenlets in the output of `tachbpf dump`. See dump_show.h. */
#include "commands/dump_show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "look/look_greenlets.h"
#include "resolve/process.h"

/* Addresses that are shown of greenlets that are alike. */
#define ADDRESSES_SHOWN 3

/* ---- text ---- */

/* Whose rows qsort() has. */
static const struct look_greenlets *compared;

static int compare_frames(const struct greenlet_row *a, const struct greenlet_row *b)
{
	uint32_t n = a->frame_cnt < b->frame_cnt ? a->frame_cnt : b->frame_cnt, i, x, y;

	for (i = 0; i < n; i++) {
		x = compared->frames[a->frame_at + i];
		y = compared->frames[b->frame_at + i];
		if (x != y)
			return x < y ? -1 : 1;
	}
	return a->frame_cnt < b->frame_cnt ? -1 : a->frame_cnt > b->frame_cnt;
}

/* By thread, main ones and hubs first. 0: they are alike, and shown as one. */
static int compare_alike(const struct greenlet_row *a, const struct greenlet_row *b)
{
	const struct heap_greenlets *f = compared->found;
	int order;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->is_main != b->is_main || a->is_hub != b->is_hub)
		return a->is_main + a->is_hub > b->is_main + b->is_hub ? -1 : 1;
	if (a->state != b->state)
		return a->state > b->state ? -1 : 1;
	order = compare_frames(a, b);
	if (!order)
		order = strcmp(f->types[a->type], f->types[b->type]);
	if (!order && a->parent != b->parent)
		order = a->parent < b->parent ? -1 : 1;
	return order;
}

static int compare_rows(const void *a, const void *b)
{
	const struct greenlet_row *x = *(const struct greenlet_row *const *)a,
				  *y = *(const struct greenlet_row *const *)b;
	int order = compare_alike(x, y);

	return order ? order : x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void print_frames(const struct look_process *p, const struct greenlet_row *r)
{
	const struct profile_tables *tables = process_tables(p->process);
	uint32_t i;

	for (i = 0; i < r->frame_cnt; i++)
		dump_text_frame(tables, p->greenlets->frames[r->frame_at + i]);
}

/* Prints "3 of type Greenlet 0x7f..., 0x7f..., 0x7f...". */
static void print_names(const struct look_process *p, const struct greenlet_row *const *rows,
			size_t cnt)
{
	const char *type = p->greenlets->found->types[rows[0]->type];
	size_t i;

	if (cnt > 1)
		printf("%zu of type ", cnt);
	dump_text_escaped(type, strlen(type));
	for (i = 0; i < cnt && i < ADDRESSES_SHOWN; i++)
		printf("%s 0x%" PRIx64, i ? "," : "", rows[i]->addr);
	if (cnt > ADDRESSES_SHOWN)
		printf(", ...");
}

/* Prints greenlets that are alike. */
static void print_alike(const struct look_process *p, const struct greenlet_row *const *rows,
			size_t cnt)
{
	static const char *const states[GREENLET_STATE_CNT] = {
		[GREENLET_NEW] = "has not begun", [GREENLET_SUSPENDED] = "",
		[GREENLET_RUNNING] = "running: the stack of its thread", [GREENLET_ENDED] = "ended",
	};
	const struct greenlet_row *r = rows[0];
	bool incomplete = false;
	size_t i;

	for (i = 0; i < cnt; i++)
		incomplete |= rows[i]->incomplete;
	printf("\nGreenlet: ");
	print_names(p, rows, cnt);
	if (r->is_main)
		printf(" (main)");
	if (r->is_hub)
		printf(" (hub)");
	if (r->tid)
		printf(", thread %" PRIu32, r->tid);
	if (r->parent)
		printf(", parent 0x%" PRIx64, r->parent);
	if (*states[r->state])
		printf(", %s", states[r->state]);
	if (incomplete)
		printf(", moved meanwhile");
	printf("\n");
	print_frames(p, r);
}

/* Returns true if gevent's hub is on a stack. */
static bool runs_hub(const struct look_process *p)
{
	const struct profile_tables *tables = process_tables(p->process);
	const struct look_thread *t;
	uint32_t f;

	for (t = p->threads; t < p->threads + p->cnt; t++)
		for (f = 0; f < t->nframes; f++)
			if (ref_ends_with(tables->strings[tables->frames[t->frames[f]].file],
					  "/gevent/hub.py"))
				return true;
	return false;
}

void dump_greenlets_text(const struct look_process *p)
{
	const struct heap_greenlets *f = p->greenlets && !p->greenlets->err ?
						 p->greenlets->found : NULL;
	const struct greenlet_row **rows;
	uint32_t i, n;

	/* Whether a process that cannot be read has some is not known. */
	if (p->greenlets && p->greenlets->err && p->greenlets->err != -ENOENT && runs_hub(p))
		printf("\nGreenlets could not be read: %s.\n", strerror(-p->greenlets->err));
	if (!f || !f->cnt)
		return;
	rows = malloc(f->cnt * sizeof(*rows));
	if (!rows)
		return;
	for (i = 0; i < f->cnt; i++)
		rows[i] = &f->rows[i];
	compared = p->greenlets;
	qsort(rows, f->cnt, sizeof(*rows), compare_rows);
	printf("\n%" PRIu32 " %s%s\n", f->cnt, text_plural(f->cnt, "greenlet", "greenlets"),
	       f->gevent ? " (gevent)" : "");
	for (i = 0; i < f->cnt; i += n) {
		for (n = 1; i + n < f->cnt && !compare_alike(rows[i], rows[i + n]); n++)
			;
		print_alike(p, rows + i, n);
	}
	free(rows);
	if (f->cut)
		printf("\nThere may be more greenlets.\n");
}

/* ---- JSON ---- */

static void write_greenlet(struct json *j, const struct look_process *p,
			   const struct greenlet_row *r)
{
	static const char *const states[GREENLET_STATE_CNT] = {
		[GREENLET_NEW] = "new", [GREENLET_SUSPENDED] = "suspended",
		[GREENLET_RUNNING] = "running", [GREENLET_ENDED] = "ended",
	};
	const struct profile_tables *tables = process_tables(p->process);
	uint32_t i;

	json_object(j, NULL);
	json_uint(j, "id", r->addr);
	json_string(j, "type", p->greenlets->found->types[r->type]);
	json_uint_known(j, "tid", r->tid);
	json_uint_known(j, "parent", r->parent);
	json_bool(j, "main", r->is_main);
	json_bool(j, "hub", r->is_hub);
	json_string(j, "state", states[r->state]);
	json_bool(j, "moved", r->incomplete);
	json_array(j, "frames");
	for (i = 0; i < r->frame_cnt; i++) {
		const struct frame *f =
			&tables->frames[p->greenlets->frames[r->frame_at + i]];

		json_object(j, NULL);
		json_ref(j, "function", &tables->strings[f->func]);
		json_ref(j, "file", &tables->strings[f->file]);
		dump_json_line(j, "line", f->line);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void dump_greenlets_json(struct json *j, const struct look_process *p)
{
	const struct heap_greenlets *f = p->greenlets && !p->greenlets->err ?
						 p->greenlets->found : NULL;
	uint32_t i;

	if (!f) {
		json_null(j, "greenlets");
		json_bool(j, "greenlets_complete", false);
		return;
	}
	json_array(j, "greenlets");
	for (i = 0; i < f->cnt; i++)
		write_greenlet(j, p, &f->rows[i]);
	json_array_end(j);
	json_bool(j, "greenlets_complete", !f->cut);
}
