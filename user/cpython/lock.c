// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * lock.c - see lock.h.
 *
 * Sources: Modules/_threadmodule.c (lockobject, rlockobject), Modules/_multiprocessing/semaphore.c
 * (SemLockObject), Lib/threading.py (Condition), Lib/multiprocessing/synchronize.py (Lock, RLock),
 * Lib/importlib/_bootstrap.py (_ModuleLock) at v3.6.15 ... v3.15.0; from 3.14 on
 * Include/internal/pycore_lock.h (PyMutex, _PyRecursiveMutex) and Python/parking_lot.c (struct
 * wait_entry: the word before the semaphore is the address of the mutex);
 * Include/cpython/methodobject.h (PyCFunctionObject), Include/cpython/classobject.h
 * (PyMethodObject). glibc's and musl's sem_wait() wait on the first word of a sem_t.
 */
#include "cpython/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cpython/attributes.h"

/* Limit on slots of a frame that are examined: variables and value stack. */
#define SLOTS 512
/* Larger values are not reference counts: the object was freed, or is immortal. */
#define REFCNT_MAX (1ull << 31)
/* A Condition's lock may be multiprocessing's, whose lock is the semaphore. */
#define WRAPPERS_MAX 3

/* ---- locks ---- */

/*
 * The words after the head. RLock: up to 3.13 rlock_lock, rlock_owner, rlock_count; from 3.14 on
 * mutex (a byte), thread, level. Lock: up to early releases of 3.13 lock_lock, in_weakreflist,
 * locked (a byte); later a mutex. Of multiprocessing: handle, last_tid, count and maxvalue (ints).
 */
struct words {
	uint64_t w[3];
};

/* lock_lock is a pointer, not a number of a few bits. */
static bool is_mutex(const struct py_walk *w, uint64_t word)
{
	return w->o->minor >= 14 || (w->o->minor == 13 && word <= UINT8_MAX);
}

static int take_rlock(struct py_walk *w, const struct words *o, struct py_lock *out)
{
	if (w->o->minor < 14 && !o->w[2])	/* from 3.14 on levels begin at 0 */
		return -ENOENT;
	out->kind = PY_LOCK_RLOCK;
	out->owner = o->w[1];
	return 0;
}

static int take_semaphore(const struct words *o, struct py_lock *out)
{
	if (o->w[2] >> 32 != 1)	/* several can have it */
		return -ENOENT;
	out->kind = PY_LOCK_SEMAPHORE;
	out->foreign = !(uint32_t)o->w[2];
	out->owner = out->foreign ? 0 : o->w[1];
	return 0;
}

/* Check whether a thread may wait for this object. 0 or -errno; does not set its address. */
static int take_lock(struct py_walk *w, uint64_t obj, const struct words *o, struct py_lock *out)
{
	if (py_type_named(w, obj, "_thread.RLock"))
		return take_rlock(w, o, out);
	if (py_type_named(w, obj, "_multiprocessing.SemLock"))
		return take_semaphore(o, out);
	if (!py_type_named(w, obj, "_thread.lock") ||
	    !(is_mutex(w, o->w[0]) ? o->w[0] & 1 : o->w[2] & 0xff))
		return -ENOENT;
	out->kind = PY_LOCK_PLAIN;
	return 0;
}

/* Locked, and threads wait (Include/cpython/pylock.h, pycore_lock.h). */
static int find_parked(struct py_walk *w, uint64_t futex, struct py_lock *out)
{
	struct words o = { { 0 } };
	uint64_t mutex;
	int err = py_pointer(w, futex - 8, &mutex);

	if (!err)	/* a Lock has nothing except the mutex */
		err = py_get(w, mutex, &o.w[0], sizeof(o.w[0]));
	if (!err && (o.w[0] & 3) != 3)
		err = -ENOENT;
	if (!err && py_type_named(w, mutex - w->head, "_thread.RLock"))
		err = py_get(w, mutex, &o, sizeof(o));
	if (!err)
		err = take_lock(w, mutex - w->head, &o, out);
	out->addr = err ? 0 : mutex - w->head;
	return err;
}

