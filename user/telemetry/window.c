// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * window.c - see window.h.
 *
 * A stack is a list of frames (window_code()), found by a hash of their bytes: frames that were
 * seen first, which most stacks have, take one or two bytes each. With bench_window's 100,000
 * stacks of 20 frames, half of which are shared, model/stack_tree.h took three times as much as
 * three bytes for each, and 1,500 ns an event. Most stacks have one sample, which the stack refers
 * to; the index of samples has further ones only.
 */
#include "telemetry/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/arith.h"
#include "base/hash_index.h"
#include "base/hash_secret.h"
#include "base/time.h"
#include "base/util.h"

#define SERVICES_LIMIT 65536
#define TABLE_LIMIT (1U << 30)
#define KEEP_BYTES (64 * 1024)	/* a table of this size is always kept */

const struct window_kind_names window_kinds[WINDOW_KIND_CNT] = {
	[WINDOW_CPU] = { "cpu", "nanoseconds", true, "cpu" },
	[WINDOW_OFF_CPU] = { "off_cpu", "nanoseconds", false, NULL },
	[WINDOW_GIL_WAIT] = { "gil_wait", "nanoseconds", false, "gil_wait" },
	[WINDOW_EXCEPTION] = { "exception", "nanoseconds", false, "exception" },
	/* The names in Go's heap profiles, which tools know. */
	[WINDOW_ALLOC_SPACE] = { "alloc_space", "bytes", false, "memory" },
	[WINDOW_INUSE_SPACE] = { "inuse_space", "bytes", false, "memory" },
	/* Not Go's inuse_space: that is memory by stack, with which types must not be mixed. */
	[WINDOW_HEAP_OBJECTS] = { "heap_objects", "count", false, "heap" },
	[WINDOW_HEAP_SPACE] = { "heap_space", "bytes", false, "heap" },
};

const struct window_limits window_limits_default = {
	.services = 1024, .stacks = 128 * 1024, .samples = 160 * 1024,
	.stack_bytes = 8 * 1024 * 1024, .frames = 96 * 1024, .name_bytes = 4 * 1024 * 1024,
};

struct stack {
	uint32_t end;	/* in ids: it begins where the one before ends */
	uint32_t first;	/* its first sample, not in sample_index; or WINDOW_NONE */
};

/* An owner's part of each table: at most as much as is free. */
struct share {
	uint32_t stacks, samples, stack_bytes;
	struct window_names_share names;
};

/* A table whose memory may be released. */
struct table {
	struct buf b;
	size_t used;	/* bytes of the last window */
};

struct window {
	struct window_limits limits;
	uint64_t seed, begin_ns, end_ns;
	struct window_names *names;
	struct table ids;		/* bytes */
	struct table stacks;		/* struct stack */
	struct table samples;		/* struct window_sample */
	struct hash_index stack_index, sample_index;
	struct window_series *series;
	struct share *shares;		/* by owner */
	uint32_t service_cnt;
	uint64_t others[WINDOW_OTHER_CNT];
};

/* The stack that is looked up; its id bytes follow in the window's order. */
struct stack_key {
	const uint8_t *all, *ids;
	uint32_t bytes;
};

static struct stack *stacks_of(const struct window *w)
{
	return (struct stack *)(void *)w->stacks.b.data;
}

static struct window_sample *samples_of(const struct window *w)
{
	return (struct window_sample *)(void *)w->samples.b.data;
}

/* Where it begins in ids. */
static uint32_t stack_begin(const struct stack *stacks, uint32_t id)
{
	return id ? stacks[id - 1].end : 0;
}

static uint32_t stack_cnt(const struct window *w)
{
	return (uint32_t)(w->stacks.b.len / sizeof(struct stack));
}

static uint32_t sample_cnt(const struct window *w)
{
	return (uint32_t)(w->samples.b.len / sizeof(struct window_sample));
}

