// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rlock.c - see rlock.h.
 *
 * Sources: Modules/_threadmodule.c (rlockobject) at v3.6.15 ... v3.15.0; from 3.14 on
 * Include/internal/pycore_lock.h (_PyRecursiveMutex) and Python/parking_lot.c (struct wait_entry:
 * the word before the semaphore is the address of the mutex); Include/cpython/methodobject.h
 * (PyCFunctionObject), Include/cpython/classobject.h (PyMethodObject). glibc's and musl's
 * sem_wait() wait on the first word of a sem_t.
 */
#include "cpython/rlock.h"

#include <errno.h>
#include <string.h>

/* A frame's slots that are looked at, variables and value stack. */
#define SLOTS 512
/* From here on a reference count is none: the object was freed, or is immortal. */
#define REFCNT_MAX (1ull << 31)

bool py_rlock_needs_state(const struct py_object_layout *o)
{
	return o->minor < 14;
}

static bool type_is(struct py_walk *w, uint64_t obj, const char *name)
{
	char text[32] = "";
	uint64_t type, at;

	if (py_pointer(w, obj + w->head - 8, &type) || py_pointer(w, type + w->head + 8, &at))
		return false;
	return !py_get(w, at, text, strlen(name) + 1) && !strcmp(text, name);
}

/*
 * The fields behind the head: up to 3.13 rlock_lock, rlock_owner, rlock_count; from 3.14 on mutex
 * (a byte), thread, level.
 */
static int read_rlock(struct py_walk *w, uint64_t obj, uint64_t fields[3])
{
	int err = py_get(w, obj + w->head, fields, 3 * sizeof(*fields));

	if (err)
		return err;
	return type_is(w, obj, "_thread.RLock") ? 0 : -ENOENT;
}

static int parked(struct py_walk *w, uint64_t futex, struct py_rlock *out)
{
	uint64_t mutex, fields[3];
	int err = py_pointer(w, futex - 8, &mutex);

	if (!err)
		err = read_rlock(w, mutex - w->head, fields);
	if (err)
		return err;
	/* Locked, and threads wait (Include/cpython/pylock.h, pycore_lock.h). */
	if ((fields[0] & 3) != 3)
		return -ENOENT;
	*out = (struct py_rlock){ mutex - w->head, fields[1] };
	return 0;
}

/* A freed object's first word is the allocator's. Free-threaded builds have the owner's id there. */
static bool lives(struct py_walk *w, uint64_t obj)
{
	uint64_t refcnt;

	if (w->head == 32)
		return true;
	return !py_get(w, obj + w->head - 16, &refcnt, sizeof(refcnt)) && refcnt &&
	       refcnt < REFCNT_MAX;
}

/* An object's type and the words behind it: those of an RLock, or of a bound method. */
struct object {
	uint64_t type, words[3];
};

static bool is_waited_for(struct py_walk *w, uint64_t obj, uint64_t futex, struct py_rlock *out,
			  uint64_t *self)
{
	struct object o;

	*self = 0;
	if (py_get(w, obj + w->head - 8, &o, sizeof(o)))
		return false;
	*self = o.words[1];	/* m_self, im_self */
	if (o.words[0] != futex || !o.words[2] || !lives(w, obj) ||
	    !type_is(w, obj, "_thread.RLock"))
		return false;
	*out = (struct py_rlock){ obj, o.words[1] };
	return true;
}

/* Is it the object in the slot, or what this object is bound to as a method? */
static bool in_slot(struct py_walk *w, uint64_t obj, uint64_t futex, struct py_rlock *out)
{
	uint64_t self, none;

	return obj && (is_waited_for(w, obj, futex, out, &self) ||
		       (self && is_waited_for(w, self, futex, out, &none)));
}

static int in_frame(struct py_walk *w, const struct py_frames_at *at, const struct py_frame *frame,
		    uint64_t futex, struct py_rlock *out)
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

int py_rlock_find(struct py_walk *w, const struct py_frames_at *at, uint64_t state,
		  uint64_t futex, struct py_rlock *out)
{
	struct py_frame innermost;
	uint32_t cnt;
	bool whole;

	*out = (struct py_rlock){ 0 };
	if (!py_rlock_needs_state(&at->objects))
		return parked(w, futex, out);
	py_frames_list(w, at, state, &innermost, 1, &cnt, &whole);
	return cnt ? in_frame(w, at, &innermost, futex, out) : -ENOENT;
}
