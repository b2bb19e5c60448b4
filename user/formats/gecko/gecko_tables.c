// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gecko_tables.c - the tables of a thread in the Firefox Profiler's format: stacks, frames,
 * functions and resources, each a set of columns. See gecko.h.
 *
 * Numbers are in the order in which the thread's stacks first use something, as in CPython 3.15's
 * Lib/profiling/sampling/gecko_collector.py.
 */
#include "formats/gecko/gecko.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/intern.h"
#include "model/native_frame.h"

#define CATEGORY_PYTHON 1
#define CATEGORY_NATIVE 2
#define CATEGORY_KERNEL 9
#define RESOURCE_LIBRARY 1

static bool is_python(struct string_ref file)
{
	static const char *const also[] = { "<stdin>", "<string>" };
	size_t i;

	if (!file.len || file.data[0] != '<')
		return true;
	for (i = 0; i < ARRAY_SIZE(also); i++) {
		if (file.len == strlen(also[i]) && !memcmp(file.data, also[i], file.len))
			return true;
	}
	return false;
}

static int number_of(struct intern *in, uint32_t value, uint32_t *number)
{
	return intern_string(in, (const char *)&value, sizeof(value), number);
}

static uint32_t value_of(struct intern *in, uint32_t number)
{
	uint32_t value;

	memcpy(&value, intern_tables(in)->strings[number].data, sizeof(value));
	return value;
}

/* A new function's line: its first line or, if that is unknown, that of its first label. */
static int add_func_line(struct gecko_tables *x, uint32_t label)
{
	int32_t line = (int32_t)stacks_first_line(x->g->stacks, label);

	if (!line)
		line = x->t->frames[label].line;
	return buf_add(&x->func_lines, &line, sizeof(line));
}

/* Collects a thread's frames, functions and files, in the order in which its stacks use them. */
static int fill_tables(struct gecko_tables *x)
{
	uint32_t i, number, known, cnt = x->th->nodes.cnt;
	int err = 0;

	for (i = 0; !err && i < cnt; i++) {
		uint32_t label = x->th->nodes.list[i].a;
		const struct frame *f = &x->t->frames[label];
		struct frame func = { .file = f->file, .func = f->func, .kind = f->kind };

		err = number_of(x->frames, label, &number);
		known = intern_tables(x->funcs)->frame_cnt;
		if (!err)
			err = intern_frame(x->funcs, &func, &number);
		if (!err && number == known)
			err = add_func_line(x, label);
		if (!err)
			err = number_of(x->resources, f->file, &number);
	}
	return err;
}

/* The first key of an object has no comma before it. */
void gecko_put_key(struct writer *w, const char *key)
{
	bool first = w->len && w->data[w->len - 1] == '{';

	writer_text(w, first ? "\"" : ",\"");
	writer_text(w, key);
	writer_text(w, "\":");
}

/* Writes a column of cnt equal values. */
void gecko_put_same(struct writer *w, const char *key, const char *value, uint64_t cnt)
{
	uint64_t i;

	gecko_put_key(w, key);
	writer_char(w, '[');
	for (i = 0; i < cnt; i++) {
		if (i)
			writer_char(w, ',');
		writer_text(w, value);
	}
	writer_char(w, ']');
}

/* Writes a column; put() writes the i-th value. */
static int put_column(struct gecko_tables *x, const char *key, uint32_t cnt,
		      int (*put)(struct gecko_tables *x, uint32_t i))
{
	uint32_t i;
	int err = 0;

	gecko_put_key(x->w, key);
	writer_char(x->w, '[');
	for (i = 0; !err && i < cnt; i++) {
		if (i)
			writer_char(x->w, ',');
		err = put(x, i);
	}
	writer_char(x->w, ']');
	return err;
}

void gecko_put_length(struct writer *w, uint64_t cnt)
{
	gecko_put_key(w, "length");
	writer_uint(w, cnt);
	writer_char(w, '}');
}

int gecko_put_string(struct gecko_tables *x, struct string_ref s)
{
	uint32_t id;
	int err = intern_string(x->strings, s.data, s.len, &id);

	writer_uint(x->w, id);
	return err;
}

static const struct frame *node_frame(struct gecko_tables *x, uint32_t i)
{
	return &x->t->frames[x->th->nodes.list[i].a];
}

