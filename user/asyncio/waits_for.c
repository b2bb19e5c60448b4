// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * waits_for.c - see waits_for.h.
 *
 * Functions and their arguments: Lib/asyncio/locks.py, queues.py, streams.py, selector_events.py,
 * base_subprocess.py, subprocess.py, tasks.py, futures.py at v3.8.0 ... v3.15.0; sock_fd is the
 * first member of PySocketSockObject (Modules/socketmodule.h), fut_callback0 the second one of
 * FutureObj (Modules/_asynciomodule.c). The globals of a frame: Include/frameobject.h (up to 3.10),
 * Include/internal/pycore_frame.h.
 */
#include "asyncio/waits_for.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "cpython/attributes.h"
#include "cpython/callable.h"

#define FOLDER "asyncio/"
#define FILE_BYTES 64		/* of the end of a file's name */
#define BASES_MAX 8
#define SLOTS_READ 64		/* variables of the caller that are searched */
#define FRAMES_OUT 4		/* callers that are asked for a name */

/*
 * Where the object is: the first argument, or the second one of a loop's method. CALLBACK: it is no
 * coroutine, but what a future calls.
 */
enum { SELF, SECOND, CALLBACK };

static const struct place {
	const char *file, *function;
	const char *class;	/* of self, or of a base class of it; NULL: any */
	uint8_t kind;		/* enum waits_for_kind */
	uint8_t argument;
} places[] = {
	{ "tasks.py", "sleep", NULL, WAITS_SLEEP, SELF },
	{ "locks.py", "acquire", "Lock", WAITS_LOCK, SELF },
	{ "locks.py", "acquire", "Semaphore", WAITS_SEMAPHORE, SELF },
	{ "locks.py", "wait", "Event", WAITS_EVENT, SELF },
	{ "locks.py", "wait", "Condition", WAITS_CONDITION, SELF },
	{ "locks.py", "wait", "Barrier", WAITS_BARRIER, SELF },
	{ "queues.py", "get", NULL, WAITS_QUEUE_GET, SELF },
	{ "queues.py", "put", NULL, WAITS_QUEUE_PUT, SELF },
	{ "queues.py", "join", NULL, WAITS_QUEUE_JOIN, SELF },
	{ "streams.py", "_wait_for_data", NULL, WAITS_SOCKET, SELF },
	{ "streams.py", "drain", NULL, WAITS_SOCKET, SELF },
	{ "streams.py", "wait_closed", NULL, WAITS_SOCKET, SELF },
	{ "selector_events.py", "sock_recv", NULL, WAITS_SOCKET, SECOND },
	{ "selector_events.py", "sock_recv_into", NULL, WAITS_SOCKET, SECOND },
	{ "selector_events.py", "sock_recvfrom", NULL, WAITS_SOCKET, SECOND },
	{ "selector_events.py", "sock_recvfrom_into", NULL, WAITS_SOCKET, SECOND },
	{ "selector_events.py", "sock_sendto", NULL, WAITS_SOCKET, SECOND },
	{ "selector_events.py", "sock_sendall", NULL, WAITS_SOCKET, SECOND },
	{ "selector_events.py", "sock_connect", NULL, WAITS_SOCKET, SECOND },
	{ "selector_events.py", "sock_accept", NULL, WAITS_SOCKET, SECOND },
	{ "base_subprocess.py", "_wait", NULL, WAITS_PROCESS, SELF },
	{ "subprocess.py", "wait", NULL, WAITS_PROCESS, SELF },
	{ "threads.py", "to_thread", NULL, WAITS_EXECUTOR, SELF },
	/* a Python Future's; what wrap_future(), and so run_in_executor(), adds to a future */
	{ "futures.py", "__await__", NULL, WAITS_FUTURE, SELF },
	{ "futures.py", "_call_check_cancel", NULL, WAITS_FUTURE, CALLBACK },
};

