// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* dump_tasks.c - asyncio's tasks in the output of `tachbpf dump`. See dump_show.h. */
#include "commands/dump_show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_secret.h"
#include "base/text.h"
#include "base/util.h"
#include "cpython/image.h"
#include "host/proc.h"
#include "look/task_tree.h"
#include "resolve/process.h"

/* ---- running event loops, by the files of their code ---- */

/* Returns true if a thread has a frame of this file on its stack. */
static bool runs_file(const struct look_process *p, const char *file)
{
	const struct profile_tables *tables = process_tables(p->process);
	size_t i;
	uint32_t f;

	for (i = 0; i < p->cnt; i++)
		for (f = 0; f < p->threads[i].nframes; f++)
			if (ref_ends_with(
				    tables->strings[tables->frames[p->threads[i].frames[f]].file],
				    file))
				return true;
	return false;
}

static bool runs_asyncio(const struct look_process *p)
{
	return runs_file(p, "/asyncio/base_events.py") || runs_file(p, "/asyncio/runners.py");
}

/* ---- text ---- */

struct text {
	const struct look_process *p;
	const struct look_tasks *tasks;
	const struct task_set *set;
};

/* Can be as long as names of code objects: dump_text_escaped() cuts them. */
static void print_escaped(const char *s, size_t len)
{
	char shown[4 * CODE_STRING_MAX];

	fputs(escape_text(s, len, shown, sizeof(shown)), stdout);
}

static void print_branches(const struct task_line *l)
{
	uint32_t i;

	for (i = 0; i < l->depth; i++)
		fputs(l->last[i] ? "    " : "│   ", stdout);
	fputs(l->last[l->depth] ? "└── " : "├── ", stdout);
}

/* As in pstree, which has a space for an emoji that is never set. */
static void print_frame(const struct text *t, uint32_t frame)
{
	const struct profile_tables *tables = process_tables(t->p->process);
	const struct frame *f = &tables->frames[t->tasks->frames[frame]];

	fputs(" ", stdout);
	print_escaped(tables->strings[f->func].data, tables->strings[f->func].len);
	if (ref_is(tables->strings[f->file], SYNTHETIC_FILE))
		return;
	fputs(" ", stdout);
	print_escaped(tables->strings[f->file].data, tables->strings[f->file].len);
	if (f->line != LINE_NONE)
		printf(":%d", f->line);
}

static void print_task(const struct text *t, const struct task_line *l)
{
	static const char *const marks[] = {
		[TASK_MARK_NONE] = "", [TASK_MARK_CYCLE] = " (awaits itself: a cycle)",
		[TASK_MARK_ABOVE] = " (see above)", [TASK_MARK_BELOW] = " (continues below)",
		[TASK_MARK_UNLISTED] = " (not in a list of tasks)",
	};
	const struct task *task = l->task == UINT32_MAX ? NULL : &t->set->tasks[l->task];

	if (l->mark == TASK_MARK_LIKE) {
		printf("and %u more at the same lines", l->more);
		return;
	}
	if (l->mark == TASK_MARK_MORE) {
		printf("and %u more that are shown elsewhere", l->more);
		return;
	}
	fputs("(T) ", stdout);
	if (task && *task->name)
		print_escaped(task->name, strlen(task->name));
	else
		printf("task 0x%" PRIx64, l->addr);
	if (task && task->running)
		fputs(" (running)", stdout);
	if (task && task->flags & TASK_MOVED)
		fputs(" (moved meanwhile)", stdout);
	if (task && task->flags & TASK_CUT)
		fputs(" (incomplete)", stdout);
	if (task && task->flags & TASK_OTHERS)
		fputs(" (more may await it)", stdout);
	fputs(marks[l->mark], stdout);
	if (task && task->running && l->mark == TASK_MARK_NONE)
		dump_text_loop(look_loop_of(&t->tasks->loops, task->tid));
	if (task && l->mark == TASK_MARK_NONE)
		dump_text_task_lock(t->tasks, l->task);
}

static void print_line(void *ctx, const struct task_line *l)
{
	const struct text *t = ctx;

	print_branches(l);
	if (l->frame == UINT32_MAX)
		print_task(t, l);
	else
		print_frame(t, l->frame);
	putchar('\n');
}

/* What is said behind the name of each task, for task_tree_fold(). NULL: no memory. */
static uint64_t *said_of(const struct look_tasks *t)
{
	uint64_t *said = calloc(t->set.cnt + 1, sizeof(*said)), seed = hash_secret_seed();
	size_t i;

	for (i = 0; said && i < t->set.cnt; i++) {
		const struct task_waits_for *w = &t->set.tasks[i].waits;

		said[i] = hash_secret(seed + w->kind, w->name, strnlen(w->name, sizeof(w->name)));
	}
	for (i = 0; said && t->waits && i < t->set.cnt; i++) {
		const struct look_lock *lock = t->waits[i].lock;

		if (lock && said[i] != TASK_LOOK_OWN)
			said[i] = t->waits[i].deadlock ? TASK_LOOK_OWN : lock->addr;
		if (lock && lock->holder < t->set.cnt)
			said[lock->holder] = TASK_LOOK_OWN;
		if (lock && lock->holders)
			said[lock->first] = TASK_LOOK_OWN;
	}
	return said;
}

