// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * future.c - see future.h.
 *
 * Sources, at v3.8.0 ... v3.13.0: Modules/_asynciomodule.c (fut_state: STATE_PENDING is 0),
 * Lib/asyncio/futures.py (an object has its own _state only when it is done),
 * Lib/asyncio/tasks.py. A class in Python may have any number of bases, of which tp_base is only
 * one: so its method resolution order is searched.
 */
#include "asyncio/future.h"

#include <errno.h>
#include <string.h>

#include "cpython/attributes.h"

/* Limit on an object's attributes that are examined. */
#define ATTRIBUTES_MAX 256
/* No struct of _asyncio is larger. */
#define STRUCT_BYTES 256

enum { A_LOOP, A_CALLBACKS, A_STATE, A_CORO, A_NAME, A_WAITER, A_CNT };
static const char *const attributes[A_CNT] = {
	"_loop", "_callbacks", "_state", "_coro", "_name", "_fut_waiter",
};

/* What a type of a method resolution order is. */
static enum future_kind kind_of_base(const struct async_homes *h, uint64_t type, bool *pure)
{
	uint8_t i;

	for (i = 0; type && i < h->cnt && i < ASYNC_HOMES_MAX; i++) {
		const struct async_home *home = &h->home[i];

		*pure = home->pure || type == home->py_task || type == home->py_future;
		if (type == home->task || type == home->py_task)
			return FUTURE_TASK;
		if (type == home->future || type == home->py_future)
			return FUTURE_FUTURE;
	}
	return FUTURE_NONE;
}

/* The first of a type's bases, which include itself, that is a Task or Future. */
static enum future_kind kind_of_type(struct py_walk *w, const struct async_homes *h, uint64_t type,
				     bool *pure)
{
	enum future_kind kind = kind_of_base(h, type, pure);
	uint64_t mro, cnt, bases[FUTURE_BASES_MAX], i;

	if (kind != FUTURE_NONE || py_peek(w, type + w->head + PY_TYPE_MRO, &mro, sizeof(mro)) ||
	    py_expect(w, mro, PY_IS_TUPLE) || py_peek(w, mro + w->head, &cnt, sizeof(cnt)))
		return kind;
	if (cnt > FUTURE_BASES_MAX)
		cnt = FUTURE_BASES_MAX;
	if (py_peek(w, py_tuple_items(w, mro), bases, cnt * sizeof(bases[0])))
		return FUTURE_NONE;
	for (i = 0; i < cnt && kind == FUTURE_NONE; i++)
		kind = kind_of_base(h, bases[i], pure);
	return kind;
}

static enum future_kind kind_of(struct py_walk *w, const struct async_homes *h,
				struct future_types *types, uint64_t obj, bool *pure)
{
	enum future_kind kind;
	uint64_t type;
	uint32_t i;

	*pure = false;
	if (!obj || py_pointer(w, obj + w->head - 8, &type))
		return FUTURE_NONE;
	for (i = 0; i < FUTURE_TYPES; i++)
		if (types->type[i].addr == type) {
			*pure = types->type[i].pure;
			return types->type[i].kind;
		}
	kind = kind_of_type(w, h, type, pure);
	i = types->next++ % FUTURE_TYPES;
	types->type[i].addr = type;
	types->type[i].kind = kind;
	types->type[i].pure = *pure;
	return kind;
}

enum future_kind future_kind(struct py_walk *w, const struct async_homes *h,
			     struct future_types *types, uint64_t obj)
{
	bool pure;

	return kind_of(w, h, types, obj, &pure);
}

/* ---- of C ---- */

static void use_struct(struct py_walk *w, const struct async_fields *f, uint64_t obj,
		       const uint8_t *b, enum future_kind kind)
{
	py_use(w, obj + f->loop, b + f->loop, 8);
	py_use(w, obj + f->callback0, b + f->callback0, 8);
	py_use(w, obj + f->callbacks, b + f->callbacks, 8);
	py_use(w, obj + f->state, b + f->state, 4);
	if (kind != FUTURE_TASK)
		return;
	py_use(w, obj + f->fut_waiter, b + f->fut_waiter, 8);
	py_use(w, obj + f->coro, b + f->coro, 8);
	py_use(w, obj + f->name, b + f->name, 8);
}

