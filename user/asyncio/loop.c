// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * loop.c - see loop.h.
 *
 * Sources, at v3.8.0 ... v3.15.0: Lib/asyncio/base_events.py (BaseEventLoop._run_once: a new frame
 * for each turn, whose end_time is unset until select() has returned), Lib/asyncio/events.py
 * (Handle, TimerHandle), Modules/_collectionsmodule.c (dequeobject: its length is ob_size),
 * Include/cpython/listobject.h.
 */
#include "asyncio/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "asyncio/loop_thread.h"
#include "base/util.h"
#include "cpython/attributes.h"
#include "cpython/frames.h"

#define INTERPS_MAX 1024
/* Outermost frames among which _run_once is looked for, and names of its variables. */
#define OUTER_FRAMES 64
#define NAMES_MAX 32
/* How often what is alarming is read again. */
#define SURE_READS 3
/* A queue is not longer than memory has room for. */
#define QUEUE_MAX (1ull << 40)
/* A clock that was read a moment later may be ahead of now_ns; a greater time is none. */
#define AHEAD_NS 1000000000ull
/* 285 years of a clock that begins with the machine */
#define SECONDS_MAX 9e9

/* _run_once of this process: where in a frame its variables are. */
struct once {
	uint64_t code;		/* 0: not found yet */
	uint32_t end_time, i;	/* numbers of variables */
};

struct loops {
	struct py_walk w;
	const struct tasks_at *at;
	struct py_frames_at frames_at;
	uint64_t now_ns;
	struct loop_states *out;
	struct once once;
	uint64_t float_type;	/* the type of the float that was read last; 0: none */
	uint32_t threads_left;
	bool pure;		/* asyncio without its C part: threads do not say their loops */
	struct py_frame frames[LOOP_FRAMES_MAX];
};

/* ---- times ---- */

/*
 * Read the float in a slot: seconds, as ns. 0; -ENOENT: the slot is empty; -EBADMSG: no float, or
 * no time; -errno of py_get().
 */
static int read_time(struct loops *l, uint64_t slot, uint64_t *ns)
{
	struct {
		uint64_t type;
		double seconds;
	} f;
	uint64_t bits, obj;
	int err = py_get(&l->w, slot, &bits, sizeof(bits));

	if (err)
		return err;
	obj = py_slot_object(&l->frames_at, bits);
	if (!(bits & ~(uint64_t)l->at->l.code_tag_mask))
		return -ENOENT;	/* NULL has a tag in 3.14 */
	err = obj ? py_get(&l->w, obj + l->w.head - 8, &f, sizeof(f)) : -EBADMSG;
	if (err)
		return err;
	if (f.type != l->float_type && !py_type_named(&l->w, obj, "float"))
		return -EBADMSG;
	l->float_type = f.type;
	if (!(f.seconds > 0 && f.seconds < SECONDS_MAX))	/* nor NaN */
		return -EBADMSG;
	*ns = (uint64_t)(f.seconds * 1e9);
	return *ns < l->now_ns + AHEAD_NS ? 0 : -ERANGE;
}

/*
 * The same for a time that is alarming if it is long ago. The float may be freed while it is read,
 * and its memory have another number: then the reads differ, as they do if the loop goes on.
 */
static int read_sure_time(struct loops *l, uint64_t slot, uint64_t *ns)
{
	uint64_t again;
	int err = read_time(l, slot, ns), i;

	for (i = 0; !err && *ns + LOOP_SURE_NS < l->now_ns && i < SURE_READS; i++) {
		err = read_time(l, slot, &again);
		if (!err && again != *ns)
			err = -EAGAIN;
	}
	return err;
}

/* ---- queues ---- */

static uint64_t length_of(struct loops *l, uint64_t obj)
{
	uint64_t len;

	return py_get(&l->w, obj + l->w.head, &len, sizeof(len)) || len > QUEUE_MAX ?
		LOOP_UNKNOWN : len;
}

/*
 * _when of a TimerHandle: its slots follow the seven of Handle, in the order of their names; up to
 * 3.11 the list of weak references is between them.
 */
