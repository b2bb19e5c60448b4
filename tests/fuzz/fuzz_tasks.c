// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_tasks.c - asyncio's tasks out of hostile memory.
 *
 * Input: a byte for the version and for what is special; then pokes into the memory of a process
 * with a few tasks, each a u16 for which of its words that are not zero, and a u32 that is written
 * there: small ones as they are, others as addresses. With bit 2 memory is at every address (modulo
 * its size), so that whatever is taken for a pointer leads somewhere.
 */
#include <stdlib.h>

#include "asyncio/task_read.h"
#include "tests/fuzz/check.h"
#include "tests/unit/asyncio/fake_tasks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fake_tasks f;
static struct tasks_batch batch;
static struct task_lists lists;

static int everywhere(void *ctx, uint64_t addr, void *buf, size_t len)
{
	uint8_t *out = buf;
	size_t i;

	f.reads++;
	if (addr >> 63)
		return -EFAULT;
	for (i = 0; i < len; i++)
		out[i] = f.mem[(addr - FAKE_BASE + i) % f.used];
	return 0;
}

static void check_batch(void)
{
	uint32_t i;

	check(batch.row_cnt <= TASKS_BATCH && batch.frame_cnt <= TASKS_BATCH_FRAMES &&
	      batch.waiter_cnt <= TASKS_BATCH_WAITERS && batch.end <= TASKS_LOST);
	check(batch.reads <= TASK_READS_MAX);
	for (i = 0; i < batch.row_cnt; i++) {
		const struct task_row *r = &batch.rows[i];

		check(memchr(r->name, 0, TASK_NAME_BYTES));
		check(r->frame_cnt <= TASK_FRAMES_MAX && r->waiter_cnt <= TASK_WAITERS_MAX);
		check(r->frame_at + r->frame_cnt <= batch.frame_cnt);
		check(r->waiter_at + r->waiter_cnt <= batch.waiter_cnt);
	}
}

static void build(uint8_t how)
{
	uint64_t code, future, coro, step, a, b, tasks[2];

	if (!fake_tasks_make(&f, how & 1 ? 15 : 14, how & 2 ? "t" : ""))
		abort();
	code = fake_code(&f, "f");
	future = fake_object(&f, f.types[FAKE_INT], 64);
	step = fake_object(&f, f.types[FAKE_ASEND], 64);
	fake_word(&f, step + f.at.async.coro.ob_type + 8,
		  fake_coro(&f, FAKE_AGEN, code, 4, future));
	coro = fake_coro(&f, FAKE_CORO, code, 2, step);
	a = fake_task(&f, fake_int(&f, 1), fake_coro(&f, FAKE_CORO, code, 2, coro));
	b = fake_task(&f, fake_str(&f, "name"), coro);
	tasks[0] = a;
	tasks[1] = b;
	fake_await(&f, a, b, false);
	fake_await(&f, b, fake_set_of(&f, tasks, 2, 8), true);
	if (how & 4)
		f.target.read = everywhere;
}

static void poke(const uint8_t *data, size_t size)
{
	static uint64_t words[FAKE_BYTES / 8];
	uint64_t cnt = 0, at;
	uint16_t where;
	uint32_t what;
	size_t i;

	for (at = FAKE_BASE; at < FAKE_BASE + f.used; at += 8)
		if (fake_get(&f, at))
			words[cnt++] = at;
	for (i = 0; i + 6 <= size; i += 6) {
		memcpy(&where, data + i, 2);
		memcpy(&what, data + i + 2, 4);
		fake_word(&f, words[where % cnt],
			  what < 4096 ? what : FAKE_BASE + what % f.used);
	}
}

static void read_frames(uint64_t task)
{
	struct task_reader r = { .at = &f.at };
	struct py_frame frames[TASK_FRAMES_MAX];
	uint64_t where;
	bool whole;

	py_walk_init(&r.walk, &f.target, &f.at.objects, TASK_READS_MAX);
	check(task_frames_read(&r, task, frames, &whole, &where) <= TASK_FRAMES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int i;

	if (size < 1)
		return 0;
	build(data[0]);
	poke(data + 1, size - 1);
	task_lists_read(&f.target, &f.at, &lists);
	check(lists.cnt <= TASK_LISTS_MAX);
	read_frames(fake_get(&f, fake_head(&f)) - f.at.async.task.task_node);
	f.at.node = 0;
	f.at.count = 1;
	tasks_read(&f.target, &f.at, UINT64_MAX, &batch);
	check_batch();
	f.at.count = 0;
	for (i = 0; i < 3; i++) {
		tasks_read(&f.target, &f.at, UINT64_MAX, &batch);
		check_batch();
		f.at.node = batch.next;
		if (batch.end != TASKS_MORE)
			break;
	}
	return 0;
}
