// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heap_sum.c - see heap_sum.h. */
#include "agent/heap_sum.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/hash_secret.h"
#include "telemetry/window.h"

void heap_sum_reset(struct heap_sum *s)
{
	buf_free(&s->rows);
	hash_index_free(&s->index);
	*s = (struct heap_sum){ .seed = hash_secret_seed() };
}

static struct heap_sum_row *rows_of(const struct heap_sum *s)
{
	return (struct heap_sum_row *)(void *)s->rows.data;
}

static uint32_t row_cnt(const struct heap_sum *s)
{
	return (uint32_t)(s->rows.len / sizeof(struct heap_sum_row));
}

static bool same_name(const void *rows, uint32_t number, const void *key)
{
	return !strcmp(((const struct heap_sum_row *)rows)[number].name, key);
}

/* The row of a type; that of all others if there is no room. */
static struct heap_sum_row *find_row(struct heap_sum *s, const char *name)
{
	uint32_t hash = (uint32_t)hash_secret(s->seed, name, strlen(name)), number;
	struct heap_sum_row row = { .objects = 0 };
	struct hash_index_slot *slot;

	if (hash_index_find(&s->index, hash, same_name, s->rows.data, name, &number))
		return &rows_of(s)[number];
	number = row_cnt(s);
	memcpy(row.name, name, strlen(name));
	if (number == HEAP_SUM_TYPES_MAX || hash_index_reserve(&s->index) ||
	    buf_add(&s->rows, &row, sizeof(row)))
		return &s->other;
	slot = hash_index_slot_of(&s->index, hash, same_name, s->rows.data, name);
	hash_index_fill(&s->index, slot, hash, number);
	return &rows_of(s)[number];
}

static void add_row(struct heap_sum_row *to, const struct heap_row *r)
{
	to->objects = add_capped(to->objects, r->objects);
	to->bytes = add_capped(to->bytes, r->bytes);
}

void heap_sum_add(struct heap_sum *s, const struct heap_census *c)
{
	uint64_t inside = add_capped(c->other.bytes, add_capped(c->untyped_bytes, c->free_bytes));
	uint32_t cnt = c->row_cnt < HEAP_TYPES_MAX ? c->row_cnt : HEAP_TYPES_MAX, i;
	char name[HEAP_NAME_BYTES];

	for (i = 0; i < cnt; i++) {
		memcpy(name, c->rows[i].name, sizeof(name) - 1);
		name[sizeof(name) - 1] = '\0';
		add_row(*name ? find_row(s, name) : &s->other, &c->rows[i]);
		inside = add_capped(inside, c->rows[i].bytes);
	}
	add_row(&s->other, &c->other);
	s->untyped = add_capped(s->untyped, c->untyped_bytes);
	s->free = add_capped(s->free, c->free_bytes);
	if (c->rss > inside)
		s->outside = add_capped(s->outside, c->rss - inside);
	s->censuses++;
}

static int most_bytes_first(const void *a, const void *b)
{
	const struct heap_sum_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return strcmp(x->name, y->name);
}

struct putting {
	struct window *w;
	struct window_place at;
	uint64_t *added;
};

static void put_one(struct putting *p, enum window_kind kind, const char *name, uint64_t value)
{
	if (!value)
		return;
	p->at.kind = kind;
	window_add_named(p->w, name, value, &p->at);
	p->added[kind == WINDOW_HEAP_SPACE] += p->at.samples;
}

static void put_row(struct putting *p, const char *name, const struct heap_sum_row *r)
{
	put_one(p, WINDOW_HEAP_OBJECTS, name, r->objects);
	put_one(p, WINDOW_HEAP_SPACE, name, r->bytes);
}

uint32_t heap_sum_put(struct heap_sum *s, struct window *w, const struct window_place *at,
		      uint64_t added[2])
{
	struct putting p = { .w = w, .at = *at, .added = added };
	struct heap_sum_row other = s->other, *rows = rows_of(s);
	uint32_t cnt = row_cnt(s), i;

	/* Their numbers are wrong now. */
	hash_index_free(&s->index);
	if (cnt)
		qsort(rows, cnt, sizeof(*rows), most_bytes_first);
	for (i = 0; i < cnt && i < HEAP_SUM_TYPES_SENT; i++)
		put_row(&p, rows[i].name, &rows[i]);
	for (; i < cnt; i++) {
		other.objects = add_capped(other.objects, rows[i].objects);
		other.bytes = add_capped(other.bytes, rows[i].bytes);
	}
	put_row(&p, HEAP_SUM_OTHER, &other);
	put_one(&p, WINDOW_HEAP_SPACE, HEAP_SUM_UNTYPED, s->untyped);
	put_one(&p, WINDOW_HEAP_SPACE, HEAP_SUM_FREE, s->free);
	put_one(&p, WINDOW_HEAP_SPACE, HEAP_SUM_OUTSIDE, s->outside);
	return cnt > HEAP_SUM_TYPES_SENT ? cnt - HEAP_SUM_TYPES_SENT : 0;
}
