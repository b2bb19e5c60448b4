// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * hot.c - see hot.h. What is asked about a frame is asked once per profile, and kept by its id.
 */
#include "analysis/hot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/idle_place.h"
#include "base/pairs.h"
#include "base/util.h"
#include "bpf/abi.h"
#include "model/id_map.h"
#include "model/intern.h"
#include "model/native_frame.h"
#include "model/process_frame.h"
#include "model/stack_frame.h"
#include "model/thread_map.h"

#define GIL_WAIT "<waiting for the GIL>"
/* How far out the function is looked for that waits for work. */
#define IDLE_DEPTH 8

/* What is known of a frame: bits. */
enum {
	OF_PYTHON = 1,		/* a Python function, or a frame that stands for one */
	OF_C = 2,		/* machine code of a known library */
	SAYS = 4,		/* tells what the thread does */
	CPU_WAIT = 8,
	IDLE_HERE = 16, IDLE_CALLER = 32,	/* enum idle_place */
	LIBRARY = 64,		/* in the standard library */
};

/* One table: the pairs are a place, which is a frame of names, and a string. */
struct sums {
	struct pairs keys;
	uint64_t *weights;
	uint32_t cap;
};

struct hot {
	bool waits;		/* the mode has waits */
	bool ticks;		/* and threads that run */
	struct intern *names;
	struct sums tables[HOT_TABLE_CNT];
	uint64_t states[HOT_STATE_CNT];
	struct thread_map *threads;
	bool *idle;		/* by thread: it has waited for work */
	uint32_t thread_cnt, idle_cap, idle_cnt;
	/* Of the current profile: */
	const struct profile_tables *from;
	bool shared;
	struct process_root root;
	struct id_map flags, places, strings;
};

struct hot *hot_new(enum profile_mode mode)
{
	struct hot *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->ticks = mode != MODE_OFFCPU;
	h->waits = mode == MODE_WALL || mode == MODE_ALL || mode == MODE_OFFCPU;
	h->names = intern_new();
	h->threads = thread_map_new();
	if (h->names && h->threads)
		return h;
	hot_free(h);
	return NULL;
}

void hot_free(struct hot *h)
{
	size_t i;

	if (!h)
		return;
	for (i = 0; i < HOT_TABLE_CNT; i++) {
		pairs_free(&h->tables[i].keys);
		free(h->tables[i].weights);
	}
	intern_free(h->names);
	thread_map_free(h->threads);
	free(h->idle);
	id_map_free(&h->flags);
	id_map_free(&h->places);
	id_map_free(&h->strings);
	free(h);
}

void hot_begin(struct hot *h, const struct profile_tables *tables, bool shared)
{
	h->from = tables;
	h->shared = shared;
	h->root = (struct process_root){ .tables = tables };
	id_map_clear(&h->flags);
	id_map_clear(&h->places);
	id_map_clear(&h->strings);
}

/* ---- frames ---- */

static bool begins_with(const struct string_ref *s, const char *with)
{
	size_t len = strlen(with);

	return s->len >= len && !memcmp(s->data, with, len);
}

static uint32_t flags_of_detail(const struct profile_tables *t, const struct frame *f)
{
	const struct string_ref *name = &t->strings[f->func];

	if (frame_is_native(t, f))
		return OF_C;
	if (begins_with(name, "<waiting for a CPU>"))
		return CPU_WAIT;
	return begins_with(name, "<kernel ") || begins_with(name, "<native>") ||
	       begins_with(name, "<unwound") ? 0 : SAYS;
}

static uint32_t flags_of_function(const struct profile_tables *t, const struct frame *f)
{
	struct string_ref file = t->strings[f->file];
	enum idle_place place;

	if (f->kind != FRAME_PYTHON)
		return OF_PYTHON;
	place = idle_place_of(file, t->strings[f->func]);
	return OF_PYTHON | (is_standard_library(file) ? LIBRARY : 0) |
	       (place == IDLE_YES ? IDLE_HERE : place == IDLE_PART ? IDLE_CALLER : 0);
}

/* Sets *flags. 0 or -ENOMEM. */
static int find_flags(struct hot *h, uint32_t id, uint32_t *flags)
{
	const struct frame *f = &h->from->frames[id];

	if (id_map_get(&h->flags, id, flags))
		return 0;
	*flags = frame_is_detail(h->from, id, SELF_OF_PYTHON) ? flags_of_detail(h->from, f) :
								flags_of_function(h->from, f);
	return id_map_set(&h->flags, id, *flags);
}

static int our_string(struct hot *h, uint32_t id, uint32_t *ours)
{
	const struct string_ref *s = &h->from->strings[id];
	int err;

	if (id_map_get(&h->strings, id, ours))
		return 0;
	err = intern_string(h->names, s->data, s->len, ours);
	return err ? err : id_map_set(&h->strings, id, *ours);
}

