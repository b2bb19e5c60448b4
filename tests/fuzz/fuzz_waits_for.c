// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * fuzz_waits_for.c - what a task waits for, and who has it, out of hostile memory.
 *
 * Input: a byte for the version and the length of heads, one for the function of asyncio and the
 * place of the object; then pokes into the memory, each a u16 for which of its words that are not
 * zero, and a u32 that is written there: small ones as they are, others as addresses. With bit 7
 * memory is at every address (modulo its size), so that whatever is taken for a pointer leads
 * somewhere.
 */
#include "tests/fuzz/check.h"
#include "base/util.h"
#include "tests/unit/asyncio/fake_waits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define READS 5000

static struct fake_waits f;

/* As wrap_future() makes it: one of Python, whose iterator is a coroutine, or one of C. */
static void add_future(const char *function)
{
	bool pure = !strcmp(function, "__await__");
	uint64_t callback = fake_waits_callback(&f, "/asyncio/futures.py", "_call_check_cancel",
						"source_loop", f.nothing);

	f.obj = fake_waits_future(&f, callback, pure);
	f.task.future = pure ? 0 : f.obj;
}

static void build(uint8_t how, uint8_t what)
{
	static const struct {
		const char *file, *function, *class;
		bool second;
	} rows[] = {
		{ "/asyncio/locks.py", "acquire", "Lock", false },
		{ "/asyncio/locks.py", "wait", "Barrier", false },
		{ "/asyncio/queues.py", "get", "Queue", false },
		{ "/asyncio/streams.py", "_wait_for_data", "StreamReader", false },
		{ "/asyncio/selector_events.py", "sock_recv", "_socket.socket", true },
		{ "/asyncio/futures.py", "__await__", "Future", false },
		{ "/asyncio/base_events.py", "getaddrinfo", "Future", false },
	};
	static const char *const names[3] = { "self", "b", "c" };
	uint64_t values[3] = { 0 }, transport;
	uint8_t row = what % ARRAY_SIZE(rows), where = what / 16 % 5;

	fake_waits_make(&f, 8 + how % 8, how & 8, rows[row].class);
	transport = fake_instance(&f.t, &f.types, "T", "_sock_fd",
				  fake_small(&f.t, &f.types, 7), NULL, 0);
	if (!strcmp(rows[row].class, "StreamReader"))
		f.obj = fake_instance(&f.t, &f.types, "StreamReader", "_transport", transport,
				      NULL, 0);
	if (!strcmp(rows[row].class, "Future"))
		add_future(rows[row].function);
	if (where < 3)
		values[where] = f.obj;
	else if (where == 3)
		values[0] = fake_instance(&f.t, &f.types, "App", "x", f.nothing, "lock", f.obj);
	fake_waits_frame(&f, "/srv/app.py", "main", names, values);
	if (where == 4)
		fake_waits_global(&f, "LOCK", f.obj);
	fake_waits_frame(&f, "/srv/app.py", "handle", names, (const uint64_t[3]){ 0 });
	fake_waits_inside(&f, rows[row].file, rows[row].function, f.obj, rows[row].second);
	if (how & 128)
		f.t.target.read = fake_threads_everywhere;
}

static uint64_t word_at(uint64_t addr)
{
	uint64_t v;

	memcpy(&v, f.t.mem + (addr - FAKE_BASE), 8);
	return v;
}

static void poke(const uint8_t *data, size_t size)
{
	static uint64_t words[FAKE_BYTES / 8];
	uint64_t cnt = 0, at;
	uint16_t where;
	uint32_t what;
	size_t i;

	for (at = FAKE_BASE; at < FAKE_BASE + f.t.used && at < FAKE_BASE + FAKE_BYTES; at += 8)
		if (word_at(at))
			words[cnt++] = at;
	for (i = 0; cnt && i + 6 <= size; i += 6) {
		memcpy(&where, data + i, 2);
		memcpy(&what, data + i + 2, 4);
		fake_poke(&f.t, words[where % cnt],
			  what < 4096 ? what : FAKE_BASE + what % f.t.used, 8);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct task_waits_for got;
	int i;

	if (size < 2)
		return 0;
	build(data[0], data[1]);
	poke(data + 2, size - 2);
	fake_waits_begin(&f, READS);
	for (i = 0; i < 2; i++) {
		f.t.reads = 0;
		waits_for_read(&f.reader, &f.task, &got);
		check(got.kind < WAITS_KINDS && got.fd >= -1);
		check(memchr(got.name, 0, WAITS_NAME_BYTES));
		check(got.kind != WAITS_UNKNOWN || (!got.obj && !got.name[0]));
		check(got.kind == WAITS_SOCKET || got.fd == -1);
		/* Beside these, strings are read without a limit of their own: one or two names. */
		check(f.t.reads <= READS + 32);
	}
	return 0;
}
