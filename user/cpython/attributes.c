// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * attributes.c - see attributes.h.
 *
 * Sources, at v3.6.15 ... v3.15.0: Include/longintrepr.h and Include/cpython/longintrepr.h,
 * Include/cpython/object.h (PyTypeObject), Include/internal/pycore_object.h (MANAGED_DICT_OFFSET,
 * values in front of or in an object). tests/e2e/cpython/test_layouts.py compares
 * type_cached_keys with the headers.
 */
#include "cpython/attributes.h"

#include <errno.h>
#include <string.h>

/* A str shorter than `text` may be followed by unmapped memory: not equal. */
bool py_is_text(struct py_walk *w, uint64_t addr, const char *text)
{
	const struct py_object_layout *o = w->o;
	size_t len = strlen(text), need = o->str_ascii_data + len;
	uint8_t bytes[128];
	uint64_t length;
	uint32_t state;

	if (need > sizeof(bytes) || py_peek(w, addr, bytes, need))
		return false;
	memcpy(&length, bytes + o->str_length, sizeof(length));
	memcpy(&state, bytes + o->str_state, sizeof(state));
	return length == len && state & o->str_compact_bit && state & o->str_ascii_bit &&
	       !memcmp(bytes + o->str_ascii_data, text, len);
}

uint32_t py_text_among(struct py_walk *w, uint64_t addr, const char *const texts[], uint32_t cnt)
{
	const struct py_object_layout *o = w->o;
	uint8_t bytes[128];
	size_t n = object_first_read(addr, o->str_ascii_data + 1u, sizeof(bytes));
	uint64_t length;
	uint32_t state, i;

	if (n > sizeof(bytes) || py_peek(w, addr, bytes, n))
		return cnt;
	memcpy(&length, bytes + o->str_length, sizeof(length));
	memcpy(&state, bytes + o->str_state, sizeof(state));
	if (!(state & o->str_compact_bit) || !(state & o->str_ascii_bit))
		return cnt;
	for (i = 0; i < cnt; i++) {
		if (length != strlen(texts[i]))
			continue;
		if (o->str_ascii_data + length <= n ?
		    !memcmp(bytes + o->str_ascii_data, texts[i], length) :
		    py_is_text(w, addr, texts[i]))
			return i;
	}
	return cnt;
}

int py_dict_find(struct py_walk *w, const struct py_dict *d, const char *key, uint32_t max,
		 uint64_t *value, uint32_t *index)
{
	struct py_entry entries[WALK_ENTRIES];
	uint32_t from, cnt, i;
	int err;

	for (from = 0; from < d->cnt && from < max; from += WALK_ENTRIES) {
		err = py_read_entries(w, d, from, entries, &cnt);
		if (err)
			return err;
		for (i = 0; i < cnt; i++) {
			if (!entries[i].key || !py_is_text(w, entries[i].key, key))
				continue;
			*index = from + i;
			if (d->values)
				return py_pointer(w, d->values + 8ull * (from + i), value);
			*value = entries[i].value;
			return *value ? 0 : -ENOENT;
		}
	}
	return w->reads_left ? -ENOENT : -E2BIG;
}

int py_dict_value(struct py_walk *w, uint64_t dict, const char *key, uint32_t max,
		  uint64_t *value)
{
	uint32_t index;
	struct py_dict d;
	int err = py_open_dict(w, dict, &d);

	return err ? err : py_dict_find(w, &d, key, max, value, &index);
}

