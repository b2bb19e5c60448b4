// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process_native_frames.c - samples, waits and ticks without a Python stack have the machine
 * code of the RAW_NATIVE before them.
 *
 * Stacks are compared as texts, innermost first: Python's functions are f1, f2 ..., those of
 * machine code C:f1 ...
 */
#include <sys/syscall.h>

#include "host/kallsyms.h"
#include "tests/unit/resolve/native_machine.h"

/* Two functions of machine code, called by one of two Python functions, and the thread's start. */
static void usual(uint32_t tid, uint64_t time_ms, uint16_t cpu)
{
	native(tid, time_ms, cpu, NATIVE_WHOLE);
	foo(1);
	foo(2);
	python(NATIVE_PLUMBING);
	eval(1);
	foo(3);
	eval(2);
	python(NATIVE_START);
	foo(4);
	pass_native();
}

static const char *text_of_last(void)
{
	static char text[16384];
	struct event ev = kept_event(&observer.events, observer.events.cnt - 1);
	const struct profile_tables *t = observer.tables;
	size_t len = 0;
	uint32_t i;

	for (i = 0; i < ev.nframes; i++) {
		const struct frame *f = &t->frames[ev.frames[i]];

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%.*s", i ? " " : "",
					f->kind == FRAME_NATIVE ? "C:" : "",
					(int)t->strings[f->func].len, t->strings[f->func].data);
	}
	text[len] = '\0';
	return text;
}

static void expect(const char *text)
{
	take();
	assert_string_equal(text_of_last(), text);
}

static void test_sample(void **state)
{
	struct event ev;

	begin_native((struct process_args){ .tgid = 0 });
	usual(7, 10, 0);
	sample(7, 10, 0, 2, 30);
	expect("C:f1 C:f2 f30 C:f3 f31");
	ev = kept_event(&observer.events, 0);
	assert_int_equal(ev.status, STATUS_ON_CPU | STATUS_HAS_GIL);
	assert_true(frame_is(observer.tables, ev.frames[0], "[libfoo.so.1]", "f1", LINE_NONE));
	assert_int_equal(stats_now().native_frames, 3);
	assert_int_equal(stats_now().frames, 5);
	assert_int_equal(stats_now().native_ends[NATIVE_WHOLE], 1);
	/* The next one has none: it was lost. */
	sample(7, 20, 0, 2, 30);
	expect("f30 f31");
	assert_int_equal(stats_now().native_frames, 3);
	/* Frames of a known stack, and another one's machine code */
	native(7, 30, 0, NATIVE_WHOLE);
	foo(9);
	eval(2);
	pass_native();
	sample(7, 30, 0, 2, 30);
	expect("C:f9 f30 f31");
	assert_int_equal(stats_now().merge_uncertain, 0);
	assert_int_equal(fake_native.stale, 0);
	assert_int_equal(fake_native.used[1], 4);	/* neighbours count once */
	assert_int_equal(fake_native.used[EVAL], 3);
	end();
	more_args = (struct process_args){ .native_full = true };
	begin_native(more_args);
	usual(7, 10, 0);
	sample(7, 10, 0, 2, 30);
	expect("C:f1 C:f2 C:plumbing f30 C:eval C:f3 f31 C:eval C:start C:f4");
	end();
}

/* What is left out for want of a name is counted. */
static void test_without_a_name(void **state)
{
	int full;

	for (full = 0; full < 2; full++) {
		begin_native((struct process_args){ .native_full = full });
		native(7, 10, 0, NATIVE_WHOLE);
		python(NATIVE_UNNAMED);
		python(NATIVE_UNNAMED);
		python(NATIVE_CODE);
		eval(1);
		pass_native();
		sample(7, 10, 0, 1, 30);
		expect(full ? "C:unnamed C:unnamed C:code f30 C:eval" : "C:code f30");
		assert_int_equal(stats_now().native_folded, full ? 0 : 2);
		assert_int_equal(stats_now().native_frames, full ? 4 : 1);
		assert_int_equal(stats_now().merge_uncertain, 0);
		end();
	}
}