static uint32_t at_most(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void clear_series(struct window *w, bool names_too)
{
	uint32_t i;

	for (i = 0; i < w->service_cnt * WINDOW_KIND_CNT; i++)
		w->series[i] = (struct window_series){ .left = w->series[i].left,
						       .first = WINDOW_NONE, .last = WINDOW_NONE };
	for (i = 0; i < w->limits.services; i++) {
		w->shares[i] = (struct share){ .names = w->shares[i].names };
		if (names_too)
			w->shares[i].names = (struct window_names_share){ 0 };
	}
	w->service_cnt = 0;
}

struct window *window_new(const struct window_limits *limits, uint64_t begin_ns, uint64_t end_ns)
{
	struct window *w = calloc(1, sizeof(*w));
	struct window_limits *l;

	if (!w)
		return NULL;
	l = &w->limits;
	*l = *limits;
	l->services = at_most(l->services ? l->services : 1, SERVICES_LIMIT);
	l->stacks = at_most(l->stacks, TABLE_LIMIT);
	l->samples = at_most(l->samples, TABLE_LIMIT);
	w->begin_ns = begin_ns;
	w->end_ns = end_ns;
	if (getrandom(&w->seed, sizeof(w->seed), GRND_NONBLOCK) != sizeof(w->seed))
		w->seed = now_ns();
	w->names = window_names_new(l->frames, l->name_bytes);
	w->series = calloc((size_t)l->services * WINDOW_KIND_CNT, sizeof(*w->series));
	w->shares = calloc(l->services, sizeof(*w->shares));
	if (w->names && w->series && w->shares)
		return w;
	window_free(w);
	errno = ENOMEM;
	return NULL;
}

void window_free(struct window *w)
{
	if (!w)
		return;
	window_names_free(w->names);
	buf_free(&w->ids.b);
	buf_free(&w->stacks.b);
	buf_free(&w->samples.b);
	hash_index_free(&w->stack_index);
	hash_index_free(&w->sample_index);
	free(w->series);
	free(w->shares);
	free(w);
}

/* Empties the table. */
static void empty_table(struct table *t)
{
	size_t need = t->b.len > t->used ? t->b.len : t->used;
	bool large = t->b.cap > KEEP_BYTES && t->b.cap / 4 > need;

	t->used = t->b.len;
	if (large)
		buf_free(&t->b);
	t->b.len = 0;
}

static void empty_index(struct hash_index *x)
{
	if (x->table.cap * sizeof(struct hash_index_slot) > KEEP_BYTES)
		hash_index_free(x);
	else
		hash_slots_clear(&x->table, &hash_index_kind);
}

void window_close(struct window *w, uint64_t end_ns)
{
	w->end_ns = end_ns;
	empty_index(&w->stack_index);
	empty_index(&w->sample_index);
}

void window_set_end(struct window *w, uint64_t end_ns)
{
	w->end_ns = end_ns;
}

void window_reset(struct window *w, uint64_t begin_ns, uint64_t end_ns)
{
	window_close(w, end_ns);
	empty_table(&w->stacks);
	empty_table(&w->samples);
	empty_table(&w->ids);
	clear_series(w, window_names_trim(w->names));
	w->begin_ns = begin_ns;
}

void window_hide(struct window *w, const struct window_privacy *privacy)
{
	if (window_names_hide(w->names, privacy))
		clear_series(w, true);
}

struct window_map *window_map_new(const struct profile_tables *tables)
{
	struct window_map *map = calloc(1, sizeof(*map));

	if (map)
		map->tables = tables;
	return map;
}

void window_map_free(struct window_map *map)
{
	if (!map)
		return;
	id_map_free(&map->frames);
	free(map);
}

static bool stack_equal(const void *stacks, uint32_t id, const void *key)
{
	uint32_t begin = stack_begin(stacks, id), end = ((const struct stack *)stacks)[id].end;
	const struct stack_key *k = key;

	return end - begin == k->bytes && !memcmp(k->all + begin, k->ids, k->bytes);
}

static enum window_other cause_of(int err)
{
	return err == -ENOSPC ? WINDOW_OTHER_FRAMES :
	       err == -EFBIG ? WINDOW_OTHER_NAMES : WINDOW_OTHER_MEMORY;
}

/* Writes a frame. Four bytes are written, of which the next one overwrites some. */
static inline uint8_t *put_code(uint8_t *p, uint32_t code)
{
	memcpy(p, &code, sizeof(code));
	return p + window_code_bytes(code);
}

/* Translates the event's stack to our frames. Returns WINDOW_OTHER_CNT, or why it failed. */
static enum window_other translate_stack(struct window *w, struct window_map *map,
					 struct share *share, const struct event *ev, uint8_t *ids,
					 uint32_t *bytes)
{
	uint8_t *end = ids;
	uint32_t i, code;
	int err;

	if (ev->nframes > EVENT_MAX_FRAMES)
		return WINDOW_OTHER_EVENT;
	window_names_meet(w->names, map);
	for (i = 0; i < ev->nframes; i++) {
		if (!window_names_known(map, ev->frames[i], &code)) {
			err = window_names_learn(w->names, &share->names, map, ev->frames[i],
						 &code);
			if (err)
				return cause_of(err);
		}
		end = put_code(end, code);
	}
	if (!ev->nframes) {
		err = window_names_synthetic(w->names, &share->names, "<no frames>", &code);
		if (err)
			return cause_of(err);
		end = put_code(end, code);
	}
	*bytes = (uint32_t)(end - ids);
	return WINDOW_OTHER_CNT;
}

static enum window_other add_stack(struct window *w, struct share *share, uint32_t hash,
				   const struct stack_key *key, uint32_t *stack)
{
	struct hash_index_slot *slot;
	struct stack_key own = *key;
	struct stack new = { (uint32_t)w->ids.b.len + key->bytes, WINDOW_NONE };

	if (stack_cnt(w) + share->stacks >= w->limits.stacks ||
	    w->ids.b.len + share->stack_bytes + key->bytes > w->limits.stack_bytes)
		return WINDOW_OTHER_STACKS;
	if (hash_index_reserve(&w->stack_index) ||
	    buf_reserve(&w->ids.b, key->bytes + WINDOW_CODE_BEYOND) ||
	    buf_reserve(&w->stacks.b, sizeof(new)))
		return WINDOW_OTHER_MEMORY;
	own.all = w->ids.b.data;
	slot = hash_index_slot_of(&w->stack_index, hash, stack_equal, w->stacks.b.data, &own);
	*stack = stack_cnt(w);
	buf_add(&w->ids.b, key->ids, key->bytes);
	buf_add(&w->stacks.b, &new, sizeof(new));
	hash_index_fill(&w->stack_index, slot, hash, *stack);
	share->stacks++;
	share->stack_bytes += key->bytes;
	return WINDOW_OTHER_CNT;
}

/* The number of the stack with this key, which is added if it is new. */
static enum window_other number_stack(struct window *w, struct share *share,
				      const struct stack_key *key, uint32_t *stack)
{
	uint32_t hash = (uint32_t)hash_secret(w->seed, key->ids, key->bytes);

	if (hash_index_find(&w->stack_index, hash, stack_equal, stacks_of(w), key, stack))
		return WINDOW_OTHER_CNT;
	return add_stack(w, share, hash, key, stack);
}

static enum window_other find_stack(struct window *w, struct window_map *map,
				    struct share *share, const struct event *ev,
				    uint32_t *stack)
{
	uint8_t ids[EVENT_MAX_FRAMES * WINDOW_CODE_BYTES_MAX + WINDOW_CODE_BEYOND];
	struct stack_key key = { w->ids.b.data, ids, 0 };
	enum window_other cause = translate_stack(w, map, share, ev, ids, &key.bytes);

	return cause != WINDOW_OTHER_CNT ? cause : number_stack(w, share, &key, stack);
}

/* The same for a name instead of a stack. */
static enum window_other find_named(struct window *w, struct share *share, const char *name,
				    uint32_t *stack)
{
	uint8_t ids[WINDOW_CODE_BYTES_MAX + WINDOW_CODE_BEYOND];
	struct stack_key key = { w->ids.b.data, ids, 0 };
	uint32_t code;
	int err = window_names_synthetic(w->names, &share->names, name, &code);

	if (err)
		return cause_of(err);
	key.bytes = (uint32_t)(put_code(ids, code) - ids);
	return number_stack(w, share, &key, stack);
}

static bool sample_equal(const void *samples, uint32_t id, const void *key)
{
	const struct window_sample *a = (const struct window_sample *)samples + id, *b = key;

	return a->stack == b->stack && a->series == b->series && a->link == b->link;
}

/* Adds a sample, the last of its series. */
static enum window_other add_sample(struct window *w, struct share *share,
				    const struct window_sample *new, uint32_t *number)
{
	struct window_series *s = &w->series[new->series];

	*number = sample_cnt(w);
	if (*number + share->samples >= w->limits.samples)
		return WINDOW_OTHER_SAMPLES;
	if (buf_add(&w->samples.b, new, sizeof(*new)))
		return WINDOW_OTHER_MEMORY;
	if (s->last == WINDOW_NONE)
		s->first = *number;
	else
		samples_of(w)[s->last].next = *number;
	s->last = *number;
	share->samples++;
	return WINDOW_OTHER_CNT;
}

/* A further sample of a stack, in another series or with another link. */
static enum window_other find_further(struct window *w, struct share *share,
				      const struct window_sample *key, uint32_t *number)
{
	uint64_t h = hash_secret_mix(((uint64_t)key->stack << 32 | key->series) ^ HASH_SECRET_A,
				     key->link ^ w->seed);
	struct hash_index_slot *slot;
	enum window_other cause;

	if (hash_index_find(&w->sample_index, (uint32_t)h, sample_equal, samples_of(w), key,
			    number))
		return WINDOW_OTHER_CNT;
	if (hash_index_reserve(&w->sample_index))
		return WINDOW_OTHER_MEMORY;
	cause = add_sample(w, share, key, number);
	if (cause != WINDOW_OTHER_CNT)
		return cause;
	slot = hash_index_slot_of(&w->sample_index, (uint32_t)h, sample_equal, samples_of(w),
				  key);
	hash_index_fill(&w->sample_index, slot, (uint32_t)h, *number);
	return cause;
}

/* The sample of a stack in a series. Returns WINDOW_OTHER_CNT, or why there is none. */
static enum window_other find_sample(struct window *w, struct share *share,
				     const struct window_sample *key, uint32_t *number)
{
	struct stack *stack = &stacks_of(w)[key->stack];
	enum window_other cause;

	*number = stack->first;
	if (*number == WINDOW_NONE) {
		cause = add_sample(w, share, key, number);
		if (cause == WINDOW_OTHER_CNT)
			stack->first = *number;
		return cause;
	}
	if (sample_equal(samples_of(w), *number, key))
		return WINDOW_OTHER_CNT;
	return find_further(w, share, key, number);
}

/* The series of a place; in service 0 if the service's number is too high. */
static uint32_t find_series(struct window *w, const struct window_place *at)
{
	uint32_t service = at->service, i;

	if (service >= w->limits.services) {
		w->others[WINDOW_OTHER_SERVICES] += at->samples;
		service = 0;
	}
	for (; w->service_cnt <= service; w->service_cnt++) {
		for (i = 0; i < WINDOW_KIND_CNT; i++) {
			w->series[w->service_cnt * WINDOW_KIND_CNT + i].first = WINDOW_NONE;
			w->series[w->service_cnt * WINDOW_KIND_CNT + i].last = WINDOW_NONE;
		}
	}
	return service * WINDOW_KIND_CNT + at->kind;
}

/* The value of this weight in the series' unit. */
static uint64_t value_of(struct window_series *s, uint64_t weight, const struct window_place *at)
{
	uint64_t value = mul_capped(weight, at->mul);

	if (at->div < 2)
		return value;
	value = add_capped(value, s->left);
	s->left = value % at->div;
	return value / at->div;
}

static struct share *share_of(struct window *w, const struct window_place *at)
{
	return &w->shares[at->owner < w->limits.services ? at->owner : 0];
}

/* Adds a weight to a stack, or if there is none, for this cause, to <other>. */
static void add_weight(struct window *w, enum window_other cause, uint32_t stack, uint64_t weight,
		       const struct window_place *at)
{
	struct window_sample key = { .stack = stack, .link = at->link, .next = WINDOW_NONE };
	struct window_series *s;
	struct window_sample *sample;
	uint64_t value;
	uint32_t number;

	key.series = find_series(w, at);
	s = &w->series[key.series];
	value = value_of(s, weight, at);
	s->value = add_capped(s->value, value);
	s->samples = add_capped(s->samples, at->samples);
	if (cause == WINDOW_OTHER_CNT)
		cause = find_sample(w, share_of(w, at), &key, &number);
	if (cause != WINDOW_OTHER_CNT) {
		w->others[cause] = add_capped(w->others[cause], at->samples);
		s->other_value = add_capped(s->other_value, value);
		s->other_samples = add_capped(s->other_samples, at->samples);
		return;
	}
	sample = &samples_of(w)[number];
	sample->value = add_capped(sample->value, value);
	sample->samples = add_capped(sample->samples, at->samples);
}

void window_add(struct window *w, struct window_map *map, const struct event *ev,
		const struct window_place *at)
{
	uint32_t stack = 0;
	enum window_other cause = find_stack(w, map, share_of(w, at), ev, &stack);

	add_weight(w, cause, stack, ev->weight, at);
}

void window_add_named(struct window *w, const char *name, uint64_t value,
		      const struct window_place *at)
{
	uint32_t stack = 0;
	enum window_other cause = find_named(w, share_of(w, at), name, &stack);

	add_weight(w, cause, stack, value, at);
}

uint64_t window_begin_ns(const struct window *w)
{
	return w->begin_ns;
}

uint64_t window_end_ns(const struct window *w)
{
	return w->end_ns;
}

uint32_t window_service_cnt(const struct window *w)
{
	return w->service_cnt;
}

const struct window_series *window_series(const struct window *w, uint32_t service,
					  enum window_kind kind)
{
	static const struct window_series none = { .first = WINDOW_NONE, .last = WINDOW_NONE };

	return service < w->service_cnt ? &w->series[service * WINDOW_KIND_CNT + kind] : &none;
}

const struct window_sample *window_samples(const struct window *w, uint32_t *cnt)
{
	*cnt = sample_cnt(w);
	return samples_of(w);
}

uint32_t window_stack_cnt(const struct window *w)
{
	return stack_cnt(w);
}

uint32_t window_stack(const struct window *w, uint32_t stack, uint32_t ids[EVENT_MAX_FRAMES])
{
	const struct stack *stacks = stacks_of(w);
	const uint8_t *p = w->ids.b.data + stack_begin(stacks, stack);
	const uint8_t *end = w->ids.b.data + stacks[stack].end;
	uint32_t n = 0, code;

	for (; p < end; p += window_code_bytes(code)) {
		memcpy(&code, p, sizeof(code));
		ids[n++] = window_code_id(code);
	}
	return n;
}

const struct window_names *window_names(const struct window *w)
{
	return w->names;
}

uint64_t window_others(const struct window *w, enum window_other cause)
{
	return w->others[cause];
}

size_t window_bytes(const struct window *w)
{
	const struct profile_tables *t = window_names_tables(w->names);

	return w->ids.b.cap + w->stacks.b.cap + w->samples.b.cap +
	       (w->stack_index.table.cap + w->sample_index.table.cap) *
	       sizeof(struct hash_index_slot) +
	       (size_t)w->limits.services * WINDOW_KIND_CNT * sizeof(struct window_series) +
	       window_names_bytes(w->names) + t->string_cnt * sizeof(struct string_ref) +
	       (size_t)t->frame_cnt * 2 * sizeof(struct frame);
}
