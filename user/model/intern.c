// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * intern.c - strings and frames of one profile become dense ids. See intern.h.
 *
 * Owns the bytes of the strings (an arena that never moves them), the arrays
 * that profile_tables points to, and one open-addressing table for each. Knows
 * nothing of where names come from or where they go. There may be hundreds of
 * these at once, one a process: everything starts small.
 */
#include "model/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/util.h"

/* Arena chunks double from the first to the second size, in bytes. */
#define CHUNK_MIN 2048
#define CHUNK_MAX (256 * 1024)
#define TABLE_MIN 64

/* id + 1, so that zeroed memory is an empty table; tag: the hash's upper half. */
struct slot {
	uint32_t tag;
	uint32_t id1;
};

struct table {
	struct slot *slots;
	uint32_t mask;		/* slots - 1; slots are a power of two */
	uint32_t used;
};

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
	uint32_t frame_cap, string_cap;
	struct table frame_table, string_table;
	struct chunk *chunk;	/* the one being filled; older ones behind it */
};

/* Multiply to 128 bits and fold: the mixing step of wyhash (public domain). */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 r = (unsigned __int128)a * b;

	return (uint64_t)r ^ (uint64_t)(r >> 64);
}

#define MIX_A 0xa0761d6478bd642fULL
#define MIX_B 0xe7037ed1a0b428dbULL

static inline uint64_t load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Names come from processes that may be hostile: the seed keeps them from
 * choosing names that all collide.
 */
static uint64_t hash_string(uint64_t seed, const char *s, size_t len)
{
	uint64_t h = seed ^ mix(len ^ MIX_A, MIX_B);
	char tail[16] = { 0 };

	for (; len > 16; s += 16, len -= 16)
		h = mix(load64(s) ^ MIX_A, load64(s + 8) ^ h);
	if (len)
		memcpy(tail, s, len);
	h = mix(load64(tail) ^ MIX_A, load64(tail + 8) ^ h);
	return mix(h ^ seed, MIX_B);
}

static uint64_t hash_frame(uint64_t seed, const struct frame *f)
{
	uint64_t names = (uint64_t)f->file << 32 | f->func;
	uint64_t lines = (uint64_t)(uint32_t)f->line << 32 | (uint32_t)f->end_line;
	uint64_t columns = (uint64_t)(uint32_t)f->column << 32 | (uint32_t)f->end_column;
	uint64_t h;

	h = mix(names ^ MIX_A, lines ^ seed);
	return mix(columns ^ MIX_B, h ^ f->opcode);
}

static bool frame_equal(const struct frame *a, const struct frame *b)
{
	return a->file == b->file && a->func == b->func && a->line == b->line &&
	       a->end_line == b->end_line && a->column == b->column &&
	       a->end_column == b->end_column && a->opcode == b->opcode;
}

static uint64_t hash_entry(const struct intern *in, const struct table *t, uint32_t id)
{
	if (t == &in->frame_table)
		return hash_frame(in->seed, &in->frames[id]);
	return hash_string(in->seed, in->strings[id].data, in->strings[id].len);
}

static void table_put(struct table *t, uint64_t hash, uint32_t id)
{
	uint32_t i = (uint32_t)hash & t->mask;

	while (t->slots[i].id1)
		i = (i + 1) & t->mask;
	t->slots[i].tag = (uint32_t)(hash >> 32);
	t->slots[i].id1 = id + 1;
	t->used++;
}