/* A record belongs to the one with the same time, thread and CPU. */
static void test_which_record(void **state)
{
	begin_native((struct process_args){ .tgid = 0 });
	usual(7, 10, 0);
	usual(8, 10, 1);
	sample(8, 10, 1, 2, 30);
	expect("C:f1 C:f2 f30 C:f3 f31");
	sample(7, 10, 0, 2, 40);
	expect("C:f1 C:f2 f40 C:f3 f41");
	/* The sample was lost. */
	usual(7, 20, 0);
	sample(7, 30, 0, 2, 40);
	expect("f40 f41");
	usual(9, 40, 0);
	usual(7, 50, 0);
	sample(9, 40, 0, 2, 40);
	expect("f40 f41");
	sample(7, 50, 0, 2, 40);
	expect("C:f1 C:f2 f40 C:f3 f41");
	sample(7, 50, 0, 2, 40);
	expect("f40 f41");
	end();
}

static void test_ends(void **state)
{
	static const struct {
		enum native_end end;
		const char *text;
	} ends[] = {
		{ NATIVE_DEPTH, "too deep" },
		{ NATIVE_NO_REGS, "no registers" },
		{ NATIVE_NO_MAPPINGS, "mapping not read yet" },
		{ NATIVE_NO_MAPPING, "mapping not read yet" },
		{ NATIVE_JIT, "JIT code" },
		{ NATIVE_NO_TABLE, "table not ready" },
		{ NATIVE_NO_ROW, "no unwind table" },
		{ NATIVE_UNSUPPORTED, "unsupported rule" },
		{ NATIVE_UNREADABLE, "stack unreadable" },
		{ NATIVE_NO_PROGRESS, "no progress" },
		{ NATIVE_TIME, "time limit" },
	};
	char text[128];
	size_t i;

	assert_int_equal(ARRAY_SIZE(ends), NATIVE_END_CNT - 1);
	begin_native((struct process_args){ .tgid = 0 });
	for (i = 0; i < 2 * ARRAY_SIZE(ends); i++) {
		native(7, i, 0, ends[i / 2].end);
		foo(1);
		pass_native();
		sample(7, i, 0, 2, 30);
		snprintf(text, sizeof(text), "C:f1 <unwound no further: %s> f30 f31",
			 ends[i / 2].text);
		expect(text);
		assert_int_equal(stats_now().native_ends[ends[i / 2].end], i % 2 + 1);
	}
	assert_int_equal(fake_native.stale, 4);	/* other mappings may mend two of them */
	/* Outside of the first Python frame: it matters to nobody, but is counted. */
	native(7, 100, 0, NATIVE_JIT);
	foo(1);
	eval(2);
	foo(2);
	pass_native();
	sample(7, 100, 0, 2, 30);
	expect("C:f1 f30 f31");
	assert_int_equal(stats_now().native_ends[NATIVE_JIT], 3);
	end();
}

/* A frame is another one when what it is becomes known; stacks in changed code are counted. */
static void test_what_becomes_known(void **state)
{
	begin_native((struct process_args){ .tgid = 0 });
	fake_native.unknown = true;
	usual(7, 10, 0);
	sample(7, 10, 0, 2, 30);
	expect("C:f1 C:f2 C:plumbing f30 C:f3 f31");
	fake_native.unknown = false;
	fake_native.changed = true;
	usual(7, 20, 0);
	sample(7, 20, 0, 2, 30);
	expect("C:f1 C:f2 f30 C:f3 f31");
	assert_int_equal(stats_now().native_changed, 1);
	end();
}

/* What the BPF side says of the Python stack stays in its place. */
static void test_marks(void **state)
{
	begin_native((struct process_args){ .tgid = 0 });
	usual(7, 10, 0);
	sample(7, 10, 0, 2, 30);
	raw.flags = RAW_GC;
	raw.gc_at = 1;
	expect("C:f1 C:f2 f30 C:f3 <GC> f31");
	usual(7, 11, 0);
	sample(7, 11, 0, 2, 30);
	raw.flags = RAW_GC;
	expect("C:f1 C:f2 <GC> f30 C:f3 f31");
	usual(7, 12, 0);
	sample(7, 12, 0, 2, 30);
	raw.flags = RAW_UNREADABLE;
	expect("C:f1 C:f2 f30 C:f3 f31 <unreadable frame>");
	usual(7, 13, 0);
	sample(7, 13, 0, 2, 30);
	raw.flags = RAW_SWITCHING;
	expect("C:f1 C:f2 f30 C:f3 f31 <switching>");
	usual(7, 14, 0);
	sample(7, 14, 0, 2, 30);
	raw.flags = RAW_TRUNCATED;
	expect("C:f1 C:f2 f30 C:f3 f31 <truncated>");
	end();
}