/* A freed object's first word belongs to the allocator. Free-threaded builds have an id there. */
static bool object_lives(struct py_walk *w, uint64_t obj)
{
	uint64_t refcnt;

	if (w->head == 32)
		return true;
	if (py_get(w, obj + w->head - 16, &refcnt, sizeof(refcnt)))
		return false;
	if (w->o->minor >= 14)	/* flags are after it */
		refcnt &= UINT32_MAX;
	return refcnt && refcnt < REFCNT_MAX;
}

static bool is_waited_for(struct py_walk *w, uint64_t obj, uint64_t futex, struct py_lock *out,
			  uint64_t *self)
{
	struct words o;

	*self = 0;
	if (py_get(w, obj + w->head, &o, sizeof(o)))
		return false;
	*self = o.w[1];	/* m_self, im_self */
	if (o.w[0] != futex || !object_lives(w, obj) || take_lock(w, obj, &o, out))
		return false;
	out->addr = obj;
	return true;
}

/* Check whether it is the object in the slot, or what this object is bound to as a method. */
static bool in_slot(struct py_walk *w, uint64_t obj, uint64_t futex, struct py_lock *out)
{
	uint64_t self, none;

	return obj && (is_waited_for(w, obj, futex, out, &self) ||
		       (self && is_waited_for(w, self, futex, out, &none)));
}

static int in_frame(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		    uint64_t futex, struct py_lock *out)
{
	uint64_t slots[SLOTS];
	struct py_variables v;
	uint32_t cnt, i;
	int err = py_frame_variables(w, at, frame, &v);

	if (err)
		return err;
	cnt = v.cnt + v.stack < SLOTS ? v.cnt + v.stack : SLOTS;
	err = py_get(w, v.slots, slots, cnt * sizeof(*slots));
	for (i = cnt; !err && i--;)
		if (in_slot(w, py_slot_object(at, slots[i]), futex, out))
			return 0;
	return err ? err : -ENOENT;
}

/* ---- purpose of the lock ---- */

/* The first argument of a frame's function; 0: none. */
static uint64_t self_of(struct py_walk *w, const struct py_frames_at *at,
			const struct py_frame *frame)
{
	struct py_variables v;
	uint64_t bits;

	if (py_frame_variables(w, at, frame, &v) || !v.arguments ||
	    py_get(w, v.slots, &bits, sizeof(bits)))
		return 0;
	return py_slot_object(at, bits);
}

static void take_module(struct py_walk *w, uint64_t self, struct py_lock *out)
{
	uint64_t owner, name;
	uint32_t len;
	char *text;

	out->kind = PY_LOCK_IMPORT;
	out->addr = self;
	if (py_attribute(w, self, "owner", &owner) || py_ident_of(w, owner, &out->owner))
		out->owner = 0;
	if (py_attribute(w, self, "name", &name) ||
	    code_read_string(w->mem, w->o, name, &text, &len))
		return;
	utf8_copy(out->module, sizeof(out->module), text, len);
	free(text);
}

/* A Condition has a Lock for each thread that waits, and an import has one next to its own. */
static void find_purpose(struct py_walk *w, const struct py_frames_at *at,
			 const struct py_frame *frame, struct py_lock *out)
{
	uint64_t self = self_of(w, at, frame);

	if (!self)
		return;
	if (py_type_named(w, self, "_ModuleLock")) {
		take_module(w, self, out);
	} else if (py_type_named(w, self, "Condition") && py_lock_of(w, self) != out->addr) {
		out->kind = PY_LOCK_CONDITION;
		out->addr = self;
	}
}

int py_lock_find(struct py_walk *w, const struct py_frames_at *at, uint64_t state,
		 uint64_t futex, struct py_lock *out)
{
	struct py_frame innermost;
	uint32_t cnt;
	bool whole;
	int err = -ENOENT;

	*out = (struct py_lock){ 0 };
	if (at->objects.minor >= 13)
		err = find_parked(w, futex, out);
	py_frames_list(w, at, state, &innermost, 1, &cnt, &whole);
	if (err && cnt)
		err = in_frame(w, at, &innermost, futex, out);
	if (!err && cnt && out->kind == PY_LOCK_PLAIN)
		find_purpose(w, at, &innermost, out);
	return err;
}