/* Make room for one more entry: at most three quarters are ever in use. */
static int table_reserve(struct intern *in, struct table *t)
{
	struct table bigger = { 0 };
	uint32_t i, id, size = t->slots ? t->mask + 1 : 0;

	if (t->used + 1 <= size / 4 * 3)
		return 0;
	if (size > UINT32_MAX / 2)
		return -ENOMEM;
	size = size ? size * 2 : TABLE_MIN;
	bigger.slots = calloc(size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	bigger.mask = size - 1;
	for (i = 0; t->slots && i <= t->mask; i++) {
		if (!t->slots[i].id1)
			continue;	/* not by id: no slot leads to what intern_later() made */
		id = t->slots[i].id1 - 1;
		table_put(&bigger, hash_entry(in, t, id), id);
	}
	free(t->slots);
	*t = bigger;
	return 0;
}

/* Double an array of cap elements when cnt of them are used. */
static int array_reserve(void **array, uint32_t *cap, uint32_t cnt, size_t elem_bytes)
{
	uint32_t bigger = *cap ? *cap * 2 : 32;
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

	/* Without entropy the seed stays 0: slower under attack, never wrong. */
	if (in && getrandom(&in->seed, sizeof(in->seed), GRND_NONBLOCK) < 0)
		in->seed = 0;
	return in;
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
	free(in->frame_table.slots);
	free(in->string_table.slots);
	free(in->frames);
	free(in->strings);
	free(in);
}

static bool find_string(const struct intern *in, uint64_t hash, const char *s, size_t len,
			uint32_t *id)
{
	const struct table *t = &in->string_table;
	const struct string_ref *ref;
	uint32_t i;

	if (!t->slots)
		return false;
	for (i = (uint32_t)hash & t->mask; t->slots[i].id1; i = (i + 1) & t->mask) {
		ref = &in->strings[t->slots[i].id1 - 1];
		if (t->slots[i].tag == (uint32_t)(hash >> 32) && ref->len == len &&
		    (!len || !memcmp(ref->data, s, len))) {
			*id = t->slots[i].id1 - 1;
			return true;
		}
	}
	return false;
}

bool intern_find_string(const struct intern *in, const char *s, size_t len, uint32_t *id)
{
	return find_string(in, hash_string(in->seed, s, len), s, len, id);
}

int intern_string(struct intern *in, const char *s, size_t len, uint32_t *id)
{
	uint64_t hash = hash_string(in->seed, s, len);
	struct table *t = &in->string_table;
	uint32_t cnt = in->tables.string_cnt;
	char *copy;

	if (find_string(in, hash, s, len, id))
		return 0;
	if (len > UINT32_MAX || table_reserve(in, t) ||
	    array_reserve((void **)&in->strings, &in->string_cap, cnt, sizeof(*in->strings)))
		return -ENOMEM;
	in->tables.strings = in->strings;
	copy = arena_copy(in, s, len);
	if (!copy)
		return -ENOMEM;
	in->strings[cnt].data = copy;
	in->strings[cnt].len = (uint32_t)len;
	table_put(t, hash, cnt);
	in->tables.string_cnt++;
	*id = cnt;
	return 0;
}

int intern_frame(struct intern *in, const struct frame *f, uint32_t *id)
{
	uint64_t hash = hash_frame(in->seed, f);
	struct table *t = &in->frame_table;
	uint32_t i, cnt = in->tables.frame_cnt;

	if (t->slots) {
		for (i = (uint32_t)hash & t->mask; t->slots[i].id1; i = (i + 1) & t->mask) {
			if (t->slots[i].tag == (uint32_t)(hash >> 32) &&
			    frame_equal(&in->frames[t->slots[i].id1 - 1], f)) {
				*id = t->slots[i].id1 - 1;
				return 0;
			}
		}
	}
	if (table_reserve(in, t) ||
	    array_reserve((void **)&in->frames, &in->frame_cap, cnt, sizeof(*in->frames)))
		return -ENOMEM;
	in->tables.frames = in->frames;
	in->frames[cnt] = *f;
	table_put(t, hash, cnt);
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

void intern_settle(struct intern *in, uint32_t id, uint32_t as)
{
	in->frames[id] = in->frames[as];
}

int intern_synthetic(struct intern *in, const char *name, uint32_t *id)
{
	struct frame f = {
		.line = LINE_NONE,
		.end_line = LINE_NONE,
		.column = COLUMN_NONE,
		.end_column = COLUMN_NONE,
		.opcode = OPCODE_NONE,
	};

	if (intern_string(in, SYNTHETIC_FILE, strlen(SYNTHETIC_FILE), &f.file) ||
	    intern_string(in, name, strlen(name), &f.func))
		return -ENOMEM;
	return intern_frame(in, &f, id);
}

const struct profile_tables *intern_tables(const struct intern *in)
{
	return &in->tables;
}