/* By the file of the code, as in CPython, except for what only we have. */
static int category_of(const struct gecko_tables *x, const struct frame *f)
{
	if (f->kind == FRAME_KERNEL)
		return CATEGORY_KERNEL;
	if (native_index_of(&x->libraries, f))
		return CATEGORY_NATIVE;
	return is_python(x->t->strings[f->file]) ? CATEGORY_PYTHON : CATEGORY_NATIVE;
}

static int stack_frame(struct gecko_tables *x, uint32_t i)
{
	uint32_t number;
	int err = number_of(x->frames, x->th->nodes.list[i].a, &number);

	writer_uint(x->w, number);
	return err;
}

static int stack_category(struct gecko_tables *x, uint32_t i)
{
	writer_int(x->w, category_of(x, node_frame(x, i)));
	return 0;
}

static int stack_prefix(struct gecko_tables *x, uint32_t i)
{
	uint32_t prefix1 = x->th->nodes.list[i].b;

	if (prefix1)
		writer_uint(x->w, prefix1 - 1);
	else
		writer_text(x->w, "null");
	return 0;
}

static int put_stack_table(struct gecko_tables *x)
{
	uint32_t cnt = x->th->nodes.cnt;
	int err;

	writer_text(x->w, ",\"stackTable\":{");
	err = put_column(x, "frame", cnt, stack_frame);
	if (!err)
		err = put_column(x, "category", cnt, stack_category);
	gecko_put_same(x->w, "subcategory", "0", cnt);
	if (!err)
		err = put_column(x, "prefix", cnt, stack_prefix);
	gecko_put_length(x->w, cnt);
	return err;
}

static const struct frame *frame_at(struct gecko_tables *x, uint32_t i)
{
	return &x->t->frames[value_of(x->frames, i)];
}

static int frame_category(struct gecko_tables *x, uint32_t i)
{
	writer_int(x->w, category_of(x, frame_at(x, i)));
	return 0;
}

static int frame_func(struct gecko_tables *x, uint32_t i)
{
	const struct frame *f = frame_at(x, i);
	struct frame func = { .file = f->file, .func = f->func, .kind = f->kind };
	uint32_t number;
	int err = intern_frame(x->funcs, &func, &number);

	writer_uint(x->w, number);
	return err;
}

static void put_or_null(struct writer *w, bool known, int64_t v)
{
	if (known)
		writer_int(w, v);
	else
		writer_text(w, "null");
}

static int frame_line(struct gecko_tables *x, uint32_t i)
{
	put_or_null(x->w, frame_at(x, i)->line, frame_at(x, i)->line);
	return 0;
}

static int frame_column(struct gecko_tables *x, uint32_t i)
{
	put_or_null(x->w, frame_at(x, i)->column != COLUMN_NONE, frame_at(x, i)->column);
	return 0;
}

static int put_frame_table(struct gecko_tables *x)
{
	static const char *const nulls[] = { "innerWindowID", "implementation", "optimizations",
					     "nativeSymbol" };
	uint32_t i, cnt = intern_tables(x->frames)->string_cnt;
	int err;

	writer_text(x->w, ",\"frameTable\":{");
	gecko_put_same(x->w, "address", "-1", cnt);
	gecko_put_same(x->w, "inlineDepth", "0", cnt);
	gecko_put_same(x->w, "subcategory", "0", cnt);
	for (i = 0; i < ARRAY_SIZE(nulls); i++)
		gecko_put_same(x->w, nulls[i], "null", cnt);
	err = put_column(x, "category", cnt, frame_category);
	if (!err)
		err = put_column(x, "func", cnt, frame_func);
	if (!err)
		err = put_column(x, "line", cnt, frame_line);
	if (!err)
		err = put_column(x, "column", cnt, frame_column);
	gecko_put_length(x->w, cnt);
	return err;
}

static const struct frame *func_at(struct gecko_tables *x, uint32_t i)
{
	return &intern_tables(x->funcs)->frames[i];
}

static bool func_is_python(struct gecko_tables *x, uint32_t i)
{
	return !native_index_of(&x->libraries, func_at(x, i)) &&
	       func_at(x, i)->kind != FRAME_KERNEL &&
	       is_python(x->t->strings[func_at(x, i)->file]);
}

