// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process_async.c - who awaits a task, in place of the event loop's frames: process_async.c.
 *
 * The stack of most tests: functions 1 and 2 in the task's coroutine 3, and functions 4, 5 of the
 * loop, of which the one directly outside of the task is called like asyncio's.
 */
#include "tests/unit/resolve/process_test.h"


#define TASK_NAMES_MAX 256	/* other_frames.c */

static struct raw_async async;

/* Give code object n this file and name. */
static void call(uint32_t n, const char *file, const char *name)
{
	fake_str(&fake, n * FAKE_CODE_BYTES + FAKE_FILE, file);
	fake_str(&fake, n * FAKE_CODE_BYTES + FAKE_NAME, name);
}

static void begin_async(void)
{
	begin();
	call(4, "/usr/lib/python3.14/asyncio/events.py", "Handle._run");
	memset(&async, 0, sizeof(async));
}

/* A RAW_ASYNC for raw: the task's outermost frame is `at`; nobody awaits it. */
static void awaited_by_nobody(uint32_t at)
{
	async = (struct raw_async){
		.h = { .kind = RAW_ASYNC, .tgid = getpid(), .time_ns = raw.h.time_ns,
		       .start_ns = 9 },
		.tid = raw.tid, .at = (uint16_t)at, .end = ASYNC_WHOLE,
	};
}

/* One more awaiting task: n frames from code object `first` on, the outermost one first. */
static void awaited_by(uint32_t n, uint32_t first)
{
	uint32_t i;

	async.starts[async.ntasks++] = async.nframes;
	for (i = 0; i < n; i++)
		async.frames[async.nframes++] =
			fake_frame(&fake, first + i, 2 * ((first + i) % 60));
}

static size_t async_len(void)
{
	return offsetof(struct raw_async, frames) + async.nframes * sizeof(async.frames[0]);
}

static struct event take_both(void)
{
	assert_int_equal(process_take(p, &async, async_len()), 0);
	return take();
}

static void check_codes(const struct event *ev, uint32_t n, const uint32_t *codes)
{
	uint32_t i;

	assert_int_equal(ev->nframes, n);
	for (i = 0; i < n; i++)
		check_code(ev, i, codes[i]);
}

/* ---- the chain ---- */

static void test_chain(void **state)
{
	struct event ev;

	more_args = (struct process_args){ 0 };
	begin_async();
	stack(7, 5, 1);
	awaited_by_nobody(2);
	awaited_by(2, 20);
	awaited_by(0, 30);	/* a future */
	awaited_by(3, 40);
	ev = take_both();
	check_codes(&ev, 8, (uint32_t[]){ 1, 2, 3, 21, 20, 42, 41, 40 });
	assert_int_equal(stats_now().async.shown, 1);
	assert_int_equal(stats_now().frames, 8);
	/* Another sample of the thread has no task, or the record of an earlier one. */
	raw.h.time_ns++;
	ev = take();
	assert_int_equal(ev.nframes, 5);
	assert_int_equal(stats_now().async.shown, 1);
	/* The same stack, awaited by another task. */
	raw.h.time_ns++;
	awaited_by_nobody(2);
	awaited_by(1, 50);
	async.flags = ASYNC_SEVERAL;
	ev = take_both();
	check_codes(&ev, 4, (uint32_t[]){ 1, 2, 3, 50 });
	assert_int_equal(stats_now().async.several, 1);
	end();
}

