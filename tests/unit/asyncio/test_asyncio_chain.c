// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_asyncio_chain.c - who awaits the task of a sample, while it lives, changes, and lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/asyncio/fake_chain.h"

#define READS_AN_AWAITER 32

static struct fake_chain c;
static struct task_chain out;

static void make(unsigned int minor, bool big)
{
	assert_true(fake_chain_make(&c, minor, big));
}

static enum async_end read_chain(const struct raw_task *q)
{
	c.f.reads = 0;
	task_chain_read(&c.f.target, &c.f.at, q, NULL, &out);
	assert_true(out.raw.h.kind == RAW_ASYNC && out.raw.h.tgid == q->h.tgid);
	assert_true(out.raw.tid == q->tid && out.raw.at == q->at);
	assert_true(out.reads <= c.f.reads && c.f.reads <= 4ul * out.reads);
	if (out.raw.end != ASYNC_WHOLE)
		assert_true(!out.raw.ntasks && !out.raw.nframes);
	return out.gone ? ASYNC_GONE : out.raw.end;
}

static enum async_end read_of(uint64_t task)
{
	struct raw_task q = fake_sent(&c, task);

	return read_chain(&q);
}

/* main awaits a future that handler releases; handler awaits fetch. */
static uint64_t fetch, handler, task_main, waiter;

static void make_chain(unsigned int minor, bool big)
{
	make(minor, big);
	waiter = fake_pending(&c);
	fetch = fake_waiting(&c, "Task-3", 2, fake_pending(&c));
	handler = fake_waiting(&c, "Task-2", 8, fetch);
	task_main = fake_waiting(&c, "Task-1", 16, waiter);
	fake_wakes(&c, fetch, handler);
	fake_releases(&c, handler, waiter);
	fake_wakes(&c, waiter, task_main);
}

#define EACH_CHAIN(minor, big) \
	for (unsigned int minor = 8; minor <= 13; minor++) \
		for (unsigned int big = 0; big < 2; big++)

static void test_chain(void **state)
{
	EACH_CHAIN(minor, big) {
		make_chain(minor, big);
		assert_int_equal(read_of(fetch), ASYNC_WHOLE);
		assert_true(out.raw.ntasks == 2 && out.raw.nframes == 2 && !out.raw.flags);
		assert_true(!out.raw.starts[0] && out.raw.starts[1] == 1);
		assert_true(out.raw.frames[0].code == c.code && out.raw.frames[0].lasti == 8);
		assert_true(out.raw.frames[1].lasti == 16 && out.raw.frames[1].id & 1);
		assert_true(out.raw.name_at.len >= RAW_TASK_NAME);
		assert_true(out.raw.name_at.addr ==
			    fake_get(&c.f, fetch + c.f.at.homes.fields.name));
		print_message("3.%u: %u reads for 2 awaiters, %u ranges\n", minor, out.reads,
			      out.ranges.cnt);
		assert_in_range(out.ranges.cnt, 8, 24);
		assert_true(c.f.reads <= 3 * READS_AN_AWAITER);
		assert_int_equal(read_of(task_main), ASYNC_WHOLE);
		assert_int_equal(out.raw.ntasks, 0);
	}
}

/* ---- another task, or the same one later ---- */

static void expect_gone(const struct raw_task *q, uint64_t changed)
{
	uint64_t was = fake_get(&c.f, changed);

	fake_word(&c.f, changed, was + 16);
	assert_int_equal(read_chain(q), ASYNC_GONE);
	fake_word(&c.f, changed, was);
}

static void test_gone(void **state)
{
	const struct async_fields *fields = &c.f.at.homes.fields;
	struct raw_task q;

	EACH_CHAIN(minor, big) {
		make_chain(minor, big);
		q = fake_sent(&c, fetch);
		expect_gone(&q, fetch + fields->coro);
		expect_gone(&q, fetch + fields->callback0);
		expect_gone(&q, fetch + fields->callbacks);
		assert_int_equal(read_chain(&q), ASYNC_WHOLE);
		fake_set(&c.f, fetch + fields->state, &(uint32_t){ 1 }, 4);	/* it has ended */
		assert_int_equal(read_chain(&q), ASYNC_GONE);
		fake_set(&c.f, fetch + fields->state, &(uint32_t){ 0 }, 4);
		/* Another task with the same addresses: "Task-4". */
		fake_set(&c.f, q.name + c.f.at.objects.str_ascii_data + 5, "4", 1);
		assert_int_equal(read_chain(&q), ASYNC_GONE);
		q.task = 16;
		assert_int_equal(read_chain(&q), ASYNC_GONE);
	}
}

