/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_threads.h - the memory of a process that has imported threading, as CPython 3.6 to 3.13 has
 * it: two interpreters, sys.modules, _active, and the Threads that fake_thread() adds.
 */
#ifndef TACHBPF_TESTS_FAKE_THREADS_H
#define TACHBPF_TESTS_FAKE_THREADS_H

#include <errno.h>
#include <string.h>

#include "cpython/layout.h"
#include "cpython/python_threads.h"

#define FAKE_BASE 0x10000ull
#define FAKE_BYTES 131072u
#define FAKE_KEYS_MAX 32u

/* Where a Thread has its attributes: a dict, or values with its type's keys (3.11 on). */
enum fake_attributes { FAKE_DICT, FAKE_SPLIT_DICT, FAKE_VALUES };

struct fake_threads {
	struct python_threads_at at;
	struct target_mem target;
	uint8_t mem[FAKE_BYTES];
	uint64_t used;
	uint32_t reads, fail_at;	/* fail_at: the read that fails; 0: none */
	uint32_t head;			/* of an object */
	bool general;			/* dicts have a hash beside each key, as with other keys */
	uint64_t dict_type, long_type, thread_type, split_type;
	uint64_t modules, module, names, active, threads;	/* addresses of objects */
	uint32_t thread_cnt;
};

static inline int fake_threads_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct fake_threads *f = ctx;

	if (++f->reads == f->fail_at || addr < FAKE_BASE || addr - FAKE_BASE > FAKE_BYTES ||
	    len > FAKE_BYTES - (addr - FAKE_BASE))
		return -EFAULT;
	memcpy(buf, f->mem + (addr - FAKE_BASE), len);
	return 0;
}

/* Memory is at every address, modulo its size: whatever is taken for a pointer leads somewhere. */
static inline int fake_threads_everywhere(void *ctx, uint64_t addr, void *buf,
					  size_t len)
{
	struct fake_threads *fake = ctx;
	uint8_t *out = buf;
	size_t i;

	fake->reads++;
	if (addr >> 63 || len > 1u << 17)
		return -EFAULT;
	for (i = 0; i < len; i++)
		out[i] = fake->mem[(addr - FAKE_BASE + i) % FAKE_BYTES];
	return 0;
}

static inline void fake_poke(struct fake_threads *f, uint64_t addr, uint64_t v, size_t len)
{
	if (addr >= FAKE_BASE && addr - FAKE_BASE <= FAKE_BYTES - len)
		memcpy(f->mem + (addr - FAKE_BASE), &v, len);
}

static inline uint64_t fake_take(struct fake_threads *f, size_t len)
{
	uint64_t at = FAKE_BASE + f->used;

	f->used += (len + 15) & ~15ull;
	return at;
}

static inline uint64_t fake_object(struct fake_threads *f, uint64_t type, size_t body)
{
	uint64_t at = fake_take(f, f->head + body);

	fake_poke(f, at + f->head - 8, type, 8);
	return at;
}

static inline uint64_t fake_type(struct fake_threads *f, uint64_t flags)
{
	uint64_t at = fake_object(f, 0, 1024);

	fake_poke(f, at + f->head + 152, flags, 8);
	return at;
}

/* UTF-8 that is no ASCII is taken for Latin-1. */
static inline uint64_t fake_text(struct fake_threads *f, const char *s)
{
	const struct py_object_layout *o = &f->at.objects;
	uint64_t at = fake_object(f, 0, o->str_compact_data + strlen(s) + 1);
	bool ascii = true;
	size_t i;

	for (i = 0; s[i]; i++)
		ascii &= !(s[i] & 0x80);
	fake_poke(f, at + o->str_length, strlen(s), 8);
	fake_poke(f, at + o->str_state, 1u << o->str_kind_shift | o->str_compact_bit |
		  (ascii ? o->str_ascii_bit : 0), 4);
	for (i = 0; s[i]; i++)
		fake_poke(f, at + (ascii ? o->str_ascii_data : o->str_compact_data) + i,
			  (uint8_t)s[i], 1);
	return at;
}