static struct kallsyms *some_kernel(void)
{
	static const char text[] = "1000 t __schedule\n2000 t schedule\n3000 t pipe_read\n";
	char path[] = "/tmp/tachbpf-native-XXXXXX";
	int fd = mkstemp(path);
	struct kallsyms *k;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	k = kallsyms_read(path);
	unlink(path);
	assert_non_null(k);
	return k;
}

static void extra(uint64_t time_ms, const char *exception)
{
	struct raw_extra x = {
		.h = { .kind = RAW_EXTRA, .tgid = getpid(), .time_ns = time_ms * 1000000,
		       .start_ns = 9 },
		.tid = 7, .nkernel = 3, .kernel = { 0x1001, 0x2002, 0x3003 },
	};

	memcpy(x.exception, exception, strlen(exception));
	assert_int_equal(process_take(p, &x, offsetof(struct raw_extra, kernel) + 24), 0);
}

/* A tick has interrupted the kernel: in contrast to a wait, the scheduler may be what it shows. */
static void test_kernel_at_a_tick(void **state)
{
	struct kallsyms *k = some_kernel();

	begin_native((struct process_args){ .kernel = k });
	usual(7, 10, 0);
	extra(10, "");
	sample(7, 10, 0, 2, 30);
	expect("<kernel __schedule> <kernel schedule> <kernel pipe_read> C:f1 C:f2 f30 C:f3 f31");
	usual(7, 11, 0);
	sample(7, 11, 0, 2, 30);
	expect("C:f1 C:f2 f30 C:f3 f31");
	extra(12, "KeyError");
	sample(7, 12, 0, 2, 30);
	expect("<kernel __schedule> <kernel schedule> <kernel pipe_read> <exception KeyError> "
	       "f30 f31");
	end();
	kallsyms_free(k);
}

static void switch_out(uint64_t time_ms, uint8_t flags)
{
	sample(7, time_ms, 0, 2, 30);
	raw.h.kind = RAW_SWITCH_OUT;
	raw.h.why = WHY_BLOCKED;
	raw.h.sysno = SYS_read;
	raw.flags = flags;
	if (flags & RAW_NOT_WALKED)
		raw.nframes = 0;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
}

static void switch_in(uint64_t out_ms, uint64_t in_ms)
{
	const struct raw_switch_in in = {
		.h = { .kind = RAW_SWITCH_IN, .tgid = getpid(), .time_ns = in_ms * 1000000,
		       .start_ns = 9 },
		.tid = 7, .out_ns = out_ms * 1000000, .wake_ns = in_ms * 1000000,
	};

	assert_int_equal(process_take(p, &in, sizeof(in)), 0);
}

static void test_waits(void **state)
{
	struct kallsyms *k = some_kernel();

	begin_native((struct process_args){
		.waits = { .interval_ns = 1000000 }, .wait_frames = true, .kernel = k,
	});
	usual(7, 10, 0);
	extra(10, "");
	switch_out(10, 0);
	switch_in(10, 20);
	assert_string_equal(text_of_last(), "<kernel schedule> <kernel pipe_read> "
			    "<blocked in read> C:f1 C:f2 f30 C:f3 f31");
	assert_int_equal(stats_now().samples, 10);
	assert_int_equal(stats_now().native_frames, 30);
	assert_int_equal(stats_now().native_ends[NATIVE_WHOLE], 1);
	/* One that was not walked has the Python functions of the last one, and no more. */
	switch_out(30, RAW_NOT_WALKED);
	switch_in(30, 40);
	assert_string_equal(text_of_last(), "<blocked in read> f30 f31");
	/* A tick's record does not change a wait's stack before the wait has ended. */
	usual(7, 50, 0);
	switch_out(50, 0);
	native(7, 60, 0, NATIVE_WHOLE);
	foo(9);
	eval(2);
	pass_native();
	sample(7, 60, 0, 2, 30);
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	assert_string_equal(text_of_last(), "C:f9 f30 f31");
	end();
	kallsyms_free(k);
}