/* A name that begins with these bytes, and what follows it in memory belongs to others. */
static void test_name_end(void **state)
{
	static const char *const names[] = { "Task-3", "b\xc3\xa9", "" };
	const struct py_object_layout *o = &c.f.at.objects;
	struct raw_task q;
	uint32_t i;

	EACH_CHAIN(minor, big)
		for (i = 0; i < 3; i++) {
			size_t at, kind = 1, len = strlen(names[i]);

			make_chain(minor, big);
			at = o->str_ascii_data;
			fake_word(&c.f, fetch + c.f.at.homes.fields.name, fake_str(&c.f, names[i]));
			q = fake_sent(&c, fetch);
			if (i == 1) {		/* two characters, of two bytes each */
				uint32_t bits = 2u << o->str_kind_shift | o->str_compact_bit;

				at = o->str_compact_data;
				kind = len = 2;
				fake_word(&c.f, q.name + o->str_length, 2);
				fake_set(&c.f, q.name + o->str_state, &bits, 4);
				q = fake_sent(&c, fetch);
				/* Its UTF-8. */
				fake_word(&c.f, q.name + o->str_ascii_data, 1234);
			}
			fake_set(&c.f, q.name + at + kind * len, "other", 5);
			assert_int_equal(read_chain(&q), ASYNC_WHOLE);
			if (!len)
				continue;
			fake_set(&c.f, q.name + at + kind * len - 1, "x", 1);
			assert_int_equal(read_chain(&q), ASYNC_GONE);
		}
}

/* Likewise an int, of which the second digit counts. */
static void test_number_end(void **state)
{
	struct raw_task q;
	uint64_t digits;

	EACH_CHAIN(minor, big) {
		make_chain(minor, big);
		fake_word(&c.f, fetch + c.f.at.homes.fields.name, fake_int(&c.f, 3));
		q = fake_sent(&c, fetch);
		digits = q.name + c.f.at.objects.str_length + 8;
		fake_word(&c.f, digits + 8, 12345);
		assert_int_equal(read_chain(&q), ASYNC_WHOLE);
		fake_word(&c.f, digits, 4);
		assert_int_equal(read_chain(&q), ASYNC_GONE);
	}
}

/* The name is used: more references, a hash. It has a new object: another name. */
static void test_name(void **state)
{
	struct raw_task q;

	EACH_CHAIN(minor, big) {
		uint16_t hash;

		make_chain(minor, big);
		q = fake_sent(&c, fetch);
		hash = c.f.at.objects.str_length + 8;
		memset(q.name_bytes + hash, 0xff, 8);
		fake_word(&c.f, q.name + hash, 12345);
		fake_word(&c.f, q.name, 77);
		assert_int_equal(read_chain(&q), ASYNC_WHOLE);
		fake_word(&c.f, q.name + c.f.at.objects.str_length, 7);
		assert_int_equal(read_chain(&q), ASYNC_GONE);
		memset(q.name_bytes, 0, sizeof(q.name_bytes));	/* the BPF side could not read it */
		assert_int_equal(read_chain(&q), ASYNC_GONE);
		fake_word(&c.f, fetch + c.f.at.homes.fields.name, fake_int(&c.f, 3));
		q = fake_sent(&c, fetch);
		assert_int_equal(read_chain(&q), ASYNC_WHOLE);
		assert_int_equal(out.raw.name_at.len, 0);
	}
}

/* ---- what a chain follows from ---- */

static bool is_used(uint64_t addr)
{
	uint32_t i;

	for (i = 0; i < out.ranges.cnt; i++) {
		uint64_t from = chain_range_addr(out.ranges.range[i]);

		if (addr >= from && addr - from < 8 * CHAIN_RANGE_WORDS &&
		    out.ranges.mask[i] >> ((addr - from) / 8) & 1)
			return true;
	}
	return false;
}

/* Where something is that never changes while the objects live which refer to it. */
struct place {
	uint64_t addr, len;
};