static inline uint64_t fake_number(struct fake_threads *f, uint64_t v)
{
	uint64_t at = fake_object(f, f->long_type, 16);

	fake_poke(f, at + f->head, f->at.objects.minor >= 12 ? 2 << 3 : 2, 8);
	fake_poke(f, at + f->head + 8, v & 0x3fffffff, 4);
	fake_poke(f, at + f->head + 12, v >> 30, 4);
	return at;
}

/* An empty table for FAKE_KEYS_MAX keys. general: of any type. */
static inline uint64_t fake_keys(struct fake_threads *f, bool general)
{
	uint64_t at = fake_take(f, 40 + FAKE_KEYS_MAX + 24 * FAKE_KEYS_MAX);

	if (f->at.objects.minor >= 11) {
		fake_poke(f, at + 8, 5, 1);		/* 2^5 entries, of a byte each */
		fake_poke(f, at + 9, 5, 1);
		fake_poke(f, at + 10, !general, 1);
	} else {
		fake_poke(f, at + 8, FAKE_KEYS_MAX, 8);
	}
	return at;
}

/* Add a key and its value to a table; returns its index. */
static inline uint64_t fake_add(struct fake_threads *f, uint64_t keys, uint64_t key, uint64_t value)
{
	bool is_new = f->at.objects.minor >= 11;
	uint64_t cnt_at = keys + (is_new ? 24 : 32) - FAKE_BASE, cnt;
	uint64_t entries = keys + (is_new ? 32 : 40) + FAKE_KEYS_MAX;
	bool short_entry = is_new && f->mem[keys + 10 - FAKE_BASE];

	memcpy(&cnt, f->mem + cnt_at, 8);
	fake_poke(f, FAKE_BASE + cnt_at, cnt + 1, 8);
	entries += cnt * (short_entry ? 16 : 24) + (short_entry ? 0 : 8);
	fake_poke(f, entries, key, 8);
	fake_poke(f, entries + 8, value, 8);
	return cnt;
}

static inline uint64_t fake_dict(struct fake_threads *f, uint64_t keys, uint64_t values)
{
	uint64_t at = fake_object(f, f->dict_type, 32);

	fake_poke(f, at + f->head + 16, keys, 8);
	fake_poke(f, at + f->head + 24, values, 8);
	return at;
}

/* struct _dictvalues with these values, in memory that was taken. */
static inline void fake_values(struct fake_threads *f, uint64_t at, const uint64_t values[3])
{
	unsigned int i;

	if (f->at.objects.minor >= 13) {
		fake_poke(f, at, 0x01010303, 4);	/* capacity, size, embedded, valid */
		at += 8;
	}
	for (i = 0; i < 3; i++)
		fake_poke(f, at + 8 * i, values[i], 8);
}

/* Sizes and offsets of a version. */
static inline void fake_layout(struct fake_threads *f, unsigned int minor, bool big_head)
{
	struct cpython_image img = { .major = 3, .minor = minor < 13 ? minor : 12 };
	struct py_object_layout *o = &f->at.objects;

	img.trace_refs = big_head && minor < 13;
	layout_from_table(&img);
	*o = img.objects;
	o->minor = minor;
	o->interp_modules = 64;
	f->at.interp_next = 8;
	if (minor >= 13 && big_head) {	/* free-threaded */
		o->str_length += 16;
		o->str_state += 16;
		o->str_ascii_data += 16;
		o->str_compact_data += 16;
	}
	f->head = o->str_length;
}

static inline uint64_t fake_interpreter(struct fake_threads *f, uint64_t next, uint64_t modules)
{
	uint64_t at = fake_take(f, 128);

	fake_poke(f, at + 8, next, 8);
	fake_poke(f, at + 64, modules, 8);
	return at;
}

