// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_process_threads.c - a process' waits, frames that are no Python frames, weights,
 * exceptions, names of threads.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "host/kallsyms.h"
#include "model/intern.h"
#include "resolve/other_frames.h"
#include "tests/unit/resolve/process_test.h"

static void wait_for(int why, uint16_t sysno, int status, uint64_t from_ms, uint64_t to_ms)
{
	struct raw_switch_in run = { .h = { .kind = RAW_SWITCH_IN, .time_ns = to_ms * 1000000 },
				     .tid = 7, .out_ns = from_ms * 1000000 };

	stack(7, 3, 1);
	raw.h.kind = RAW_SWITCH_OUT;
	raw.h.why = why;
	raw.h.sysno = sysno;
	raw.h.time_ns = run.out_ns;
	raw.status = status;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	assert_int_equal(process_take(p, &run, sizeof(run)), 0);
}

/* The name of the last event's innermost frame; "": it is a Python frame. */
static const char *last_leaf(uint32_t nframes)
{
	static char name[64];
	struct event ev = kept_event(&observer.events, observer.events.cnt - 1);
	const struct frame *f = &observer.tables->frames[ev.frames[0]];
	const struct string_ref *s = &observer.tables->strings[f->func];

	assert_int_equal(ev.nframes, nframes);
	snprintf(name, sizeof(name), "%.*s", (int)s->len, s->data);
	return nframes == 3 ? "" : name;
}

/* What holds a thread has a frame in each mode that has frames of waits or of runnable threads. */
static void test_held(void **state)
{
	static const struct {
		uint16_t wait;
		const char *name;
	} held[] = {
		{ RAW_WAIT_STOPPED + SIGSTOP, "<stopped by SIGSTOP>" },
		{ RAW_WAIT_STOPPED + SIGTTOU, "<stopped by SIGTTOU>" },
		{ RAW_WAIT_STOPPED, "<stopped by a signal>" },
		{ RAW_WAIT_TRACED, "<traced>" },	/* nobody traces this process */
		{ RAW_WAIT_FROZEN, "<frozen>" },
	};
	uint64_t ms = 10;
	size_t i;
	int mode;

	for (mode = 0; mode < 2; mode++) {
		more_args = (struct process_args){
			.waits = { .interval_ns = 1000000, .runnable = true },
			.wait_frames = mode, .runnable_frames = !mode,
		};
		begin();
		for (i = 0; i < ARRAY_SIZE(held); i++, ms += 20) {
			wait_for(WHY_BLOCKED, held[i].wait, STATUS_GIL_REQUESTED, ms, ms + 10);
			assert_string_equal(last_leaf(4), held[i].name);
		}
		end();
	}
}

/* Each of 300 tracers has a name; a process gets frames of 256. */
static void test_many_holders(void **state)
{
	struct intern *in = intern_new();
	uint32_t id, first = 0, plain = 0;
	struct other_frames o;
	char by[32];
	int i;

	assert_non_null(in);
	other_frames_init(&o, in, NULL);
	for (i = 0; i < 300; i++) {
		snprintf(by, sizeof(by), "%d (gdb)", i + 1);
		assert_int_equal(other_frame_of_held(&o, RAW_WAIT_TRACED, by, &id), 0);
		first = i ? first : id;
		plain = i == 256 ? id : plain;
		if (i > 256)
			assert_int_equal(id, plain);
	}
	assert_int_not_equal(plain, first);
	assert_int_equal(other_frame_of_held(&o, RAW_WAIT_TRACED, "1 (gdb)", &id), 0);
	assert_int_equal(id, first);
	intern_free(in);
}