const char *waits_for_word(uint8_t kind)
{
	static const char *const words[WAITS_KINDS] = {
		[WAITS_SLEEP] = "asyncio.sleep()", [WAITS_LOCK] = "Lock",
		[WAITS_SEMAPHORE] = "Semaphore", [WAITS_CONDITION] = "Condition",
		[WAITS_EVENT] = "Event", [WAITS_BARRIER] = "Barrier",
		[WAITS_QUEUE_GET] = "Queue", [WAITS_QUEUE_PUT] = "room in Queue",
		[WAITS_QUEUE_JOIN] = "the end of Queue", [WAITS_SOCKET] = "a socket",
		[WAITS_PROCESS] = "a process", [WAITS_EXECUTOR] = "a function in a thread",
		[WAITS_FUTURE] = "a concurrent.futures.Future",
	};

	return kind < WAITS_KINDS && words[kind] ? words[kind] : "";
}

/* One task's search. */
struct search {
	struct task_reader *r;
	struct py_walk *w;
	struct py_frames_at at;
	struct task_waits_for *out;
};

/* ---- which function a frame is in ---- */

/* The end of an ASCII str; "": it is none, or unreadable. */
static void read_end(struct py_walk *w, uint64_t str, char out[FILE_BYTES])
{
	uint64_t len, from;
	uint32_t state;

	out[0] = '\0';
	if (py_get(w, str + w->o->str_length, &len, 8) ||
	    py_get(w, str + w->o->str_state, &state, 4) || !(state & w->o->str_ascii_bit) ||
	    len > CODE_STRING_MAX)
		return;
	from = len < FILE_BYTES ? 0 : len - (FILE_BYTES - 1);
	len -= from;
	out[len] = '\0';
	if (py_get(w, str + w->o->str_ascii_data + from, out, len))
		out[0] = '\0';
}

/* Returns true if base, which is in path, is in the folder: not in "myasyncio". */
static bool in_folder(const char *path, const char *base)
{
	size_t len = strlen(FOLDER), before = (size_t)(base - path);

	return before >= len && !memcmp(base - len, FOLDER, len) &&
	       (before == len || base[-(long)len - 1] == '/');
}

/* The places of a code object are a range of the table, which has one for each class. */
static uint8_t first_place(struct search *s, uint64_t code, bool *ours)
{
	uint64_t name = 0, file = 0;
	char end[FILE_BYTES];
	const char *base;
	uint8_t i;

	*ours = false;
	if (py_get(s->w, code + s->at.layout.co_filename, &file, 8) || !file ||
	    py_get(s->w, code + s->at.layout.co_name, &name, 8) || !name)
		return ARRAY_SIZE(places);
	read_end(s->w, file, end);
	base = strrchr(end, '/');
	base = base ? base + 1 : end;
	if (!in_folder(end, base))
		return ARRAY_SIZE(places);
	*ours = true;
	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (!strcmp(places[i].file, base) && py_is_text(s->w, name, places[i].function))
			break;
	return i;
}

/* The same out of the reader's cache. */
static uint8_t place_of(struct search *s, uint64_t code, bool *ours)
{
	struct task_reader *r = s->r;
	uint32_t i = (uint32_t)(code >> 5) % TASK_CODES;

	if (r->places[i].code != code) {
		r->places[i].place = first_place(s, code, ours);
		r->places[i].ours = *ours;
		r->places[i].code = code;
	}
	*ours = r->places[i].ours;
	return r->places[i].place;
}

/* Returns true if the object's type, or a base of it, is a Python class of this name. */
static bool is_a(struct py_walk *w, uint64_t obj, const char *class)
{
	char text[32] = "";
	uint64_t type, name;
	int i;

	if (py_pointer(w, obj + w->head - 8, &type))
		return false;
	for (i = 0; i < BASES_MAX; i++) {
		if (py_pointer(w, type + w->head + 8, &name) ||
		    py_get(w, name, text, object_first_read(name, 2, sizeof(text) - 1)))
			return false;
		if (!strcmp(text, class))
			return true;
		if (py_pointer(w, type + w->head + 240, &type))	/* tp_base */
			return false;
	}
	return false;
}