static bool is_in(const struct place *places, uint32_t cnt, uint64_t addr)
{
	uint32_t i;

	for (i = 0; i < cnt; i++)
		if (addr - places[i].addr < places[i].len)
			return true;
	return false;
}

/* In make_chain()'s chain: types and code, names of callbacks. The samples' task is not used. */
static uint32_t constant_places(uint64_t end_of_types, struct place places[16])
{
	const struct async_fields *fields = &c.f.at.homes.fields;
	const uint64_t woken[] = { fetch, waiter };
	uint16_t head = fake_words(&c);
	uint64_t partial, function;
	uint32_t n = 0, i;

	places[n++] = (struct place){ FAKE_BASE, end_of_types - FAKE_BASE };
	for (i = 0; i < 2; i++) {
		uint64_t ml = fake_get(&c.f, fake_get(&c.f, woken[i] + fields->callback0) + head);

		places[n++] = (struct place){ ml, 32 };
		places[n++] = (struct place){ fake_get(&c.f, ml), 112 };
	}
	partial = fake_get(&c.f, handler + fields->callback0);
	function = fake_get(&c.f, partial + head);
	places[n++] = (struct place){
		fake_get(&c.f, function + head + 8 * (c.f.minor < 10 ? 11 : 3)), FAKE_OBJECT
	};
	places[n++] = (struct place){ fetch, 256 };
	return n;
}

static bool is_same_chain(const struct task_chain *a, const struct task_chain *b)
{
	return a->raw.end == b->raw.end && a->raw.ntasks == b->raw.ntasks &&
	       a->raw.nframes == b->raw.nframes && a->raw.flags == b->raw.flags &&
	       !memcmp(a->raw.starts, b->raw.starts, a->raw.ntasks) &&
	       !memcmp(a->raw.frames, b->raw.frames, a->raw.nframes * sizeof(a->raw.frames[0]));
}

/*
 * The chain depends on no byte but those in its ranges: whichever other one changes, the walk has
 * the same end. So if all of these are the same, the chain is.
 */
static void test_ranges_are_all(void **state)
{
	static struct task_chain first;
	struct place places[16];
	uint64_t addr, types_end;
	struct raw_task q;
	uint32_t cnt, tried;

	EACH_CHAIN(minor, big) {
		make(minor, big);
		types_end = FAKE_BASE + c.f.used;
		make_chain(minor, big);
		q = fake_sent(&c, fetch);
		assert_int_equal(read_chain(&q), ASYNC_WHOLE);
		assert_true(out.ranges.cnt <= CHAIN_RANGES);
		first = out;
		cnt = constant_places(types_end, places);
		tried = 0;
		for (addr = types_end; addr < FAKE_BASE + c.f.used; addr += 1 + big) {
			uint8_t *byte = c.f.mem + (addr - FAKE_BASE);

			out = first;
			if (is_in(places, cnt, addr) || is_used(addr))
				continue;
			*byte ^= 0x55;
			read_chain(&q);
			assert_true(is_same_chain(&first, &out));
			*byte ^= 0x55;
			tried++;
		}
		assert_true(tried > 200);
	}
}

/* Whose task it is does not matter, nor whether that lives: it is the chain of its callbacks. */
static void test_gone_but_kept(void **state)
{
	struct used_ranges was;
	struct raw_task q;

	EACH_CHAIN(minor, big) {
		make_chain(minor, big);
		q = fake_sent(&c, fetch);
		assert_int_equal(read_chain(&q), ASYNC_WHOLE);
		was = out.ranges;
		fake_set(&c.f, fetch + c.f.at.homes.fields.state, &(uint32_t){ 1 }, 4);
		assert_int_equal(read_chain(&q), ASYNC_GONE);
		assert_true(out.raw.end == ASYNC_WHOLE && out.raw.ntasks == 2);
		assert_memory_equal(&was, &out.ranges, sizeof(was));
		/* An awaiting task that has ended: no chain. */
		fake_set(&c.f, handler + c.f.at.homes.fields.state, &(uint32_t){ 1 }, 4);
		assert_int_equal(read_chain(&q), ASYNC_GONE);
		assert_true(out.ranges.cnt == USED_NOT_KNOWN);
	}
}

/* ---- changes ---- */

/* The coroutine of `handler` goes on, so many times, whenever its task is read. */
static uint32_t moves;