/* big_head: with Py_TRACE_REFS, of 3.13 free-threaded. */
static inline void fake_threads_make(struct fake_threads *f, unsigned int minor, bool big_head)
{
	uint64_t keys;

	memset(f, 0, sizeof(*f));
	f->target = (struct target_mem){ fake_threads_read, f };
	fake_layout(f, minor, big_head);
	fake_take(f, 64);		/* the pointer to the interpreters, and nothing at 0 */
	f->dict_type = fake_type(f, 1u << 29);
	f->long_type = fake_type(f, 1u << 24);
	f->thread_type = fake_type(f, minor < 11 ? 0 : minor < 13 ? 1u << 4 : 1u << 4 | 1u << 2);
	f->threads = fake_keys(f, true);
	f->active = fake_dict(f, f->threads, 0);
	keys = fake_keys(f, false);
	fake_add(f, keys, fake_text(f, "get_ident"), fake_number(f, 1));
	fake_add(f, keys, fake_text(f, "_active"), f->active);
	f->names = fake_dict(f, keys, 0);
	f->module = fake_object(f, 0, 32);
	fake_poke(f, f->module + f->head, f->names, 8);
	keys = fake_keys(f, false);
	fake_add(f, keys, fake_text(f, "threadin"), fake_number(f, 2));
	fake_add(f, keys, 0, 0);
	fake_add(f, keys, fake_text(f, "threading"), f->module);
	f->modules = fake_dict(f, keys, 0);
	keys = fake_interpreter(f, 0, f->modules);
	fake_poke(f, FAKE_BASE, fake_interpreter(f, keys, 0), 8);	/* a newer one is first */
	f->at.interps = FAKE_BASE;
	/* What all Threads share: the keys of their attributes, and where those are. */
	keys = fake_keys(f, false);
	fake_add(f, keys, fake_text(f, "_target"), 0);
	fake_add(f, keys, fake_text(f, "_name"), 0);
	fake_add(f, keys, fake_text(f, "_args"), 0);
	fake_poke(f, f->thread_type + f->head - 16 + f->at.objects.type_cached_keys, keys, 8);
	fake_poke(f, f->thread_type + f->head + 16, f->head + 16, 8);	/* tp_basicsize */
	fake_poke(f, f->thread_type + f->head + 272, f->head, 8);	/* tp_dictoffset */
	f->split_type = keys;
}

/* The dict of a Thread: its own keys, or those that it shares. */
static inline uint64_t fake_attributes(struct fake_threads *f, const uint64_t values[3], bool split)
{
	uint64_t keys = split ? f->split_type : fake_keys(f, false), at;

	if (split) {
		at = fake_take(f, 64);
		fake_values(f, at, values);
		return fake_dict(f, keys, at);
	}
	fake_add(f, keys, fake_text(f, "x"), values[0]);
	fake_add(f, keys, fake_text(f, "_name"), values[1]);
	return fake_dict(f, keys, 0);
}

/* A Thread of this task in _active. */
static inline void fake_thread(struct fake_threads *f, uint32_t tid, const char *name,
			       enum fake_attributes how)
{
	unsigned int minor = f->at.objects.minor;
	bool no_gc_head = minor == 13 && f->head == 32;
	const uint64_t values[3] = { f->module, fake_text(f, name), 0 };
	uint64_t self = fake_take(f, 1024), at, dict = 0, apart = 0;

	fake_poke(f, self + (f->at.musl ? 0x30 : 0x2d0), tid, 4);
#ifdef __aarch64__
	fake_poke(f, self + (f->at.musl ? 0x20 : 0xd0), tid, 4);
#endif
	if (how != FAKE_VALUES)
		dict = fake_attributes(f, values, how == FAKE_SPLIT_DICT);
	else
		apart = fake_take(f, 64);
	if (apart)
		fake_values(f, apart, values);
	fake_take(f, 32);		/* the pointers in front of an object */
	at = fake_object(f, f->thread_type, 64);
	if (minor < 11)
		fake_poke(f, at + f->head, dict, 8);
	else if (minor == 11)
		fake_poke(f, at - 32, apart, 8);
	if (minor >= 11)
		fake_poke(f, at - (no_gc_head ? 8 : 24), minor == 12 && apart ? apart - 1 : dict,
			  8);
	if (minor == 13 && apart)
		fake_values(f, at + f->head + 16, values);
	fake_add(f, f->threads, fake_number(f, self), at);
	f->thread_cnt++;
}

#endif
