// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * dump_locks.c - the locks that threads and tasks wait for, and deadlocks, in `tachbpf dump`; parts
 * of its text. See dump_show.h.
 */
#include "commands/dump_show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/colour.h"
#include "base/util.h"
#include "asyncio/waits_for.h"
#include "look/look_locks.h"
#include "model/event.h"
#include "model/thread_names.h"
#include "resolve/process.h"

#define TEXT_BYTES 1024
#define SHOWN_BYTES (4 * TEXT_BYTES)

void dump_text_escaped(const char *text, size_t len)
{
	char shown[SHOWN_BYTES];

	fputs(escape_text(text, len, shown, sizeof(shown)), stdout);
}

/* Prints the name of a task, or its address. */
static void dump_text_task(const struct task *task)
{
	if (*task->name)
		dump_text_escaped(task->name, strlen(task->name));
	else
		printf("0x%" PRIx64, task->addr);
}

void dump_text_frame(const struct profile_tables *tables, uint32_t id)
{
	const struct frame *f = &tables->frames[id];
	const struct string_ref *func = &tables->strings[f->func];
	const struct string_ref *file = &tables->strings[f->file];

	printf("    ");
	dump_text_escaped(func->data, func->len);
	if (file->len != strlen(SYNTHETIC_FILE) || memcmp(file->data, SYNTHETIC_FILE, file->len)) {
		printf(" (");
		dump_text_escaped(file->data, file->len);
		if (f->line != LINE_NONE)
			printf(":%d", f->line);
		printf(")");
	}
	printf("\n");
}

void dump_text_thread(const struct look_process *p, const struct look_thread *t)
{
	const char *name = thread_names_find(process_thread_names(p->process), t->tid);

	printf("%" PRIu64, t->tid);
	if (!name || !*name)
		return;
	printf(" \"");
	dump_text_escaped(name, strlen(name));
	printf("\"");
}

static const char *const kinds[PY_LOCK_KINDS] = {
	[PY_LOCK_PLAIN] = "Lock", [PY_LOCK_RLOCK] = "RLock",
	[PY_LOCK_SEMAPHORE] = "multiprocessing lock", [PY_LOCK_CONDITION] = "Condition",
	[PY_LOCK_IMPORT] = "import lock", [PY_LOCK_ASYNCIO] = "asyncio.Lock",
	[PY_LOCK_PERMITS] = "asyncio.Semaphore",
};

/* Prints "Lock 0x7f...", "import lock of module 'json'". name: who has it; "": unknown. */
static void print_lock(const struct look_lock *lock, const char *name)
{
	printf("%s", kinds[lock->kind]);
	if (*lock->module) {
		printf(" of module '");
		dump_text_escaped(lock->module, strlen(lock->module));
		printf("'");
	} else if (*name) {
		putchar(' ');
		dump_text_escaped(name, strlen(name));
	} else {
		printf(" 0x%" PRIx64, lock->addr);
	}
	if (lock->kind == PY_LOCK_CONDITION)
		printf(" to be notified");
}

static bool is_of_tasks(const struct look_lock *lock)
{
	return lock->kind == PY_LOCK_ASYNCIO || lock->kind == PY_LOCK_PERMITS;
}

/* Prints " (pay_ba, /srv/pay.py:9, inside the `with` on line 8)". */
static void print_place(const struct look_lock *lock)
{
	if (!*lock->function)
		return;
	printf(" (");
	dump_text_escaped(lock->function, strlen(lock->function));
	printf(", ");
	dump_text_escaped(lock->path, strlen(lock->path));
	if (lock->line != LINE_NONE)
		printf(":%d", lock->line);
	if (lock->since_line != LINE_NONE)
		printf(lock->by_hand ? ", acquired on line %d" :
		       is_of_tasks(lock) ? ", inside the `async with` on line %d" :
		       ", inside the `with` on line %d", lock->since_line);
	printf(")");
}

static void print_holds(const struct look_lock *lock)
{
	printf(" %s", lock->sure ? "holds" : "may hold");
	print_place(lock);
}

