// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_names.c - see mlyze_names.h. The journal is read four times: once for what it has, then for
 * each section of the metadata. So nothing is kept but frames, which may change up to the end.
 */
#include "formats/mlyze/mlyze_names.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "formats/mlyze/mlyze_stream.h"

/* ---- records ---- */

struct record {
	char kind;
	uint32_t id;
	struct mlyze_frame frame;	/* 'R' */
};

/* What the records before it have. */
struct counts {
	uint32_t files, functions, frames, stacks;
};

/* A varint. false: the file ends, or it is none of at most 64 bits. */
static bool get_varint(FILE *f, uint64_t *v)
{
	uint8_t bytes[VARINT_MAX];
	size_t n = 0;
	int c;

	do {
		c = n < VARINT_MAX ? getc_unlocked(f) : EOF;
		if (c == EOF)
			return false;
		bytes[n++] = (uint8_t)c;
	} while (c & 0x80);
	return varint_get(bytes, bytes + n, v);
}

/* Read a number below limit. */
static bool get_below(FILE *f, uint64_t limit, uint32_t *v)
{
	uint64_t wide;

	if (!get_varint(f, &wide) || wide >= limit)
		return false;
	*v = (uint32_t)wide;
	return true;
}

/* These return 0; -EBADMSG: not whole, or without sense; -ENOMEM. */
static int get_name(struct mlyze_names *n, struct record *r, uint32_t *cnt)
{
	uint32_t len;

	if (*cnt == UINT32_MAX || !get_below(n->f, MLYZE_NAME_BYTES + 1, &len))
		return -EBADMSG;
	n->text.len = 0;
	if (buf_reserve(&n->text, len + 1))
		return -ENOMEM;
	if (len && fread_unlocked(n->text.data, 1, len, n->f) != len)
		return -EBADMSG;
	n->text.len = len;
	r->id = (*cnt)++;
	return 0;
}

static int get_frame(struct mlyze_names *n, struct record *r, struct counts *c)
{
	uint32_t line;

	if (!get_below(n->f, (uint64_t)c->frames + 1, &r->id) ||
	    !get_below(n->f, c->files, &r->frame.file) ||
	    !get_below(n->f, c->functions, &r->frame.func) ||
	    !get_below(n->f, (uint64_t)INT32_MAX + 1, &line) || c->frames == UINT32_MAX)
		return -EBADMSG;
	r->frame.line = line ? (int32_t)line : LINE_NONE;
	c->frames += r->id == c->frames;
	return 0;
}

static int get_stack(struct mlyze_names *n, struct record *r, struct counts *c)
{
	uint32_t depth, id;

	if (c->stacks == UINT32_MAX || !get_below(n->f, EVENT_MAX_FRAMES + 1, &depth))
		return -EBADMSG;
	n->text.len = 0;
	for (; depth; depth--) {
		if (!get_below(n->f, c->frames, &id))
			return -EBADMSG;
		if (buf_add(&n->text, &id, sizeof(id)))
			return -ENOMEM;
	}
	r->id = c->stacks++;
	return 0;
}

static int next_record(struct mlyze_names *n, struct record *r, struct counts *c)
{
	int kind = getc_unlocked(n->f);

	r->kind = (char)kind;
	switch (kind) {
	case 'F':
		return get_name(n, r, &c->files);
	case 'N':
		return get_name(n, r, &c->functions);
	case 'R':
		return get_frame(n, r, c);
	case 'S':
		return get_stack(n, r, c);
	default:
		return -EBADMSG;
	}
}

/* ---- all of it ---- */

static int read_head(struct mlyze_names *n)
{
	char magic[sizeof(MLYZE_NAMES_MAGIC) - 1];
	uint64_t start;

	rewind(n->f);
	if (fread(magic, sizeof(magic), 1, n->f) != 1 ||
	    memcmp(magic, MLYZE_NAMES_MAGIC, sizeof(magic)) ||
	    fread(&start, sizeof(start), 1, n->f) != 1)
		return -EBADMSG;
	n->start_us = le64toh(start);
	return 0;
}

static int keep_frame(struct mlyze_names *n, const struct record *r)
{
	size_t at = r->id * sizeof(r->frame);

	if (at == n->frames.len)
		return buf_add(&n->frames, &r->frame, sizeof(r->frame));
	memcpy(n->frames.data + at, &r->frame, sizeof(r->frame));
	return 0;
}

static bool is_end(const struct buf *text)
{
	struct mlyze_mark mark;

	mlyze_mark_parse((const char *)text->data, text->len, &mark);
	return mark.word == MARK_END;
}

int mlyze_names_read(struct mlyze_names *n, FILE *f)
{
	struct counts c = { 0 }, whole = { 0 };
	struct record r;
	int err;

	n->f = f;
	err = read_head(n);
	if (err)
		return ferror(f) ? -EIO : err;
	while (!err && !(err = next_record(n, &r, &c))) {
		if (r.kind == 'R')
			err = keep_frame(n, &r);
		if (r.kind == 'N')
			n->last_is_end = is_end(&n->text);
		n->records++;
		whole = c;
	}
	if (ferror(f))
		return -EIO;
	n->file_cnt = whole.files;
	n->function_cnt = whole.functions;
	n->stack_cnt = whole.stacks;
	return err == -EBADMSG ? 0 : err;
}

void mlyze_names_free(struct mlyze_names *n)
{
	buf_free(&n->frames);
	buf_free(&n->text);
}

/* ---- the metadata ---- */

static void write_stack(struct json *j, const char *key, const struct mlyze_names *n)
{
	const uint32_t *ids = (const uint32_t *)(const void *)n->text.data;
	const struct mlyze_frame *frames = (const void *)n->frames.data, *f;
	size_t i;

	json_array(j, key);
	for (i = 0; i < n->text.len / sizeof(*ids); i++) {
		f = &frames[ids[i]];
		json_object(j, NULL);
		json_uint(j, "file_id", f->file);
		json_int(j, "line", f->line > 0 ? f->line : 0);
		json_uint(j, "func_id", f->func);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Write a section: the records of one kind. */
static int write_section(struct mlyze_names *n, struct json *j, const char *key, char kind)
{
	struct counts c = { 0 };
	struct record r;
	uint64_t i;
	char id[16];
	int err = read_head(n);

	json_object(j, key);
	for (i = 0; !err && i < n->records; i++) {
		err = next_record(n, &r, &c);
		if (err || r.kind != kind)
			continue;
		snprintf(id, sizeof(id), "%u", r.id);
		if (kind == 'S')
			write_stack(j, id, n);
		else
			json_string_n(j, id, n->text.len ? (const char *)n->text.data : "",
				      n->text.len);
	}
	json_object_end(j);
	return err;
}

int mlyze_names_metadata(struct mlyze_names *n, FILE *out)
{
	struct json j;
	int err;

	json_start(&j, out, false);
	json_object(&j, NULL);
	err = write_section(n, &j, "stack_traces", 'S');
	if (!err)
		err = write_section(n, &j, "files", 'F');
	if (!err)
		err = write_section(n, &j, "functions", 'N');
	json_object_end(&j);
	return err;
}