static void test_waits(void **state)
{
	more_args = (struct process_args){
		.waits = { .interval_ns = 1000000, .runnable = true },
		.wait_frames = true, .runnable_frames = true,
	};
	begin();
	wait_for(WHY_BLOCKED, RAW_SYSNO_NONE, 0, 10, 20);
	assert_string_equal(last_leaf(4), "<blocked in the kernel>");
	wait_for(WHY_BLOCKED, RAW_WAIT_FAULT, 0, 22, 28);
	assert_string_equal(last_leaf(4), "<blocked in page fault>");
	wait_for(WHY_BLOCKED, 65000, 0, 30, 40);
	assert_string_equal(last_leaf(4), "<blocked in system call 65000>");
	wait_for(WHY_BLOCKED, SYS_read, 0, 50, 60);
	assert_string_equal(last_leaf(4), "<blocked in read>");
	wait_for(WHY_BLOCKED, SYS_futex, STATUS_GIL_REQUESTED, 70, 80);
	assert_string_equal(last_leaf(4), "<waiting for the GIL>");
	wait_for(WHY_RUNNABLE, RAW_SYSNO_NONE, 0, 90, 100);
	assert_string_equal(last_leaf(4), "<waiting for a CPU>");
	assert_int_equal(stats_now().samples, 56);
	assert_int_equal(stats_now().waits.waits, 6);
	end();
	more_args.wait_frames = more_args.runnable_frames = false;
	begin();
	wait_for(WHY_BLOCKED, SYS_read, 0, 50, 60);
	assert_string_equal(last_leaf(3), "");
	wait_for(WHY_RUNNABLE, RAW_SYSNO_NONE, 0, 90, 100);
	assert_string_equal(last_leaf(3), "");
	/* the sample of a tick */
	stack(7, 5, 1);
	raw.h.time_ns = 110000000;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	assert_int_equal(stats_now().samples, 21);
	/* an open wait is emitted; after the thread's exit there is none */
	stack(7, 3, 1);
	raw.h.kind = RAW_SWITCH_OUT;
	raw.h.why = WHY_BLOCKED;
	raw.h.time_ns = 120000000;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	assert_int_equal(process_emit_open_waits(p, 130000000), 0);
	assert_int_equal(stats_now().samples, 31);
	exit_of(7);
	assert_int_equal(process_emit_open_waits(p, 140000000), 0);
	assert_int_equal(stats_now().samples, 31);
	end();
	memset(&more_args, 0, sizeof(more_args));
	begin();	/* in a mode without waits a switch-out is an error */
	assert_int_equal(process_take(p, &raw, raw_len()), -EBADMSG);
	end();
}

static struct kallsyms *some_kernel(void)
{
	static const char text[] = "1000 t __schedule\n2000 t schedule\n3000 t pipe_read\n";
	char path[] = "/tmp/tachbpf-process-XXXXXX";
	int fd = mkstemp(path);
	struct kallsyms *k;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	k = kallsyms_read(path);
	unlink(path);
	assert_non_null(k);
	return k;
}

/* Pass p an extra for the thread's record with the same time. */
static void extra_of(uint32_t tid, uint64_t time_ms, const char *exception, uint32_t nkernel)
{
	struct raw_extra x = {
		.h = { .kind = RAW_EXTRA, .tgid = getpid(), .time_ns = time_ms * 1000000,
		       .start_ns = 9 },
		.tid = tid, .nkernel = nkernel, .kernel = { 0x500, 0x1001, 0x2002, 0x3003 },
	};

	memcpy(x.exception, exception, strlen(exception));
	assert_int_equal(process_take(p, &x, offsetof(struct raw_extra, kernel) + 8 * nkernel), 0);
}

static void extra(uint64_t time_ms, const char *exception, uint32_t nkernel)
{
	extra_of(7, time_ms, exception, nkernel);
}

static const char *frame_of_last(uint32_t i)
{
	static char text[300];
	struct event ev = kept_event(&observer.events, observer.events.cnt - 1);
	const struct profile_tables *t = observer.tables;
	const struct string_ref *s;

	assert_in_range(i, 0, ev.nframes - 1);
	s = &t->strings[t->frames[ev.frames[i]].func];
	snprintf(text, sizeof(text), "%.*s", (int)s->len, s->data);
	return text;
}

static const struct frame *frame_of(const struct event *ev, uint32_t i)
{
	assert_in_range(i, 0, ev->nframes - 1);
	return &observer.tables->frames[ev->frames[i]];
}

static struct raw_frame raw_of_kind(uint32_t kind, uint64_t addr)
{
	return (struct raw_frame){ .code = addr, .lasti = kind << RAW_KIND_SHIFT };
}