void dump_text_lock(const struct look_thread *t)
{
	if (!t->lock)
		return;
	printf(", ");
	print_lock(t->lock, "");
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

/* Prints ", which 3 tasks are inside of, such as reader (...)". */
static void print_holders(const struct look_tasks *t, const struct look_lock *lock)
{
	if (lock->holders > 1)
		printf(", which %u tasks are inside of, such as ", lock->holders);
	else
		printf(", which task ");
	dump_text_task(&t->set.tasks[lock->first]);
	if (lock->holders == 1)
		printf(" is inside of");
	print_place(lock);
}

/* What a task waits for, by its coroutines; not if one of them says it in one word. */
static void print_waits_for(const struct task *t)
{
	const struct task_waits_for *w = &t->waits;
	const char *word = waits_for_word(w->kind);

	if (!*word || w->kind == WAITS_SLEEP)
		return;
	printf(", waits for %s", word);
	if (w->kind == WAITS_SOCKET && w->fd >= 0)
		printf(" (descriptor %d%s%s)", w->fd, *t->peer ? ", " : "", t->peer);
	else if (*w->name)
		putchar(' ');
	if (*w->name)
		dump_text_escaped(w->name, strlen(w->name));
}

void dump_text_task_lock(const struct look_tasks *t, uint32_t task)
{
	const struct look_lock *lock = t->waits ? t->waits[task].lock : NULL;

	if (!lock) {
		print_waits_for(&t->set.tasks[task]);
		return;
	}
	printf(", waits for ");
	print_lock(lock, t->set.tasks[task].waits.name);
	if (lock->holders)
		print_holders(t, lock);
	if (lock->holder >= t->set.cnt)
		return;
	printf(lock->holder == task ? ", which this task" : ", which task ");
	if (lock->holder != task)
		dump_text_task(&t->set.tasks[lock->holder]);
	print_holds(lock);
}

/* ---- deadlocks ---- */

/* The threads of a process, or its tasks, by number. */
struct waiters {
	const struct look_process *p;
	bool tasks;
	size_t cnt;
};
#define NOBODY SIZE_MAX

static struct waiters waiters_of(const struct look_process *p, bool tasks)
{
	size_t cnt = !tasks ? p->cnt : p->tasks && p->tasks->waits ? p->tasks->set.cnt : 0;

	return (struct waiters){ p, tasks, cnt };
}

static const struct look_lock *lock_of(const struct waiters *w, size_t i)
{
	return w->tasks ? w->p->tasks->waits[i].lock : w->p->threads[i].lock;
}

/* Returns the first one in deadlock number n. */
static size_t first_of(const struct waiters *w, uint32_t n)
{
	size_t i;

	for (i = 0; i < w->cnt; i++)
		if ((w->tasks ? w->p->tasks->waits[i].deadlock : w->p->threads[i].deadlock) == n)
			return i;
	return NOBODY;
}

/* Returns the holder of the lock that number i waits for; NOBODY: it is not shown. */
static size_t holder_of(const struct waiters *w, size_t i)
{
	const struct look_lock *lock = lock_of(w, i);

	if (w->tasks || !lock)
		return lock && lock->holder < w->cnt ? lock->holder : NOBODY;
	for (i = 0; i < w->cnt; i++)
		if (w->p->threads[i].tid == lock->holder_tid)
			return i;
	return NOBODY;
}

/* Calls it for each member of a deadlock, with the holder of its lock; for each at most once. */
static void each_of(const struct waiters *w, size_t first, void *ctx,
		    void (*fn)(void *ctx, const struct waiters *w, size_t i, size_t holder))
{
	size_t i = first, n, holder;

	for (n = 0; n < w->cnt; n++, i = holder) {
		holder = holder_of(w, i);
		if (holder != NOBODY)
			fn(ctx, w, i, holder);
		if (holder == first || holder == NOBODY)
			return;
	}
}

static void print_one(const struct waiters *w, size_t i)
{
	if (w->tasks)
		dump_text_task(&w->p->tasks->set.tasks[i]);
	else
		dump_text_thread(w->p, &w->p->threads[i]);
}

static void add_sure(void *ctx, const struct waiters *w, size_t i, size_t holder)
{
	*(bool *)ctx &= lock_of(w, i)->sure;
}

/* Prints "Deadlock: ", if each of its locks is certainly held. */
static void print_name(const struct waiters *w, size_t first)
{
	bool sure = true;

	each_of(w, first, &sure, add_sure);
	printf("%s%s%s ", colour_on(stdout, COLOUR_BOLD), sure ? "Deadlock:" : "Probable deadlock:",
	       colour_off(stdout));
}

static void print_arrow(void *ctx, const struct waiters *w, size_t i, size_t holder)
{
	printf(" -> ");
	print_one(w, holder);
}

/* Prints "thread 7 "reader" waits for RLock 0x7f..., which thread 8 "writer" holds". */
static void print_wait(void *ctx, const struct waiters *w, size_t i, size_t holder)
{
	const char *what = w->tasks ? "task" : "thread";
	size_t first = *(size_t *)ctx;

	printf("%s%s ", i == first ? "" : ";\n    ", what);
	print_one(w, i);
	printf(" waits %sfor ", !w->tasks && w->p->threads[i].futex_timed ? "with a timeout " : "");
	print_lock(lock_of(w, i), "");
	printf(", which %s ", what);
	print_one(w, holder);
	print_holds(lock_of(w, i));
}

static void print_circles(const struct waiters *w)
{
	size_t first;
	uint32_t n;

	for (n = 1; (first = first_of(w, n)) != NOBODY; n++) {
		print_name(w, first);
		print_one(w, first);
		each_of(w, first, NULL, print_arrow);
		printf("\n");
	}
}

/* Prints "Deadlock: 7 "reader" -> 8 "writer" -> 7 "reader"". */
void dump_text_circles(const struct look_process *p)
{
	struct waiters threads = waiters_of(p, false), tasks = waiters_of(p, true);

	print_circles(&threads);
	print_circles(&tasks);
}

void dump_text_deadlocks(const struct look_process *p, bool tasks)
{
	struct waiters w = waiters_of(p, tasks);
	size_t first;
	uint32_t n;

	for (n = 1; (first = first_of(&w, n)) != NOBODY; n++) {
		printf("\n");
		print_name(&w, first);
		each_of(&w, first, &first, print_wait);
		printf(".\n");
	}
}

/* ---- JSON ---- */

void dump_json_line(struct json *j, const char *key, int32_t line)
{
	if (line != LINE_NONE)
		json_uint(j, key, line);
	else
		json_null(j, key);
}

/* Writes where the holder is; null: unknown. */
static void write_place(struct json *j, const struct look_lock *lock)
{
	if (!*lock->function) {
		json_null(j, "held_in");
		return;
	}
	json_object(j, "held_in");
	json_string(j, "function", lock->function);
	json_string(j, "file", lock->path);
	dump_json_line(j, "line", lock->line);
	dump_json_line(j, "since_line", lock->since_line);
	json_string(j, "by", lock->kind == PY_LOCK_IMPORT ? "import" :
			     lock->by_hand ? "acquire" : "with");
	json_object_end(j);
}

void dump_json_lock(struct json *j, const struct look_lock *lock, uint64_t holder, bool timed)
{
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
	json_uint_known(j, "holder", holder);
	json_bool(j, "certain", holder && lock->sure);
	json_bool(j, "other_process", lock->foreign);
	if (lock->kind == PY_LOCK_PERMITS)
		json_uint(j, "tasks_inside", lock->holders);
	write_place(j, lock);
	json_bool(j, "timeout", timed);
	json_object_end(j);
}

void dump_json_waits_for(struct json *j, const struct task *t)
{
	const struct task_waits_for *w = &t->waits;
	static const char *const kinds_of[WAITS_KINDS] = {
		[WAITS_SLEEP] = "sleep", [WAITS_LOCK] = "lock", [WAITS_SEMAPHORE] = "semaphore",
		[WAITS_CONDITION] = "condition", [WAITS_EVENT] = "event",
		[WAITS_BARRIER] = "barrier", [WAITS_QUEUE_GET] = "queue_get",
		[WAITS_QUEUE_PUT] = "queue_put", [WAITS_QUEUE_JOIN] = "queue_join",
		[WAITS_SOCKET] = "socket", [WAITS_PROCESS] = "process",
		[WAITS_EXECUTOR] = "executor", [WAITS_FUTURE] = "concurrent_future",
	};
	char addr[24];

	if (w->kind >= WAITS_KINDS || !kinds_of[w->kind]) {
		json_null(j, "waits_for");
		return;
	}
	snprintf(addr, sizeof(addr), "0x%" PRIx64, w->obj);
	json_object(j, "waits_for");
	json_string(j, "kind", kinds_of[w->kind]);
	json_string(j, "object", w->obj ? addr : NULL);
	json_string(j, "name", *w->name ? w->name : NULL);
	if (w->kind == WAITS_SOCKET && w->fd >= 0)
		json_int(j, "fd", w->fd);
	else
		json_null(j, "fd");
	json_string(j, "peer", *t->peer ? t->peer : NULL);
	json_object_end(j);
}

static void write_one(void *ctx, const struct waiters *w, size_t i, size_t holder)
{
	json_uint(ctx, NULL, w->tasks ? w->p->tasks->set.tasks[i].addr : w->p->threads[i].tid);
}

void dump_json_deadlocks(struct json *j, const struct look_process *p, bool tasks)
{
	struct waiters w = waiters_of(p, tasks);
	size_t first;
	uint32_t n;

	json_array(j, tasks ? "task_deadlocks" : "deadlocks");
	for (n = 1; (first = first_of(&w, n)) != NOBODY; n++) {
		json_array(j, NULL);
		each_of(&w, first, j, write_one);
		json_array_end(j);
	}
	json_array_end(j);
}
