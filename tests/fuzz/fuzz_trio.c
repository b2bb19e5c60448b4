// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_trio.c - trio's tasks, its loop, and who awaits a task, out of hostile memory.
 *
 * Input: a byte for the version and for what is special; then pokes into the memory of a process
 * with a few tasks, each a u16 for which of its words that are not zero, and a u32 that is written
 * there: small ones as they are, others as addresses. With bit 4 memory is at every address.
 */
#include <stdlib.h>

#include "asyncio/chain.h"
#include "asyncio/task_read.h"
#include "asyncio/trio_step.h"
#include "tests/fuzz/check.h"
#include "tests/unit/asyncio/fake_trio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fake_trio f;
static struct tasks_batch batch;
static struct task_lists lists;
static uint64_t child;

static void check_batch(void)
{
	uint32_t i;

	check(batch.row_cnt <= TASKS_BATCH && batch.frame_cnt <= TASKS_BATCH_FRAMES &&
	      batch.waiter_cnt <= TASKS_BATCH_WAITERS && batch.end <= TASKS_LOST);
	check(batch.reads <= TASK_READS_MAX);
	for (i = 0; i < batch.row_cnt; i++) {
		const struct task_row *r = &batch.rows[i];

		check(memchr(r->name, 0, TASK_NAME_BYTES));
		check(r->frame_at + r->frame_cnt <= batch.frame_cnt);
		check(r->waiter_at + r->waiter_cnt <= batch.waiter_cnt && r->waiter_cnt <= 1);
	}
}

static void check_chain(void)
{
	static struct task_chain chain;
	struct raw_task q = { .trio = 1, .pure = 1, .task = child };
	uint64_t coro, frame, code;
	struct trio_steps steps;
	struct py_walk w;
	uint32_t i;

	py_walk_init(&w, &f.h.target, &f.h.at.objects, 10000);
	trio_steps_find(&w, &f.h.at.l, f.h.at.interps, &steps);
	check(steps.cnt <= TRIO_STEPS_MAX);
	for (i = 0; i < steps.cnt; i++)
		check(steps.step[i].local < TRIO_LOCALS_MAX);
	/* What the BPF side would have sent of it. */
	if (!py_get(&w, child + f.h.t.head + FAKE_TASK_CORO, &coro, 8) &&
	    !coroutine_frame_read(&w, &f.h.at, coro, &frame, &code)) {
		q.frame = frame;
		q.coro = code;
	}
	task_chain_read(&f.h.target, &f.h.at, &q, NULL, &chain);
	check(chain.raw.end < ASYNC_END_CNT && chain.raw.ntasks <= RAW_ASYNC_TASKS &&
	      chain.raw.nframes <= RAW_ASYNC_FRAMES && chain.reads <= CHAIN_READS_MAX);
	for (i = 0; i < chain.raw.ntasks; i++)
		check(chain.raw.starts[i] < chain.raw.nframes);
}

static void build(uint8_t how)
{
	uint64_t a;

	if (!fake_trio_make(&f, 8 + (how & 7) % 6, how & 8))
		abort();
	a = fake_trio_task(&f, 1, "<init>", 0);
	child = fake_trio_task(&f, 2, "b", fake_nursery(&f, a));
	if (how & 16)
		f.h.target = (struct target_mem){ fake_threads_everywhere, &f.h.t };
}

static void poke(const uint8_t *data, size_t size)
{
	static uint64_t words[FAKE_BYTES / 8];
	uint64_t cnt = 0, at;
	uint16_t where;
	uint32_t what;
	size_t i;

	for (at = FAKE_BASE; at < FAKE_BASE + f.h.t.used; at += 8)
		if (fake_see(&f.h, at))
			words[cnt++] = at;
	for (i = 0; i + 6 <= size; i += 6) {
		memcpy(&where, data + i, 2);
		memcpy(&what, data + i + 2, 4);
		fake_put(&f.h, words[where % cnt],
			 what < 4096 ? what : FAKE_BASE + what % f.h.t.used);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int i;

	if (size < 1)
		return 0;
	build(data[0]);
	poke(data + 1, size - 1);
	task_lists_read(&f.h.target, &f.h.at, &lists);
	check(lists.cnt <= TASK_LISTS_MAX);
	check_chain();
	f.h.at.node = 0;
	for (i = 0; i < 3; i++) {
		tasks_read(&f.h.target, &f.h.at, UINT64_MAX, &batch);
		check_batch();
		f.h.at.node = batch.next;
		if (batch.end != TASKS_MORE)
			break;
	}
	return 0;
}