static uint64_t when_slot(const struct loops *l, uint64_t handle)
{
	return handle + l->w.head + (l->w.o->minor >= 12 ? 64 : 72);
}

/* A heap's first entry is the earliest timer. */
static void read_timers(struct loops *l, uint64_t list, struct loop_state *out)
{
	uint64_t items, first, when;
	int err;

	if (py_expect(&l->w, list, PY_IS_LIST))
		return;
	out->timers = length_of(l, list);
	if (!out->timers)
		out->late_ns = 0;
	if (!out->timers || out->timers == LOOP_UNKNOWN ||
	    py_pointer(&l->w, list + l->w.head + 8, &items) || py_pointer(&l->w, items, &first) ||
	    !py_type_named(&l->w, first, "TimerHandle"))
		return;
	err = read_sure_time(l, when_slot(l, first), &when);
	if (err == -ERANGE)
		out->late_ns = 0;
	else if (!err)
		out->late_ns = when < l->now_ns ? l->now_ns - when : 0;
}

static void read_queues(struct loops *l, struct loop_state *out)
{
	uint64_t obj;

	if (!py_attribute(&l->w, out->addr, "_ready", &obj) &&
	    py_type_named(&l->w, obj, "collections.deque"))
		out->ready = length_of(l, obj);
	if (!py_attribute(&l->w, out->addr, "_scheduled", &obj))
		read_timers(l, obj, out);
}

/* ---- the turn ---- */

static bool is_named(struct loops *l, const struct py_frame *frame, const char *name)
{
	uint64_t text;

	return !py_pointer(&l->w, frame->code + l->at->l.co_name, &text) &&
	       py_is_text(&l->w, text, name);
}

/* Find the variables of a function called _run_once. Returns false: it is not the loop's. */
static bool learn_once(struct loops *l, const struct py_frame *frame)
{
	struct once found = { .code = frame->code, .end_time = UINT32_MAX, .i = UINT32_MAX };
	uint64_t names[NAMES_MAX], len;
	struct py_variables v;
	uint32_t i;

	if (py_frame_variables(&l->w, &l->frames_at, frame, &v) ||
	    py_expect(&l->w, v.names[0], PY_IS_TUPLE) ||
	    py_get(&l->w, v.names[0] + l->w.head, &len, sizeof(len)))
		return false;
	if (len > NAMES_MAX)
		len = NAMES_MAX;
	if (len > v.cnt)
		len = v.cnt;
	if (py_get(&l->w, py_tuple_items(&l->w, v.names[0]), names, len * sizeof(names[0])))
		return false;
	for (i = 0; i < len; i++) {
		if (py_is_text(&l->w, names[i], "end_time"))
			found.end_time = i;
		else if (py_is_text(&l->w, names[i], "i"))
			found.i = i;
	}
	if (found.end_time == UINT32_MAX)
		return false;
	l->once = found;
	return true;
}

/* The frame's first variable is the loop. */
static uint64_t self_of(struct loops *l, const struct py_variables *v)
{
	uint64_t bits;

	return py_get(&l->w, v->slots, &bits, sizeof(bits)) ? 0 :
		py_slot_object(&l->frames_at, bits);
}

/* A small int of a variable; LOOP_UNKNOWN: unset, or another object. */
static uint64_t small_int(struct loops *l, uint64_t slot)
{
	struct {
		uint64_t size;	/* from 3.12 on with the sign in the lowest bits */
		uint32_t digit;
	} n;
	uint64_t bits, obj, cnt;

	if (py_get(&l->w, slot, &bits, sizeof(bits)))
		return LOOP_UNKNOWN;
	obj = py_slot_object(&l->frames_at, bits);
	if (!obj || py_expect(&l->w, obj, PY_IS_LONG) ||
	    py_get(&l->w, obj + l->w.head, &n, 12))
		return LOOP_UNKNOWN;
	cnt = l->w.o->minor >= 12 ? n.size >> 3 : n.size;
	if (l->w.o->minor >= 12 && (n.size & 3) == 1)	/* zero */
		return 0;
	return !cnt ? 0 : cnt == 1 ? n.digit : LOOP_UNKNOWN;
}

