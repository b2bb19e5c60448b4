// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_reader_ask_tasks.c - a reader that lies about tasks, loops and homes. */
#include "tests/unit/tach_test.h"

/* They take the place of the worker: the answer is made here. */
#include "memory/reader_ask_tasks.c"

static struct reader_shared shared;
static union {
	struct task_lists lists;
	struct tasks_batch batch;
	struct async_homes homes;
	struct loop_states loops;
	struct task_chain chain;
	uint8_t bytes[READER_BYTES_MAX];
} answer;
static struct {
	bool busy;		/* there is no reader */
	int err;		/* of the call */
	enum reader_function asked;
	pid_t tgid;
	bool hurry;
	struct loop_question question;	/* a struct tasks_at is its beginning */
} fake;

struct reader_shared *reader_shared_for(pid_t tgid, const char *name, size_t size)
{
	fake.tgid = tgid;
	return fake.busy ? NULL : &shared;
}

int reader_call(enum reader_function f, pid_t tgid, bool hurry)
{
	assert_int_equal(tgid, fake.tgid);
	fake.asked = f;
	fake.hurry = hurry;
	memcpy(&fake.question, shared.bytes, sizeof(fake.question));
	memcpy(shared.bytes, &answer, sizeof(answer));
	return fake.err;
}

/* An answer that says nothing, of a reader that can be called. */
static void begin(void)
{
	memset(&fake, 0, sizeof(fake));
	memset(&answer, 0, sizeof(answer));
}

/* All of the answer is random: some numbers are small, so that others matter. */
static void fill_randomly(uint64_t *state)
{
	size_t i;

	for (i = 0; i + 8 <= sizeof(answer.bytes); i += 8) {
		uint64_t word = rnd(state);

		memcpy(answer.bytes + i, &word, 8);
	}
}

/* ---- what is asked ---- */

static const struct tasks_at asked_at = {
	.interps = 4711, .objects = { .minor = 11, .str_length = 16 }, .library = TASKS_TRIO,
};

static const struct task_lists *lists;
static const struct tasks_batch *batch;
static const struct loop_states *loops;
static struct async_homes homes;
static struct task_chain chain;
static const struct raw_task asked_task = {
	.h = { .kind = RAW_TASK, .tgid = 7, .time_ns = 99 }, .tid = 8, .interp_id = 1, .cpu = 2,
	.at = 3,
};

static int ask_chain(bool hurry)
{
	return reader_task_chain(7, &asked_at, &asked_task, hurry, &chain);
}

static int ask_lists(bool hurry)
{
	return reader_task_lists(7, &asked_at, hurry, &lists);
}

static int ask_tasks(bool hurry)
{
	return reader_tasks(7, &asked_at, hurry, &batch);
}

static int ask_homes(bool hurry)
{
	return reader_async_homes(7, &asked_at, hurry, &homes);
}

static int ask_loops(bool hurry)
{
	return reader_loop_states(7, &asked_at, -99, hurry, &loops);
}

static const struct {
	int (*ask)(bool hurry);
	enum reader_function function;
} questions[] = {
	{ ask_lists, TASK_LISTS }, { ask_tasks, TASKS }, { ask_homes, ASYNC_HOMES },
	{ ask_chain, TASK_CHAIN }, { ask_loops, LOOP_STATES },
};

/* Each asks its function about the process, and passes on its error, or that there is no reader. */
static void test_asked(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(questions); i++) {
		begin();
		fake.busy = true;
		assert_int_equal(questions[i].ask(false), -EBUSY);
		fake.busy = false;
		fake.err = -ESRCH;
		assert_int_equal(questions[i].ask(true), -ESRCH);
		assert_true(fake.asked == questions[i].function && fake.tgid == 7 && fake.hurry);
		assert_memory_equal(&fake.question, &asked_at, sizeof(asked_at));
		fake.err = 0;
		assert_int_equal(questions[i].ask(false), 0);
		assert_false(fake.hurry);
	}
	assert_int_equal(fake.question.clock_ns, -99);
}

/* ---- lists ---- */