/* Kernel, native and Python frames get their names in different ways. */
static void test_kinds(void **state)
{
	struct kallsyms *k = some_kernel();
	struct event ev;
	uint32_t kind;
	int again;

	more_args = (struct process_args){ .kernel = k };
	begin();
	for (again = 0; again < 2; again++) {	/* the second time, a part of the stack is known */
		stack(7, 6, 30);
		raw.frames[0] = raw_of_kind(FRAME_KERNEL, 0xffffffff81000208ull);
		raw.frames[1] = raw_of_kind(FRAME_NATIVE, 0x7f0012345678ull);
		raw.frames[2].lasti = RAW_LASTI_NONE;
		raw.frames[5] = raw_of_kind(FRAME_SYNTHETIC, 3);
		ev = take();
		assert_int_equal(ev.nframes, 6);
		assert_string_equal(frame_of_last(0), "<kernel pipe_read>");
		assert_int_equal(frame_of(&ev, 0)->kind, FRAME_KERNEL);
		assert_string_equal(frame_of_last(1), "<native>");
		assert_int_equal(frame_of(&ev, 1)->kind, FRAME_NATIVE);
		assert_string_equal(frame_of_last(2), "f32");
		assert_int_equal(frame_of(&ev, 2)->kind, FRAME_PYTHON);
		assert_int_equal(frame_of(&ev, 2)->line, 320);	/* its first line */
		check_code(&ev, 3, 33);
		check_code(&ev, 4, 34);
		assert_string_equal(frame_of_last(5), "<interpreter 3>");
		assert_int_equal(frame_of(&ev, 5)->kind, FRAME_SYNTHETIC);
		assert_int_equal(stats_now().native, 1 + again);
	}
	/* Kinds that no record has, and kinds that do not exist. */
	for (kind = FRAME_SYNTHETIC + 1; kind < 1u << (32 - RAW_KIND_SHIFT); kind++) {
		raw.frames[1] = raw_of_kind(kind, 0x7f0012345678ull);
		assert_int_equal(process_take(p, &raw, raw_len()), -EBADMSG);
	}
	assert_int_equal(observer.events.cnt, 2);
	/* The refused records have changed nothing. */
	stack(7, 5, 30);
	ev = take();
	check_stack(&ev, 5, 30);
	assert_int_equal(stats_now().native, 2);
	end();
	memset(&more_args, 0, sizeof(more_args));
	kallsyms_free(k);
}

/* Interpreters without end share a frame; those that have one keep it. */
static void test_many_interpreters(void **state)
{
	static const struct {
		uint64_t interp;
		const char *text;
	} rows[] = { { 255, "<interpreter 255>" }, { 256, "<interpreter>" },
		     { UINT64_MAX, "<interpreter>" }, { 0, "<interpreter 0>" } };
	uint64_t i;

	begin();
	for (i = 0; i < 256 + ARRAY_SIZE(rows); i++) {
		stack(7, 2, 1);
		raw.frames[1] = raw_of_kind(FRAME_SYNTHETIC, i < 256 ? i : rows[i - 256].interp);
		take();
		if (i >= 256)
			assert_string_equal(frame_of_last(1), rows[i - 256].text);
	}
	end();
}

/* A tick's event says what time it stands for; one of memory, or of a wait, says 0. */
static void test_tick_time(void **state)
{
	static const struct {
		uint8_t every;
		uint16_t rate_hz;
		uint32_t ns;
	} ticks[] = {
		{ 0, 0, 0 }, { 1, 0, 0 }, { 0, 99, 10101010 }, { 1, 19, 52631578 },
		{ 53, 999, 53053053 }, { 1, 50000, 20000 }, { 255, 1, UINT32_MAX },
	};
	size_t i;

	begin();
	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		stack(7, 3, 1);
		raw.h.every = ticks[i].every;
		raw.h.rate_hz = ticks[i].rate_hz;
		assert_int_equal(take().tick_ns, ticks[i].ns);
		assert_int_equal(take().weight, 1);
	}
	end();
}

/* The names of the kernel's functions are not known. */
static void test_nameless_kernel(void **state)
{
	struct event ev;

	begin();
	stack(7, 2, 1);
	raw.frames[0] = raw_of_kind(FRAME_KERNEL, 0xffffffff81000208ull);
	ev = take();
	assert_string_equal(frame_of_last(0), "<kernel ?>");
	check_code(&ev, 1, 2);
	end();
}

