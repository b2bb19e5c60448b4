// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * python_threads.c - see python_threads.h.
 *
 * Sources, at v3.6.15 ... v3.13.0: Objects/dict-common.h and Include/internal/pycore_dict.h
 * (struct _dictkeysobject, from 3.11 on with dk_kind), Include/cpython/dictobject.h,
 * Include/longintrepr.h and Include/cpython/longintrepr.h, Include/cpython/object.h
 * (PyTypeObject), Include/internal/pycore_object.h (MANAGED_DICT_OFFSET, values in front of or
 * in an object), Objects/moduleobject.c (md_dict), Lib/threading.py. tests/e2e/cpython/
 * test_layouts.py compares interp_modules and type_cached_keys with the headers.
 */
#include "cpython/python_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/walk.h"

/* All reads of one call: a dict is read WALK_ENTRIES at a time. */
#define READS_MAX 16384
#define MODULES_MAX 32768
#define ATTRIBUTES_MAX 1024
#define INTERPS_MAX 1024

struct walk {
	struct py_walk base;
	/* What was read last of types: nearly all objects have the same. 0: nothing yet. */
	uint64_t int_type;
	uint64_t shared_type;	/* whose objects have their name at name_index */
	uint32_t name_index;
};

/* Is the object at addr this ASCII text? A shorter str may be all that is mapped: no. */
static bool is_text(struct walk *w, uint64_t addr, const char *text)
{
	const struct py_object_layout *o = w->base.o;
	size_t len = strlen(text), need = o->str_ascii_data + len;
	uint8_t bytes[128];
	uint64_t length;
	uint32_t state;

	if (need > sizeof(bytes) || py_get(&w->base, addr, bytes, need))
		return false;
	memcpy(&length, bytes + o->str_length, sizeof(length));
	memcpy(&state, bytes + o->str_state, sizeof(state));
	return length == len && state & o->str_compact_bit && state & o->str_ascii_bit &&
	       !memcmp(bytes + o->str_ascii_data, text, len);
}

/* The value of a key among the first max ones, and its index. -ENOENT: there is none. */
static int find(struct walk *w, const struct py_dict *d, const char *key, uint32_t max,
		uint64_t *value, uint32_t *index)
{
	struct py_entry entries[WALK_ENTRIES];
	uint32_t from, cnt, i;
	int err;

	for (from = 0; from < d->cnt && from < max; from += WALK_ENTRIES) {
		err = py_read_entries(&w->base, d, from, entries, &cnt);
		if (err)
			return err;
		for (i = 0; i < cnt; i++) {
			if (!entries[i].key || !is_text(w, entries[i].key, key))
				continue;
			*index = from + i;
			if (d->values)
				return py_pointer(&w->base, d->values + 8ull * (from + i), value);
			*value = entries[i].value;
			return *value ? 0 : -ENOENT;
		}
	}
	return w->base.reads_left ? -ENOENT : -E2BIG;
}

static int find_in(struct walk *w, uint64_t dict, const char *key, uint32_t max, uint64_t *value)
{
	uint32_t index;
	struct py_dict d;
	int err = py_open_dict(&w->base, dict, &d);

	return err ? err : find(w, &d, key, max, value, &index);
}

/* ---- instances ---- */

/*
 * Where an object of a class has its attributes: *dict, or *values with the keys that its type has
 * for all its objects. One of both is 0.
 */
static int managed(struct walk *w, uint64_t obj, uint64_t type, uint64_t flags, uint64_t *dict,
		   uint64_t *values)
{
	/* A free-threaded 3.13 has nothing of the collector's in front of objects. */
	unsigned int below = w->base.o->minor == 13 && w->base.head == 32 ? 8 : 24;
	uint64_t front[2], basic = 0;
	uint8_t head[4];
	int err = py_get(&w->base, obj - below - 8, front, sizeof(front));

	*dict = front[1];
	*values = 0;
	if (err)
		return err;
	if (w->base.o->minor == 11 && !*dict)
		*values = front[0];
	if (w->base.o->minor == 12 && *dict & 1) {
		*values = *dict + 1;
		*dict = 0;
	}
	if (w->base.o->minor < 13 || *dict)
		return *dict || *values ? 0 : -ENOENT;
	if (!(flags & PY_INLINE_VALUES))
		return -ENOENT;
	err = py_get(&w->base, type + w->base.head + 16, &basic, sizeof(basic));
	*values = obj + basic;
	if (!err)
		err = py_get(&w->base, *values, head, sizeof(head));
	return err ? err : basic < 4096 && head[3] ? 0 : -EBADMSG;
}

/* The value of _name among those with the keys of the type. Keys are only added behind others. */
static int shared_name(struct walk *w, uint64_t type, uint64_t values, uint64_t *value)
{
	uint64_t keys;
	struct py_dict d;
	int err;

	if (type == w->shared_type)
		return py_pointer(&w->base, values + (w->base.o->minor >= 13 ? 8 : 0) + 8ull * w->name_index,
			       value);
	err = py_pointer(&w->base, type + w->base.o->type_cached_keys + w->base.head - 16, &keys);
	if (!err)
		err = py_open_keys(&w->base, keys, values, &d);
	if (!err)
		err = find(w, &d, "_name", ATTRIBUTES_MAX, value, &w->name_index);
	w->shared_type = err ? 0 : type;
	return err;
}

