// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_task_chain.c - who awaits a task of CPython 3.8 to 3.13, out of hostile memory.
 *
 * Input: a byte for the version and for what is special; then pokes into the memory of a process
 * with a chain of tasks, each a u16 for which of its words that are not zero, and a u32 that is
 * written there: small ones as they are, others as addresses. With bit 7 memory is at every address
 * (modulo its size), so that whatever is taken for a pointer leads somewhere.
 */
#include <stdlib.h>

#include "tests/fuzz/check.h"
#include "tests/unit/asyncio/fake_chain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fake_chain c;

static int everywhere(void *ctx, uint64_t addr, void *buf, size_t len)
{
	uint8_t *out = buf;
	size_t i;

	c.f.reads++;
	if (addr >> 63)
		return -EFAULT;
	for (i = 0; i < len; i++)
		out[i] = c.f.mem[(addr - FAKE_BASE + i) % c.f.used];
	return 0;
}

static uint64_t build(uint8_t how)
{
	uint64_t fetch, handler, task, waiter;

	if (!fake_chain_make(&c, 8 + how % 6, how & 64))
		abort();
	waiter = fake_pending(&c);
	fetch = fake_waiting(&c, "Task-3", 2, fake_pending(&c));
	handler = fake_waiting(&c, "Task-2", 8, fetch);
	task = fake_waiting(&c, "Task-1", 16, waiter);
	fake_wakes(&c, fetch, handler);
	fake_releases(&c, handler, waiter);
	fake_wakes(&c, waiter, task);
	fake_called_back(&c, task, fake_named_function(&c, "gather.<locals>._done_callback"));
	if (how & 128)
		c.f.target.read = everywhere;
	return fetch;
}

static void poke(const uint8_t *data, size_t size)
{
	static uint64_t words[FAKE_BYTES / 8];
	uint64_t cnt = 0, at;
	uint16_t where;
	uint32_t what;
	size_t i;

	for (at = FAKE_BASE; at < FAKE_BASE + c.f.used; at += 8)
		if (fake_get(&c.f, at))
			words[cnt++] = at;
	for (i = 0; i + 6 <= size; i += 6) {
		memcpy(&where, data + i, 2);
		memcpy(&what, data + i + 2, 4);
		fake_word(&c.f, words[where % cnt],
			  what < 4096 ? what : FAKE_BASE + what % c.f.used);
	}
}

static void check_chain(const struct task_chain *chain)
{
	const struct raw_async *raw = &chain->raw;
	uint32_t i;

	check(raw->end < ASYNC_END_CNT && raw->ntasks <= RAW_ASYNC_TASKS &&
	      raw->nframes <= RAW_ASYNC_FRAMES && raw->name_at.len <= RAW_ASYNC_NAME);
	for (i = 0; i < raw->ntasks; i++)
		check(raw->starts[i] < raw->nframes &&
		      (i ? raw->starts[i] > raw->starts[i - 1] : !raw->starts[i]));
	check(raw->ntasks || !raw->nframes);
	check(memchr(chain->other, 0, sizeof(chain->other)));
	check(chain->reads <= CHAIN_READS_MAX);
	check(chain->ranges.cnt <= CHAIN_RANGES || chain->ranges.cnt == USED_NOT_KNOWN);
	check(chain->ranges.cnt == USED_NOT_KNOWN || raw->end == ASYNC_WHOLE ||
	      raw->end == ASYNC_SHAPE);
}

static bool count(void *ctx, uint64_t task)
{
	++*(uint32_t *)ctx;
	return true;
}

static void read_awaiters(uint64_t task)
{
	static struct future_types types;
	struct awaiters out;
	struct py_walk w;
	uint32_t cnt = 0;

	memset(&types, 0, sizeof(types));
	py_walk_init(&w, &c.f.target, &c.f.at.objects, 100000);
	awaiters_read(&w, &c.f.at.homes, &types, task, count, &cnt, &out);
	check(out.cnt == cnt && cnt <= AWAITERS_CALLBACKS_MAX &&
	      out.others <= AWAITERS_CALLBACKS_MAX);
	check(memchr(out.other, 0, sizeof(out.other)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct task_chain chain;
	struct raw_task q;
	uint64_t task;

	if (size < 1)
		return 0;
	task = build(data[0]);
	q = fake_sent(&c, task);
	poke(data + 1, size - 1);
	task_chain_read(&c.f.target, &c.f.at, &q, NULL, &chain);
	check_chain(&chain);
	q = fake_sent(&c, task);		/* what is there now is the same before and after */
	task_chain_read(&c.f.target, &c.f.at, &q, NULL, &chain);
	check_chain(&chain);
	read_awaiters(task);
	return 0;
}