static void test_lists(void **state)
{
	begin();
	answer.lists.cnt = TASK_LISTS_MAX;
	answer.lists.cut = 1;
	answer.lists.list[TASK_LISTS_MAX - 1] = (struct task_list){ .head = 1, .tid = 2 };
	assert_int_equal(ask_lists(false), 0);
	assert_true(lists->cnt == TASK_LISTS_MAX && lists->cut);
	assert_true(lists->list[TASK_LISTS_MAX - 1].head == 1);
	/* It changes its answer afterwards. */
	memset(shared.bytes, 0xff, sizeof(shared.bytes));
	assert_true(lists->cnt == TASK_LISTS_MAX && lists->list[TASK_LISTS_MAX - 1].tid == 2);
	answer.lists.cnt = TASK_LISTS_MAX + 1;
	assert_int_equal(ask_lists(false), -EBADMSG);
	answer.lists.cnt = UINT32_MAX;
	assert_int_equal(ask_lists(false), -EBADMSG);
}

/* ---- tasks ---- */

/* Two tasks; the second has all that a batch has room for. */
static void begin_tasks(void)
{
	struct tasks_batch *b = &answer.batch;
	uint32_t i;

	begin();
	b->row_cnt = 2;
	b->frame_cnt = TASKS_BATCH_FRAMES;
	b->waiter_cnt = TASKS_BATCH_WAITERS;
	b->rows[1].frame_cnt = TASKS_BATCH_FRAMES;
	b->rows[1].waiter_cnt = TASKS_BATCH_WAITERS;
	b->rows[1].waits.kind = WAITS_KINDS - 1;
	for (i = 0; i < 2; i++) {
		snprintf(b->rows[i].name, TASK_NAME_BYTES, "Task-%u", i);
		snprintf(b->rows[i].waits.name, WAITS_NAME_BYTES, "self.jobs_%u", i);
	}
	b->frames[TASKS_BATCH_FRAMES - 1].code = 5;
	b->waiters[TASKS_BATCH_WAITERS - 1] = 6;
}

static bool is_text(const char *text, size_t bytes)
{
	size_t len = strnlen(text, bytes), i, n;
	uint32_t cp;

	for (i = 0; i < len; i += n) {
		n = utf8_char(text + i, len - i, &cp);
		if (!n)
			return false;
	}
	return len < bytes;
}

/* Everything that the caller will use is within the arrays. */
static void assert_batch_is_sound(void)
{
	uint32_t i;

	assert_in_range(batch->row_cnt, 0, TASKS_BATCH);
	assert_in_range(batch->frame_cnt, 0, TASKS_BATCH_FRAMES);
	assert_in_range(batch->waiter_cnt, 0, TASKS_BATCH_WAITERS);
	for (i = 0; i < batch->row_cnt; i++) {
		const struct task_row *r = &batch->rows[i];

		assert_true((uint64_t)r->frame_at + r->frame_cnt <= batch->frame_cnt);
		assert_true((uint64_t)r->waiter_at + r->waiter_cnt <= batch->waiter_cnt);
		assert_true(r->waits.kind < WAITS_KINDS);
		assert_true(is_text(r->name, sizeof(r->name)));
		assert_true(is_text(r->waits.name, sizeof(r->waits.name)));
	}
}

static void test_tasks(void **state)
{
	begin_tasks();
	answer.batch.end = TASKS_MORE;
	answer.batch.next = 77;
	assert_int_equal(ask_tasks(false), 0);
	assert_batch_is_sound();
	assert_true(batch->row_cnt == 2 && batch->end == TASKS_MORE && batch->next == 77);
	assert_string_equal(batch->rows[1].name, "Task-1");
	assert_string_equal(batch->rows[1].waits.name, "self.jobs_1");
	/* It changes its answer afterwards. */
	memset(shared.bytes, 0xff, sizeof(shared.bytes));
	assert_batch_is_sound();
	assert_true(batch->frames[TASKS_BATCH_FRAMES - 1].code == 5);
	assert_true(batch->waiters[TASKS_BATCH_WAITERS - 1] == 6);
}

