// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * window_links.c - see window_links.h. The tables do not move, because links point into them;
 * unused memory is not resident.
 */
#include "telemetry/window_links.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash_index.h"
#include "base/hash_secret.h"
#include "base/text.h"
#include "base/time.h"
#include "base/util.h"

#define ID_BYTES (sizeof(((struct otlp_link *)0)->trace_id) + \
		  sizeof(((struct otlp_link *)0)->span_id))
#define VALUE_BYTES_MAX (4 * 255 + 1)	/* made printable */

struct window_links {
	bool attributes;
	uint64_t seed;
	struct hash_index link_index, id_index, attribute_index;
	uint32_t link_cnt, attribute_cnt, number_cnt, text_len, key_cnt, thread_cnt;
	uint32_t keys[WINDOW_ATTRIBUTE_KEYS_MAX];	/* the first attribute of each key */
	uint64_t beyond;
	struct otlp_link links[WINDOW_LINKS_MAX];
	struct otlp_sample_attribute items[WINDOW_ATTRIBUTES_MAX];
	uint32_t numbers[WINDOW_ATTRIBUTE_NUMBERS_MAX];
	char text[WINDOW_ATTRIBUTE_BYTES_MAX];
};

struct window_links *window_links_new(bool attributes)
{
	struct window_links *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->attributes = attributes;
	if (getrandom(&l->seed, sizeof(l->seed), GRND_NONBLOCK) != sizeof(l->seed))
		l->seed = now_ns();
	return l;
}

void window_links_free(struct window_links *l)
{
	if (!l)
		return;
	hash_index_free(&l->link_index);
	hash_index_free(&l->id_index);
	hash_index_free(&l->attribute_index);
	free(l);
}

void window_links_reset(struct window_links *l)
{
	hash_slots_clear(&l->link_index.table, &hash_index_kind);
	hash_slots_clear(&l->id_index.table, &hash_index_kind);
	hash_slots_clear(&l->attribute_index.table, &hash_index_kind);
	l->link_cnt = l->attribute_cnt = l->number_cnt = l->text_len = l->key_cnt = 0;
	l->thread_cnt = 0;
}

/* ---- attributes ---- */

static bool attribute_equal(const void *items, uint32_t number, const void *key)
{
	const struct otlp_sample_attribute *a =
		(const struct otlp_sample_attribute *)items + number;
	const struct otlp_sample_attribute *b = key;

	return !strcmp(a->text, b->text) && !strcmp(a->key, b->key);
}

static const char *keep_text(struct window_links *l, const char *text)
{
	char *at = l->text + l->text_len;
	size_t len = strlen(text) + 1;

	memcpy(at, text, len);
	l->text_len += (uint32_t)len;
	return at;
}

/* The first attribute with a key, + 1; attribute_cnt + 1: this one will be; 0: too many keys. */
static uint32_t first_with_key(struct window_links *l, const char *key)
{
	uint32_t i;

	for (i = 0; i < l->key_cnt; i++)
		if (!strcmp(l->items[l->keys[i]].key, key))
			return l->keys[i] + 1;
	return l->key_cnt < WINDOW_ATTRIBUTE_KEYS_MAX ? l->attribute_cnt + 1 : 0;
}

static void add_attribute(struct window_links *l, const struct otlp_sample_attribute *a,
			  uint32_t first)
{
	uint32_t number = l->attribute_cnt++;

	l->items[number] = (struct otlp_sample_attribute){ .text = keep_text(l, a->text) };
	if (first == number + 1) {
		l->items[number].key = keep_text(l, a->key);
		l->keys[l->key_cnt++] = number;
	} else {
		l->items[number].key = l->items[first - 1].key;
	}
}

/*
 * The number of an attribute, added if it is new. Returns false if there is no room for it. more:
 * a new one may be added.
 */
static bool attribute_number(struct window_links *l, const struct otlp_sample_attribute *a,
			     bool more, uint32_t *number)
{
	size_t key_len = strlen(a->key), len = strlen(a->text);
	uint32_t hash = (uint32_t)hash_secret_mix(hash_secret(l->seed, a->key, key_len),
						  hash_secret(~l->seed, a->text, len));
	struct hash_index_slot *slot;
	uint32_t first;

	if (hash_index_find(&l->attribute_index, hash, attribute_equal, l->items, a, number))
		return true;
	if (!more || l->attribute_cnt == WINDOW_ATTRIBUTES_MAX ||
	    l->text_len + key_len + len + 2 > WINDOW_ATTRIBUTE_BYTES_MAX ||
	    hash_index_reserve(&l->attribute_index))
		return false;
	first = first_with_key(l, a->key);
	if (!first)
		return false;
	*number = l->attribute_cnt;
	slot = hash_index_slot_of(&l->attribute_index, hash, attribute_equal, l->items, a);
	hash_index_fill(&l->attribute_index, slot, hash, *number);
	add_attribute(l, a, first);
	return true;
}

/*
 * Inserts an attribute in order, so that a set of attributes is one link in whatever order a thread
 * has them; not a second one with its key. Returns how many there are.
 */
static uint32_t insert_number(const struct window_links *l, uint32_t *numbers, uint32_t cnt,
			      uint32_t number)
{
	uint32_t i;

	for (i = 0; i < cnt; i++)	/* keys are kept once */
		if (l->items[numbers[i]].key == l->items[number].key)
			return cnt;
	for (i = cnt; i && numbers[i - 1] > number; i--)
		numbers[i] = numbers[i - 1];
	numbers[i] = number;
	return cnt + 1;
}