/* The place of a frame is its file, function and line. 0 or -ENOMEM. */
static int find_place(struct hot *h, uint32_t id, uint32_t *place)
{
	const struct frame *f = &h->from->frames[id];
	struct frame key = { .line = f->line, .end_line = f->line, .column = COLUMN_NONE,
			     .end_column = COLUMN_NONE, .opcode = OPCODE_NONE, .kind = f->kind };
	int err;

	if (id_map_get(&h->places, id, place))
		return 0;
	if (f->kind == FRAME_NATIVE)
		key.line = key.end_line = LINE_NONE;	/* such rows are functions */
	err = our_string(h, f->file, &key.file);
	if (!err)
		err = our_string(h, f->func, &key.func);
	if (!err)
		err = intern_frame(h->names, &key, place);
	return err ? err : id_map_set(&h->places, id, *place);
}

static int add_weight(struct sums *s, struct pair key, uint64_t weight)
{
	uint32_t cnt = s->keys.cnt, row;

	if (pairs_add(&s->keys, key, &row))
		return -ENOMEM;
	if (row >= s->cap) {
		uint32_t cap = s->cap ? 2 * s->cap : 64;
		uint64_t *grown = reallocarray(s->weights, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		s->weights = grown;
		s->cap = cap;
	}
	if (row >= cnt)
		s->weights[row] = 0;
	s->weights[row] += weight;
	return 0;
}

/* ---- stacks ---- */

/* What is found in a stack. */
struct found {
	uint32_t self;		/* index of the frame that has the self */
	uint32_t own;		/* ... of the innermost one outside the standard library, or self */
	uint32_t says, c;	/* ... of the innermost ones, or UINT32_MAX */
	uint32_t idle;		/* ... of the function that waits for work, or UINT32_MAX */
	bool cpu_wait;
};

/* Looks at frames from f->self outwards. 0 or -ENOMEM. */
static int look_outwards(struct hot *h, const struct event *ev, uint32_t n, struct found *f)
{
	bool own = false, waits = true;
	uint32_t i, flags;
	int err = 0;

	f->own = f->self;
	for (i = f->self; !err && i < n && (!own || waits); i++) {
		err = find_flags(h, ev->frames[i], &flags);
		if (!err && !own && (flags & OF_PYTHON) && !(flags & LIBRARY)) {
			f->own = i;
			own = true;
		}
		if (waits && (flags & IDLE_HERE))
			f->idle = i;
		waits &= (flags & IDLE_CALLER) && i - f->self < IDLE_DEPTH;
	}
	return err;
}

static int look_at(struct hot *h, const struct event *ev, uint32_t n, struct found *f)
{
	uint32_t i, flags = 0;
	int err = 0;

	*f = (struct found){ .self = n - 1, .says = UINT32_MAX, .c = UINT32_MAX,
			     .idle = UINT32_MAX };
	for (i = 0; !err && i < n; i++) {
		err = find_flags(h, ev->frames[i], &flags);
		if (flags & OF_PYTHON) {
			f->self = i;
			break;
		}
		f->cpu_wait |= flags & CPU_WAIT;
		if ((flags & SAYS) && f->says == UINT32_MAX)
			f->says = i;
		if ((flags & OF_C) && f->c == UINT32_MAX)
			f->c = i;
	}
	f->own = f->self;
	return err || !h->waits ? err : look_outwards(h, ev, n, f);
}

static enum hot_state state_of(const struct hot *h, const struct event *ev, const struct found *f)
{
	if (!h->waits || (h->ticks && (ev->status & STATUS_ON_CPU)))
		return HOT_RUNS;
	if (f->cpu_wait)
		return HOT_RUNNABLE;
	return f->idle != UINT32_MAX && !(ev->status & STATUS_GIL_REQUESTED) ? HOT_IDLE :
									       HOT_WAITS;
}

/* Finds the string that says what the thread does at its line. 0 or -ENOMEM. */
static int find_words(struct hot *h, const struct event *ev, const struct found *f,
		      enum hot_state state, uint32_t *words)
{
	const struct frame *frames = h->from->frames;

	if (f->says != UINT32_MAX)
		return our_string(h, frames[ev->frames[f->says]].func, words);
	if (state == HOT_WAITS && (ev->status & STATUS_GIL_REQUESTED))
		return intern_string(h->names, GIL_WAIT, strlen(GIL_WAIT), words);
	if (state == HOT_WAITS && f->own != f->self)
		return our_string(h, frames[ev->frames[f->self]].func, words);
	return intern_string(h->names, "", 0, words);
}

static int add_row(struct hot *h, const struct event *ev, const struct found *f,
		   enum hot_state state, uint64_t weight)
{
	enum hot_table table = state == HOT_IDLE ? HOT_IDLES :
			       state == HOT_WAITS ? HOT_WAITING : HOT_LINES;
	uint32_t at = state == HOT_WAITS ? f->own : state == HOT_IDLE ? f->idle : f->self;
	struct pair key;
	int err = find_place(h, ev->frames[at], &key.a);

	if (!err)
		err = find_words(h, ev, f, state, &key.b);
	return err ? err : add_weight(&h->tables[table], key, weight);
}

static int add_c(struct hot *h, const struct event *ev, const struct found *f, uint64_t weight)
{
	struct pair key = { 0 };
	int err;

	if (f->c == UINT32_MAX)
		return 0;
	err = find_place(h, ev->frames[f->c], &key.a);
	if (!err)
		err = intern_string(h->names, "", 0, &key.b);
	return err ? err : add_weight(&h->tables[HOT_C], key, weight);
}

static int note_thread(struct hot *h, const struct event *ev, bool idle)
{
	uint32_t index;
	int err = thread_map_get(h->threads, ev->thread_id, 0, &index);

	if (err)
		return err;
	if (index >= h->idle_cap) {
		uint32_t cap = h->idle_cap ? 2 * h->idle_cap : 64;
		bool *grown = reallocarray(h->idle, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + h->idle_cap, 0, cap - h->idle_cap);
		h->idle = grown;
		h->idle_cap = cap;
	}
	h->thread_cnt = index >= h->thread_cnt ? index + 1 : h->thread_cnt;
	h->idle_cnt += idle && !h->idle[index];
	h->idle[index] |= idle;
	return 0;
}

int hot_event(void *ctx, const struct event *ev)
{
	struct hot *h = ctx;
	uint64_t weight = ev->weight * ((uint64_t)ev->more + 1);
	uint32_t n = ev->nframes - (h->shared && process_root_of(&h->root, ev));
	enum hot_state state = HOT_RUNS;
	struct found f;
	int err = 0;

	if (n)
		err = look_at(h, ev, n, &f);
	if (n && !err) {
		state = state_of(h, ev, &f);
		err = add_row(h, ev, &f, state, weight);
		if (!err)
			err = add_c(h, ev, &f, weight);
	}
	h->states[state] += weight;
	return err ? err : note_thread(h, ev, state == HOT_IDLE);
}

/* ---- results ---- */

uint64_t hot_total(const struct hot *h)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < HOT_STATE_CNT; i++)
		sum += h->states[i];
	return sum;
}

