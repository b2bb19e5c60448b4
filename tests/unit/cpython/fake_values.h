/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fake_values.h - objects of plain types, and a frame with variables, in the memory of
 * fake_threads.h, as CPython 3.6 to 3.15 has them.
 */
#ifndef TACHBPF_TESTS_FAKE_VALUES_H
#define TACHBPF_TESTS_FAKE_VALUES_H

#include "cpython/locals.h"
#include "tests/unit/cpython/fake_threads.h"

#define EACH_VERSION(minor, big) \
	for (unsigned int minor = 6; minor <= 15; minor++) \
		for (unsigned int big = 0; big < 2; big++)

struct fake_types {
	uint64_t none, boolean, integer, real, text, bytes, list, tuple, dict, set, cell, thing;
};

static inline uint64_t fake_named_type(struct fake_threads *f, const char *name, uint64_t flags)
{
	uint64_t type = fake_type(f, flags), at = fake_take(f, 64);
	size_t i;

	for (i = 0; name[i]; i++)
		fake_poke(f, at + i, (uint8_t)name[i], 1);
	fake_poke(f, type + f->head + 8, at, 8);
	return type;
}

static inline void fake_types_make(struct fake_threads *f, struct fake_types *t)
{
	*t = (struct fake_types){
		.none = fake_named_type(f, "NoneType", 0),
		.boolean = fake_named_type(f, "bool", PY_IS_LONG),
		.integer = fake_named_type(f, "int", PY_IS_LONG),
		.real = fake_named_type(f, "float", 0),
		.text = fake_named_type(f, "str", PY_IS_STR),
		.bytes = fake_named_type(f, "bytes", PY_IS_BYTES),
		.list = fake_named_type(f, "list", PY_IS_LIST),
		.tuple = fake_named_type(f, "tuple", PY_IS_TUPLE),
		.dict = fake_named_type(f, "dict", PY_IS_DICT),
		.set = fake_named_type(f, "set", 0),
		.cell = fake_named_type(f, "cell", 0),
		.thing = fake_named_type(f, "Thing", PY_HEAP_TYPE),
	};
}

/* An int of cnt digits of 30 bits. */
static inline uint64_t fake_int(struct fake_threads *f, uint64_t type, const uint32_t *digits,
				uint32_t cnt, bool negative)
{
	bool tagged = f->at.objects.minor >= 12;
	uint64_t at = fake_object(f, type, 8 + 4 * (cnt ? cnt : 1)), size = cnt;
	uint32_t i;

	if (tagged)
		size = size << 3 | (!cnt ? 1 : negative ? 2 : 0);
	else if (negative)
		size = -size;
	fake_poke(f, at + f->head, size, 8);
	for (i = 0; i < cnt; i++)
		fake_poke(f, at + f->head + 8 + 4 * i, digits[i], 4);
	return at;
}

static inline uint64_t fake_small(struct fake_threads *f, const struct fake_types *t, uint32_t v)
{
	return fake_int(f, t->integer, &v, v != 0, false);
}

static inline uint64_t fake_str(struct fake_threads *f, const struct fake_types *t, const char *s)
{
	uint64_t at = fake_text(f, s);

	fake_poke(f, at + f->head - 8, t->text, 8);
	return at;
}

static inline uint64_t fake_bytes(struct fake_threads *f, const struct fake_types *t, const char *s,
				  uint64_t len)
{
	uint64_t at = fake_object(f, t->bytes, 16 + len + 1), i;

	fake_poke(f, at + f->at.objects.bytes_size, len, 8);
	for (i = 0; i < len; i++)
		fake_poke(f, at + f->at.objects.bytes_data + i, (uint8_t)s[i], 1);
	return at;
}

static inline uint64_t fake_pointers(struct fake_threads *f, const uint64_t *objs, uint32_t cnt,
				     uint64_t at)
{
	uint32_t i;

	for (i = 0; i < cnt; i++)
		fake_poke(f, at + 8 * i, objs[i], 8);
	return at;
}

static inline uint64_t fake_list(struct fake_threads *f, const struct fake_types *t,
				 const uint64_t *objs, uint32_t cnt)
{
	uint64_t at = fake_object(f, t->list, 24);

	fake_poke(f, at + f->head, cnt, 8);
	fake_poke(f, at + f->head + 8, fake_pointers(f, objs, cnt, fake_take(f, 8 * cnt + 8)), 8);
	return at;
}

static inline uint64_t fake_tuple(struct fake_threads *f, const struct fake_types *t,
				  const uint64_t *objs, uint32_t cnt)
{
	uint32_t before = f->at.objects.minor >= 14 ? 16 : 8;
	uint64_t at = fake_object(f, t->tuple, before + 8 * cnt);

	fake_poke(f, at + f->head, cnt, 8);
	fake_pointers(f, objs, cnt, at + f->head + before);
	return at;
}