/* A Thread's _name. */
static int name_of(struct walk *w, uint64_t obj, uint64_t *value)
{
	uint64_t type, flags, dict, values = 0;
	int64_t at = 0;
	int err = py_type_of(&w->base, obj, &type, &flags);

	if (!err && w->base.o->minor >= 11 && flags & PY_MANAGED_DICT) {
		err = managed(w, obj, type, flags, &dict, &values);
	} else if (!err) {
		err = py_get(&w->base, type + w->base.head + 272, &at, sizeof(at));	/* tp_dictoffset */
		if (!err && (at <= 0 || at > 65536))
			err = -EBADMSG;
		if (!err)
			err = py_pointer(&w->base, obj + at, &dict);
	}
	if (err)
		return err;
	return values ? shared_name(w, type, values, value) :
			find_in(w, dict, "_name", ATTRIBUTES_MAX, value);
}

/* ---- threading ---- */

/* New interpreters are put in front of others. */
static int first_interpreter(struct walk *w, uint64_t head, uint32_t next_at, uint64_t *is)
{
	uint64_t next;
	unsigned int i;
	int err = py_pointer(&w->base, head, is);

	for (i = 0; !err && i < INTERPS_MAX; i++) {
		err = py_get(&w->base, *is + next_at, &next, sizeof(next));
		if (!err && !next)
			return 0;
		*is = next;
	}
	return err ? err : -E2BIG;
}

static int find_active(struct walk *w, const struct python_threads_at *at, uint64_t *active)
{
	uint64_t is, modules, module, dict;
	int err = first_interpreter(w, at->interps, at->interp_next, &is);

	if (!err)
		err = py_pointer(&w->base, is + w->base.o->interp_modules, &modules);
	if (!err)
		err = find_in(w, modules, "threading", MODULES_MAX, &module);
	if (!err)
		err = py_pointer(&w->base, module + w->base.head, &dict);	/* md_dict */
	return err ? err : find_in(w, dict, "_active", ATTRIBUTES_MAX, active);
}

/* The value of an int with two digits of 30 bits, as a pthread_t has. */
static int number(struct walk *w, uint64_t addr, uint64_t *value)
{
	struct {
		uint64_t type;		/* the last word of the head */
		uint64_t size;		/* from 3.12 on the sign is in the lowest bits */
		uint32_t digits[2];
	} n;
	int err = py_get(&w->base, addr + w->base.head - 8, &n, sizeof(n));

	if (!err && n.type != w->int_type)
		err = py_expect(&w->base, addr, PY_IS_LONG);
	if (err)
		return err;
	w->int_type = n.type;
	if (n.size != (w->base.o->minor >= 12 ? 2 << 3 : 2))
		return -EBADMSG;
	*value = (uint64_t)n.digits[1] << 30 | n.digits[0];
	return 0;
}

/* Not more than fits, cut between characters, and up to a NUL. */
static void copy_name(char out[PYTHON_THREAD_BYTES], const char *s, size_t len)
{
	if (len >= PYTHON_THREAD_BYTES)
		for (len = PYTHON_THREAD_BYTES - 1; len && (s[len] & 0xc0) == 0x80; len--)
			;
	memcpy(out, s, len);
	out[len] = '\0';
}

static int read_thread(struct walk *w, const struct py_entry *e, bool musl,
		       struct python_thread *out)
{
	uint64_t self = 0, name = 0;
	uint32_t len, tid = 0;
	char *s;
	int err = number(w, e->key, &self);

	if (!err)
		err = py_get(&w->base, self + (musl ? PTHREAD_MUSL_TID : PTHREAD_GLIBC_TID), &tid, sizeof(tid));
	if (!err)
		err = name_of(w, e->value, &name);
	if (!err)
		err = code_read_string(w->base.mem, w->base.o, name, &s, &len);
	if (err)
		return err;
	out->tid = tid;
	copy_name(out->name, s, len);
	free(s);
	return tid && *out->name ? 0 : -ENOENT;
}

static int list_threads(struct walk *w, const struct py_dict *d, bool musl,
			struct python_threads *out)
{
	struct py_entry entries[WALK_ENTRIES];
	uint32_t from, cnt, i;
	int err;

	for (from = 0; from < d->cnt && from < MODULES_MAX; from += WALK_ENTRIES) {
		err = py_read_entries(&w->base, d, from, entries, &cnt);
		for (i = 0; !err && i < cnt && out->cnt < PYTHON_THREADS_MAX; i++)
			if (entries[i].key && entries[i].value &&
			    !read_thread(w, &entries[i], musl, &out->list[out->cnt]))
				out->cnt++;
		if (err)
			return err;
	}
	return w->base.reads_left ? 0 : -E2BIG;
}

bool python_threads_known(const struct py_object_layout *o)
{
	return o->interp_modules && o->minor <= 13;
}

int python_threads_read(const struct target_mem *mem, const struct python_threads_at *at,
			struct python_threads *out)
{
	struct walk w = { .int_type = 0 };
	struct py_dict d;
	int err = 0;

	py_walk_init(&w.base, mem, &at->objects, READS_MAX);
	out->cnt = 0;
	out->active = at->active;
	if (!python_threads_known(&at->objects) || !at->interps)
		return -ENOENT;
	if (!out->active)
		err = find_active(&w, at, &out->active);
	if (!err)
		err = py_open_dict(&w.base, out->active, &d);
	if (!err)
		err = list_threads(&w, &d, at->musl, out);
	if (err && !out->cnt)
		out->active = 0;
	return err;
}

/* Does s begin with "prefix" and a number? Returns what follows, or NULL. */
static const char *behind_number(const char *s, const char *prefix)
{
	size_t len = strlen(prefix), digits = strncmp(s, prefix, len) ? 0 :
						strspn(s + len, "0123456789");

	return digits ? s + len + digits : NULL;
}

bool python_thread_is_numbered(const char *name)
{
	const char *end = behind_number(name, "Thread-");

	return (end && (!*end || !strncmp(end, " (", 2))) || python_thread_is_dummy(name);
}

bool python_thread_is_dummy(const char *name)
{
	const char *end = behind_number(name, "Dummy-");

	return end && !*end;
}