/*
 * What the variables of a turn say. end_time is unset until select() has returned, so a loop that
 * waits is never busy.
 */
static void read_turn(struct loops *l, const struct py_frame *frame, struct loop_state *out)
{
	struct py_variables v;
	uint64_t since, again, nth;
	int err;

	if (py_frame_variables(&l->w, &l->frames_at, frame, &v) ||
	    self_of(l, &v) != out->addr || l->once.end_time >= v.cnt)
		return;
	err = read_sure_time(l, v.slots + 8ull * l->once.end_time, &since);
	if (err == -ENOENT || err == -EAGAIN)	/* EAGAIN: it goes on and on */
		out->busy_ns = 0;
	if (err)
		return;
	nth = l->once.i < v.cnt ? small_int(l, v.slots + 8ull * l->once.i) : LOOP_UNKNOWN;
	/* Both are of the same turn only if it is still that one. */
	if (read_time(l, v.slots + 8ull * l->once.end_time, &again) || again != since)
		nth = LOOP_UNKNOWN;
	out->busy_ns = since < l->now_ns ? l->now_ns - since : 1;
	out->turn_ns = since;
	out->nth = nth;
}

/* The index of the outermost frame of _run_once, near the outer end; UINT32_MAX: none. */
static uint32_t find_once(struct loops *l, uint32_t cnt)
{
	uint32_t end = cnt > OUTER_FRAMES ? cnt - OUTER_FRAMES : 0, i;

	for (i = cnt; i-- > end;) {
		if (l->once.code && l->frames[i].code == l->once.code)
			return i;
	}
	/* Another loop's class may have its own. */
	for (i = cnt; i-- > end;)
		if (is_named(l, &l->frames[i], "_run_once") && learn_once(l, &l->frames[i]))
			return i;
	return UINT32_MAX;
}

/*
 * Find the turn of a thread, and, if its loop is not known yet, the loop. A loop that is run again
 * by one of its callbacks (nest_asyncio) has several: the innermost one counts.
 */
static bool find_turn(struct loops *l, uint64_t state, struct loop_state *out,
		      struct py_frame *turn)
{
	struct py_variables v;
	uint32_t cnt, i;
	bool whole;

	if (py_frames_list(&l->w, &l->frames_at, state, l->frames, LOOP_FRAMES_MAX, &cnt,
			   &whole) || !whole || find_once(l, cnt) == UINT32_MAX)
		return false;
	for (i = 0; i < cnt && l->frames[i].code != l->once.code; i++)
		;
	if (i == cnt)
		return false;
	*turn = l->frames[i];
	if (!out->addr && !py_frame_variables(&l->w, &l->frames_at, turn, &v))
		out->addr = self_of(l, &v);
	return out->addr != 0;
}

/* ---- threads ---- */

/* Up to 3.13 the dict _current_tasks has the loops that run a task. */
static bool runs_a_task(struct loops *l, uint64_t interp_id, uint64_t loop)
{
	struct py_entry entries[WALK_ENTRIES];
	uint64_t dict = 0;
	struct py_dict d;
	uint32_t i, cnt;

	for (i = 0; i < l->at->homes.cnt && i < ASYNC_HOMES_MAX; i++)
		if (l->at->homes.home[i].interp_id == interp_id)
			dict = l->at->homes.home[i].current;
	if (!dict || py_open_dict(&l->w, dict, &d) || d.values || !d.cnt ||
	    py_read_entries(&l->w, &d, 0, entries, &cnt))
		return false;
	for (i = 0; i < cnt; i++)
		if (entries[i].key == loop)
			return entries[i].value != 0;
	return false;
}

static int read_tid(struct loops *l, uint64_t state, uint32_t *tid)
{
	uint64_t ident;
	int err;

	if (l->w.o->ts_native_id)
		return py_get(&l->w, state + l->w.o->ts_native_id, tid, sizeof(*tid));
	err = py_pointer(&l->w, state + l->at->l.ts_thread_id, &ident);
	return err ? err : py_thread_tid(&l->w, l->at->homes.musl, ident, tid);
}