/* A number of the batch or of its last row, at this place. */
struct lie {
	size_t at, bytes;
	uint64_t value;
};
#define OF_BATCH(member, v) { offsetof(struct tasks_batch, member), \
			      sizeof(((struct tasks_batch *)0)->member), (v) }
#define OF_ROW(member, v) OF_BATCH(rows[1].member, v)

static void tell(const struct lie *lie)
{
	memcpy(answer.bytes + lie->at, &lie->value, lie->bytes);
}

static void test_ranges(void **state)
{
	static const struct lie lies[] = {
		OF_ROW(frame_cnt, TASKS_BATCH_FRAMES + 1), OF_ROW(frame_cnt, UINT32_MAX),
		OF_ROW(frame_at, 1), OF_ROW(frame_at, TASKS_BATCH_FRAMES + 1),
		/* at + cnt is 8191, 0 */
		OF_ROW(frame_at, UINT32_MAX), OF_ROW(frame_at, 0 - (uint32_t)TASKS_BATCH_FRAMES),
		OF_ROW(waiter_cnt, TASKS_BATCH_WAITERS + 1), OF_ROW(waiter_cnt, UINT32_MAX),
		OF_ROW(waiter_at, 1), OF_ROW(waiter_at, TASKS_BATCH_WAITERS + 1),
		OF_ROW(waiter_at, UINT32_MAX),
		OF_ROW(waiter_at, 0 - (uint32_t)TASKS_BATCH_WAITERS),
		OF_ROW(waits.kind, WAITS_KINDS), OF_ROW(waits.kind, UINT8_MAX),
		/* A row has more than is there. */
		OF_BATCH(frame_cnt, TASKS_BATCH_FRAMES - 1), OF_BATCH(frame_cnt, 0),
		OF_BATCH(waiter_cnt, TASKS_BATCH_WAITERS - 1), OF_BATCH(waiter_cnt, 0),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		begin_tasks();
		tell(&lies[i]);
		assert_int_equal(ask_tasks(false), -EBADMSG);
	}
	/* Where a range begins is possible, and the sum. */
	begin_tasks();
	answer.batch.rows[1].frame_at = 1;
	answer.batch.rows[1].frame_cnt = UINT32_MAX;
	assert_int_equal(ask_tasks(false), -EBADMSG);
	begin_tasks();
	answer.batch.rows[1].waiter_at = 1;
	answer.batch.rows[1].waiter_cnt = UINT32_MAX;
	assert_int_equal(ask_tasks(false), -EBADMSG);
}

/* More than there is room for: what is there is taken. */
static void test_too_many(void **state)
{
	static const struct lie lies[] = {
		OF_BATCH(row_cnt, TASKS_BATCH + 1), OF_BATCH(row_cnt, UINT32_MAX),
		OF_BATCH(frame_cnt, TASKS_BATCH_FRAMES + 1), OF_BATCH(frame_cnt, UINT32_MAX),
		OF_BATCH(waiter_cnt, TASKS_BATCH_WAITERS + 1), OF_BATCH(waiter_cnt, UINT32_MAX),
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		begin_tasks();
		tell(&lies[i]);
		assert_int_equal(ask_tasks(false), 0);
		assert_batch_is_sound();
		assert_int_equal(batch->row_cnt, i < 2 ? TASKS_BATCH : 2);
		assert_int_equal(batch->frame_cnt, TASKS_BATCH_FRAMES);
		assert_int_equal(batch->waiter_cnt, TASKS_BATCH_WAITERS);
	}
}

