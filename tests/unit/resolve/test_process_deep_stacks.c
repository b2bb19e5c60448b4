// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process_deep_stacks.c - of a stack with more frames than a record or an event has, both ends
 * are kept, and a frame between them says how many are missing.
 */
#include "tests/unit/resolve/native_machine.h"

/* More frames than an event can have: those in the middle are left out. */
static void test_too_many(void **state)
{
	uint32_t i;
	struct event ev;

	begin_native((struct process_args){ .tgid = 0 });
	native(7, 10, 0, NATIVE_WHOLE);
	for (i = 0; i < 100; i++)
		foo(i + 1);
	eval(200);
	pass_native();
	sample(7, 10, 0, 200, 30);
	ev = take();
	assert_int_equal(ev.nframes, EVENT_MAX_FRAMES);
	assert_true(frame_is(observer.tables, ev.frames[99], "[libfoo.so.1]", "f100", LINE_NONE));
	check_code(&ev, 100, 30);
	check_code(&ev, 127, 57);
	check_name(&ev, 128, "<... 45 frames ...>");
	check_code(&ev, 129, 103);
	check_code(&ev, 255, 229);
	assert_int_equal(stats_now().truncated, 0);
	assert_int_equal(stats_now().shortened, 1);
	assert_int_equal(stats_now().frames_left_out, 45);
	/* The thread's outermost functions are unknown: the innermost frames are kept. */
	pass_native();
	raw.flags = RAW_TRUNCATED;
	ev = take();
	assert_int_equal(ev.nframes, EVENT_MAX_FRAMES);
	check_code(&ev, 254, 184);
	check_name(&ev, 255, "<truncated>");
	assert_int_equal(stats_now().truncated, 1);
	assert_int_equal(stats_now().shortened, 1);
	/* Inlined functions, eight in each place */
	fake_native.lines = true;
	native(7, 20, 0, NATIVE_WHOLE);
	for (i = 0; i < RAW_NATIVE_FRAMES; i++)
		add(1, 0x100000ull + i);
	pass_native();
	sample(7, 20, 0, 2, 30);
	ev = take();
	assert_int_equal(ev.nframes, EVENT_MAX_FRAMES);
	check_code(&ev, 254, 30);
	check_code(&ev, 255, 31);
	end();
}

/* Eight C functions for each call of the interpreter: 32 calls, 10 in the gap, 32 outside. */
static void nested(uint64_t time_ms, uint32_t calls, uint32_t left_out)
{
	uint32_t i;

	native(7, time_ms, 0, NATIVE_WHOLE);
	for (i = 1; i <= RAW_NATIVE_FRAMES; i++)
		if (i % 8)
			foo(i);
		else
			python(NATIVE_EVAL);
	machine.left_out = left_out;
	for (i = RAW_NATIVE_INNER; i < RAW_NATIVE_FRAMES; i++)
		machine.frames[i].below += left_out * 64;
	for (i = 0; i < calls; i++)
		machine.entries[i] = (struct raw_entry){
			.at = SP + 64ull * (8 * (i + 1) + (i < 42 ? 0 : left_out - 80)) - 8,
			.frames = i + 1,
		};
	machine.nentries = (uint16_t)calls;
	/* The ring of the outermost frames begins anywhere. */
	for (i = 0; i < left_out % RAW_NATIVE_OUTER; i++) {
		struct raw_native_frame last = machine.frames[RAW_NATIVE_FRAMES - 1];

		memmove(machine.frames + RAW_NATIVE_INNER + 1, machine.frames + RAW_NATIVE_INNER,
			(RAW_NATIVE_OUTER - 1) * sizeof(last));
		machine.frames[RAW_NATIVE_INNER] = last;
	}
	pass_native();
	sample(7, time_ms, 0, calls, 30);
}

/*
 * A record with a gap: where it is, a frame says how many are missing, of either kind. All calls
 * are whole: 7 C functions in each Python function.
 */
static void test_gap(void **state)
{
	struct event ev;

	begin_native((struct process_args){ .tgid = 0 });
	/* 64 calls are in the record, and ten in the gap. */
	nested(10, 74, 80);
	ev = take();
	assert_int_equal(ev.nframes, EVENT_MAX_FRAMES);
	check_code(&ev, 7, 30);
	check_code(&ev, 127, 45);
	/* The gap's 81 C and 10 Python frames, and half of the others */
	check_name(&ev, 128, "<... 347 frames ...>");
	assert_true(frame_is(observer.tables, ev.frames[254], "[libfoo.so.1]", "f511", LINE_NONE));
	check_code(&ev, 255, 103);
	assert_int_equal(stats_now().shortened, 1);
	assert_int_equal(stats_now().frames_left_out, 347);
	/* Further numbers have no frames of their own. */
	for (uint32_t i = 0; i < 300; i++) {
		nested(20 + i, 74, 80 + 8 * i);
		ev = take();
	}
	check_name(&ev, 128, "<... frames ...>");
	assert_int_equal(stats_now().merge_uncertain, 0);
	end();
}

/* The frame of a thread without Python is there, however deep its stack is. */
static void test_deep_thread(void **state)
{
	struct event ev;

	begin_native((struct process_args){ .tgid = 0 });
	nested(10, 0, 100);
	machine.tid = 8;
	machine.cpu = 3;
	pass_native();
	no_stack(CNT_NATIVE_THREAD, 10);
	ev = kept_event(&observer.events, observer.events.cnt - 1);
	assert_int_equal(ev.nframes, EVENT_MAX_FRAMES);
	check_name(&ev, 128, "<... 358 frames ...>");
	check_name(&ev, 255, "<native thread blas>");
	assert_int_equal(stats_now().shortened, 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_deep_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