/* Nobody awaits it: the loop goes, if it is the loop that has begun the task. */
static void test_nobody(void **state)
{
	static const struct {
		const char *file, *name;
		bool loop;
		uint8_t flags;
	} outside[] = {
		{ "/usr/lib/python3.14/asyncio/events.py", "Handle._run", true, 0 },
		{ "/usr/lib/python3.14/asyncio/runners.py", "Runner.run", true, 0 },
		{ "/x/asyncio/base_events.py", "BaseEventLoop.run_until_complete", true, 0 },
		{ "/x/asyncio/base_events.py", "BaseEventLoop.create_task", false, 0 },
		{ "/x/asyncio/tasks.py", "create_eager_task_factory.<locals>.factory", false, 0 },
		{ "/x/asyncio/events.py", "Handle._runs", false, 0 },
		/* No function of asyncio is outside: uvloop, unless that is in a coroutine. */
		{ "/x/myasyncio/events.py", "Handle._run", true, 0 },
		{ "/x/myasyncio/events.py", "Handle._run", false, ASYNC_INSIDE },
		{ "s.py", "main", true, 0 },
		{ "s.py", "main", false, ASYNC_INSIDE },
	};
	struct event ev;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(outside); i++) {
		begin_async();
		call(4, outside[i].file, outside[i].name);
		stack(7, 5, 1);
		awaited_by_nobody(2);
		async.flags = outside[i].flags;
		ev = take_both();
		assert_int_equal(ev.nframes, outside[i].loop ? 3 : 5);
		assert_int_equal(stats_now().async.shown, outside[i].loop);
		assert_int_equal(stats_now().async.eager, !outside[i].loop);
		end();
	}
	/* uvloop, but its function was called by asyncio: an eager task. */
	begin_async();
	call(4, "s.py", "main");
	call(5, "/x/asyncio/events.py", "Handle._run");
	stack(7, 5, 1);
	awaited_by_nobody(2);
	take_both();
	assert_int_equal(stats_now().async.eager, 1);
	end();
	/* The task's frame is the thread's first: a loop in machine code that C code runs. */
	begin_async();
	stack(7, 3, 1);
	awaited_by_nobody(2);
	take_both();
	assert_int_equal(stats_now().async.shown, 1);
	end();
}

/* A chain without an end, or a stack with a gap: the stack stays as it is, and that is counted. */
static void test_kept(void **state)
{
	static const uint8_t cut[] = { RAW_TRUNCATED, RAW_UNREADABLE, RAW_BROKEN_END,
				       RAW_SWITCHING };
	struct event ev;
	uint32_t i;

	begin_async();
	for (i = ASYNC_WHOLE + 1; i < ASYNC_END_CNT; i++) {
		stack(7, 5, 1);
		raw.h.time_ns += i;
		awaited_by_nobody(2);
		awaited_by(2, 20);
		async.end = (uint8_t)i;
		ev = take_both();
		assert_int_equal(ev.nframes, 5);
		check_code(&ev, 2, 3);
		assert_int_equal(stats_now().async.ends[i], 1);
	}
	for (i = 0; i < ARRAY_SIZE(cut); i++) {
		stack(7, 5, 1);
		raw.h.time_ns += 100 + i;
		raw.flags = cut[i];
		awaited_by_nobody(2);
		awaited_by(2, 20);
		ev = take_both();
		assert_int_equal(ev.nframes, 6);
		assert_int_equal(stats_now().async.no_end, i + 1);
	}
	assert_int_equal(stats_now().async.shown, 0);
	end();
}

/* <GC> keeps its place inside of the task; outside of it, it was the loop's. */
static void test_gc(void **state)
{
	struct event ev;

	begin_async();
	stack(7, 5, 1);
	raw.flags = RAW_GC;
	raw.gc_at = 1;
	awaited_by_nobody(2);
	awaited_by(1, 20);
	ev = take_both();
	assert_int_equal(ev.nframes, 5);
	check_name(&ev, 1, "<GC>");
	check_code(&ev, 4, 20);
	raw.h.time_ns++;
	raw.gc_at = 4;
	awaited_by_nobody(2);
	awaited_by(1, 20);
	ev = take_both();
	check_codes(&ev, 4, (uint32_t[]){ 1, 2, 3, 20 });
	end();
}

/* More frames than an event may have: those in the middle are left out, and a frame says so. */
static void test_too_deep(void **state)
{
	struct event ev;

	begin_async();
	stack(7, 250, 1);
	awaited_by_nobody(248);
	awaited_by(100, 260);
	ev = take_both();
	assert_int_equal(ev.nframes, EVENT_MAX_FRAMES);
	check_code(&ev, 127, 128);
	check_name(&ev, 128, "<... 94 frames ...>");
	check_code(&ev, 129, 223);
	check_code(&ev, 255, 260);
	assert_int_equal(stats_now().truncated, 0);
	assert_int_equal(stats_now().shortened, 1);
	end();
}

/* A thread that blocks in a task waits there. */
static void test_wait(void **state)
{
	struct raw_switch_in in = {
		.h = { .kind = RAW_SWITCH_IN, .tgid = getpid(), .time_ns = 5000000, .start_ns = 9 },
		.tid = 7, .out_ns = 1234567, .wake_ns = 5000000,
	};
	struct event ev;

	more_args = (struct process_args){ .waits = { .interval_ns = 1000000 } };
	begin_async();
	stack(7, 5, 1);
	raw.h.kind = RAW_SWITCH_OUT;
	raw.h.why = WHY_BLOCKED;
	awaited_by_nobody(2);
	awaited_by(1, 20);
	assert_int_equal(process_take(p, &async, async_len()), 0);
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	assert_int_equal(process_take(p, &in, sizeof(in)), 0);
	assert_true(observer.events.cnt > 0);
	ev = kept_event(&observer.events, observer.events.cnt - 1);
	check_codes(&ev, 4, (uint32_t[]){ 1, 2, 3, 20 });
	end();
	more_args = (struct process_args){ 0 };
}

