// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * taken.c - see taken.h.
 *
 * `self.lock.acquire()` is LOAD_FAST self, LOAD_ATTR lock, LOAD_ATTR acquire (up to 3.11
 * LOAD_METHOD), or specialised forms of these, whose names begin in the same way. Sources: the
 * documentation of dis, 3.6 ... 3.15; Python/bytecodes.c.
 */
#include "cpython/taken.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/string_ref.h"
#include "cpython/attributes.h"
#include "cpython/lock.h"
#include "cpython/opcode_names.h"

/*
 * Limits: names of a function; attributes of attributes; bytes of code that are examined, at a time
 * and in total; globals.
 */
#define NAMES_MAX 256
#define PATH_MAX_NAMES 4
#define WINDOW 1024u
#define BYTECODE_MAX 65536u
#define GLOBALS_MAX 4096u

struct names {
	uint64_t list[NAMES_MAX];	/* of str objects */
	uint32_t cnt;
};

/* Where the object on top of the stack came from. */
enum from { FROM_ELSEWHERE, FROM_SLOT, FROM_CELL, FROM_GLOBAL };

struct scan {
	struct py_walk *w;
	const struct py_frames_at *at;
	const struct py_frame *frame;
	struct py_variables v;
	struct names names;
	uint32_t acquire, release;	/* their indices */
	struct py_taken *out;
	uint32_t cnt;
	/* of the previous instruction */
	enum from from;
	uint32_t index, path[PATH_MAX_NAMES], path_cnt;
};

/* ---- names ---- */

static int read_names(struct py_walk *w, uint64_t code, struct names *names)
{
	const struct py_code_layout *row = py_code_layout(w->o->minor);
	uint64_t tuple, cnt = 0;
	int err = py_pointer(w, code + row->used + w->head - 16, &tuple);

	names->cnt = 0;
	if (!err)
		err = py_get(w, tuple + w->head, &cnt, sizeof(cnt));
	if (!err && cnt > NAMES_MAX)
		err = -EBADMSG;
	if (!err && cnt)
		err = py_get(w, py_tuple_items(w, tuple), names->list, cnt * sizeof(*names->list));
	names->cnt = err ? 0 : (uint32_t)cnt;
	return err;
}

static uint32_t index_of(struct py_walk *w, const struct names *names, const char *name)
{
	uint32_t i;

	for (i = 0; i < names->cnt; i++)
		if (py_is_text(w, names->list[i], name))
			return i;
	return UINT32_MAX;
}

bool py_code_takes(struct py_walk *w, uint64_t code)
{
	struct names names;

	return !read_names(w, code, &names) && (index_of(w, &names, "acquire") != UINT32_MAX ||
						index_of(w, &names, "release") != UINT32_MAX);
}

bool py_code_releases(struct py_walk *w, uint64_t code)
{
	struct names names;

	return read_names(w, code, &names) || index_of(w, &names, "release") != UINT32_MAX ||
	       !w->reads_left;
}

/* ---- objects ---- */

static uint64_t read_slot(struct scan *s, uint32_t i)
{
	uint64_t bits, obj;

	if (i >= s->v.cnt || py_get(s->w, s->v.slots + 8ull * i, &bits, sizeof(bits)))
		return 0;
	obj = py_slot_object(s->at, bits);
	if (obj && py_type_named(s->w, obj, "cell") && py_pointer(s->w, obj + s->w->head, &obj))
		return 0;
	return obj;
}

/* Names are interned: the key is the same str. */
static uint64_t read_global(struct scan *s, uint32_t name)
{
	const struct py_code_layout *row = py_code_layout(s->at->objects.minor);
	uint64_t at = s->frame->addr + row->globals +
		      (s->at->layout.lasti_unit ? s->w->head - 16 : 0);
	struct py_entry entries[WALK_ENTRIES];
	uint32_t from, cnt, i;
	struct py_dict d;
	uint64_t dict;

	if (name >= s->names.cnt || py_pointer(s->w, at, &dict) || py_open_dict(s->w, dict, &d) ||
	    d.values)
		return 0;
	for (from = 0; from < d.cnt && from < GLOBALS_MAX; from += WALK_ENTRIES) {
		if (py_read_entries(s->w, &d, from, entries, &cnt))
			return 0;
		for (i = 0; i < cnt; i++)
			if (entries[i].key == s->names.list[name])
				return entries[i].value;
	}
	return 0;
}

static uint64_t read_attribute(struct scan *s, uint64_t obj, uint32_t name)
{
	uint64_t value = 0;
	uint32_t len;
	char *text;

	if (name >= s->names.cnt ||
	    code_read_string(s->w->mem, s->w->o, s->names.list[name], &text, &len))
		return 0;
	if (py_attribute(s->w, obj, text, &value))
		value = 0;
	free(text);
	return value;
}