static void go_on(struct fake_tasks *f, uint64_t addr)
{
	uint64_t at;

	if (addr != handler || !moves)
		return;
	moves--;
	at = handler + f->at.homes.fields.callbacks;
	fake_word(f, at, fake_get(f, at) ? 0 : fake_alloc(f, 64));
}

static void test_changes(void **state)
{
	make_chain(12, false);
	c.f.before = go_on;
	moves = UINT32_MAX;
	assert_int_not_equal(read_of(fetch), ASYNC_WHOLE);
	assert_true(c.f.reads < CHAIN_READS_MAX);
}

/* ---- other ends ---- */

static void test_ends(void **state)
{
	const struct async_fields *fields = &c.f.at.homes.fields;
	uint64_t callback;

	EACH_CHAIN(minor, big) {
		make_chain(minor, big);
		fake_wakes(&c, waiter, fetch);			/* in a circle */
		assert_int_equal(read_of(fetch), ASYNC_CYCLE);
		make_chain(minor, big);
		callback = fake_named_function(&c, "Server.done");
		fake_called_back(&c, handler, callback);
		assert_int_equal(read_of(fetch), ASYNC_SHAPE);
		assert_string_equal(out.other, "Server.done");
		fake_called_back(&c, handler, fake_named_function(&c, "_run_until_complete_cb"));
		assert_int_equal(read_of(fetch), ASYNC_WHOLE);
		assert_true(out.raw.ntasks == 1 && !out.other[0]);
		make_chain(minor, big);				/* wait_for()'s time is over */
		fake_set(&c.f, waiter + fields->state, &(uint32_t){ 1 }, 4);
		fake_called_back(&c, waiter, 0);
		assert_int_equal(read_of(fetch), ASYNC_NOT_SUSPENDED);
		make_chain(minor, big);
		fake_set(&c.f, handler + fields->state, &(uint32_t){ 1 }, 4);
		assert_int_equal(read_of(fetch), ASYNC_NOT_SUSPENDED);
		make_chain(minor, big);
		fake_word(&c.f, handler + fields->coro, fake_pending(&c));
		assert_int_equal(read_of(fetch), ASYNC_FOREIGN);
		c.f.at.homes.cnt = 0;
		assert_int_equal(read_of(fetch), ASYNC_UNREADABLE);
	}
}

static void test_depth(void **state)
{
	uint64_t task, last;
	unsigned int i;

	EACH_CHAIN(minor, big) {
		make(minor, big);
		last = fetch = fake_waiting(&c, "Task-1", 2, fake_pending(&c));
		for (i = 0; i < RAW_ASYNC_TASKS; i++, last = task) {
			task = fake_waiting(&c, "Task-2", 2, last);
			fake_wakes(&c, last, task);
		}
		assert_int_equal(read_of(fetch), ASYNC_WHOLE);
		assert_int_equal(out.raw.ntasks, RAW_ASYNC_TASKS);
		assert_true(c.f.reads <= READS_AN_AWAITER * (RAW_ASYNC_TASKS + 1));
		fake_wakes(&c, last, fake_waiting(&c, "Task-2", 2, last));
		assert_int_equal(read_of(fetch), ASYNC_DEPTH);
	}
}

/* ---- memory that goes ---- */

static uint32_t readable;

static void end_of_memory(struct fake_tasks *f, uint64_t addr)
{
	if (f->reads > readable)
		memset(f->mem, 0, sizeof(f->mem));
}

static void test_memory_goes(void **state)
{
	struct raw_task q;
	uint32_t reads;

	make_chain(10, false);
	assert_int_equal(read_of(fetch), ASYNC_WHOLE);
	reads = c.f.reads - out.ranges.cnt;	/* which are read at last */
	for (readable = 0; readable < reads - 1; readable++) {
		make_chain(10, false);
		q = fake_sent(&c, fetch);
		c.f.before = end_of_memory;
		assert_int_not_equal(read_chain(&q), ASYNC_WHOLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain), cmocka_unit_test(test_gone),
		cmocka_unit_test(test_name), cmocka_unit_test(test_changes),
		cmocka_unit_test(test_ends), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_memory_goes), cmocka_unit_test(test_name_end),
		cmocka_unit_test(test_number_end), cmocka_unit_test(test_ranges_are_all),
		cmocka_unit_test(test_gone_but_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