/* An argument of a frame's function; 0: it has none. */
static uint64_t argument_of(struct search *s, const struct py_frame *frame, uint32_t i)
{
	struct py_variables v;
	uint64_t bits;

	if (py_frame_variables(s->w, &s->at, frame, &v) || i >= v.arguments ||
	    py_get(s->w, v.slots + 8ull * i, &bits, sizeof(bits)))
		return 0;
	return py_slot_object(&s->at, bits);
}

static bool take_place(struct search *s, const struct py_frame *frame, uint8_t place)
{
	uint64_t obj = argument_of(s, frame, places[place].argument);
	const char *function = places[place].function;
	uint8_t i;

	if (!obj)
		return false;
	for (i = place; i < ARRAY_SIZE(places) && places[i].file == places[place].file &&
	     !strcmp(places[i].function, function); i++) {
		if (places[i].class && !is_a(s->w, obj, places[i].class))
			continue;
		s->out->kind = places[i].kind;
		s->out->obj = places[i].kind == WAITS_SLEEP ||
			      places[i].kind == WAITS_EXECUTOR ? 0 : obj;
		return true;
	}
	return false;
}

/* ---- a socket's descriptor ---- */

/* The value of an int of one digit; -1: it is none. */
static int32_t int_of(struct py_walk *w, uint64_t obj)
{
	struct {
		uint64_t size;
		uint32_t digit;
	} n;

	if (py_expect(w, obj, PY_IS_LONG) || py_get(w, obj + w->head, &n, 12))
		return -1;
	/* From 3.12 on the size is above three bits, the third of which says "immortal" (3.15). */
	if (w->o->minor >= 12)
		n.size = n.size & 3 && n.size >> 3 ? UINT64_MAX : n.size >> 3;
	if (!n.size)
		return 0;
	if (n.size != 1 || n.digit > INT32_MAX)
		return -1;
	return (int32_t)n.digit;
}

static int32_t descriptor_of(struct search *s, uint64_t obj)
{
	uint64_t transport, value;
	int32_t fd;

	if (is_a(s->w, obj, "_socket.socket"))
		return py_get(s->w, obj + s->w->head, &fd, sizeof(fd)) || fd < 0 ? -1 : fd;
	if (py_attribute(s->w, obj, "_transport", &transport) ||
	    py_attribute(s->w, transport, "_sock_fd", &value))
		return -1;
	return int_of(s->w, value);
}

/* ---- a future that stands for one of concurrent.futures ---- */

static uint64_t callback_of_c(struct search *s, uint64_t future)
{
	uint64_t callback;

	return future && !py_pointer(s->w, future + s->w->head + 8, &callback) ? callback : 0;
}

/* The first one of its list of tuples (callback, context). */
static uint64_t callback_of_python(struct search *s, uint64_t future)
{
	uint64_t list, words[2], tuple, callback;	/* ob_size, ob_item */

	return !py_attribute(s->w, future, "_callbacks", &list) &&
	       !py_expect(s->w, list, PY_IS_LIST) &&
	       !py_get(s->w, list + s->w->head, words, sizeof(words)) && words[0] &&
	       !py_pointer(s->w, words[1], &tuple) && !py_expect(s->w, tuple, PY_IS_TUPLE) &&
	       !py_tuple_item(s->w, tuple, 0, &callback) ? callback : 0;
}

