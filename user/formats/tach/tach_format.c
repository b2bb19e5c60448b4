// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tach_format.c - the header layouts as one table, and the threads of a file. See tach_format.h. */
#include "formats/tach/tach_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Offset and size of a field in bytes; size 0: the layout does not have it. */
struct field_place {
	uint8_t off, size;
};

struct layout {
	const char *name;
	uint32_t version;
	struct field_place fields[TACH_FIELD_CNT];
};

/*
 * release is what CPython 3.15.2 reads and writes (Modules/_remote_debugging/binary_io.h,
 * HDR_OFF_*); the drafts are what InternalDocs/profiling_binary_format.md described before the
 * release.
 */
static const struct layout layouts[TACH_LAYOUT_CNT] = {
	[LAYOUT_RELEASE] = { "release", 1, {
		[TACH_F_MAGIC] = { 0, 4 },
		[TACH_F_VERSION] = { 4, 4 },
		[TACH_F_PY_MAJOR] = { 8, 1 },
		[TACH_F_PY_MINOR] = { 9, 1 },
		[TACH_F_PY_MICRO] = { 10, 1 },
		[TACH_F_START_US] = { 12, 8 },
		[TACH_F_INTERVAL_US] = { 20, 8 },
		[TACH_F_SAMPLES] = { 28, 8 },
		[TACH_F_THREADS] = { 36, 4 },
		[TACH_F_STRING_TABLE] = { 40, 8 },
		[TACH_F_FRAME_TABLE] = { 48, 8 },
		[TACH_F_COMPRESSION] = { 56, 4 },
		[TACH_F_CONFIG] = { 60, 4 },
	} },
	[LAYOUT_DRAFT1] = { "draft1", 1, {
		[TACH_F_MAGIC] = { 0, 4 },
		[TACH_F_VERSION] = { 4, 4 },
		[TACH_F_PY_MAJOR] = { 8, 1 },
		[TACH_F_PY_MINOR] = { 9, 1 },
		[TACH_F_PY_MICRO] = { 10, 1 },
		[TACH_F_START_US] = { 12, 8 },
		[TACH_F_INTERVAL_US] = { 20, 8 },
		[TACH_F_SAMPLES] = { 28, 4 },
		[TACH_F_THREADS] = { 32, 4 },
		[TACH_F_STRING_TABLE] = { 36, 8 },
		[TACH_F_FRAME_TABLE] = { 44, 8 },
		[TACH_F_COMPRESSION] = { 52, 4 },
	} },
	[LAYOUT_DRAFT2] = { "draft2", 2, {
		[TACH_F_MAGIC] = { 0, 4 },
		[TACH_F_VERSION] = { 4, 4 },
		[TACH_F_START_US] = { 8, 8 },
		[TACH_F_INTERVAL_US] = { 16, 8 },
		[TACH_F_SAMPLES] = { 24, 4 },
		[TACH_F_THREADS] = { 28, 4 },
		[TACH_F_STRING_TABLE] = { 32, 8 },
		[TACH_F_FRAME_TABLE] = { 40, 8 },
		[TACH_F_COMPRESSION] = { 48, 4 },
	} },
};

uint32_t tach_layout_version(enum profile_layout layout)
{
	return layouts[layout].version;
}

uint64_t tach_field_get(const uint8_t *header, enum profile_layout layout, enum tach_field field,
			bool swapped)
{
	struct field_place f = layouts[layout].fields[field];

	switch (f.size) {
	case 1:
		return header[f.off];
	case 4:
		return tach_load32(header + f.off, swapped);
	case 8:
		return tach_load64(header + f.off, swapped);
	}
	return 0;
}

void tach_field_put(uint8_t *header, enum profile_layout layout, enum tach_field field, uint64_t v)
{
	struct field_place f = layouts[layout].fields[field];
	uint32_t v32 = (uint32_t)v;

	if (f.size == 1)
		header[f.off] = (uint8_t)v;
	else if (f.size == 4)
		memcpy(header + f.off, &v32, sizeof(v32));
	else if (f.size == 8)
		memcpy(header + f.off, &v, sizeof(v));
}

uint64_t tach_field_max(enum profile_layout layout, enum tach_field field)
{
	unsigned int bits = layouts[layout].fields[field].size * 8;

	return bits ? UINT64_MAX >> (64 - bits) : 0;
}

static int threads_grow(struct tach_threads *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 8;
	struct tach_thread *list;

	if (t->cap > UINT32_MAX / 8)
		return -ENOMEM;
	list = reallocarray(t->list, cap, sizeof(*list));
	if (!list)
		return -ENOMEM;
	if (!t->cap && getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) < 0)
		t->seed = 0;
	t->list = list;
	t->cap = cap;
	return 0;
}

struct tach_thread *tach_threads_add(struct tach_threads *t, uint64_t thread_id,
				     uint32_t interp_id, uint64_t start_us)
{
	struct hash_index_slot *slot;
	struct tach_thread *th;
	uint32_t hash;

	if ((t->cnt == t->cap && threads_grow(t)) || hash_index_reserve(&t->by_key))
		return NULL;
	th = &t->list[t->cnt];
	*th = (struct tach_thread){
		.thread_id = thread_id,
		.interp_id = interp_id,
		.time_us = start_us,
	};
	hash = tach_thread_hash(t, thread_id, interp_id);
	slot = hash_index_slot_of(&t->by_key, hash, tach_thread_equal, t->list, th);
	hash_index_fill(&t->by_key, slot, hash, t->cnt++);
	return th;
}

void tach_threads_free(struct tach_threads *t)
{
	uint32_t i;

	for (i = 0; i < t->cnt; i++) {
		free(t->list[i].stack);
		free(t->list[i].pending);
	}
	free(t->list);
	hash_index_free(&t->by_key);
	memset(t, 0, sizeof(*t));
}

int tach_thread_reserve(struct tach_thread *th, uint32_t depth)
{
	uint32_t cap = th->stack_cap ? th->stack_cap : 16;
	uint32_t *stack;

	if (depth <= th->stack_cap)
		return 0;
	while (cap < depth)
		cap *= 2;
	stack = realloc(th->stack, cap * sizeof(*stack));
	if (!stack)
		return -ENOMEM;
	th->stack = stack;
	th->stack_cap = cap;
	return 0;
}