static int read_struct(struct py_walk *w, const struct async_homes *h, uint64_t obj,
		       struct future_fields *out)
{
	const struct async_fields *f = &h->fields;
	uint16_t len = out->kind == FUTURE_TASK ? f->task_bytes : f->future_bytes;
	uint8_t b[STRUCT_BYTES];
	uint32_t state;
	int err = len > sizeof(b) ? -EBADMSG : py_peek(w, obj, b, len);

	if (err)
		return err;
	use_struct(w, f, obj, b, out->kind);
	memcpy(&out->loop, b + f->loop, 8);
	memcpy(&out->callback0, b + f->callback0, 8);
	memcpy(&out->callbacks, b + f->callbacks, 8);
	memcpy(&state, b + f->state, 4);
	out->done = state != 0;
	if (out->kind == FUTURE_TASK) {
		memcpy(&out->fut_waiter, b + f->fut_waiter, 8);
		memcpy(&out->coro, b + f->coro, 8);
		memcpy(&out->name, b + f->name, 8);
	}
	return 0;
}

/* ---- of Python ---- */

/* Which attribute a key is; A_CNT: none. Keys are interned: nearly all objects share them. */
static uint32_t attribute_of(struct py_walk *w, struct future_types *types, uint64_t key)
{
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15 >> 32) % FUTURE_KEYS;

	if (!key)
		return A_CNT;
	if (types->key[i].addr != key) {
		types->key[i].which = (uint8_t)py_text_among(w, key, attributes, A_CNT);
		types->key[i].addr = key;
	}
	return types->key[i].which;
}

/* The values of a block of entries. */
static int read_values(struct py_walk *w, const struct py_dict *d, uint32_t from,
		       struct py_entry entries[WALK_ENTRIES], uint32_t cnt)
{
	uint64_t values[WALK_ENTRIES];
	uint32_t i;
	int err;

	if (!d->values)
		return 0;
	err = py_get(w, d->values + 8ull * from, values, cnt * sizeof(values[0]));
	for (i = 0; !err && i < cnt; i++)
		entries[i].value = values[i];
	return err;
}

static int read_attributes(struct py_walk *w, struct future_types *types, uint64_t obj,
			   uint64_t v[A_CNT])
{
	struct py_entry entries[WALK_ENTRIES];
	uint64_t type, dict, values;
	uint32_t from, cnt, i, which;
	struct py_dict d;
	int err = py_attributes(w, obj, &type, &dict, &values);

	if (!err)
		err = values ? py_shared_keys(w, type, values, &d) : py_open_dict(w, dict, &d);
	for (from = 0; !err && from < d.cnt && from < ATTRIBUTES_MAX; from += WALK_ENTRIES) {
		err = py_read_entries(w, &d, from, entries, &cnt);
		if (!err)
			err = read_values(w, &d, from, entries, cnt);
		for (i = 0; !err && i < cnt; i++) {
			which = attribute_of(w, types, entries[i].key);
			if (which < A_CNT)
				v[which] = entries[i].value;
		}
	}
	return err;
}

/* The object, or 0 if it is None, of which there is one. Only _fut_waiter can be None. */
static uint64_t unless_none(struct py_walk *w, struct future_types *types, uint64_t obj)
{
	if (!obj || obj == types->none)
		return 0;
	if (types->none || !py_type_named(w, obj, "NoneType"))
		return obj;
	types->none = obj;
	return 0;
}

static int read_object(struct py_walk *w, struct future_types *types, uint64_t obj,
		       struct future_fields *out)
{
	uint64_t v[A_CNT] = { 0 };
	int err = read_attributes(w, types, obj, v);

	if (err)
		return err;
	out->loop = v[A_LOOP];
	out->callbacks = v[A_CALLBACKS];
	out->done = v[A_STATE] && !py_is_text(w, v[A_STATE], "PENDING");
	if (out->kind == FUTURE_TASK) {
		out->coro = v[A_CORO];
		out->name = v[A_NAME];
		out->fut_waiter = unless_none(w, types, v[A_WAITER]);
	}
	return 0;
}

int future_read(struct py_walk *w, const struct async_homes *h, struct future_types *types,
		uint64_t obj, struct future_fields *out)
{
	memset(out, 0, sizeof(*out));
	out->kind = kind_of(w, h, types, obj, &out->pure);
	if (out->kind == FUTURE_NONE)
		return -EBADMSG;
	return out->pure ? read_object(w, types, obj, out) : read_struct(w, h, obj, out);
}