static void add_loop(struct loops *l, uint64_t state, struct loop_state *s, bool looked,
		     const struct py_frame *turn)
{
	struct py_frame found;

	if (l->out->cnt == LOOPS_MAX) {
		l->out->cut = 1;
		return;
	}
	read_tid(l, state, &s->tid);
	if (!looked)
		turn = find_turn(l, state, s, &found) ? &found : NULL;
	if (turn)
		read_turn(l, turn, s);
	read_queues(l, s);
	l->out->loop[l->out->cnt++] = *s;
}

static void add_thread(struct loops *l, uint64_t state, uint64_t interp_id, bool main)
{
	const struct async_tasks_layout *t = &l->at->async.task;
	struct loop_state s = {
		.interp_id = interp_id, .main = main, .ready = LOOP_UNKNOWN,
		.timers = LOOP_UNKNOWN, .busy_ns = LOOP_UNKNOWN, .late_ns = LOOP_UNKNOWN,
		.turn_ns = LOOP_UNKNOWN, .nth = LOOP_UNKNOWN,
	};
	struct py_frame turn;
	uint64_t task = 0;

	if (l->pure) {
		if (find_turn(l, state, &s, &turn)) {
			s.in_task = runs_a_task(l, interp_id, s.addr);
			add_loop(l, state, &s, true, &turn);
		}
		return;
	}
	if (!l->at->async.valid) {
		if (loop_of_thread(&l->w, state, &s.addr))
			s.addr = 0;
		s.in_task = s.addr && runs_a_task(l, interp_id, s.addr);
	} else if (!py_pointer(&l->w, state + t->ts_running_loop, &s.addr)) {
		s.in_task = !py_get(&l->w, state + t->ts_running_task, &task, 8) && task;
	} else {
		s.addr = 0;
	}
	if (s.addr)
		add_loop(l, state, &s, false, NULL);
}

static void add_interp(struct loops *l, uint64_t interp)
{
	const struct py_layout *py = &l->at->l;
	uint64_t id = 0, state = 0, next;

	if ((py->interp_id != ABI_NO_OFF32 && py_get(&l->w, interp + py->interp_id, &id, 8)) ||
	    py_get(&l->w, interp + py->interp_threads_head, &state, 8)) {
		l->out->cut = 1;
		return;
	}
	for (; state && l->threads_left; state = next) {
		l->threads_left--;
		if (py_get(&l->w, state + py->ts_next, &next, 8)) {
			l->out->cut = 1;
			return;
		}
		add_thread(l, state, id, !next);
	}
	l->out->cut |= state != 0;
}

static int add_interps(struct loops *l)
{
	uint32_t left = INTERPS_MAX;
	uint64_t interp;
	int err = py_get(&l->w, l->at->interps, &interp, sizeof(interp));

	while (!err && interp && left--) {
		add_interp(l, interp);
		if (py_get(&l->w, interp + l->at->l.interp_next, &interp, sizeof(interp))) {
			l->out->cut = 1;
			return 0;
		}
	}
	if (!err)
		l->out->cut |= interp != 0;
	return err;
}

static bool is_pure(const struct tasks_at *at)
{
	uint32_t i;

	for (i = 0; i < at->homes.cnt && i < ASYNC_HOMES_MAX; i++)
		if (at->homes.home[i].pure)
			return true;
	return false;
}

int loop_states_read(const struct target_mem *mem, const struct tasks_at *at, uint64_t now_ns,
		     struct loop_states *out)
{
	struct loops *l;
	int err;

	memset(out, 0, offsetof(struct loop_states, loop));
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	py_walk_init(&l->w, mem, &at->objects, LOOP_READS_MAX);
	l->at = at;
	l->frames_at = (struct py_frames_at){ .interps = at->interps, .layout = at->l,
					      .objects = at->objects, .musl = at->homes.musl };
	l->now_ns = now_ns;
	l->out = out;
	l->threads_left = PY_THREADS_MAX;
	l->pure = is_pure(at);
	err = add_interps(l);
	out->reads = LOOP_READS_MAX - l->w.reads_left;
	out->cut |= !l->w.reads_left;
	free(l);
	return err;
}