/* The object whose method the instruction loads; 0: unknown. */
static uint64_t find_object(struct scan *s)
{
	uint32_t cells = s->at->layout.lasti_unit ? s->v.plain : 0, i;
	uint64_t obj = 0;

	if (s->from == FROM_SLOT)
		obj = read_slot(s, s->index);
	else if (s->from == FROM_CELL)
		obj = read_slot(s, cells + s->index);
	else if (s->from == FROM_GLOBAL)
		obj = read_global(s, s->index);
	for (i = 0; obj && i < s->path_cnt; i++)
		obj = read_attribute(s, obj, s->path[i]);
	return obj;
}

/* ---- instructions ---- */

static void take_lock(struct scan *s, uint32_t lasti, bool held)
{
	uint64_t obj = find_object(s), lock = obj ? py_lock_of(s->w, obj) : 0;
	uint32_t i;

	for (i = 0; i < s->cnt && s->out[i].lock != lock; i++)
		;
	if (!lock || i == PY_TAKEN_MAX)
		return;
	s->out[i] = (struct py_taken){ lock, lasti, held };
	s->cnt += i == s->cnt;
}

static void load_attribute(struct scan *s, uint32_t lasti, uint32_t name)
{
	if (name == s->acquire || name == s->release)
		take_lock(s, lasti, name == s->acquire);
	if (name == s->acquire || name == s->release || s->path_cnt == PATH_MAX_NAMES)
		s->from = FROM_ELSEWHERE;
	else
		s->path[s->path_cnt++] = name;
}

static void load_from(struct scan *s, enum from from, uint32_t index)
{
	s->from = from;
	s->index = index;
	s->path_cnt = 0;
}

static void step_instruction(struct scan *s, uint32_t lasti, const char *name, uint32_t arg)
{
	uint8_t minor = s->at->objects.minor;

	if (starts_with(name, "LOAD_FAST_LOAD") || starts_with(name, "LOAD_FAST_BORROW_LOAD") ||
	    starts_with(name, "STORE_FAST_LOAD"))	/* the second is on top */
		load_from(s, FROM_SLOT, arg & 15);
	else if (starts_with(name, "LOAD_FAST"))
		load_from(s, FROM_SLOT, arg);
	else if (starts_with(name, "LOAD_DEREF"))
		load_from(s, FROM_CELL, arg);
	else if (starts_with(name, "LOAD_GLOBAL"))
		load_from(s, FROM_GLOBAL, minor >= 11 ? arg >> 1 : arg);
	else if (starts_with(name, "LOAD_NAME"))
		load_from(s, FROM_GLOBAL, arg);
	else if (starts_with(name, "LOAD_METHOD"))
		load_attribute(s, lasti, arg);
	else if (starts_with(name, "LOAD_ATTR"))
		load_attribute(s, lasti, minor >= 12 ? arg >> 1 : arg);
	else
		s->from = FROM_ELSEWHERE;
}

/* Scan the bytecode up to the instruction at end. */
static void scan_code(struct scan *s, uint64_t code, uint32_t end)
{
	uint32_t off, arg = 0, skip = 0, i, len;
	uint8_t b[WINDOW], minor = s->at->objects.minor, caches;
	const char *name;

	for (off = 0; off < end; off += WINDOW) {
		len = end - off < WINDOW ? end - off : WINDOW;
		if (py_get(s->w, code + off, b, len))
			return;
		for (i = 0; i + 1 < len; i += 2) {
			if (skip) {
				skip--;
				continue;
			}
			arg = arg << 8 | b[i + 1];
			name = opcode_name(3, minor, b[i]);
			caches = code_cache_units(minor, b[i]);
			if (caches == CODE_CACHES_UNKNOWN)
				return;
			skip = caches;
			if (name && starts_with(name, "EXTENDED_ARG"))
				continue;
			/* 3.11, 3.12: in nameless pairs, the second instruction follows, too. */
			step_instruction(s, off + i, name ? name : "", arg);
			arg = 0;
		}
	}
}

int py_frame_taken(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		   struct py_taken out[PY_TAKEN_MAX], uint32_t *cnt)
{
	struct scan s = { .w = w, .at = at, .frame = frame, .out = out };
	uint64_t code = frame->code + at->layout.co_code;
	uint32_t lasti = 0;
	int err = py_frame_variables(w, at, frame, &s.v);

	if (!err)
		err = read_names(w, frame->code, &s.names);
	if (!err)
		err = py_frame_lasti(w, at, frame, &lasti);
	if (!err && at->layout.lasti_unit) {	/* a bytes object */
		err = py_pointer(w, code, &code);
		code += w->o->bytes_data;
	}
	s.acquire = index_of(w, &s.names, "acquire");
	s.release = index_of(w, &s.names, "release");
	if (!err && lasti <= BYTECODE_MAX)
		scan_code(&s, code, lasti);
	*cnt = s.cnt;
	return err;
}