/* Names without an end, that are no UTF-8, and with something behind their end. */
static void test_names(void **state)
{
	static const struct {
		const char *name, *shown;
	} names[] = {
		{ "a\xff\xfez", "a??z" }, { "caf\xc3", "caf?" }, { "\xed\xa0\x80", "???" },
		{ "\xf4\x90\x80\x80", "????" }, { "\xc0\x80", "??" },
		{ "\x80\xc3\xa9", "?\xc3\xa9" },
		{ "\xe2\x82\xac", "\xe2\x82\xac" }, { "", "" },
	};
	struct task_row *r = &answer.batch.rows[1];
	size_t i;

	begin_tasks();
	memset(r->name, 'n', sizeof(r->name));
	memset(r->waits.name, 'w', sizeof(r->waits.name));
	assert_int_equal(ask_tasks(false), 0);
	assert_batch_is_sound();
	assert_int_equal(strlen(batch->rows[1].name), TASK_NAME_BYTES - 1);
	assert_int_equal(strlen(batch->rows[1].waits.name), WAITS_NAME_BYTES - 1);
	/* It would be cut in the middle of a character. */
	memcpy(r->name + TASK_NAME_BYTES - 3, "\xe2\x82\xac", 3);
	memcpy(r->waits.name + WAITS_NAME_BYTES - 3, "\xe2\x82\xac", 3);
	assert_int_equal(ask_tasks(false), 0);
	assert_batch_is_sound();
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		memcpy(r->name, names[i].name, strlen(names[i].name) + 1);
		memcpy(r->waits.name, names[i].name, strlen(names[i].name) + 1);
		assert_int_equal(ask_tasks(false), 0);
		assert_batch_is_sound();
		assert_string_equal(batch->rows[1].name, names[i].shown);
		assert_string_equal(batch->rows[1].waits.name, batch->rows[1].name);
	}
}

static void test_random_tasks(void **state)
{
	uint32_t i, sound = 0;
	uint64_t seed = 1;

	for (i = 0; i < 100; i++) {
		begin();
		fill_randomly(&seed);
		answer.batch.row_cnt = (uint32_t)rnd(&seed) % 3;
		if (answer.batch.row_cnt && i % 2) {
			answer.batch.rows[0].frame_at = (uint32_t)rnd(&seed) % 9000;
			answer.batch.rows[0].frame_cnt = (uint32_t)rnd(&seed) % 9000;
			answer.batch.rows[0].waiter_at = (uint32_t)rnd(&seed) % 33000;
			answer.batch.rows[0].waiter_cnt = (uint32_t)rnd(&seed) % 33000;
			answer.batch.rows[0].waits.kind %= 2 * WAITS_KINDS;
		}
		if (ask_tasks(false))
			continue;
		assert_batch_is_sound();
		sound += batch->row_cnt != 0;
	}
	assert_in_range(sound, 1, 99);
}

/* ---- homes ---- */

static struct tasks_at at;

/* As true as it can be: asyncio and trio in as many interpreters as there may be. */
static void begin_homes(uint8_t minor, enum tasks_library library)
{
	begin();
	at = (struct tasks_at){
		.objects = { .minor = minor, .str_length = 16 }, .library = library,
		.homes = { .musl = 1 },
	};
	answer.homes.minor = minor;
	answer.homes.cnt = ASYNC_HOMES_MAX;
	answer.homes.home[ASYNC_HOMES_MAX - 1].task = 5;
	if (library == TASKS_TRIO) {
		answer.homes.trio.cnt = TRIO_STEPS_MAX;
		answer.homes.trio.step[TRIO_STEPS_MAX - 1].local = TRIO_LOCALS_MAX - 1;
	}
}

static int ask_for_homes(void)
{
	return reader_async_homes(7, &at, false, &homes);
}

/* Nothing of a refused answer is left. */
static void assert_refused(void)
{
	static const struct async_homes none;

	memset(&homes, 0xff, sizeof(homes));
	assert_int_equal(ask_for_homes(), -EBADMSG);
	assert_memory_equal(&homes, &none, sizeof(none));
}

