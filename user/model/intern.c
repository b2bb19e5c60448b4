// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * intern.c - gives dense ids to the strings and frames of one profile. See intern.h.
 *
 * Owns the bytes of the strings (an arena that never moves them), the arrays that profile_tables
 * points to, and a hash index of each. Knows nothing of the source or use of names. There may be
 * hundreds of these at once, one per process: everything starts small.
 */
#include "model/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_index.h"
#include "base/hash_secret.h"
#include "model/native_frame.h"

/* Arena chunks double from the first to the second size, in bytes. */
#define CHUNK_MIN 512
#define CHUNK_MAX (256 * 1024)

struct chunk {
	struct chunk *next;
	size_t len, cap;
	char data[];
};

struct intern {
	uint64_t seed;
	struct profile_tables tables;
	struct frame *frames;
	struct string_ref *strings;
	uint32_t *libraries;
	uint32_t frame_cap, string_cap, library_cap;
	struct hash_index frame_index, string_index;
	struct chunk *chunk;	/* the one being filled; older ones are linked from it */
};

static uint64_t hash_frame(uint64_t seed, const struct frame *f)
{
	uint64_t names = (uint64_t)f->file << 32 | f->func;
	uint64_t lines = (uint64_t)(uint32_t)f->line << 32 | (uint32_t)f->end_line;
	uint64_t columns = (uint64_t)(uint32_t)f->column << 32 | (uint32_t)f->end_column;
	uint64_t h;

	h = hash_secret_mix(names ^ HASH_SECRET_A, lines ^ seed);
	h ^= (uint64_t)(uint32_t)f->first_line << 16 ^ (uint64_t)f->kind << 8 ^ f->opcode;
	return hash_secret_mix(columns ^ HASH_SECRET_B, h);
}

static bool frame_equal(const void *frames, uint32_t id, const void *key)
{
	const struct frame *a = (const struct frame *)frames + id, *b = key;

	return a->file == b->file && a->func == b->func && a->line == b->line &&
	       a->end_line == b->end_line && a->column == b->column &&
	       a->end_column == b->end_column && a->opcode == b->opcode && a->kind == b->kind &&
	       a->first_line == b->first_line;
}

/* Of names that may be longer than a string_ref allows. */
struct text {
	const char *s;
	size_t len;
};

static bool string_equal(const void *strings, uint32_t id, const void *key)
{
	const struct string_ref *ref = (const struct string_ref *)strings + id;
	const struct text *text = key;

	return ref->len == text->len && (!text->len || !memcmp(ref->data, text->s, text->len));
}

/* Doubles an array of cap elements when cnt of them are used. */
static int array_reserve(void **array, uint32_t *cap, uint32_t cnt, size_t elem_bytes)
{
	uint32_t bigger = *cap ? *cap * 2 : 8;
	void *p;

	if (cnt < *cap)
		return 0;
	if (*cap > UINT32_MAX / 4)
		return -ENOMEM;
	p = realloc(*array, bigger * elem_bytes);
	if (!p)
		return -ENOMEM;
	*array = p;
	*cap = bigger;
	return 0;
}

static char *arena_copy(struct intern *in, const char *s, size_t len)
{
	struct chunk *c = in->chunk;
	size_t cap;
	char *p;

	if (!c || c->cap - c->len < len) {
		cap = c && c->cap < CHUNK_MAX / 2 ? c->cap * 2 : c ? CHUNK_MAX : CHUNK_MIN;
		if (cap < len)
			cap = len;
		c = malloc(sizeof(*c) + cap);
		if (!c)
			return NULL;
		c->cap = cap;
		c->len = 0;
		c->next = in->chunk;
		in->chunk = c;
	}
	p = c->data + c->len;
	if (len)
		memcpy(p, s, len);
	c->len += len;
	return p;
}

struct intern *intern_new(void)
{
	struct intern *in = calloc(1, sizeof(*in));

	if (in)
		in->seed = hash_secret_seed();
	return in;
}

size_t intern_bytes(const struct intern *in)
{
	const struct chunk *c;
	size_t bytes = sizeof(*in);

	for (c = in->chunk; c; c = c->next)
		bytes += sizeof(*c) + c->cap;
	return bytes + in->frame_cap * (sizeof(*in->frames) + 2 * sizeof(uint32_t)) +
	       in->string_cap * (sizeof(*in->strings) + 2 * sizeof(uint32_t)) +
	       in->library_cap * sizeof(*in->libraries);
}

void intern_free(struct intern *in)
{
	struct chunk *c, *next;

	if (!in)
		return;
	for (c = in->chunk; c; c = next) {
		next = c->next;
		free(c);
	}
	hash_index_free(&in->frame_index);
	hash_index_free(&in->string_index);
	free(in->frames);
	free(in->strings);
	free(in->libraries);
	free(in);
}

