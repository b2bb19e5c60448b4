// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * reader_ask_tasks.c - see reader.h: the calls to the reader's functions for asyncio.
 *
 * The reader may be compromised: an answer is copied, so that it cannot change any more, and then
 * made well-formed, or refused.
 */
#include <errno.h>
#include <string.h>

#include "asyncio/record.h"
#include "base/util.h"
#include "memory/reader_own.h"

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

/* What is no UTF-8 in a text is replaced. */
static void make_valid(char *text, size_t bytes)
{
	utf8_repair(text, bytes);
}

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

/* Fields of asyncio's are looked up again. All else but numbers is only an address to read at. */
static bool check_homes(struct async_homes *h, const struct tasks_at *at)
{
	uint32_t i;

	if (h->trio.cnt > TRIO_STEPS_MAX || (h->trio.cnt && at->library != TASKS_TRIO))
		return false;
	for (i = 0; i < h->trio.cnt; i++)
		if (h->trio.step[i].local >= TRIO_LOCALS_MAX)
			return false;
	if (!h->minor)
		return !h->cnt && at->library == TASKS_TRIO;
	return h->cnt <= ASYNC_HOMES_MAX && h->minor == at->objects.minor &&
	       async_fields_of(h->minor, at->objects.str_length, &h->fields);
}

int reader_async_homes(pid_t tgid, const struct tasks_at *at, bool hurry,
		       struct async_homes *out)
{
	uint8_t musl = at->homes.musl;
	struct async_homes copy = { 0 };
	const void *answer;
	int err = ask(ASYNC_HOMES, tgid, hurry, at, sizeof(*at), &answer);

	if (!err) {
		memcpy(&copy, answer, sizeof(copy));
		copy.musl = musl;
		err = check_homes(&copy, at) ? 0 : -EBADMSG;
	}
	if (err)
		memset(&copy, 0, sizeof(copy));
	*out = copy;		/* perhaps in *at */
	return err;
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
	if (out->ranges.cnt > CHAIN_RANGES)
		out->ranges.cnt = USED_NOT_KNOWN;
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