/* Where fields are, and the C library, is known here: it can say what it likes. */
static void test_homes(void **state)
{
	struct async_fields fields;
	uint8_t minor;

	for (minor = 8; minor <= 13; minor++) {
		begin_homes(minor, minor & 1 ? TASKS_TRIO : TASKS_ASYNCIO);
		memset(&answer.homes.fields, 0xff, sizeof(answer.homes.fields));
		answer.homes.musl = 0;
		assert_int_equal(ask_for_homes(), 0);
		assert_true(homes.cnt == ASYNC_HOMES_MAX && homes.minor == minor && homes.musl);
		assert_true(homes.home[ASYNC_HOMES_MAX - 1].task == 5);
		assert_int_equal(homes.trio.cnt, minor & 1 ? TRIO_STEPS_MAX : 0);
		assert_true(async_fields_of(minor, 16, &fields));
		assert_memory_equal(&homes.fields, &fields, sizeof(fields));
	}
	at.homes.musl = 0;
	answer.homes.musl = 1;
	assert_int_equal(ask_for_homes(), 0);
	assert_int_equal(homes.musl, 0);
}

/* The answer may go to where the question is. */
static void test_homes_in_place(void **state)
{
	begin_homes(9, TASKS_ASYNCIO);
	assert_int_equal(reader_async_homes(7, &at, false, &at.homes), 0);
	assert_true(at.homes.cnt == ASYNC_HOMES_MAX && at.homes.musl);
	answer.homes.cnt++;
	assert_int_equal(reader_async_homes(7, &at, false, &at.homes), -EBADMSG);
	assert_true(!at.homes.cnt && !at.homes.minor);
}

static void test_homes_lie(void **state)
{
	begin_homes(11, TASKS_TRIO);
	answer.homes.cnt = ASYNC_HOMES_MAX + 1;
	assert_refused();
	begin_homes(11, TASKS_TRIO);
	answer.homes.trio.cnt = TRIO_STEPS_MAX + 1;
	assert_refused();
	begin_homes(11, TASKS_TRIO);
	answer.homes.trio.step[TRIO_STEPS_MAX - 1].local = TRIO_LOCALS_MAX;
	assert_refused();
	answer.homes.trio.step[TRIO_STEPS_MAX - 1].local = UINT32_MAX;
	assert_refused();
	/* It was not asked for trio. */
	begin_homes(11, TASKS_ASYNCIO);
	answer.homes.trio.cnt = 1;
	assert_refused();
}

static void test_homes_lie_of_version(void **state)
{
	uint8_t minor;

	for (minor = 0; minor < 20; minor++) {
		begin_homes(11, TASKS_ASYNCIO);
		answer.homes.minor = minor;
		if (minor != 11)
			assert_refused();
	}
	/* The question is of one that has no homes: the answer has none. */
	begin_homes(14, TASKS_TRIO);
	assert_refused();
	answer.homes.minor = 13;
	assert_refused();
	answer.homes.minor = 0;
	assert_refused();
	answer.homes.cnt = 0;
	assert_int_equal(ask_for_homes(), 0);
	assert_int_equal(homes.trio.cnt, TRIO_STEPS_MAX);
	at.library = TASKS_ASYNCIO;
	answer.homes.trio.cnt = 0;
	assert_refused();
}

static void test_random_homes(void **state)
{
	uint32_t i, sound = 0, k;
	uint64_t seed = 2;

	for (i = 0; i < 200; i++) {
		begin_homes(i % 8 + 8, i & 1 ? TASKS_TRIO : TASKS_ASYNCIO);
		fill_randomly(&seed);
		answer.homes.cnt %= 2 * ASYNC_HOMES_MAX;
		answer.homes.trio.cnt %= 3;
		answer.homes.minor = i % 3 ? at.objects.minor : 0;
		for (k = 0; k < TRIO_STEPS_MAX; k++)
			answer.homes.trio.step[k].local %= 2 * TRIO_LOCALS_MAX;
		if (ask_for_homes())
			continue;
		sound++;
		assert_true(homes.cnt <= ASYNC_HOMES_MAX && homes.trio.cnt <= TRIO_STEPS_MAX);
		assert_true(!homes.minor || homes.minor == at.objects.minor);
		assert_true(homes.minor || !homes.cnt);
		for (k = 0; k < homes.trio.cnt; k++)
			assert_in_range(homes.trio.step[k].local, 0, TRIO_LOCALS_MAX - 1);
		assert_true(!homes.minor || homes.fields.task_bytes <= 256);
	}
	assert_in_range(sound, 1, 199);
}