/* ---- coroutines without a task ---- */

static void begin_unfound(bool counted)
{
	more_args = (struct process_args){ .async = counted };
	begin_async();
	more_args = (struct process_args){ 0 };
	fake_coroutine(&fake, 3);
	fake_coroutine(&fake, 20);
}

/* The next sample of the thread: n frames from code object `first` on. Returns how often so far. */
static uint64_t unfound(uint32_t n, uint32_t first)
{
	uint64_t time_ns = raw.h.time_ns + 1;

	stack(7, n, first);
	raw.h.time_ns = time_ns;
	take();
	return stats_now().async.unfound;
}

/* Each sample with a coroutine in its stack, wherever that is, counts once. */
static void test_unfound(void **state)
{
	begin_unfound(true);
	assert_int_equal(unfound(5, 1), 1);
	assert_int_equal(unfound(5, 1), 2);	/* the same stack */
	assert_int_equal(unfound(2, 1), 2);	/* its innermost frames alone */
	assert_int_equal(unfound(3, 3), 3);	/* the coroutine is the innermost */
	assert_int_equal(unfound(2, 4), 3);	/* it has returned */
	assert_int_equal(unfound(5, 1), 4);
	assert_int_equal(unfound(3, 1), 5);	/* it is the outermost */
	assert_int_equal(unfound(19, 3), 6);	/* one that was not in the stack before, too */
	assert_int_equal(unfound(16, 6), 7);	/* that one alone, further out */
	assert_int_equal(unfound(1, 21), 7);
	assert_int_equal(unfound(0, 0), 7);
	assert_int_equal(stats_now().async.shown, 0);
	/* Of another thread: its frames are known already. */
	stack(8, 5, 1);
	take();
	assert_int_equal(stats_now().async.unfound, 8);
	end();
	begin_unfound(false);
	assert_int_equal(unfound(5, 1), 0);
	end();
}

/* One with a task counts as what became of that, and nowhere else. */
static void test_found(void **state)
{
	begin_unfound(true);
	stack(7, 5, 1);
	awaited_by_nobody(2);
	take_both();
	assert_int_equal(stats_now().async.shown, 1);
	raw.h.time_ns++;
	awaited_by_nobody(2);
	async.end = ASYNC_GONE;
	take_both();
	assert_int_equal(stats_now().async.ends[ASYNC_GONE], 1);
	/* A chain of coroutines; the stack itself has none. */
	stack(7, 2, 4);
	raw.h.time_ns += 10;
	awaited_by_nobody(1);
	awaited_by(1, 20);
	take_both();
	assert_int_equal(stats_now().async.unfound, 0);
	/* The next sample has no task, or a place that its stack does not have. */
	assert_int_equal(unfound(5, 1), 1);
	awaited_by_nobody(5);
	raw.h.time_ns = ++async.h.time_ns;
	take_both();
	assert_int_equal(stats_now().async.unfound, 2);
	assert_int_equal(stats_now().async.shown, 2);
	end();
}

/* A frame whose code object could not be read in time; then it is known to be a coroutine's. */
static void test_unfound_later(void **state)
{
	begin_unfound(true);
	stack(7, 5, 1);
	raw.frames[2].id ^= 1;		/* another code object was there */
	take();
	assert_int_equal(stats_now().unresolved, 1);
	assert_int_equal(stats_now().async.unfound, 0);
	assert_int_equal(unfound(5, 1), 1);
	end();
}

/* A wait counts once, however many samples it is; and so does one with the thread's last stack. */
static void test_unfound_waits(void **state)
{
	struct raw_switch_in in = {
		.h = { .kind = RAW_SWITCH_IN, .tgid = getpid(), .time_ns = 9000000, .start_ns = 9 },
		.tid = 7, .out_ns = 1234567, .wake_ns = 9000000,
	};

	more_args.waits.interval_ns = 1000000;
	more_args.async = true;
	begin_async();
	more_args = (struct process_args){ 0 };
	fake_coroutine(&fake, 3);
	stack(7, 5, 1);
	raw.h.kind = RAW_SWITCH_OUT;
	raw.h.why = WHY_BLOCKED;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	assert_int_equal(process_take(p, &in, sizeof(in)), 0);
	assert_true(stats_now().samples > 1);
	assert_int_equal(stats_now().async.unfound, 1);
	end();
}

