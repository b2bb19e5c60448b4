// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_home_tasks.c - asyncio's tasks of CPython 3.8 to 3.13 out of hostile memory.
 *
 * Input: a byte for the version, the length of heads, and the kind of tasks; then pokes into the
 * memory of a process with a few tasks, each a u16 for which of its words that are not zero, and a
 * u32 that is written there: small ones as they are, others as addresses. With bit 7 memory is at
 * every address (modulo its size), so that whatever is taken for a pointer leads somewhere.
 */
#include <stdlib.h>

#include "asyncio/awaiters.h"
#include "tests/fuzz/check.h"
#include "tests/unit/asyncio/fake_homes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fake_homes f;
static struct tasks_batch batch;
static struct task_lists lists;

static void check_batch(uint64_t before)
{
	uint32_t i;

	check(batch.row_cnt <= TASKS_BATCH && batch.frame_cnt <= TASKS_BATCH_FRAMES &&
	      batch.waiter_cnt <= TASKS_BATCH_WAITERS && batch.end <= TASKS_LOST);
	check(batch.reads <= 2 * TASK_READS_MAX);
	check(batch.end != TASKS_MORE || batch.next > before);
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
	uint64_t a, callback, context;

	if (!fake_homes_make(&f, 8 + how % 6, how & 8, how & 16))
		abort();
	a = fake_named_task(&f, 3, "name");
	callback = fake_object(&f.t, f.types.thing, 32);
	fake_put(&f, callback + f.t.head, a);
	context = fake_tuple(&f.t, &f.types, &callback, 1);
	fake_home_task(&f, 5, &(struct fake_future){
		.name = fake_small(&f.t, &f.types, 1), .callback0 = callback,
		.callbacks = fake_list(&f.t, &f.types, &context, 1), .waiter = a });
	if (f.eager)
		fake_into(&f, f.eager, 1, fake_future(&f, true, &(struct fake_future){ 0 }));
	fake_add(&f.t, f.current_keys, f.loop, a);
	if (how & 128) {
		f.target.read = fake_threads_everywhere;
		f.target.ctx = &f.t;
	}
}

static void poke(const uint8_t *data, size_t size)
{
	static uint64_t words[FAKE_BYTES / 8];
	uint64_t cnt = 0, at;
	uint16_t where;
	uint32_t what;
	size_t i;

	for (at = FAKE_BASE; at < FAKE_BASE + f.t.used && at < FAKE_BASE + FAKE_BYTES; at += 8)
		if (fake_see(&f, at))
			words[cnt++] = at;
	for (i = 0; i + 6 <= size; i += 6) {
		memcpy(&where, data + i, 2);
		memcpy(&what, data + i + 2, 4);
		fake_put(&f, words[where % cnt], what < 4096 ? what : FAKE_BASE + what % f.t.used);
	}
}

static void read_list(uint64_t head, uint8_t count)
{
	int i;

	f.at.head = head;
	f.at.node = 0;
	f.at.count = count;
	for (i = 0; i < 3; i++) {
		tasks_read(&f.target, &f.at, UINT64_MAX, &batch);
		check_batch(f.at.node);
		f.at.node = batch.next;
		if (batch.end != TASKS_MORE)
			break;
	}
}

/* pokes: found by homes that were there before, and by what is there now. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct async_homes before;
	uint32_t i;

	if (size < 1)
		return 0;
	build(data[0]);
	before = f.at.homes;
	poke(data + 1, size - 1);
	fake_find(&f);
	check(f.at.homes.cnt <= ASYNC_HOMES_MAX);
	if (!(data[0] & 64))
		f.at.homes = before;
	task_lists_read(&f.target, &f.at, &lists);
	check(lists.cnt <= TASK_LISTS_MAX);
	for (i = 0; i < lists.cnt; i++) {
		read_list(lists.list[i].head, 1);
		read_list(lists.list[i].head, 0);
	}
	return 0;
}