static void test_extra(void **state)
{
	struct kallsyms *k = some_kernel();
	struct raw_extra bad = { .nkernel = RAW_KERNEL_FRAMES + 1 };
	char type[RAW_EXCEPTION];
	int i;

	more_args = (struct process_args){
		.waits = { .interval_ns = 1000000, .runnable = true },
		.wait_frames = true, .kernel = k,
	};
	begin();
	/* the frames of the scheduler are left out; the innermost frame is its caller */
	extra(50, "Value\nError", 4);
	wait_for(WHY_BLOCKED, SYS_read, 0, 50, 60);
	assert_string_equal(frame_of_last(0), "<kernel schedule>");
	assert_string_equal(frame_of_last(1), "<kernel pipe_read>");
	assert_string_equal(frame_of_last(2), "<blocked in read>");
	assert_string_equal(frame_of_last(3), "<exception Value\\x0aError>");
	assert_int_equal(kept_event(&observer.events, observer.events.cnt - 1).nframes, 7);
	/* extras with another time or of another thread are not used */
	extra(69, "KeyError", 4);
	extra_of(8, 70, "KeyError", 4);
	wait_for(WHY_BLOCKED, SYS_read, 0, 70, 80);
	assert_string_equal(frame_of_last(0), "<blocked in read>");
	assert_int_equal(kept_event(&observer.events, observer.events.cnt - 1).nframes, 4);
	/* a tick has its thread's exception, whatever extras other threads had meanwhile */
	extra(110, "KeyError", 0);
	extra_of(8, 110, "OSError", 0);
	stack(7, 5, 1);
	raw.h.time_ns = 110000000;
	assert_int_equal(process_take(p, &raw, raw_len()), 0);
	assert_string_equal(frame_of_last(0), "<exception KeyError>");
	/* a wait that was not walked has no kernel stack and no exception */
	extra(120, "KeyError", 4);
	wait_for(WHY_BLOCKED, SYS_read, STATUS_UNKNOWN, 120, 130);
	assert_string_equal(frame_of_last(0), "<blocked in read>");
	/* too many exception types */
	for (i = 0; i < 1100; i++) {
		snprintf(type, sizeof(type), "Type%d", i);
		extra(200 + i, type, 0);
		stack(7, 5, 1);
		raw.h.time_ns = (200 + i) * 1000000ull;
		assert_int_equal(process_take(p, &raw, raw_len()), 0);
	}
	assert_string_equal(frame_of_last(0), "<exception ?>");
	assert_int_equal(process_take(p, &bad, sizeof(bad)), -EBADMSG);
	assert_int_equal(process_take(p, &bad, 40), -EBADMSG);
	bad.nkernel = 3;
	assert_int_equal(process_take(p, &bad, offsetof(struct raw_extra, kernel) + 16), -EBADMSG);
	end();
	memset(&more_args, 0, sizeof(more_args));
	kallsyms_free(k);
}

/* A thread of this process: writes its tid to done[0], then sleeps until done[1] changes. */
static void *named_thread(void *done)
{
	uint32_t *tid = done;

	prctl(PR_SET_NAME, "worker\n\xff");
	__atomic_store_n(tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	syscall(SYS_futex, tid + 1, 0 /* FUTEX_WAIT */, 0, NULL);
	return NULL;
}

/* /proc is read once for each new thread; a rename may come before or after its first sample. */
static void test_thread_names(void **state)
{
	uint32_t self = (uint32_t)getpid(), other[2] = { 0, 0 };
	pthread_t thread;

	begin();
	assert_int_equal(pthread_create(&thread, NULL, named_thread, other), 0);
	while (!__atomic_load_n(&other[0], __ATOMIC_ACQUIRE))
		sched_yield();
	assert_null(process_thread_names(p));
	stack(self, 3, 1);
	take();
	/* the first thread has the name of its process */
	assert_null(thread_names_find(process_thread_names(p), self));
	stack(other[0], 3, 1);
	take();
	assert_string_equal(thread_names_find(process_thread_names(p), other[0]), "worker\n\xff");
	rename_thread(p, other[0], "another");
	take();
	assert_string_equal(thread_names_find(process_thread_names(p), other[0]), "another");
	rename_thread(p, other[0], "a (comm)");		/* the name of its process */
	assert_null(thread_names_find(process_thread_names(p), other[0]));
	rename_thread(p, 3, "early");
	stack(3, 3, 1);
	take();
	assert_string_equal(thread_names_find(process_thread_names(p), 3), "early");
	stack(UINT32_MAX, 3, 1);	/* there is no such thread */
	take();
	assert_null(thread_names_find(process_thread_names(p), UINT32_MAX));
	rename_thread(p, self, "main now");
	assert_string_equal(thread_names_find(process_thread_names(p), self), "main now");
	__atomic_store_n(&other[1], 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, other + 1, 1 /* FUTEX_WAKE */, 1);
	pthread_join(thread, NULL);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_many_holders),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_many_interpreters),
		cmocka_unit_test(test_nameless_kernel),
		cmocka_unit_test(test_tick_time),
		cmocka_unit_test(test_extra),
		cmocka_unit_test(test_thread_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
