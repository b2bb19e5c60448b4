// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * reader_tasks.c - see reader.h: the reader's functions for asyncio, and the calls to them.
 *
 * The reader may be compromised: an answer is copied, so that it cannot change any more, and then
 * made well-formed, or refused.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>

#include "asyncio/record.h"
#include "base/time.h"
#include "base/util.h"
#include "cpython/replay.h"
#include "host/proc.h"
#include "memory/reader_own.h"

/*
 * A batch of tasks ends after this time, even if no CPU was available meanwhile: the caller gives
 * up a reader that does not answer.
 */
#define TASKS_NS 20000000ull
/* Limit on reads of all modules of all interpreters: a module takes about one. */
#define HOMES_READS_MAX 65536

struct chain_question {
	struct tasks_at at;
	struct raw_task task;
};

struct loop_question {
	struct tasks_at at;
	int64_t clock_ns;
};

_Static_assert(sizeof(struct chain_question) <= READER_BYTES_MAX, "questions fit");
_Static_assert(sizeof(struct loop_question) <= READER_BYTES_MAX, "questions fit");
_Static_assert(sizeof(struct task_lists) <= READER_BYTES_MAX, "answers fit");
_Static_assert(sizeof(struct tasks_batch) <= READER_BYTES_MAX, "answers fit");
_Static_assert(sizeof(struct async_homes) <= READER_BYTES_MAX, "answers fit");
_Static_assert(sizeof(struct task_chain) <= READER_BYTES_MAX, "answers fit");
_Static_assert(sizeof(struct loop_states) <= READER_BYTES_MAX, "answers fit");

/* ---- in the worker ---- */

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

int reader_run_tasks(void *shared, const int *fds)
{
	static struct tasks_batch found;
	struct reader_shared *s = shared;
	const struct target_mem mem = memory_of(s);
	struct tasks_at at;
	int err;

	memcpy(&at, s->bytes, sizeof(at));
	err = tasks_read(&mem, &at, now_ns() + TASKS_NS, &found);
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
	int err;

	memcpy(&at, s->bytes, sizeof(at));
	py_walk_init(&w, &mem, &at.objects, HOMES_READS_MAX);
	err = async_homes_find(&w, &at.l, at.interps, &found);
	memcpy(s->bytes, &found, sizeof(found));
	return err;
}

/*
 * Chains that were read before, by their tasks. While a task runs, samples ask for the same one
 * again and again.
 */
#define CHAINS_KEPT 64

static struct kept_chain {
	int32_t tgid;
	struct chain_question q;
	struct replay_kept reads;	/* none: the entry is free */
	struct task_chain answer;
} kept_chains[CHAINS_KEPT];

static int gather(void *ctx, const struct replay_read *reads, uint32_t cnt, uint8_t *buf,
		  size_t len)
{
	static struct iovec places[REPLAY_READS_MAX];
	uint32_t i;

	for (i = 0; i < cnt; i++)
		places[i] = (struct iovec){ (void *)(uintptr_t)reads[i].addr, reads[i].len };
	return proc_mem_gather((pid_t)(intptr_t)ctx, places, cnt, buf, len);
}

/* What the answer depends on, apart from the memory. */
static void set_question(const struct chain_question *q, struct chain_question *out)
{
	*out = *q;
	memset(&out->task.h, 0, sizeof(out->task.h));
	out->task.tid = out->task.interp_id = 0;
	out->task.cpu = out->task.at = 0;
}

static struct kept_chain *entry_for(uint64_t task)
{
	return &kept_chains[(task * 0x9e3779b97f4a7c15ull >> 32) % CHAINS_KEPT];
}

static void read_chain(struct kept_chain *k, int32_t tgid, const struct chain_question *q,
		       const struct target_mem *direct)
{
	static struct replay record;
	const struct target_mem mem = { replay_read_mem, &record };

	replay_drop(&k->reads);
	k->tgid = tgid;
	k->q = *q;
	replay_begin(&record, direct);
	task_chain_read(&mem, &q->at, &q->task, &k->answer);
	replay_keep(&record, &k->reads);
}

