// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dump_locks.c - see dump_locks.h. */
#include "commands/dump_locks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/colour.h"
#include "commands/dump_words.h"
#include "look/look_locks.h"
#include "model/event.h"

static const char *const kinds[PY_LOCK_KINDS] = {
	[PY_LOCK_PLAIN] = "Lock", [PY_LOCK_RLOCK] = "RLock",
	[PY_LOCK_SEMAPHORE] = "multiprocessing lock", [PY_LOCK_CONDITION] = "Condition",
	[PY_LOCK_IMPORT] = "import lock",
};

/* "Lock 0x7f...", "import lock of module 'json'" */
static void print_lock(const struct look_lock *lock)
{
	printf("%s", kinds[lock->kind]);
	if (*lock->module) {
		printf(" of module '");
		dump_text_escaped(lock->module, strlen(lock->module));
		printf("'");
	} else {
		printf(" 0x%" PRIx64, lock->addr);
	}
	if (lock->kind == PY_LOCK_CONDITION)
		printf(" to be notified");
}

/* " holds (pay_ba, /srv/pay.py:9, inside the `with` of line 8)" */
static void print_holds(const struct look_lock *lock)
{
	printf(" %s", lock->sure ? "holds" : "may hold");
	if (!*lock->function)
		return;
	printf(" (");
	dump_text_escaped(lock->function, strlen(lock->function));
	printf(", ");
	dump_text_escaped(lock->path, strlen(lock->path));
	if (lock->line != LINE_NONE)
		printf(":%d", lock->line);
	if (lock->since_line != LINE_NONE)
		printf(lock->by_hand ? ", acquired in line %d" : ", inside the `with` of line %d",
		       lock->since_line);
	printf(")");
}

void dump_text_lock(const struct look_thread *t)
{
	if (!t->lock)
		return;
	printf(", ");
	print_lock(t->lock);
	if (t->lock->holder_tid == t->tid)
		printf(", which this thread");
	else if (t->lock->holder_tid)
		printf(", which thread %" PRIu64, t->lock->holder_tid);
	if (t->lock->holder_tid) {
		print_holds(t->lock);
	} else if (t->lock->foreign) {
		printf(", which no thread of this process holds");
	}
}

/* A thread of deadlock number n; NULL: there is none. */
static const struct look_thread *first_of(const struct look_process *p, uint32_t n)
{
	size_t i;

	for (i = 0; i < p->cnt; i++)
		if (p->threads[i].deadlock == n)
			return &p->threads[i];
	return NULL;
}

/* The thread of a deadlock that holds the lock t waits for; NULL: it is not shown. */
static const struct look_thread *holder_of(const struct look_process *p,
					   const struct look_thread *t)
{
	size_t i;

	for (i = 0; t->lock && i < p->cnt; i++)
		if (p->threads[i].tid == t->lock->holder_tid)
			return &p->threads[i];
	return NULL;
}

/* "thread 7 "reader" waits for RLock 0x7f..., which thread 8 "writer" holds" */
static void print_wait(const struct look_process *p, const struct look_thread *t,
		       const struct look_thread *holder)
{
	printf("thread ");
	dump_text_thread(p, t);
	printf(" waits %sfor ", t->futex_timed ? "with a timeout " : "");
	print_lock(t->lock);
	printf(", which thread ");
	dump_text_thread(p, holder);
	print_holds(t->lock);
}

/* Is each lock of the deadlock held for certain? */
static bool is_sure(const struct look_process *p, const struct look_thread *first)
{
	const struct look_thread *t = first;
	bool sure = true;
	size_t i;

	for (i = 0; t && i < p->cnt; i++) {
		sure &= t->lock->sure;
		t = holder_of(p, t);
		if (t == first)
			break;
	}
	return sure;
}

static void print_name(const struct look_process *p, const struct look_thread *first)
{
	printf("%s%s%s", colour_on(stdout, COLOUR_BOLD),
	       is_sure(p, first) ? "Deadlock:" : "Probable deadlock:",
	       colour_off(stdout));
}

/* "Deadlock: 7 "reader" -> 8 "writer" -> 7 "reader"" */
static void print_circle(const struct look_process *p, const struct look_thread *first)
{
	const struct look_thread *t = first;
	size_t i;

	print_name(p, first);
	printf(" ");
	dump_text_thread(p, first);
	for (i = 0; i < p->cnt && (t = holder_of(p, t)); i++) {
		printf(" -> ");
		dump_text_thread(p, t);
		if (t == first)
			break;
	}
	printf("\n");
}

static void print_deadlock(const struct look_process *p, const struct look_thread *first)
{
	const struct look_thread *t = first, *holder;
	size_t i;

	printf("\n");
	print_name(p, first);
	printf(" ");
	for (i = 0; i < p->cnt && (holder = holder_of(p, t)); i++) {
		printf("%s", i ? ";\n    " : "");
		print_wait(p, t, holder);
		t = holder;
		if (t == first)
			break;
	}
	printf(".\n");
}

void dump_text_circles(const struct look_process *p)
{
	const struct look_thread *first;
	uint32_t n;

	for (n = 1; (first = first_of(p, n)); n++)
		print_circle(p, first);
}

void dump_text_deadlocks(const struct look_process *p)
{
	const struct look_thread *first;
	uint32_t n;

	for (n = 1; (first = first_of(p, n)); n++)
		print_deadlock(p, first);
}

static void write_line(struct json *j, const char *key, int32_t line)
{
	if (line != LINE_NONE)
		json_uint(j, key, line);
	else
		json_null(j, key);
}

/* Where the holder is; null: not known. */
static void write_place(struct json *j, const struct look_lock *lock)
{
	if (!*lock->function) {
		json_null(j, "held_in");
		return;
	}
	json_object(j, "held_in");
	json_string(j, "function", lock->function);
	json_string(j, "file", lock->path);
	write_line(j, "line", lock->line);
	write_line(j, "since_line", lock->since_line);
	json_string(j, "by", lock->by_hand ? "acquire" : "with");
	json_object_end(j);
}

void dump_json_lock(struct json *j, const struct look_thread *t)
{
	const struct look_lock *lock = t->lock;
	char addr[24];

	if (!lock) {
		json_null(j, "lock");
		return;
	}
	snprintf(addr, sizeof(addr), "0x%" PRIx64, lock->addr);
	json_object(j, "lock");
	json_string(j, "type", kinds[lock->kind]);
	json_string(j, "address", addr);
	json_string(j, "module", *lock->module ? lock->module : NULL);
	if (lock->holder_tid)
		json_uint(j, "holder", lock->holder_tid);
	else
		json_null(j, "holder");
	json_bool(j, "certain", lock->holder_tid && lock->sure);
	json_bool(j, "other_process", lock->foreign);
	write_place(j, lock);
	json_bool(j, "timeout", t->futex_timed);
	json_object_end(j);
}

static void write_deadlock(struct json *j, const struct look_process *p,
			   const struct look_thread *first)
{
	const struct look_thread *t = first;
	size_t i;

	json_array(j, NULL);
	for (i = 0; t && i < p->cnt; i++) {
		json_uint(j, NULL, t->tid);
		t = holder_of(p, t);
		if (t == first)
			break;
	}
	json_array_end(j);
}

void dump_json_deadlocks(struct json *j, const struct look_process *p)
{
	const struct look_thread *first;
	uint32_t n;

	json_array(j, "deadlocks");
	for (n = 1; (first = first_of(p, n)); n++)
		write_deadlock(j, p, first);
	json_array_end(j);
}
