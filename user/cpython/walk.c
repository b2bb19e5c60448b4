// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * walk.c - see walk.h.
 *
 * Sources, at v3.6.15 ... v3.15.0: Objects/dict-common.h and Include/internal/pycore_dict.h
 * (struct _dictkeysobject, from 3.11 on with dk_kind), Include/cpython/dictobject.h,
 * Include/cpython/object.h (PyTypeObject).
 */
#include "cpython/walk.h"

#include <errno.h>
#include <string.h>

void py_walk_init(struct py_walk *w, const struct target_mem *mem,
		  const struct py_object_layout *o, uint32_t reads)
{
	/* A str's length is the first field after the head. */
	*w = (struct py_walk){ .mem = mem, .o = o, .head = o->str_length, .reads_left = reads };
}

void py_walk_forget(struct py_walk *w)
{
	w->type = w->type_flags = w->ident_type = 0;
}

int py_get(struct py_walk *w, uint64_t addr, void *buf, size_t len)
{
	if (!w->reads_left)
		return -E2BIG;
	w->reads_left--;
	return w->mem->read(w->mem->ctx, addr, buf, len);
}

int py_peek(struct py_walk *w, uint64_t addr, void *buf, size_t len)
{
	const struct target_mem *mem = w->used ? &w->used->mem : w->mem;
	int err;

	if (!w->reads_left)
		return -E2BIG;
	w->reads_left--;
	err = mem->read(mem->ctx, addr, buf, len);
	if (err && w->used)
		w->used->whole = false;
	return err;
}

void py_use(struct py_walk *w, uint64_t addr, const void *bytes, size_t len)
{
	if (w->used)
		used_part(w->used, addr, bytes, len);
}

int py_pointer(struct py_walk *w, uint64_t addr, uint64_t *out)
{
	int err = py_get(w, addr, out, sizeof(*out));

	return err ? err : *out ? 0 : -ENOENT;
}

/* ob_type is the last word of an object's head, in builds of all kinds. */
int py_type_of(struct py_walk *w, uint64_t obj, uint64_t *type, uint64_t *flags)
{
	int err = py_pointer(w, obj + w->head - 8, type);

	if (!err && *type != w->type) {
		err = py_peek(w, *type + w->head + 152, &w->type_flags, sizeof(w->type_flags));
		w->type = err ? 0 : *type;
	}
	*flags = w->type_flags;
	return err;
}

int py_expect(struct py_walk *w, uint64_t obj, uint64_t flag)
{
	uint64_t type, flags;
	int err = py_type_of(w, obj, &type, &flags);

	return err ? err : flags & flag ? 0 : -EBADMSG;
}

/* tp_name is the first field after a PyVarObject's head. */
bool py_type_named(struct py_walk *w, uint64_t obj, const char *name)
{
	char text[32] = "";
	uint64_t type, at;

	if (py_pointer(w, obj + w->head - 8, &type) ||
	    py_peek(w, type + w->head + 8, &at, sizeof(at)))
		return false;
	return !py_peek(w, at, text, strlen(name) + 1) && !strcmp(text, name);
}

/* After ob_size, from 3.14 on after ob_hash. */
uint64_t py_tuple_items(const struct py_walk *w, uint64_t tuple)
{
	return tuple + w->head + (w->o->minor >= 14 ? 16 : 8);
}

/* ---- dicts ---- */

/* Up to 3.10: dk_refcnt, dk_size, dk_lookup, dk_usable, dk_nentries, dk_indices. */
static int old_keys(const uint64_t words[5], uint64_t keys, struct py_dict *d)
{
	uint64_t size = words[1], index = size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;

	if (!size || size & (size - 1) || size > UINT32_MAX || words[4] > size)
		return -EBADMSG;
	d->entries = keys + 40 + size * index;
	d->cnt = (uint32_t)words[4];
	d->entry_bytes = 24;	/* hash, key, value */
	d->key_at = 8;
	return 0;
}

/* From 3.11 on: dk_refcnt, sizes (bytes), dk_usable, dk_nentries, dk_indices. */
static int new_keys(const uint64_t words[5], uint64_t keys, struct py_dict *d)
{
	uint8_t index_bytes = words[1] >> 8 & 0xff, kind = words[1] >> 16 & 0xff;

	if (index_bytes > 35 || kind > 2 || words[3] > UINT32_MAX)
		return -EBADMSG;
	d->entries = keys + 32 + (1ull << index_bytes);
	d->cnt = (uint32_t)words[3];
	d->entry_bytes = kind ? 16 : 24;	/* of str, the hash is in the key */
	d->key_at = kind ? 0 : 8;
	return 0;
}

int py_open_keys(struct py_walk *w, uint64_t keys, uint64_t values, struct py_dict *d)
{
	uint32_t cnt_at = w->o->minor >= 11 ? 3 : 4;
	uint64_t words[5];
	int err = py_peek(w, keys, words, sizeof(words));

	if (err)
		return err;
	/* Without the reference count, and how many entries are free. */
	py_use(w, keys + 8, words + 1, 8);
	py_use(w, keys + 8 * cnt_at, words + cnt_at, 8);
	/* struct _dictvalues begins with four bytes from 3.13 on. */
	d->used = 0;
	d->values = values && w->o->minor >= 13 ? values + 8 : values;
	return w->o->minor >= 11 ? new_keys(words, keys, d) : old_keys(words, keys, d);
}

/* ma_used, ma_version_tag, ma_keys, ma_values */
int py_open_dict(struct py_walk *w, uint64_t addr, struct py_dict *d)
{
	uint64_t words[4];
	int err = py_expect(w, addr, PY_IS_DICT);

	if (!err)
		err = py_peek(w, addr + w->head, words, sizeof(words));
	if (err)
		return err;
	py_use(w, addr + w->head, words, 8);
	py_use(w, addr + w->head + 16, words + 2, 16);
	err = py_open_keys(w, words[2], words[3], d);
	d->used = err ? 0 : words[0];
	return err;
}

int py_read_entries(struct py_walk *w, const struct py_dict *d, uint32_t from,
		    struct py_entry out[WALK_ENTRIES], uint32_t *cnt)
{
	uint8_t bytes[WALK_ENTRIES * 24];
	uint32_t i;
	int err;

	*cnt = d->cnt - from < WALK_ENTRIES ? d->cnt - from : WALK_ENTRIES;
	err = py_get(w, d->entries + (uint64_t)from * d->entry_bytes, bytes,
		     (size_t)*cnt * d->entry_bytes);
	for (i = 0; !err && i < *cnt; i++)
		memcpy(&out[i], bytes + (size_t)i * d->entry_bytes + d->key_at, sizeof(*out));
	return err;
}