/* Many tasks that look the same are one. Without memory for it all are shown. */
static void fold(struct task_tree *tree, const struct look_tasks *t)
{
	uint64_t *said = said_of(t);

	if (said)
		task_tree_fold(tree, &(struct task_looks){ t->frames, said });
	free(said);
}

static void print_tree(const struct look_process *p, struct look_tasks *tasks, const char *library)
{
	struct text t = { p, tasks, &tasks->set };
	struct task_tree *tree;

	if (!t.set->cnt && !t.set->changed && !t.set->unread)
		return;
	printf("\n%zu %s %s\n", t.set->cnt, library, text_plural(t.set->cnt, "task", "tasks"));
	tree = task_tree_new(&tasks->set);
	if (tree)
		fold(tree, tasks);
	if (!tree || task_tree_each(tree, print_line, &t))
		printf("There is not enough memory to show them.\n");
	task_tree_free(tree);
	if (t.set->cut)
		printf("There are more.\n");
	if (t.set->unread)
		printf("Some could not be read.\n");
	if (t.set->changed)
		printf("The list of tasks kept changing: some are missing.\n");
}

/* Prints why there is no tree, if one may be expected. */
static void print_why(const struct look_process *p)
{
	int err = p->tasks->err;

	if (err == -EOPNOTSUPP && runs_asyncio(p))
		printf("\nasyncio's tasks are listed from CPython 3.8 on.\n");
	else if (err && err != -EOPNOTSUPP && err != -ENOENT && runs_asyncio(p))
		printf("\nasyncio's tasks could not be read: %s.\n", strerror(-err));
	err = p->trio ? p->trio->err : 0;
	if (err && runs_file(p, "/trio/_core/_run.py"))
		printf("\ntrio's tasks could not be read: %s.\n", strerror(-err));
}

void dump_tasks_text(const struct look_process *p)
{
	if (!p->tasks)
		return;
	if (!p->tasks->err) {
		print_tree(p, p->tasks, "asyncio");
		dump_text_deadlocks(p, true);
	}
	if (p->trio && !p->trio->err)
		print_tree(p, p->trio, "trio");
	print_why(p);
}

/* ---- JSON ---- */

static void write_frames(struct json *j, const struct look_process *p,
			 const struct look_tasks *tasks, const struct task *task)
{
	const struct profile_tables *tables = process_tables(p->process);
	uint32_t i;

	json_array(j, "coroutines");
	for (i = 0; i < task->frame_cnt; i++) {
		const struct frame *f = &tables->frames[tasks->frames[task->frame_at + i]];

		json_object(j, NULL);
		json_ref(j, "function", &tables->strings[f->func]);
		json_ref(j, "file", &tables->strings[f->file]);
		dump_json_line(j, "line", f->line);
		json_object_end(j);
	}
	json_array_end(j);
}

static void write_task(struct json *j, const struct look_process *p,
		       const struct look_tasks *tasks, const struct task *task)
{
	const struct task_set *set = &tasks->set;
	const struct look_wait *wait = tasks->waits ? &tasks->waits[task - set->tasks] : NULL;
	const struct look_lock *lock = wait ? wait->lock : NULL;
	uint32_t i;

	json_object(j, NULL);
	json_uint(j, "id", task->addr);
	json_string(j, "name", *task->name ? task->name : NULL);
	json_uint_known(j, "tid", task->tid);
	json_bool(j, "running", task->running);
	json_bool(j, "moved", task->flags & TASK_MOVED);
	json_bool(j, "cut", task->flags & TASK_CUT);
	json_bool(j, "cycle", task->cycle);
	json_bool(j, "more_may_await", task->flags & TASK_OTHERS);
	write_frames(j, p, tasks, task);
	json_array(j, "awaited_by");
	for (i = 0; i < task->waiter_cnt; i++)
		json_uint(j, NULL, set->waiters[task->waiter_at + i]);
	json_array_end(j);
	dump_json_lock(j, lock, lock && lock->holder < set->cnt ? set->tasks[lock->holder].addr : 0,
		       false);
	dump_json_waits_for(j, task);
	json_object_end(j);
}

/* Writes the list, and whether it is complete. */
static void write_tasks(struct json *j, const struct look_process *p, struct look_tasks *tasks,
			const char *key, const char *complete)
{
	struct task_set *set = tasks && !tasks->err ? &tasks->set : NULL;
	size_t i;

	if (!set) {
		json_null(j, key);
		json_bool(j, complete, false);
		return;
	}
	task_tree_free(task_tree_new(set));	/* it finds the cycles */
	json_array(j, key);
	for (i = 0; i < set->cnt; i++)
		write_task(j, p, tasks, &set->tasks[i]);
	json_array_end(j);
	json_bool(j, complete, !set->cut && !set->changed && !set->unread);
}

void dump_tasks_json(struct json *j, const struct look_process *p)
{
	write_tasks(j, p, p->tasks, "tasks", "tasks_complete");
	write_tasks(j, p, p->trio, "trio_tasks", "trio_tasks_complete");
}