static bool is_any_of(struct py_walk *w, uint64_t obj, const char *const *names, size_t cnt)
{
	size_t i;

	for (i = 0; i < cnt; i++)
		if (py_type_named(w, obj, names[i]))
			return true;
	return false;
}

uint64_t py_lock_of(struct py_walk *w, uint64_t obj)
{
	static const char *const locks[] = { "_thread.lock", "_thread.RLock",
					     "_multiprocessing.SemLock", "_ModuleLock" };
	static const char *const with_lock[] = { "Condition", "_ModuleLockManager" };
	static const char *const with_semlock[] = { "Lock", "RLock" };
	static const char *const permits[] = { "Semaphore", "BoundedSemaphore" };
	uint64_t found;
	unsigned int i;

	if (is_any_of(w, obj, permits, ARRAY_SIZE(permits)))	/* threading's have no waiters */
		return py_attribute(w, obj, "_waiters", &found) ? 0 : obj;
	for (i = 0; i < WRAPPERS_MAX; i++) {
		if (is_any_of(w, obj, locks, ARRAY_SIZE(locks)))
			return obj;
		if (is_any_of(w, obj, with_lock, ARRAY_SIZE(with_lock))) {
			if (py_attribute(w, obj, "_lock", &found))
				return 0;
		} else if (!is_any_of(w, obj, with_semlock, ARRAY_SIZE(with_semlock))) {
			return 0;
		} else if (py_attribute(w, obj, "_semlock", &found)) {	/* an asyncio lock */
			return py_attribute(w, obj, "_locked", &found) ? 0 : obj;
		}
		obj = found;
	}
	return 0;
}

/* An asyncio.Lock has a bool, which is an int. */
static bool is_locked(struct py_walk *w, uint64_t lock)
{
	uint64_t value;
	uint32_t digit;

	return !py_attribute(w, lock, "_locked", &value) && py_type_named(w, value, "bool") &&
	       !py_get(w, value + w->head + 8, &digit, sizeof(digit)) && digit == 1;
}

bool py_lock_is_held(struct py_walk *w, uint64_t lock)
{
	struct words o;

	if (py_type_named(w, lock, "Lock"))
		return is_locked(w, lock);
	return !py_get(w, lock + w->head, &o.w[0], sizeof(o.w[0])) &&
	       (is_mutex(w, o.w[0]) ? o.w[0] & 1 :
		!py_get(w, lock + w->head, &o, sizeof(o)) && o.w[2] & 0xff);
}

/* ---- what a frame does with a lock ---- */

/* The first argument of a method of this name and class; 0: the frame's function is another one. */
static uint64_t self_in(struct py_walk *w, const struct py_frames_at *at,
			const struct py_frame *frame, const char *class, const char *method)
{
	uint64_t name, self = self_of(w, at, frame);

	if (!self || !py_type_named(w, self, class) ||
	    py_pointer(w, frame->code + at->layout.co_name, &name) || !py_is_text(w, name, method))
		return 0;
	return self;
}

void py_lock_awaited(struct py_walk *w, const struct py_frames_at *at,
		     const struct py_frame *innermost, struct py_lock *out)
{
	static const struct {
		const char *class;
		enum py_lock_kind kind;
	} classes[] = { { "Lock", PY_LOCK_ASYNCIO }, { "Semaphore", PY_LOCK_PERMITS },
			{ "BoundedSemaphore", PY_LOCK_PERMITS } };
	uint64_t self;
	size_t i;

	*out = (struct py_lock){ 0 };
	for (i = 0; i < ARRAY_SIZE(classes) && !out->addr; i++) {
		self = self_in(w, at, innermost, classes[i].class, "acquire");
		if (self && py_lock_of(w, self) == self)
			*out = (struct py_lock){ .addr = self, .kind = classes[i].kind };
	}
}

uint64_t py_lock_given_up(struct py_walk *w, const struct py_frames_at *at,
			  const struct py_frame *frame)
{
	uint64_t self = self_in(w, at, frame, "Condition", "wait");

	return self ? py_lock_of(w, self) : 0;
}