/* ---- loops ---- */

static void test_loops(void **state)
{
	begin();
	answer.loops.cnt = LOOPS_MAX;
	answer.loops.loop[LOOPS_MAX - 1].tid = 3;
	assert_int_equal(ask_loops(false), 0);
	memset(shared.bytes, 0xff, sizeof(shared.bytes));
	assert_true(loops->cnt == LOOPS_MAX && loops->loop[LOOPS_MAX - 1].tid == 3);
	answer.loops.cnt = LOOPS_MAX + 1;
	assert_int_equal(ask_loops(false), -EBADMSG);
	answer.loops.cnt = UINT32_MAX;
	assert_int_equal(ask_loops(false), -EBADMSG);
}

/* ---- chains ---- */

static void expect_well_formed(void)
{
	assert_true(async_record_is_whole(&chain.raw, sizeof(chain.raw)));
	assert_memory_equal(&chain.raw.h.time_ns, &asked_task.h.time_ns, 8);
	assert_true(chain.raw.h.kind == RAW_ASYNC && chain.raw.h.tgid == 7 && chain.raw.tid == 8);
	assert_true(chain.raw.interp_id == 1 && chain.raw.cpu == 2 && chain.raw.at == 3);
	assert_true(chain.ranges.cnt <= CHAIN_RANGES || chain.ranges.cnt == USED_NOT_KNOWN);
	assert_non_null(memchr(chain.other, 0, sizeof(chain.other)));
}

/* Whose chain it is was known before; what is too long is refused, or left out. */
static void test_chain_lies(void **state)
{
	begin();
	memset(&answer.chain.raw.h, 0xff, sizeof(answer.chain.raw.h));
	answer.chain.raw.tid = answer.chain.raw.interp_id = 1234;
	answer.chain.raw.cpu = answer.chain.raw.at = 999;
	memset(answer.chain.other, 0xff, sizeof(answer.chain.other));
	answer.chain.ranges.cnt = CHAIN_RANGES;
	assert_int_equal(ask_chain(true), 0);
	expect_well_formed();
	assert_int_equal(chain.ranges.cnt, CHAIN_RANGES);
	answer.chain.ranges.cnt = CHAIN_RANGES + 1;
	assert_int_equal(ask_chain(true), 0);
	assert_true(chain.ranges.cnt == USED_NOT_KNOWN);
	answer.chain.raw.nframes = RAW_ASYNC_FRAMES + 1;
	assert_int_equal(ask_chain(true), -EBADMSG);
	answer.chain.raw.nframes = 0;
	answer.chain.raw.end = ASYNC_END_CNT;
	assert_int_equal(ask_chain(true), -EBADMSG);
}

static void test_random_chains(void **state)
{
	uint64_t rng = 5;
	uint32_t i;

	begin();
	for (i = 0; i < 2000; i++) {
		fill_randomly(&rng);
		answer.chain.raw.end %= ASYNC_END_CNT + 1;
		answer.chain.raw.ntasks %= 3;
		answer.chain.raw.nframes %= RAW_ASYNC_FRAMES + 2;
		answer.chain.raw.starts[0] %= 2;
		answer.chain.raw.name_at.len %= RAW_ASYNC_NAME + 2;
		answer.chain.ranges.cnt %= CHAIN_RANGES + 2;
		if (!ask_chain(false))
			expect_well_formed();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asked), cmocka_unit_test(test_lists),
		cmocka_unit_test(test_tasks), cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_too_many), cmocka_unit_test(test_names),
		cmocka_unit_test(test_random_tasks),
		cmocka_unit_test(test_homes), cmocka_unit_test(test_homes_in_place),
		cmocka_unit_test(test_homes_lie), cmocka_unit_test(test_homes_lie_of_version),
		cmocka_unit_test(test_random_homes),
		cmocka_unit_test(test_chain_lies), cmocka_unit_test(test_random_chains),
		cmocka_unit_test(test_loops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