/* The first callback is _chain_future()'s; source_loop is None if the source is of no loop. */
static bool is_wrapped(struct search *s, uint64_t callback)
{
	struct py_callable c;
	uint64_t loop;
	uint8_t place;
	bool ours;

	if (!callback || py_callable_read(s->w, &s->r->callables, callback, &c) ||
	    c.kind != PY_CALL_FUNCTION || !c.code)
		return false;
	place = place_of(s, c.code, &ours);
	return place < ARRAY_SIZE(places) && places[place].argument == CALLBACK &&
	       !py_callable_cell(s->w, &c, "source_loop", &loop) && loop &&
	       py_type_named(s->w, loop, "NoneType");
}

static void take_future(struct search *s, const struct task_read *t)
{
	uint64_t callback = s->out->kind == WAITS_FUTURE ? callback_of_python(s, s->out->obj) :
							   callback_of_c(s, t->future);

	s->out->kind = is_wrapped(s, callback) ? WAITS_FUTURE : WAITS_UNKNOWN;
	s->out->obj = 0;
}

/* ---- who has it ---- */

/* Adds a str to the name. */
static bool take_name(struct search *s, uint64_t str)
{
	size_t n = strlen(s->out->name);
	uint32_t len;
	char *name;

	if (!str || py_expect(s->w, str, PY_IS_STR) || !s->w->reads_left ||
	    code_read_string(s->w->mem, s->w->o, str, &name, &len))
		return false;
	utf8_copy(s->out->name + n, WAITS_NAME_BYTES - n, name, len);
	free(name);
	return s->out->name[n];
}

/* The key of the object among the values of a dict, or of an object's attributes; 0: none. */
static uint64_t key_in(struct search *s, const struct py_dict *d)
{
	struct py_entry e[WALK_ENTRIES];
	uint64_t values[WALK_ENTRIES];
	uint32_t from, cnt, i;

	for (from = 0; from < d->cnt && from < WAITS_ENTRIES_MAX; from += WALK_ENTRIES) {
		if (py_read_entries(s->w, d, from, e, &cnt) ||
		    (d->values && py_get(s->w, d->values + 8ull * from, values, 8ull * cnt)))
			return 0;
		for (i = 0; i < cnt; i++)
			if (e[i].key && (d->values ? values[i] : e[i].value) == s->out->obj)
				return e[i].key;
	}
	return 0;
}

/* The name of the attribute of another object that is the object, a str; 0: none. */
static uint64_t attribute_of(struct search *s, uint64_t obj)
{
	uint64_t type, dict, values;
	struct py_dict d;

	if (py_attributes(s->w, obj, &type, &dict, &values) ||
	    (values ? py_shared_keys(s->w, type, values, &d) : py_open_dict(s->w, dict, &d)))
		return 0;
	return key_in(s, &d);
}

static bool in_globals(struct search *s, const struct py_frame *frame)
{
	const struct py_layout *l = &s->at.layout;
	uint16_t off = l->lasti_unit ? l->fr_code + 16 : s->at.objects.minor == 11 ? 8 : 24;
	uint64_t dict;
	struct py_dict d;

	return !py_pointer(s->w, frame->addr + l->fr_base + off, &dict) &&
	       !py_open_dict(s->w, dict & ~3ull, &d) && take_name(s, key_in(s, &d));
}

/* The name of variable number i: up to 3.10 those in cells have their own tuples. */
static bool take_variable(struct search *s, const struct py_variables *v, uint32_t i)
{
	uint64_t len, str;
	uint32_t k;

	for (k = 0; k < 3; k++) {
		if (!v->names[k] || py_expect(s->w, v->names[k], PY_IS_TUPLE) ||
		    py_get(s->w, v->names[k] + s->w->head, &len, 8))
			continue;
		if (i < len)
			return !py_get(s->w, py_tuple_items(s->w, v->names[k]) + 8ull * i, &str,
				       8) && take_name(s, str);
		i -= (uint32_t)len;
	}
	return false;
}