int reader_run_task_chain(void *shared, const int *fds)
{
	struct reader_shared *s = shared;
	const struct target_mem mem = memory_of(s);
	static struct chain_question asked, q;
	struct kept_chain *k;

	memcpy(&asked, s->bytes, sizeof(asked));
	set_question(&asked, &q);
	k = entry_for(q.task.task);
	if (k->tgid != s->tgid || memcmp(&k->q, &q, sizeof(q)) ||
	    !replay_is_same(&k->reads, gather, mem.ctx))
		read_chain(k, s->tgid, &q, &mem);
	memcpy(s->bytes, &k->answer, sizeof(k->answer));
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

/* ---- in the program ---- */

/* Ask a question of len bytes. 0 and *answer, or -errno. */
static int ask(enum reader_function f, pid_t tgid, bool hurry, const void *question, size_t len,
	       const void **answer)
{
	struct reader_shared *s = reader_shared_for(tgid, "", 0);

	if (!s)
		return -EBUSY;
	memcpy(s->bytes, question, len);
	*answer = s->bytes;
	return reader_call(f, tgid, hurry);
}

/* What of a text of `bytes` bytes is valid. */
static void make_valid(char *text, size_t bytes)
{
	char copy[TASK_NAME_BYTES];

	memcpy(copy, text, bytes);
	utf8_copy(text, bytes, copy, strnlen(copy, bytes - 1));
}
_Static_assert(TASK_NAME_BYTES >= WAITS_NAME_BYTES, "make_valid() has room");
_Static_assert(TASK_NAME_BYTES >= AWAITERS_NAME_BYTES, "make_valid() has room");

int reader_task_lists(pid_t tgid, const struct tasks_at *at, bool hurry,
		      const struct task_lists **out)
{
	static struct task_lists copy;
	const void *answer;
	int err = ask(TASK_LISTS, tgid, hurry, at, sizeof(*at), &answer);

	if (err)
		return err;
	memcpy(&copy, answer, sizeof(copy));
	*out = &copy;
	return copy.cnt > TASK_LISTS_MAX ? -EBADMSG : 0;
}

static bool check_tasks(struct tasks_batch *b)
{
	uint32_t i;

	for (i = 0; i < b->row_cnt; i++) {
		struct task_row *r = &b->rows[i];

		if (r->frame_at > b->frame_cnt || r->frame_cnt > b->frame_cnt - r->frame_at ||
		    r->waiter_at > b->waiter_cnt || r->waiter_cnt > b->waiter_cnt - r->waiter_at ||
		    r->waits.kind >= WAITS_KINDS)
			return false;
		make_valid(r->name, sizeof(r->name));
		make_valid(r->waits.name, sizeof(r->waits.name));
	}
	return true;
}

int reader_tasks(pid_t tgid, const struct tasks_at *at, bool hurry,
		 const struct tasks_batch **out)
{
	static struct tasks_batch copy;
	const void *answer;
	int err = ask(TASKS, tgid, hurry, at, sizeof(*at), &answer);

	if (err)
		return err;
	tasks_batch_copy(&copy, answer);
	*out = &copy;
	return check_tasks(&copy) ? 0 : -EBADMSG;
}

int reader_async_homes(pid_t tgid, const struct tasks_at *at, bool hurry,
		       struct async_homes *out)
{
	uint8_t musl = at->homes.musl;
	const void *answer;
	int err = ask(ASYNC_HOMES, tgid, hurry, at, sizeof(*at), &answer);

	memset(out, 0, sizeof(*out));
	if (err)
		return err;
	memcpy(out, answer, sizeof(*out));
	out->musl = musl;
	/* The offsets are looked up again; everything else is only an address to read at. */
	if (out->cnt <= ASYNC_HOMES_MAX && out->minor == at->objects.minor &&
	    async_fields_of(out->minor, at->objects.str_length, &out->fields))
		return 0;
	memset(out, 0, sizeof(*out));
	return -EBADMSG;
}

int reader_task_chain(pid_t tgid, const struct tasks_at *at, const struct raw_task *q, bool hurry,
		      struct task_chain *out)
{
	const struct chain_question question = { .at = *at, .task = *q };
	const void *answer;
	int err = ask(TASK_CHAIN, tgid, hurry, &question, sizeof(question), &answer);

	if (err)
		return err;
	memcpy(out, answer, sizeof(*out));
	/* Whose it is was known before. */
	out->raw.h = q->h;
	out->raw.h.kind = RAW_ASYNC;
	out->raw.tid = q->tid;
	out->raw.interp_id = q->interp_id;
	out->raw.cpu = q->cpu;
	out->raw.at = q->at;
	make_valid(out->other, sizeof(out->other));
	return async_record_is_whole(&out->raw, sizeof(out->raw)) ? 0 : -EBADMSG;
}

int reader_loop_states(pid_t tgid, const struct tasks_at *at, int64_t clock_ns, bool hurry,
		       const struct loop_states **out)
{
	const struct loop_question q = { .at = *at, .clock_ns = clock_ns };
	static struct loop_states copy;
	const void *answer;
	int err = ask(LOOP_STATES, tgid, hurry, &q, sizeof(q), &answer);

	if (err)
		return err;
	memcpy(&copy, answer, sizeof(copy));
	*out = &copy;
	return copy.cnt > LOOPS_MAX ? -EBADMSG : 0;
}
