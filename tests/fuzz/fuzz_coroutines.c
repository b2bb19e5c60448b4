// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_coroutines.c - suspended coroutines of CPython 3.8 to 3.15 out of hostile memory.
 *
 * Input: a byte for the version, long heads and memory at every address; then pokes as those of
 * fuzz_tasks.c.
 */
#include <stdlib.h>

#include "asyncio/task_read.h"
#include "tests/fuzz/check.h"
#include "tests/unit/asyncio/fake_coros.h"
#include "tests/unit/asyncio/read_coroutine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More than any chain needs. */
#define READS 20000

static struct fake_tasks f;
static struct raw_frame frames[TASK_FRAMES_MAX];

static int everywhere(void *ctx, uint64_t addr, void *buf, size_t len)
{
	uint8_t *out = buf;
	size_t i;

	if (addr >> 63)
		return -EFAULT;
	for (i = 0; i < len; i++)
		out[i] = f.mem[(addr - FAKE_BASE + i) % f.used];
	return 0;
}

static uint64_t suspended(int type, uint64_t code, uint32_t lasti, uint64_t awaited)
{
	return f.minor >= 14 ? fake_coro(&f, type, code, lasti, awaited) :
			       fake_old_coro(&f, type, code, lasti, CORO_SUSPENDED, awaited);
}

/* A coroutine that awaits a step of an asynchronous generator that awaits a wrapper of another. */
static uint64_t build(uint8_t how)
{
	unsigned int minor = 8 + how % 8;
	uint64_t code, coro, step, wrapper;

	if (!(minor >= 14 ? fake_tasks_make(&f, minor, how & 8 ? "t" : "") :
			    fake_old_make(&f, minor, how & 8)))
		abort();
	code = fake_code(&f, "f");
	coro = suspended(FAKE_CORO, code, 2, fake_object(&f, f.types[FAKE_INT], 64));
	wrapper = fake_object(&f, fake_type(&f, "coroutine_wrapper", 0), 64);
	fake_word(&f, wrapper + fake_head_bytes(&f), coro);
	step = fake_object(&f, f.types[FAKE_ASEND], 64);
	fake_word(&f, step + fake_head_bytes(&f), suspended(FAKE_AGEN, code, 4, wrapper));
	if (how & 16)
		f.target.read = everywhere;
	return suspended(FAKE_CORO, code, 6, step);
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

static void check_coroutine(uint64_t obj)
{
	struct coroutine c;
	struct py_walk w;

	py_walk_init(&w, &f.target, &f.at.objects, READS);
	if (coroutine_read(&w, &f.at, obj, &c))
		return;
	check(c.addr == obj && c.state <= CORO_ENDED && READS - w.reads_left <= 8);
	check(!c.awaits || c.state == CORO_SUSPENDED);
	check(c.lasti < RAW_LASTI_LINE || c.lasti == RAW_LASTI_NONE);
}

static void check_chain(uint64_t obj)
{
	struct task_reader r = { .at = &f.at };
	struct task_row row = { 0 };
	struct task_read t = { .frames = frames, .row = &row };

	py_walk_init(&r.walk, &f.target, &f.at.objects, READS);
	task_coros_read(&r, &t, obj);
	check(row.frame_cnt <= TASK_FRAMES_MAX && t.coro_cnt <= TASK_FRAMES_MAX);
	check(r.walk.reads_left);
	task_coros_still(&r, &t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t coro;

	if (size < 1)
		return 0;
	coro = build(data[0]);
	poke(data + 1, size - 1);
	check_coroutine(coro);
	check_chain(coro);
	return 0;
}