bool intern_find_string(const struct intern *in, const char *s, size_t len, uint32_t *id)
{
	const struct text text = { s, len };

	return hash_index_find(&in->string_index, (uint32_t)hash_secret(in->seed, s, len),
			       string_equal, in->strings, &text, id);
}

int intern_string(struct intern *in, const char *s, size_t len, uint32_t *id)
{
	uint32_t hash = (uint32_t)hash_secret(in->seed, s, len), cnt = in->tables.string_cnt;
	const struct text text = { s, len };
	struct hash_index_slot *slot;
	char *copy;

	if (hash_index_reserve(&in->string_index))
		return -ENOMEM;
	slot = hash_index_slot_of(&in->string_index, hash, string_equal, in->strings, &text);
	*id = slot->number_1 - 1;
	if (slot->number_1)
		return 0;
	if (len > UINT32_MAX ||
	    array_reserve((void **)&in->strings, &in->string_cap, cnt, sizeof(*in->strings)))
		return -ENOMEM;
	in->tables.strings = in->strings;
	copy = arena_copy(in, s, len);
	if (!copy)
		return -ENOMEM;
	in->strings[cnt].data = copy;
	in->strings[cnt].len = (uint32_t)len;
	hash_index_fill(&in->string_index, slot, hash, cnt);
	in->tables.string_cnt++;
	*id = cnt;
	return 0;
}

int intern_library(struct intern *in, const char *s, size_t len)
{
	uint32_t cnt = in->tables.library_cnt, id, i;

	if (intern_string(in, s, len, &id))
		return -ENOMEM;
	for (i = 0; i < cnt; i++)
		if (in->libraries[i] == id)
			return 0;
	if (cnt == NATIVE_LIBRARIES_MAX)
		return 0;
	if (array_reserve((void **)&in->libraries, &in->library_cap, cnt, sizeof(id)))
		return -ENOMEM;
	in->libraries[cnt] = id;
	in->tables.libraries = in->libraries;
	in->tables.library_cnt++;
	return 0;
}

bool intern_find_frame(const struct intern *in, const struct frame *f, uint32_t *id)
{
	return hash_index_find(&in->frame_index, (uint32_t)hash_frame(in->seed, f), frame_equal,
			       in->frames, f, id);
}

int intern_frame(struct intern *in, const struct frame *f, uint32_t *id)
{
	uint32_t hash = (uint32_t)hash_frame(in->seed, f), cnt = in->tables.frame_cnt;
	struct hash_index_slot *slot;

	if (hash_index_reserve(&in->frame_index))
		return -ENOMEM;
	slot = hash_index_slot_of(&in->frame_index, hash, frame_equal, in->frames, f);
	*id = slot->number_1 - 1;
	if (slot->number_1)
		return 0;
	if (array_reserve((void **)&in->frames, &in->frame_cap, cnt, sizeof(*in->frames)))
		return -ENOMEM;
	in->tables.frames = in->frames;
	in->frames[cnt] = *f;
	hash_index_fill(&in->frame_index, slot, hash, cnt);
	in->tables.frame_cnt++;
	*id = cnt;
	return 0;
}

int intern_later(struct intern *in, uint32_t as, uint32_t *id)
{
	uint32_t cnt = in->tables.frame_cnt;

	if (array_reserve((void **)&in->frames, &in->frame_cap, cnt, sizeof(*in->frames)))
		return -ENOMEM;
	in->tables.frames = in->frames;
	in->frames[cnt] = in->frames[as];
	in->tables.frame_cnt++;
	*id = cnt;
	return 0;
}

void intern_name_later(struct intern *in, uint32_t id, uint32_t as)
{
	in->frames[id] = in->frames[as];
}

int intern_synthetic(struct intern *in, enum frame_kind kind, const char *name, uint32_t *id)
{
	struct frame f = {
		.line = LINE_NONE,
		.end_line = LINE_NONE,
		.column = COLUMN_NONE,
		.end_column = COLUMN_NONE,
		.opcode = OPCODE_NONE,
		.kind = kind,
	};

	if (intern_string(in, SYNTHETIC_FILE, strlen(SYNTHETIC_FILE), &f.file) ||
	    intern_string(in, name, strlen(name), &f.func))
		return -ENOMEM;
	return intern_frame(in, &f, id);
}

int intern_native(struct intern *in, const char *library, const char *source, const char *name,
		  int32_t line, uint32_t *id)
{
	struct frame f = {
		.line = source && *source && line > 0 ? line : LINE_NONE,
		.column = COLUMN_NONE,
		.end_column = COLUMN_NONE,
		.opcode = OPCODE_NONE,
		.kind = FRAME_NATIVE,
	};
	char file[NATIVE_FILE_BYTES];

	f.end_line = f.line;
	native_file_name(library, source, file);
	if (intern_string(in, file, strlen(file), &f.file) ||
	    intern_string(in, name, strlen(name), &f.func))
		return -ENOMEM;
	return intern_frame(in, &f, id);
}

const struct profile_tables *intern_tables(const struct intern *in)
{
	return &in->tables;
}