int py_dict_values(struct py_walk *w, uint64_t dict, const char *const keys[], uint32_t cnt,
		   uint32_t max, uint64_t values[])
{
	struct py_entry entries[WALK_ENTRIES];
	uint32_t from, n, i, key, found = 0;
	struct py_dict d;
	int err = py_open_dict(w, dict, &d);

	memset(values, 0, cnt * sizeof(*values));
	for (from = 0; !err && from < d.cnt && from < max && found < cnt; from += WALK_ENTRIES) {
		err = py_read_entries(w, &d, from, entries, &n);
		for (i = 0; !err && i < n && found < cnt; i++) {
			key = entries[i].key ? py_text_among(w, entries[i].key, keys, cnt) : cnt;
			if (key == cnt || values[key])
				continue;
			found++;
			if (d.values)
				err = py_get(w, d.values + 8ull * (from + i), &values[key], 8);
			else
				values[key] = entries[i].value;
		}
	}
	return err ? err : w->reads_left ? 0 : -E2BIG;
}

/* An object whose dict or values are next to it (3.11+). */
static int find_managed(struct py_walk *w, uint64_t obj, uint64_t type, uint64_t flags,
			uint64_t *dict, uint64_t *values)
{
	/* A free-threaded build has no collector's data before objects. */
	unsigned int below = w->o->minor >= 13 && w->head == 32 ? 8 : 24;
	uint64_t front[2], basic = 0;
	uint8_t head[4];
	int err = py_get(w, obj - below - 8, front, sizeof(front));

	*dict = front[1];
	*values = 0;
	if (err)
		return err;
	if (w->o->minor == 11 && !*dict)
		*values = front[0];
	if (w->o->minor == 12 && *dict & 1) {
		*values = *dict + 1;
		*dict = 0;
	}
	if (w->o->minor < 13 || *dict)
		return *dict || *values ? 0 : -ENOENT;
	if (!(flags & PY_INLINE_VALUES))
		return -ENOENT;
	err = py_peek(w, type + w->head + 16, &basic, sizeof(basic));
	*values = obj + basic;
	if (!err)
		err = py_get(w, *values, head, sizeof(head));
	return err ? err : basic < 4096 && head[3] ? 0 : -EBADMSG;
}

int py_attributes(struct py_walk *w, uint64_t obj, uint64_t *type, uint64_t *dict,
		  uint64_t *values)
{
	uint64_t flags;
	int64_t at = 0;
	int err = py_type_of(w, obj, type, &flags);

	*values = 0;
	if (!err && w->o->minor >= 11 && flags & PY_MANAGED_DICT)
		return find_managed(w, obj, *type, flags, dict, values);
	if (!err)
		err = py_peek(w, *type + w->head + 272, &at, sizeof(at));	/* tp_dictoffset */
	if (!err && (at <= 0 || at > 65536))
		err = -EBADMSG;
	return err ? err : py_pointer(w, obj + at, dict);
}

int py_shared_keys(struct py_walk *w, uint64_t type, uint64_t values, struct py_dict *d)
{
	uint64_t keys;
	int err = py_pointer(w, type + w->o->type_cached_keys + w->head - 16, &keys);

	return err ? err : py_open_keys(w, keys, values, d);
}

int py_attribute(struct py_walk *w, uint64_t obj, const char *name, uint64_t *value)
{
	uint64_t type, dict, values;
	struct py_dict d;
	uint32_t index;
	int err = py_attributes(w, obj, &type, &dict, &values);

	if (err)
		return err;
	err = values ? py_shared_keys(w, type, values, &d) : py_open_dict(w, dict, &d);
	return err ? err : py_dict_find(w, &d, name, PY_ATTRIBUTES_MAX, value, &index);
}

int py_ident_of(struct py_walk *w, uint64_t obj, uint64_t *value)
{
	struct {
		uint64_t type;		/* the last word of the head */
		uint64_t size;		/* from 3.12 on the sign is in the lowest bits */
		uint32_t digits[2];
	} n;
	int err = py_get(w, obj + w->head - 8, &n, sizeof(n));

	if (!err && n.type != w->ident_type)
		err = py_expect(w, obj, PY_IS_LONG);
	if (err)
		return err;
	w->ident_type = n.type;
	if (n.size != (w->o->minor >= 12 ? 2 << 3 : 2))
		return -EBADMSG;
	*value = (uint64_t)n.digits[1] << 30 | n.digits[0];
	return 0;
}