uint64_t hot_in_state(const struct hot *h, enum hot_state state)
{
	return h->states[state];
}

uint32_t hot_threads(const struct hot *h, bool idle)
{
	return idle ? h->idle_cnt : h->thread_cnt;
}

static int compare_text(const struct string_ref *a, const struct string_ref *b)
{
	size_t least = a->len < b->len ? a->len : b->len;
	int order = memcmp(a->data, b->data, least);

	return order ? order : (a->len > b->len) - (a->len < b->len);
}

static int by_weight(const void *a, const void *b)
{
	const struct hot_row *x = a, *y = b;
	int order = (x->weight < y->weight) - (x->weight > y->weight);

	if (!order)
		order = compare_text(&x->file, &y->file);
	if (!order)
		order = (x->line > y->line) - (x->line < y->line);
	if (!order)
		order = compare_text(&x->func, &y->func);
	return order ? order : compare_text(&x->what, &y->what);
}

int hot_rows(const struct hot *h, enum hot_table table, struct hot_row **rows, size_t *cnt)
{
	const struct profile_tables *names = intern_tables(h->names);
	const struct sums *s = &h->tables[table];
	size_t i;

	*cnt = s->keys.cnt;
	*rows = calloc(*cnt + 1, sizeof(**rows));
	if (!*rows)
		return -ENOMEM;
	for (i = 0; i < *cnt; i++) {
		const struct frame *f = &names->frames[s->keys.list[i].a];

		(*rows)[i] = (struct hot_row){
			.file = names->strings[f->file], .func = names->strings[f->func],
			.what = names->strings[s->keys.list[i].b], .kind = f->kind,
			.line = f->line, .weight = s->weights[i],
		};
	}
	qsort(*rows, *cnt, sizeof(**rows), by_weight);
	return 0;
}

/* Rows are sorted, so a function's first one is its hottest line. Strings are ours: interned. */
int hot_functions(const struct hot *h, enum hot_table table, struct hot_row **rows, size_t *cnt)
{
	struct pairs functions = { 0 };
	size_t all, i;
	int err = hot_rows(h, table, rows, &all);

	*cnt = 0;
	for (i = 0; !err && i < all; i++) {
		struct hot_row row = (*rows)[i];
		struct pair key = { 0 };
		uint32_t at;

		intern_find_string(h->names, row.file.data, row.file.len, &key.a);
		intern_find_string(h->names, row.func.data, row.func.len, &key.b);
		err = pairs_add(&functions, key, &at);
		if (!err && at == *cnt)
			(*rows)[(*cnt)++] = row;
		else if (!err)
			(*rows)[at].weight += row.weight;
	}
	pairs_free(&functions);
	if (!err)
		qsort(*rows, *cnt, sizeof(**rows), by_weight);
	return err;
}
