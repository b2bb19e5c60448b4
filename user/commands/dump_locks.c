// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dump_locks.c - see dump_locks.h. */
#include "commands/dump_locks.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/colour.h"
#include "commands/dump_words.h"

void dump_text_lock(const struct look_thread *t)
{
	if (!t->lock)
		return;
	printf(", RLock 0x%" PRIx64, t->lock);
	if (t->lock_holder)
		printf(", which thread %" PRIu64 " holds", t->lock_holder);
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

	for (i = 0; i < p->cnt; i++)
		if (p->threads[i].tid == t->lock_holder)
			return &p->threads[i];
	return NULL;
}

/* "thread 7 "reader" waits for RLock 0x7f..., which thread 8 "writer" holds" */
static void print_wait(const struct look_process *p, const struct look_thread *t,
		       const struct look_thread *holder)
{
	printf("thread ");
	dump_text_thread(p, t);
	printf(" waits %sfor RLock 0x%" PRIx64 ", which thread ",
	       t->futex_timed ? "with a timeout " : "", t->lock);
	dump_text_thread(p, holder);
	printf(" holds");
}

static void print_deadlock(const struct look_process *p, const struct look_thread *first)
{
	const struct look_thread *t = first, *holder;
	size_t i;

	printf("\n%sDeadlock:%s ", colour_on(stdout, COLOUR_BOLD), colour_off(stdout));
	for (i = 0; i < p->cnt && (holder = holder_of(p, t)); i++) {
		printf("%s", i ? ";\n    " : "");
		print_wait(p, t, holder);
		t = holder;
		if (t == first)
			break;
	}
	printf(".\n");
}

void dump_text_deadlocks(const struct look_process *p)
{
	const struct look_thread *first;
	uint32_t n;

	for (n = 1; (first = first_of(p, n)); n++)
		print_deadlock(p, first);
}

void dump_json_lock(struct json *j, const struct look_thread *t)
{
	char addr[24];

	if (!t->lock) {
		json_null(j, "lock");
		return;
	}
	snprintf(addr, sizeof(addr), "0x%" PRIx64, t->lock);
	json_object(j, "lock");
	json_string(j, "type", "RLock");
	json_string(j, "address", addr);
	if (t->lock_holder)
		json_uint(j, "holder", t->lock_holder);
	else
		json_null(j, "holder");
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
