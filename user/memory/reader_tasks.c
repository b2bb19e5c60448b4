// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* reader_tasks.c - see reader.h: the reader's functions for asyncio, in the worker. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>

#include "base/time.h"
#include "host/proc.h"
#include "host/socket_peers.h"
#include "memory/reader_own.h"

/*
 * A batch of tasks ends after this time, even if no CPU was available meanwhile: the caller gives
 * up a reader that does not answer.
 */
#define TASKS_NS 20000000ull
/* Limit on reads of all modules of all interpreters: a module takes about one. */
#define HOMES_READS_MAX 65536

_Static_assert(sizeof(struct chain_question) <= READER_BYTES_MAX, "questions fit");
_Static_assert(sizeof(struct loop_question) <= READER_BYTES_MAX, "questions fit");
_Static_assert(sizeof(struct task_lists) <= READER_BYTES_MAX, "answers fit");
_Static_assert(sizeof(struct tasks_batch) <= READER_BYTES_MAX, "answers fit");
_Static_assert(sizeof(struct async_homes) <= READER_BYTES_MAX, "answers fit");
_Static_assert(sizeof(struct task_chain) <= READER_BYTES_MAX, "answers fit");
_Static_assert(sizeof(struct loop_states) <= READER_BYTES_MAX, "answers fit");

static struct target_mem memory_of(const struct reader_shared *s)
{
	return (struct target_mem){ proc_mem_read, (void *)(intptr_t)s->tgid };
}

int reader_run_task_lists(void *shared, const int *fds)
{
	static struct task_lists found;
	struct reader_shared *s = shared;
	const struct target_mem mem = memory_of(s);
	struct tasks_at at;
	int err;

	memcpy(&at, s->bytes, sizeof(at));
	err = task_lists_read(&mem, &at, &found);
	memcpy(s->bytes, &found,
	       offsetof(struct task_lists, list) + found.cnt * sizeof(found.list[0]));
	return err;
}

/* Which sockets they are: another process may not search the directory of descriptors. */
static void number_sockets(pid_t tgid, struct tasks_batch *b)
{
	uint32_t i;

	for (i = 0; i < b->row_cnt; i++) {
		struct task_waits_for *w = &b->rows[i].waits;

		if (w->kind != WAITS_SOCKET || w->fd < 0)
			continue;
		w->inode = socket_inode(tgid, w->fd);
		b->reads++;
	}
}

int reader_run_tasks(void *shared, const int *fds)
{
	static struct tasks_batch found;
	struct reader_shared *s = shared;
	const struct target_mem mem = memory_of(s);
	struct tasks_at at;
	int err;

	memcpy(&at, s->bytes, sizeof(at));
	err = tasks_read(&mem, &at, now_ns() + TASKS_NS, &found);
	number_sockets(s->tgid, &found);
	tasks_batch_copy((void *)s->bytes, &found);
	return err;
}

int reader_run_async_homes(void *shared, const int *fds)
{
	struct reader_shared *s = shared;
	const struct target_mem mem = memory_of(s);
	struct async_homes found;
	struct tasks_at at;
	struct py_walk w;
	int err, trio;

	memcpy(&at, s->bytes, sizeof(at));
	py_walk_init(&w, &mem, &at.objects, HOMES_READS_MAX);
	err = async_homes_find(&w, &at.l, at.interps, &found);
	if (at.library == TASKS_TRIO) {
		py_walk_init(&w, &mem, &at.objects, HOMES_READS_MAX);
		trio = trio_steps_find(&w, &at.l, at.interps, &found.trio);
		if (err == -EOPNOTSUPP)
			err = trio;
	}
	memcpy(s->bytes, &found, sizeof(found));
	return err;
}

static int gather(void *ctx, const struct used_place *places, uint32_t cnt, uint8_t *buf,
		  size_t len)
{
	struct iovec parts[CHAIN_RANGES];
	uint32_t i;

	for (i = 0; i < cnt; i++)
		parts[i] = (struct iovec){ (void *)(uintptr_t)places[i].addr, places[i].len };
	return proc_mem_gather((pid_t)(intptr_t)ctx, parts, cnt, buf, len);
}

int reader_run_task_chain(void *shared, const int *fds)
{
	struct reader_shared *s = shared;
	const struct target_mem mem = memory_of(s);
	static struct chain_question q;
	static struct task_chain found;

	memcpy(&q, s->bytes, sizeof(q));
	task_chain_read(&mem, &q.at, &q.task, gather, &found);
	memcpy(s->bytes, &found, sizeof(found));
	return 0;
}

/* The clock is read here: the program may have waited for this process. */
int reader_run_loop_states(void *shared, const int *fds)
{
	struct reader_shared *s = shared;
	const struct target_mem mem = memory_of(s);
	struct loop_question q;
	struct loop_states found;
	int err;

	memcpy(&q, s->bytes, sizeof(q));
	err = loop_states_read(&mem, &q.at, now_ns() + (uint64_t)q.clock_ns, &found);
	memcpy(s->bytes, &found,
	       offsetof(struct loop_states, loop) + found.cnt * sizeof(found.loop[0]));
	return err;
}
