// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* native_rows.c - see native_rows.h. */
#include "resolve/native_rows.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "model/intern.h"
#include "native/native.h"
#include "resolve/budget.h"

/* Upper bounds of what a process adds. */
#ifndef NATIVE_ROWS_MAX
#define NATIVE_ROWS_MAX 200000
#endif
#define NAMES_BYTES_MAX (32u << 20)
#define NAME_BYTES 32			/* that each name takes in the tables */
#define FRAME_BYTES 64
/* Longer names of functions and files are cut, before \xNN take their place. */
#define TEXT_MAX 1024

void native_rows_init(struct native_rows *r, struct intern *in, uint32_t uid)
{
	*r = (struct native_rows){ .in = in, .budget = budget_join(uid) };
}

void native_rows_free(struct native_rows *r)
{
	if (r->budget)
		r->budget->names -= r->budget_names;
	budget_leave(r->budget);
	native_libraries_free(&r->libraries);
}

bool native_rows_have_room(const struct native_rows *r)
{
	return r->rows < NATIVE_ROWS_MAX && r->name_bytes < NAMES_BYTES_MAX &&
	       !budget_names_full(r->budget);
}

/* Count what was added to the tables since they had so many strings and frames. */
static void account(struct native_rows *r, uint32_t strings, uint32_t frames)
{
	const struct profile_tables *t = intern_tables(r->in);
	size_t names = 0, bytes;

	for (; strings < t->string_cnt; strings++)
		names += t->strings[strings].len + NAME_BYTES;
	bytes = names + (size_t)(t->frame_cnt - frames) * FRAME_BYTES;
	r->name_bytes += names;
	r->rows += t->frame_cnt - frames;
	if (r->budget) {
		r->budget->names += bytes;
		r->budget_names += bytes;
	}
}

/* Text of a file, for a name. */
static const char *shown(const char *s, char out[4 * TEXT_MAX + 1])
{
	return s ? escape_text(s, strnlen(s, TEXT_MAX), out, 4 * TEXT_MAX + 1) : NULL;
}

static int native_frame(struct intern *in, const char *library, const struct native_function *f,
			uint32_t *id)
{
	char names[3][4 * TEXT_MAX + 1];
	int32_t line = f->line && f->line <= INT32_MAX ? (int32_t)f->line : LINE_NONE;

	return intern_native(in, shown(library, names[0]), shown(f->source, names[1]),
			     shown(f->name, names[2]), line, id);
}

int native_rows_add(struct native_rows *r, const char *library,
		    const struct native_function *f, uint32_t *id)
{
	uint32_t strings = intern_tables(r->in)->string_cnt;
	uint32_t frames = intern_tables(r->in)->frame_cnt;
	int err = native_frame(r->in, library, f, id);

	account(r, strings, frames);
	return err;
}

int native_rows_library(struct native_rows *r, const char *library, uint32_t *id)
{
	const struct native_function f = { .name = library };

	if (native_rows_have_room(r))
		return native_rows_add(r, library, &f, id);
	return intern_synthetic(r->in, FRAME_NATIVE, "<native>", id);
}

int native_rows_note_file(struct native_rows *r, const struct native *native, uint32_t file)
{
	uint32_t strings = intern_tables(r->in)->string_cnt;
	int err = 0;

	if (native_rows_have_room(r))
		err = native_libraries_note(&r->libraries, native, file, r->in);
	account(r, strings, intern_tables(r->in)->frame_cnt);
	return err;
}

int native_rows_later(struct native_rows *r, uint32_t as, uint32_t *id)
{
	const struct profile_tables *t = intern_tables(r->in);
	uint32_t frames = t->frame_cnt;
	int err = intern_later(r->in, as, id);

	account(r, t->string_cnt, frames);
	return err;
}
