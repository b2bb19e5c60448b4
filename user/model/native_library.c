// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * native_library.c - libraries among the strings of a profile. See native_library.h. The strings
 * may come from a target: one that looks like a library but is the name of a frame is none.
 */
#include "model/native_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "model/native_frame.h"

#define PREFIX "tachbpf: library: "

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes the build id [p, end), "-" for none. */
static bool take_build_id(const char *p, const char *end, struct native_library *out)
{
	size_t digits = (size_t)(end - p);

	out->build_id_bytes = 0;
	if (digits == 1 && *p == '-')
		return true;
	if (!digits || digits % 2 || digits > 2 * NATIVE_BUILD_ID_MAX)
		return false;
	for (; p < end; p += 2) {
		int high = digit_of(p[0]), low = digit_of(p[1]);

		if (high < 0 || low < 0)
			return false;
		out->build_id[out->build_id_bytes++] = (uint8_t)(high << 4 | low);
	}
	return true;
}

bool native_library_parse(const struct string_ref *s, struct native_library *out)
{
	const char *p, *end, *space;
	struct string_ref file;

	if (s->len <= strlen(PREFIX) || memcmp(s->data, PREFIX, strlen(PREFIX)))
		return false;
	p = s->data + strlen(PREFIX);
	end = s->data + s->len;
	space = memchr(p, ']', (size_t)(end - p));
	if (!space)
		return false;
	file = (struct string_ref){ p, (uint32_t)(space + 1 - p) };
	out->name = native_library(&file);
	p = space + 2;
	if (!out->name.len || p >= end || space[1] != ' ')
		return false;
	space = memchr(p, ' ', (size_t)(end - p));
	if (!space || !take_build_id(p, space, out))
		return false;
	out->path = (struct string_ref){ space + 1, (uint32_t)(end - space - 1) };
	return true;
}

char *native_build_id_text(const struct native_library *l, char out[NATIVE_BUILD_ID_TEXT])
{
	uint32_t i;

	out[0] = '\0';
	for (i = 0; i < l->build_id_bytes && i < NATIVE_BUILD_ID_MAX; i++)
		snprintf(out + 2 * i, 3, "%02x", l->build_id[i]);
	return out;
}

char *native_library_text(const struct native_library *l, char *out, size_t size)
{
	char hex[NATIVE_BUILD_ID_TEXT];

	native_build_id_text(l, hex);
	snprintf(out, size, PREFIX "[%.*s] %s %.*s", (int)l->name.len, l->name.data,
		 *hex ? hex : "-", (int)l->path.len, l->path.data ? l->path.data : "");
	return out;
}

int native_library_add(struct intern *in, const char *library, const char *path,
		       const uint8_t *build_id, uint32_t build_id_bytes)
{
	char file[NATIVE_FILE_BYTES], text[2 * NATIVE_FILE_BYTES];
	struct native_library l = { .path = string_of(path ? path : "") };

	native_file_name(library, NULL, file);
	l.name = (struct string_ref){ file + 1, (uint32_t)strlen(file) - 2 };
	if (l.path.len >= NATIVE_FILE_BYTES)
		l.path.len = NATIVE_FILE_BYTES - 1;
	if (build_id_bytes && build_id_bytes <= NATIVE_BUILD_ID_MAX) {
		l.build_id_bytes = build_id_bytes;
		memcpy(l.build_id, build_id, build_id_bytes);
	}
	native_library_text(&l, text, sizeof(text));
	return intern_library(in, text, strlen(text));
}

static void mark_name(uint8_t *bits, const struct profile_tables *t, uint32_t string)
{
	if (string < t->string_cnt)
		bits[string / 8] |= (uint8_t)(1 << string % 8);
}

/* Returns a bit for each string: set if it is the name of a frame. NULL: no memory. */
static uint8_t *names_of_frames(const struct profile_tables *t)
{
	uint8_t *bits = calloc(1, (size_t)t->string_cnt / 8 + 1);
	uint32_t i;

	for (i = 0; bits && i < t->frame_cnt; i++) {
		mark_name(bits, t, t->frames[i].file);
		mark_name(bits, t, t->frames[i].func);
	}
	return bits;
}

int native_libraries_find(const struct profile_tables *t, struct buf *ids)
{
	uint8_t *named = NULL;
	struct native_library l;
	uint32_t i, cnt = 0;
	int err = 0;

	for (i = 0; !err && i < t->string_cnt && cnt < NATIVE_LIBRARIES_MAX; i++) {
		if (!native_library_parse(&t->strings[i], &l))
			continue;
		if (!named)
			named = names_of_frames(t);
		if (!named)
			return -ENOMEM;
		if (named[i / 8] >> i % 8 & 1)
			continue;
		cnt++;
		err = buf_add(ids, &i, sizeof(i));
	}
	free(named);
	return err;
}

