// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* fold.c - converts frames to words of folded stacks. See fold.h. */
#include "formats/fold.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/native_frame.h"

int fold_add(struct buf *b, struct string_ref s)
{
	/* escape_text() makes at most four bytes of each byte, and adds a NUL. */
	size_t room = (size_t)s.len * 4 + 1;
	char *p;

	if (buf_reserve(b, room))
		return -ENOMEM;
	p = escape_text(s.data, s.len, (char *)b->data + b->len, room);
	b->len += strlen(p);
	for (; (p = strchr(p, ';')); p++)
		*p = ':';
	return 0;
}

/* "f ([libfoo.so.1])", "f ([libfoo.so.1] foo.c:3)": as py-spy's, with brackets. */
static int add_native(struct buf *b, const struct profile_tables *t, const struct frame *f,
		      bool lines)
{
	struct string_ref file = t->strings[f->file], source = native_source(&file);
	char line[16];
	int err = fold_add(b, t->strings[f->func]);

	if (!err)
		err = buf_add(b, " (", 2);
	file.len = native_library(&file).len + 2;
	if (!err)
		err = fold_add(b, file);
	if (!err && source.len && lines && f->line > 0) {
		err = buf_add(b, " ", 1);
		if (!err)
			err = fold_add(b, path_base(source));
		if (!err)
			err = buf_add(b, line, snprintf(line, sizeof(line), ":%d", f->line));
	}
	return err ? err : buf_add(b, ")", 1);
}

static int add_word(struct buf *b, const struct profile_tables *t, const struct frame *f,
		    bool lines)
{
	char line[16];
	int err;

	if (!frame_has_file(f->kind, &t->strings[f->file]))
		return fold_add(b, t->strings[f->func]);
	if (f->kind == FRAME_NATIVE)
		return add_native(b, t, f, lines);
	err = fold_add(b, path_base(t->strings[f->file]));
	if (!err)
		err = buf_add(b, ":", 1);
	if (!err)
		err = fold_add(b, t->strings[f->func]);
	if (!err && lines)
		err = buf_add(b, line, snprintf(line, sizeof(line), ":%d", f->line));
	return err;
}

int fold_init(struct fold *f, const struct stacks *s, enum stack_detail detail)
{
	const struct profile_tables *t = stacks_tables(s);
	uint32_t i;
	int err = 0;

	memset(f, 0, sizeof(*f));
	for (i = 0; !err && i < t->frame_cnt; i++) {
		err = add_word(&f->text, t, &t->frames[i], detail >= DETAIL_LINE);
		if (!err)
			err = buf_add(&f->ends, &f->text.len, sizeof(f->text.len));
	}
	return err;
}

void fold_free(struct fold *f)
{
	buf_free(&f->text);
	buf_free(&f->ends);
}