static int func_name(struct gecko_tables *x, uint32_t i)
{
	return gecko_put_string(x, x->t->strings[func_at(x, i)->func]);
}

static int func_js(struct gecko_tables *x, uint32_t i)
{
	writer_text(x->w, func_is_python(x, i) ? "true" : "false");
	return 0;
}

static int func_resource(struct gecko_tables *x, uint32_t i)
{
	uint32_t number;
	int err = number_of(x->resources, func_at(x, i)->file, &number);

	writer_uint(x->w, number);
	return err;
}

static int func_file(struct gecko_tables *x, uint32_t i)
{
	struct string_ref source = native_source(&x->t->strings[func_at(x, i)->file]);

	if (source.len && native_index_of(&x->libraries, func_at(x, i)))
		return gecko_put_string(x, source);
	if (func_is_python(x, i))
		return gecko_put_string(x, path_base(x->t->strings[func_at(x, i)->file]));
	writer_text(x->w, "null");
	return 0;
}

static int func_line(struct gecko_tables *x, uint32_t i)
{
	const struct frame *f = func_at(x, i);
	int32_t line = ((int32_t *)(void *)x->func_lines.data)[i];

	put_or_null(x->w, native_index_of(&x->libraries, f) ? line > 0 :
		    func_is_python(x, i) && f->kind == FRAME_PYTHON, line);
	return 0;
}

static int put_func_table(struct gecko_tables *x)
{
	uint32_t cnt = intern_tables(x->funcs)->frame_cnt;
	int err;

	writer_text(x->w, ",\"funcTable\":{");
	err = put_column(x, "name", cnt, func_name);
	if (!err)
		err = put_column(x, "isJS", cnt, func_js);
	if (!err)
		err = put_column(x, "relevantForJS", cnt, func_js);
	if (!err)
		err = put_column(x, "resource", cnt, func_resource);
	if (!err)
		err = put_column(x, "fileName", cnt, func_file);
	if (!err)
		err = put_column(x, "lineNumber", cnt, func_line);
	gecko_put_same(x->w, "columnNumber", "null", cnt);
	gecko_put_length(x->w, cnt);
	return err;
}

static uint32_t resource_library(const struct gecko_tables *x, uint32_t i)
{
	return x->libraries.of_file[value_of(x->resources, i)];
}

static int resource_name(struct gecko_tables *x, uint32_t i)
{
	uint32_t library = resource_library(x, i);

	if (library)
		return gecko_put_string(x, x->libraries.list[library - 1].name);
	return gecko_put_string(x, path_base(x->t->strings[value_of(x->resources, i)]));
}

static int resource_lib(struct gecko_tables *x, uint32_t i)
{
	uint32_t library = resource_library(x, i);

	put_or_null(x->w, library, (int64_t)library - 1);
	return 0;
}

static int put_resource_table(struct gecko_tables *x)
{
	uint32_t cnt = intern_tables(x->resources)->string_cnt;
	char type[4];
	int err;

	snprintf(type, sizeof(type), "%d", RESOURCE_LIBRARY);
	writer_text(x->w, ",\"resourceTable\":{");
	err = put_column(x, "lib", cnt, resource_lib);
	if (!err)
		err = put_column(x, "name", cnt, resource_name);
	gecko_put_same(x->w, "host", "null", cnt);
	gecko_put_same(x->w, "type", type, cnt);
	gecko_put_length(x->w, cnt);
	writer_text(x->w, ",\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
			  "\"functionSize\":[],\"length\":0}");
	return err;
}

int gecko_tables_start(struct gecko_tables *x)
{
	x->frames = intern_new();
	x->funcs = intern_new();
	x->resources = intern_new();
	x->func_lines.len = 0;
	return x->frames && x->funcs && x->resources ? fill_tables(x) : -ENOMEM;
}

void gecko_tables_end(struct gecko_tables *x)
{
	intern_free(x->frames);
	intern_free(x->funcs);
	intern_free(x->resources);
	buf_free(&x->func_lines);
}

int gecko_put_tables(struct gecko_tables *x)
{
	static int (*const parts[])(struct gecko_tables *) = {
		put_stack_table, put_frame_table, put_func_table, put_resource_table,
	};
	size_t i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(parts); i++)
		err = parts[i](x);
	return err;
}