/* A thread without Python shows all of its machine code. */
static void test_no_stack(void **state)
{
	int i;

	begin_native((struct process_args){ .tgid = 0 });
	usual(8, 10, 3);
	no_stack(CNT_NATIVE_THREAD, 10);
	assert_string_equal(text_of_last(), "C:f1 C:f2 C:plumbing C:eval C:f3 C:eval C:start C:f4 "
			    "<native thread blas>");
	assert_int_equal(stats_now().frames, 9);
	assert_int_equal(stats_now().native_frames, 8);
	assert_int_equal(stats_now().native_thread, 1);
	assert_int_equal(stats_now().threads, 0);
	no_stack(CNT_NATIVE_THREAD, 11);
	assert_string_equal(text_of_last(), "<native thread blas>");
	native(8, 12, 3, NATIVE_JIT);
	foo(1);
	pass_native();
	no_stack(CNT_NO_FRAMES, 12);
	assert_string_equal(text_of_last(), "C:f1 <unwound no further: JIT code> "
			    "<no Python frame>");
	fake_native.lines = true;
	native(8, 13, 3, NATIVE_WHOLE);
	for (i = 0; i < RAW_NATIVE_FRAMES; i++)
		add(1, 0x100000ull + (uint64_t)i);
	pass_native();
	no_stack(CNT_NATIVE_THREAD, 13);
	assert_int_equal(kept_event(&observer.events, observer.events.cnt - 1).nframes,
			 EVENT_MAX_FRAMES);
	end();
}

static void test_named_later(void **state)
{
	begin_native((struct process_args){ .tgid = 0 });
	fake_native.later = true;
	assert_false(process_waits_for_names(p));
	usual(7, 10, 0);
	sample(7, 10, 0, 2, 30);
	expect("C:libfoo.so.1 C:libfoo.so.1 f30 C:libfoo.so.1 f31");
	assert_int_equal(stats_now().native_unnamed, 3);
	process_retry_names(p);
	assert_true(process_waits_for_names(p));
	fake_native.later = false;
	process_retry_names(p);
	assert_false(process_waits_for_names(p));
	assert_string_equal(text_of_last(), "C:f1 C:f2 f30 C:f3 f31");
	assert_int_equal(stats_now().native_unnamed, 0);
	end();
}

/* Records that are cut, or say what cannot be. */
static void test_malformed(void **state)
{
	_Alignas(8) uint8_t bytes[sizeof(struct raw_native)];
	struct raw_native *r = (struct raw_native *)bytes;
	size_t len, i;

	begin_native((struct process_args){ .tgid = 0 });
	native(7, 10, 0, NATIVE_WHOLE);
	foo(1);
	eval(1);
	len = packed(bytes);
	for (i = 0; i < len; i++)
		assert_int_equal(process_take(p, r, i), -EBADMSG);
	assert_int_equal(process_take(p, r, len), 0);
	r->end = NATIVE_END_CNT;
	assert_int_equal(process_take(p, r, sizeof(bytes)), -EBADMSG);
	r->end = NATIVE_WHOLE;
	r->nframes = RAW_NATIVE_FRAMES + 1;
	assert_int_equal(process_take(p, r, sizeof(bytes)), -EBADMSG);
	r->nframes = 1;
	r->nentries = RAW_NATIVE_ENTRIES + 1;
	assert_int_equal(process_take(p, r, sizeof(bytes)), -EBADMSG);
	/* Entries that say more than there is */
	native(7, 10, 0, NATIVE_WHOLE);
	foo(1);
	eval(1);
	eval(7);
	eval(3);
	pass_native();
	sample(7, 10, 0, 2, 30);
	expect("C:f1 f30 f31");
	assert_int_equal(stats_now().merge_uncertain, 1);
	end();
	more_args = (struct process_args){ .native = NULL };
	begin();	/* nobody has asked for machine code */
	assert_int_equal(process_take(p, r, sizeof(bytes)), -EBADMSG);
	assert_false(process_waits_for_names(p));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_without_a_name),
		cmocka_unit_test(test_which_record),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_what_becomes_known),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_kernel_at_a_tick),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_no_stack),
		cmocka_unit_test(test_named_later),
		cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