/* What a cell has; the object itself if it is none. */
static uint64_t inside(struct search *s, uint64_t obj)
{
	uint64_t type, flags, in;

	if (py_type_of(s->w, obj, &type, &flags) ||
	    (type != s->r->cell_type && !py_type_named(s->w, obj, "cell")))
		return obj;
	s->r->cell_type = type;
	return py_get(s->w, obj + s->w->head, &in, 8) ? obj : in;
}

/* An attribute of the first argument: "self.jobs", "request.lock". */
static bool in_argument(struct search *s, const struct py_variables *v, uint64_t obj)
{
	uint64_t key = attribute_of(s, obj);
	size_t n;

	if (!key || !take_variable(s, v, 0))
		return false;
	n = strlen(s->out->name);
	utf8_copy(s->out->name + n, WAITS_NAME_BYTES - n, ".", 1);
	if (take_name(s, key))
		return true;
	s->out->name[0] = '\0';
	return false;
}

static bool in_frame(struct search *s, const struct py_frame *frame)
{
	uint64_t slots[SLOTS_READ], obj;
	struct py_variables v;
	uint32_t cnt, i;

	if (py_frame_variables(s->w, &s->at, frame, &v))
		return false;
	cnt = v.cnt < SLOTS_READ ? v.cnt : SLOTS_READ;
	if (!cnt || py_get(s->w, v.slots, slots, cnt * sizeof(slots[0])))
		cnt = 0;
	for (i = 0; i < cnt; i++) {
		obj = py_slot_object(&s->at, slots[i]);
		if (obj && (obj == s->out->obj || inside(s, obj) == s->out->obj))
			return take_variable(s, &v, i);
	}
	if (cnt && v.arguments && py_slot_object(&s->at, slots[0]) &&
	    in_argument(s, &v, inside(s, py_slot_object(&s->at, slots[0]))))
		return true;
	return in_globals(s, frame);
}

/* Names the object as the first caller does that has it. */
static void find_name(struct search *s, const struct task_read *t, uint32_t caller)
{
	struct task_reader *r = s->r;
	uint64_t code = caller ? t->coros[caller - 1].code : 0;
	uint32_t i = (uint32_t)(s->out->obj >> 4 ^ code >> 5) % TASK_CODES, tries;

	if (r->names[i].obj == s->out->obj && r->names[i].code == code) {
		memcpy(s->out->name, r->names[i].name, WAITS_NAME_BYTES);
		return;
	}
	for (tries = 0; caller && tries < FRAMES_OUT && !s->out->name[0]; tries++) {
		caller--;
		if (t->coros[caller].code &&
		    in_frame(s, &(struct py_frame){ t->coros[caller].frame,
						    t->coros[caller].code }))
			break;
	}
	r->names[i].obj = s->out->obj;
	r->names[i].code = code;
	memcpy(r->names[i].name, s->out->name, WAITS_NAME_BYTES);
}

void waits_for_read(struct task_reader *r, const struct task_read *t, struct task_waits_for *out)
{
	struct search s = {
		.r = r, .w = &r->walk, .out = out,
		.at = { .interps = r->at->interps, .layout = r->at->l,
			.objects = r->at->objects },
	};
	uint32_t i = t->coro_cnt, seen;
	uint8_t place;
	bool ours = true;

	*out = (struct task_waits_for){ .fd = -1 };
	for (seen = 0; i && ours && seen < WAITS_FRAMES_MAX; seen++) {
		const struct coro_state *c = &t->coros[i - 1];

		if (!c->code)
			break;
		place = place_of(&s, c->code, &ours);
		if (ours)
			i--;
		if (place < ARRAY_SIZE(places))
			take_place(&s, &(struct py_frame){ c->frame, c->code }, place);
	}
	if (out->kind == WAITS_UNKNOWN || out->kind == WAITS_FUTURE)
		take_future(&s, t);
	if (out->kind == WAITS_SOCKET)
		out->fd = descriptor_of(&s, out->obj);
	else if (out->obj && out->kind != WAITS_PROCESS)
		find_name(&s, t, i);
}