int native_libraries_copy(const struct profile_tables *from, struct intern *into)
{
	const struct string_ref *s;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < from->library_cnt; i++) {
		s = &from->strings[from->libraries[i]];
		err = intern_library(into, s->data, s->len);
	}
	return err;
}

static struct native_library *entry_of(struct native_library *list, int cnt,
				       const struct string_ref *name)
{
	int i;

	for (i = 0; i < cnt; i++)
		if (list[i].name.len == name->len &&
		    !memcmp(list[i].name.data, name->data, name->len))
			return &list[i];
	return NULL;
}

/* While a list is made: the profile has different libraries of this name. */
#define SEVERAL UINT32_MAX

static void merge_library(struct native_library *l, const struct native_library *more)
{
	if (!l->path.len)
		l->path = more->path;
	if (l->build_id_bytes == SEVERAL || !more->build_id_bytes)
		return;
	if (!l->build_id_bytes) {
		l->build_id_bytes = more->build_id_bytes;
		memcpy(l->build_id, more->build_id, sizeof(l->build_id));
	} else if (l->build_id_bytes != more->build_id_bytes ||
		   memcmp(l->build_id, more->build_id, l->build_id_bytes)) {
		l->build_id_bytes = SEVERAL;
	}
}

static int fill_list(const struct profile_tables *t, struct native_library *list)
{
	struct native_library l, *known;
	uint32_t i;
	int cnt = 0, k;

	for (i = 0; i < t->library_cnt; i++) {
		if (!native_library_parse(&t->strings[t->libraries[i]], &l))
			continue;
		known = entry_of(list, cnt, &l.name);
		if (known)
			merge_library(known, &l);
		else
			list[cnt++] = l;
	}
	for (k = 0; k < cnt; k++)
		if (list[k].build_id_bytes == SEVERAL)
			list[k].build_id_bytes = 0;
	return cnt;
}

int native_libraries(const struct profile_tables *tables, struct native_library **list)
{
	*list = NULL;
	if (!tables->library_cnt)
		return 0;
	*list = calloc(tables->library_cnt, sizeof(**list));
	return *list ? fill_list(tables, *list) : -ENOMEM;
}

/* State while an index is made. */
struct maker {
	struct native_index *x;
	struct intern *names;	/* the ids are indices in x->list */
	struct native_library *known;
	int known_cnt;
};

/* Sets the library of a file; adds an entry for a new library. Returns 0 or -ENOMEM. */
static int set_library(struct maker *m, uint32_t file, const struct string_ref *name)
{
	const struct native_library *record;
	uint32_t id;

	if (intern_string(m->names, name->data, name->len, &id))
		return -ENOMEM;
	if (id == m->x->cnt) {
		record = entry_of(m->known, m->known_cnt, name);
		m->x->list[m->x->cnt++] =
			record ? *record : (struct native_library){ .name = *name };
	}
	m->x->of_file[file] = id + 1;
	return 0;
}

/* Returns true for the frame of a library whose file has no number yet. */
static bool is_new(const struct native_index *x, const struct profile_tables *t,
		   const struct frame *f)
{
	return f->kind == FRAME_NATIVE && f->file < t->string_cnt && !x->of_file[f->file] &&
	       native_library(&t->strings[f->file]).len;
}

static int fill_index(struct maker *m, const struct profile_tables *t)
{
	struct string_ref name;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < t->frame_cnt; i++) {
		if (!is_new(m->x, t, &t->frames[i]))
			continue;
		name = native_library(&t->strings[t->frames[i].file]);
		err = set_library(m, t->frames[i].file, &name);
	}
	return err;
}

int native_index_make(struct native_index *x, const struct profile_tables *tables)
{
	struct maker m = { .x = x, .names = intern_new() };
	uint32_t i, files = 0;
	int err = -ENOMEM;

	*x = (struct native_index){ 0 };
	m.known_cnt = native_libraries(tables, &m.known);
	x->of_file = calloc((size_t)tables->string_cnt + 1, sizeof(*x->of_file));
	for (i = 0; x->of_file && i < tables->frame_cnt; i++)
		files += is_new(x, tables, &tables->frames[i]);
	x->list = calloc((size_t)files + 1, sizeof(*x->list));
	if (m.names && m.known_cnt >= 0 && x->of_file && x->list)
		err = fill_index(&m, tables);
	free(m.known);
	intern_free(m.names);
	if (err)
		native_index_free(x);
	return err;
}

void native_index_free(struct native_index *x)
{
	free(x->list);
	free(x->of_file);
	*x = (struct native_index){ 0 };
}