/* A set whose table of 8 has these, and one that was removed. */
static inline uint64_t fake_set(struct fake_threads *f, const struct fake_types *t,
				const uint64_t *objs, uint32_t cnt)
{
	uint64_t at = fake_object(f, t->set, 48), table = fake_take(f, 8 * 16);
	uint32_t i;

	fake_poke(f, at + f->head, cnt + 1, 8);
	fake_poke(f, at + f->head + 8, cnt, 8);
	fake_poke(f, at + f->head + 16, 7, 8);
	fake_poke(f, at + f->head + 24, table, 8);
	fake_poke(f, table, t->none, 8);
	fake_poke(f, table + 8, -1, 8);
	for (i = 0; i < cnt && i < 7; i++)
		fake_poke(f, table + 16 * (i + 1), objs[i], 8);
	return at;
}

/* A dict with keys and values by turns. */
static inline uint64_t fake_mapping(struct fake_threads *f, const struct fake_types *t,
				    const uint64_t *objs, uint32_t cnt)
{
	uint64_t keys = fake_keys(f, true), at = fake_dict(f, keys, 0);
	uint32_t i;

	fake_poke(f, at + f->head - 8, t->dict, 8);
	fake_poke(f, at + f->head, cnt, 8);
	for (i = 0; i < cnt; i++)
		fake_add(f, keys, objs[2 * i], objs[2 * i + 1]);
	return at;
}

/* An object of a class of Python, with one or two attributes; name2 NULL: one. */
static inline uint64_t fake_instance(struct fake_threads *f, const struct fake_types *t,
				     const char *class, const char *name, uint64_t value,
				     const char *name2, uint64_t value2)
{
	bool managed = f->at.objects.minor >= 11;
	bool no_gc_head = f->at.objects.minor >= 13 && f->head == 32;
	uint64_t type = fake_named_type(f, class, PY_HEAP_TYPE | (managed ? PY_MANAGED_DICT : 0));
	uint64_t keys = fake_keys(f, false), dict = fake_dict(f, keys, 0), at;

	fake_add(f, keys, fake_str(f, t, name), value);
	if (name2)
		fake_add(f, keys, fake_str(f, t, name2), value2);
	fake_poke(f, type + f->head + 272, f->head, 8);	/* tp_dictoffset */
	fake_take(f, 32);		/* the pointers in front of an object */
	at = fake_object(f, type, 32);
	fake_poke(f, managed ? at - (no_gc_head ? 8 : 24) : at + f->head, dict, 8);
	return at;
}

/*
 * A frame, and its code object, whose cnt variables have these names and objects; the first
 * `arguments` ones are arguments, the last one is in a cell.
 */
struct fake_frame {
	struct py_frames_at at;
	struct py_frame frame;
	uint64_t state;		/* of a thread, whose innermost frame it is */
};

static inline void fake_code_int(struct fake_threads *f, uint64_t code, uint8_t off, uint32_t v)
{
	fake_poke(f, code + off + f->head - 16, v, 4);
}

static inline void fake_frame_make(struct fake_threads *f, const struct fake_types *t,
				   struct fake_frame *out, const uint64_t *names,
				   const uint64_t *objs, uint32_t cnt, uint32_t arguments)
{
	const struct py_code_layout *l = py_code_layout(f->at.objects.minor);
	bool old = f->at.objects.minor <= 10;
	uint64_t code = fake_object(f, 0, 256), frame = fake_object(f, 0, 512);
	uint64_t cell = fake_object(f, t->cell, 8), slots;
	char kinds[LOCALS_MAX + 1] = { 0 };

	*out = (struct fake_frame){ .at = { .objects = f->at.objects } };
	out->at.layout.lasti_unit = !old ? 0 : f->at.objects.minor == 10 ? 2 : 1;
	out->at.layout.co_code = (uint16_t)(old ? 200 + f->head - 16 : 216);
	out->at.layout.fr_ip = 32;
	out->at.layout.fr_tlbc_index = ABI_NO_OFF;
	out->at.layout.code_tag_mask = f->at.objects.minor >= 14 ? 3 : 0;
	fake_poke(f, cell + f->head, objs[cnt - 1], 8);
	fake_code_int(f, code, l->argcount, arguments);
	fake_code_int(f, code, l->cnt, old ? cnt - 1 : cnt);
	kinds[cnt - 1] = (char)0x80;
	fake_poke(f, code + l->names + f->head - 16,
		  fake_tuple(f, t, names, old ? cnt - 1 : cnt), 8);
	fake_poke(f, code + l->second + f->head - 16,
		  old ? fake_tuple(f, t, names + cnt - 1, 1) : fake_bytes(f, t, kinds, cnt), 8);
	slots = frame + l->slots + (old ? f->head - 16 : 0);
	fake_pointers(f, objs, cnt - 1, slots);
	fake_poke(f, slots + 8 * (cnt - 1), cell | (out->at.layout.code_tag_mask & 1), 8);
	out->frame = (struct py_frame){ frame, code };
	out->at.layout.ts_frame = 16;
	out->at.layout.cframe_frame = out->at.layout.fr_owner = ABI_NO_OFF;
	out->at.layout.fr_previous = 8;
	out->at.layout.fr_bytes = 16;
	fake_poke(f, frame, code, 8);
	fake_poke(f, frame + 8, 0, 8);
	out->state = fake_take(f, 64);
	fake_poke(f, out->state + 16, frame, 8);
}

#endif