/* ---- names ---- */

/* The str object `name`, as the BPF side sends it. */
static void put_name(const char *name)
{
	const struct py_object_layout *o = &fake.img.objects;
	uint64_t len = strlen(name);
	uint32_t flags = 1u << o->str_kind_shift | o->str_compact_bit | o->str_ascii_bit;

	async.name_at = (struct raw_piece){ .addr = 0x5000, .len = RAW_ASYNC_NAME };
	memset(async.name, 0, sizeof(async.name));
	memcpy(async.name + o->str_length, &len, 8);
	memcpy(async.name + o->str_state, &flags, 4);
	memcpy(async.name + o->str_ascii_data, name, len);
}

static struct event take_named(const char *name)
{
	raw.h.time_ns++;
	awaited_by_nobody(2);
	awaited_by(1, 20);
	put_name(name);
	return take_both();
}

static void test_names(void **state)
{
	char name[32];
	struct event ev;
	uint32_t i;

	more_args = (struct process_args){ .task_names = true };
	begin_async();
	stack(7, 5, 1);
	ev = take_named("reader");
	assert_int_equal(ev.nframes, 5);
	check_name(&ev, 3, "<task reader>");
	check_code(&ev, 4, 20);
	ev = take_named("Task-12x");
	check_name(&ev, 3, "<task Task-12x>");
	/* asyncio's own name; no name; control characters */
	assert_int_equal(take_named("Task-12").nframes, 4);
	assert_int_equal(take_named("").nframes, 4);
	ev = take_named("a\x1b]");
	check_name(&ev, 3, "<task a\\x1b]>");
	/* A name of which only a part was sent has no frame. */
	raw.h.time_ns++;
	awaited_by_nobody(2);
	put_name("reader");
	async.name_at.len = 20;
	assert_int_equal(take_both().nframes, 3);
	/* A program that names each of its tasks anew. */
	for (i = 0; i < TASK_NAMES_MAX + 10; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		ev = take_named(name);
	}
	check_name(&ev, 3, "<task>");
	ev = take_named("reader");
	check_name(&ev, 3, "<task reader>");
	end();
	more_args = (struct process_args){ 0 };
	begin_async();
	stack(7, 5, 1);
	assert_int_equal(take_named("reader").nframes, 4);
	end();
}

/* ---- records that the BPF side does not send ---- */

static void test_bad_records(void **state)
{
	begin_async();
	stack(7, 5, 1);
	awaited_by_nobody(2);
	awaited_by(2, 20);
	assert_int_equal(process_take(p, &async, async_len() - 1), -EBADMSG);
	assert_int_equal(process_take(p, &async, 10), -EBADMSG);
	async.starts[0] = 1;
	assert_int_equal(process_take(p, &async, async_len()), -EBADMSG);
	async.starts[0] = 0;
	async.ntasks = 2;
	async.starts[1] = 3;
	assert_int_equal(process_take(p, &async, async_len()), -EBADMSG);
	async.ntasks = 0;
	assert_int_equal(process_take(p, &async, async_len()), -EBADMSG);
	async.ntasks = RAW_ASYNC_TASKS + 1;
	assert_int_equal(process_take(p, &async, sizeof(async)), -EBADMSG);
	async.ntasks = 1;
	async.nframes = RAW_ASYNC_FRAMES + 1;
	assert_int_equal(process_take(p, &async, sizeof(async)), -EBADMSG);
	async.nframes = 2;
	async.end = ASYNC_END_CNT;
	assert_int_equal(process_take(p, &async, async_len()), -EBADMSG);
	async.end = ASYNC_WHOLE;
	async.at = ABI_MAX_FRAMES;
	assert_int_equal(process_take(p, &async, async_len()), -EBADMSG);
	/* A place that this stack does not have. */
	async.at = 5;
	assert_int_equal(take_both().nframes, 5);
	async.at = 2;
	async.frames[1].lasti |= FRAME_NATIVE << RAW_KIND_SHIFT;
	assert_int_equal(process_take(p, &async, async_len()), -EBADMSG);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),	 cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_kept),	 cmocka_unit_test(test_gc),
		cmocka_unit_test(test_too_deep), cmocka_unit_test(test_wait),
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_unfound),	 cmocka_unit_test(test_found),
		cmocka_unit_test(test_unfound_later), cmocka_unit_test(test_unfound_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