/* Adds the name of a thread, as far as there is room for names. Returns how many there are. */
static uint32_t insert_thread(struct window_links *l, const char *thread, uint32_t *numbers,
			      uint32_t cnt)
{
	char value[VALUE_BYTES_MAX];
	const struct otlp_sample_attribute named = { "thread.name", value };
	uint32_t before = l->attribute_cnt, number;

	escape_text(thread, strlen(thread), value, sizeof(value));
	if (!attribute_number(l, &named, l->thread_cnt < WINDOW_THREAD_NAMES_MAX, &number)) {
		l->beyond++;
		return cnt;
	}
	l->thread_cnt += l->attribute_cnt != before;
	return insert_number(l, numbers, cnt, number);
}

/* The numbers of a context's attributes; of several with one key, the first. Returns how many. */
static uint32_t attribute_numbers(struct window_links *l, const struct trace_context *t,
				  const struct thread_keys *keys, uint32_t *numbers)
{
	char value[VALUE_BYTES_MAX];
	struct otlp_sample_attribute named = { .text = value };
	struct trace_attribute a;
	uint32_t cnt = 0, number;
	size_t pos = 0;

	if (!l->attributes || !t || !keys)
		return 0;
	while (trace_attribute_next(t, &pos, &a)) {
		named.key = thread_key(keys, a.key);
		escape_text(a.text, a.len, value, sizeof(value));
		if (*named.key && cnt < WINDOW_LINK_ATTRIBUTES_MAX &&
		    attribute_number(l, &named, true, &number))
			cnt = insert_number(l, numbers, cnt, number);
	}
	return cnt;
}

/* ---- links ---- */

static bool ids_equal(const void *links, uint32_t number, const void *key)
{
	const struct otlp_link *a = (const struct otlp_link *)links + number, *b = key;

	return !memcmp(a->trace_id, b->trace_id, sizeof(a->trace_id)) &&
	       !memcmp(a->span_id, b->span_id, sizeof(a->span_id));
}

static bool link_equal(const void *links, uint32_t number, const void *key)
{
	const struct otlp_link *a = (const struct otlp_link *)links + number, *b = key;

	return ids_equal(links, number, key) && a->attribute_cnt == b->attribute_cnt &&
	       !memcmp(a->attributes, b->attributes, a->attribute_cnt * sizeof(uint32_t));
}

/* The first link with the same ids, + 1; 0: none, this one will be the first. */
static uint32_t first_with_ids(struct window_links *l, uint32_t hash, const struct otlp_link *key)
{
	struct hash_index_slot *slot;
	uint32_t first;

	if (hash_index_find(&l->id_index, hash, ids_equal, l->links, key, &first))
		return first + 1;
	slot = hash_index_slot_of(&l->id_index, hash, ids_equal, l->links, key);
	hash_index_fill(&l->id_index, slot, hash, l->link_cnt);
	return 0;
}

static bool add_link(struct window_links *l, uint32_t id_hash, uint32_t hash,
		     const struct otlp_link *key)
{
	size_t bytes = key->attribute_cnt * sizeof(uint32_t);
	struct hash_index_slot *slot;
	struct otlp_link *new;

	if (l->link_cnt == WINDOW_LINKS_MAX || hash_index_reserve(&l->link_index) ||
	    hash_index_reserve(&l->id_index) ||
	    l->number_cnt + key->attribute_cnt > WINDOW_ATTRIBUTE_NUMBERS_MAX)
		return false;
	slot = hash_index_slot_of(&l->link_index, hash, link_equal, l->links, key);
	hash_index_fill(&l->link_index, slot, hash, l->link_cnt);
	new = &l->links[l->link_cnt];
	*new = *key;
	new->same_as = first_with_ids(l, id_hash, key);
	new->attributes = l->numbers + l->number_cnt;
	memcpy(l->numbers + l->number_cnt, key->attributes, bytes);
	l->number_cnt += key->attribute_cnt;
	l->link_cnt++;
	return true;
}

uint32_t window_links_add(struct window_links *l, const struct trace_context *t,
			  const struct thread_keys *keys, const char *thread)
{
	uint32_t numbers[WINDOW_LINK_ATTRIBUTES_MAX + 1], number, hash, id_hash;
	struct otlp_link key = { .attributes = numbers };

	if (!t && !thread)
		return 0;
	if (t) {
		memcpy(key.trace_id, t->trace_id, sizeof(key.trace_id));
		memcpy(key.span_id, t->span_id, sizeof(key.span_id));
	}
	key.attribute_cnt = attribute_numbers(l, t, keys, numbers);
	if (thread)
		key.attribute_cnt = insert_thread(l, thread, numbers, key.attribute_cnt);
	if (!t && !key.attribute_cnt)
		return 0;
	id_hash = (uint32_t)hash_secret(l->seed, &key, ID_BYTES);
	hash = id_hash ^ (uint32_t)hash_secret(l->seed, numbers,
					       key.attribute_cnt * sizeof(*numbers));
	if (hash_index_find(&l->link_index, hash, link_equal, l->links, &key, &number))
		return number + 1;
	if (add_link(l, id_hash, hash, &key))
		return l->link_cnt;
	l->beyond++;
	return 0;
}

void window_links_table(const struct window_links *l, struct otlp_args *args)
{
	args->links = l->links;
	args->link_cnt = l->link_cnt;
	args->sample_attributes = l->items;
	args->sample_attribute_cnt = l->attribute_cnt;
}

uint64_t window_links_beyond(const struct window_links *l)
{
	return l->beyond;
}
