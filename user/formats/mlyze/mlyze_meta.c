// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * mlyze_meta.c - reads files, functions and stacks from a .mlyze file's JSON.
 *
 * The three may come in any order. So the text is first searched for them, and stacks are read
 * last, when what they refer to is known. If one is missing, it is empty, and nothing can refer to
 * it. The JSON is not made a tree.
 */
#include "formats/mlyze/mlyze_meta.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_pull.h"
#include "base/util.h"
#include "model/frame_names.h"
#include "model/intern.h"

enum section { STACKS, FILES, FUNCTIONS, SECTION_CNT };

static const char *const section_names[SECTION_CNT] = {
	[STACKS] = "stack_traces",
	[FILES] = "files",
	[FUNCTIONS] = "functions",
};

struct parser {
	struct mlyze_meta *meta;
	struct mlyze_error *error;
	struct json_pull sections[SECTION_CNT];
	bool has[SECTION_CNT];
	struct buf key, text;
};

__attribute__((format(printf, 4, 5)))
static int bad_meta(struct mlyze_error *error, enum mlyze_rule rule, uint64_t off,
		    const char *fmt, ...)
{
	va_list ap;

	error->rule = rule;
	error->off = off;
	va_start(ap, fmt);
	vsnprintf(error->text, sizeof(error->text), fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

static int no_memory(struct mlyze_error *error)
{
	error->rule = MLYZE_VALID;
	snprintf(error->text, sizeof(error->text), "out of memory");
	return -ENOMEM;
}

static int bad_json(const struct parser *p, const struct json_pull *j)
{
	if (!strcmp(j->err, "out of memory"))
		return no_memory(p->error);
	return bad_meta(p->error, MLYZE_RULE_METADATA, json_pull_offset(j),
			"expected %s in the metadata", j->err);
}

static int find_sections(struct parser *p, struct json_pull *j)
{
	bool ok = json_pull_enter(j, JT_OBJECT);
	int i;

	while (ok && json_pull_key(j, &p->key)) {
		for (i = 0; i < SECTION_CNT; i++) {
			if (!json_key_is(&p->key, section_names[i]))
				continue;
			if (p->has[i]) {
				json_pull_fail(j, "each of its sections once");
				return bad_json(p, j);
			}
			p->has[i] = true;
			p->sections[i] = *j;
		}
		ok = json_pull_skip(j);
	}
	return ok && json_pull_finish(j) ? 0 : bad_json(p, j);
}

/* Converts a key to an id. */
static bool key_id(struct parser *p, struct json_pull *j, uint64_t *id)
{
	if (p->key.len && parse_decimal((const char *)p->key.data, p->key.len, id))
		return true;
	return json_pull_fail(j, "a key that is a decimal number of at most 64 bits before this");
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Every entry begins with its id. */
static int compare_ids(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return COMPARE(x, y);
}

static int sort_ids(struct parser *p, struct buf *b, size_t bytes, enum section section)
{
	size_t i, cnt = b->len / bytes;

	if (cnt)
		qsort(b->data, cnt, bytes, compare_ids);
	for (i = 1; i < cnt; i++) {
		if (!compare_ids(b->data + (i - 1) * bytes, b->data + i * bytes))
			return bad_meta(p->error, MLYZE_RULE_METADATA,
					json_pull_offset(&p->sections[section]),
					"expected each key of %s once in the metadata",
					section_names[section]);
	}
	return 0;
}

/* Parses {"0": "name", ...}. */
static int parse_names(struct parser *p, enum section section, struct buf *names)
{
	struct json_pull j = p->sections[section];
	struct mlyze_name name = { 0 };
	bool ok;

	if (!p->has[section])
		return 0;
	ok = json_pull_enter(&j, JT_OBJECT);
	while (ok && json_pull_key(&j, &p->key)) {
		ok = key_id(p, &j, &name.id) && json_pull_string(&j, &p->text);
		if (ok && (intern_string(p->meta->names,
					 p->text.len ? (const char *)p->text.data : "", p->text.len,
					 &name.string) ||
			   buf_add(names, &name, sizeof(name))))
			return no_memory(p->error);
	}
	return j.err ? bad_json(p, &j) : sort_ids(p, names, sizeof(name), section);
}

/* Finds the file or function of a frame by its id. */
static int resolve_id(const struct parser *p, const struct buf *names, const char *what,
		      uint64_t id, size_t off, uint32_t *string)
{
	const struct mlyze_name *name = mlyze_meta_name(names, id);

	if (!name)
		return bad_meta(p->error, MLYZE_RULE_REFERENCE, off,
				"%s %llu is not in the metadata", what, (unsigned long long)id);
	*string = name->string;
	return 0;
}

/* Reads a line: any number; a value that cannot be a line becomes LINE_NONE. */
static bool read_line(struct json_pull *j, int32_t *line)
{
	const char *s;
	uint64_t v;
	size_t len;

	if (!json_pull_number(j, &s, &len))
		return false;
	*line = parse_decimal(s, len, &v) && v && v <= INT32_MAX ? (int32_t)v : LINE_NONE;
	return true;
}

/* Parses {"file_id": 0, "line": 42, "func_id": 0}. */
static int parse_frame(struct parser *p, struct json_pull *j)
{
	bool has_file = false, has_func = false, ok = json_pull_enter(j, JT_OBJECT);
	size_t off = json_pull_offset(j);
	uint64_t file = 0, func = 0;
	const struct profile_tables *names = intern_tables(p->meta->names);
	struct frame f = { .line = LINE_NONE, .column = COLUMN_NONE, .end_column = COLUMN_NONE,
			   .opcode = OPCODE_NONE };
	uint32_t id;
	int err;

	while (ok && json_pull_key(j, &p->key)) {
		if (json_key_is(&p->key, "file_id"))
			ok = has_file = json_pull_uint(j, &file);
		else if (json_key_is(&p->key, "func_id"))
			ok = has_func = json_pull_uint(j, &func);
		else if (json_key_is(&p->key, "line"))
			ok = read_line(j, &f.line);
		else
			ok = json_pull_skip(j);
	}
	if (!j->err && !(has_file && has_func))
		json_pull_fail(j, "a frame with file_id and func_id before this");
	if (j->err)
		return bad_json(p, j);
	f.end_line = f.line;
	err = resolve_id(p, &p->meta->files, "file", file, off, &f.file);
	if (!err)
		err = resolve_id(p, &p->meta->functions, "function", func, off, &f.func);
	if (!err)
		f.kind = frame_kind_of_names(&names->strings[f.file], &names->strings[f.func],
					     f.line);
	if (!err && (intern_frame(p->meta->names, &f, &id) ||
		     buf_add(&p->meta->frames, &id, sizeof(id))))
		err = no_memory(p->error);
	return err;
}

static void reverse_ids(uint32_t *ids, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt / 2; i++) {
		uint32_t swap = ids[i];

		ids[i] = ids[cnt - 1 - i];
		ids[cnt - 1 - i] = swap;
	}
}

static int parse_stack(struct parser *p, struct json_pull *j, struct mlyze_stack_entry *stack)
{
	struct buf *frames = &p->meta->frames;
	bool ok = json_pull_enter(j, JT_ARRAY);
	int err = 0;

	stack->first = frames->len / sizeof(uint32_t);
	while (ok && !err && json_pull_element(j))
		err = parse_frame(p, j);
	if (err)
		return err;
	if (j->err)
		return bad_json(p, j);
	stack->cnt = frames->len / sizeof(uint32_t) - stack->first;
	if (stack->cnt > EVENT_MAX_FRAMES && !p->meta->deep_cnt++ &&
	    intern_synthetic(p->meta->names, FRAME_SYNTHETIC, "<truncated>", &p->meta->truncated))
		return no_memory(p->error);
	if (stack->cnt)
		reverse_ids((uint32_t *)(void *)frames->data + stack->first, stack->cnt);
	return 0;
}

/* Parses {"0": [frame, ...], ...}. */
static int parse_stacks(struct parser *p)
{
	struct json_pull j = p->sections[STACKS];
	struct mlyze_stack_entry stack;
	bool ok;
	int err;

	if (!p->has[STACKS])
		return 0;
	ok = json_pull_enter(&j, JT_OBJECT);
	while (ok && json_pull_key(&j, &p->key)) {
		ok = key_id(p, &j, &stack.id);
		if (!ok)
			break;
		err = parse_stack(p, &j, &stack);
		if (err)
			return err;
		if (buf_add(&p->meta->stacks, &stack, sizeof(stack)))
			return no_memory(p->error);
	}
	if (j.err)
		return bad_json(p, &j);
	if (p->meta->stacks.len / sizeof(stack) > UINT32_MAX)
		return no_memory(p->error);
	return sort_ids(p, &p->meta->stacks, sizeof(stack), STACKS);
}

int mlyze_meta_parse(struct mlyze_meta *m, const char *json, size_t len, uint64_t off,
		     struct mlyze_error *error)
{
	struct parser p = { .meta = m, .error = error };
	struct json_pull j;
	int err;

	m->names = intern_new();
	if (!m->names)
		return no_memory(error);
	json_pull_start(&j, json, len, off);
	err = find_sections(&p, &j);
	if (!err)
		err = parse_names(&p, FILES, &m->files);
	if (!err)
		err = parse_names(&p, FUNCTIONS, &m->functions);
	if (!err)
		err = parse_stacks(&p);
	buf_free(&p.key);
	buf_free(&p.text);
	return err;
}

void mlyze_meta_free(struct mlyze_meta *m)
{
	intern_free(m->names);
	buf_free(&m->files);
	buf_free(&m->functions);
	buf_free(&m->stacks);
	buf_free(&m->frames);
}

/* Ids are mostly 0, 1, 2, ...: then they are the indices. */
static const void *find_entry(const struct buf *b, size_t bytes, uint64_t id)
{
	size_t cnt = b->len / bytes;

	if (id < cnt && !compare_ids(&id, b->data + id * bytes))
		return b->data + id * bytes;
	return cnt ? bsearch(&id, b->data, cnt, bytes, compare_ids) : NULL;
}

const struct mlyze_name *mlyze_meta_name(const struct buf *names, uint64_t id)
{
	return find_entry(names, sizeof(struct mlyze_name), id);
}

bool mlyze_meta_stack(const struct mlyze_meta *m, uint64_t id, uint32_t *index)
{
	const struct mlyze_stack_entry *all = (const void *)m->stacks.data;
	const struct mlyze_stack_entry *found = find_entry(&m->stacks, sizeof(*found), id);

	if (found)
		*index = (uint32_t)(found - all);
	return found;
}
