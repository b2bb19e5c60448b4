// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_stamp.c - switch-outs of a thread that has the stack of its last record: RAW_SWITCH_SAME,
 * and what makes the next one whole again. 3.12 and later.
 */
#include "world.h"

#include "page_tables.h"

#define PAGE 4096ull
#define STAMP_MINOR_MIN 12
#define EACH_STAMP_MINOR(minor)                                                                   \
	for ((minor) = STAMP_MINOR_MIN; (minor) <= LAYOUT_MINOR_MAX; (minor)++)
/* See STAMP_NS and STAMP_PAUSE_MAX (pystamp.bpf.h). */
#define SECOND (1ull << 30)
#define PAUSE_MAX 63
#define DEPTH 7u
#define SHARED_EPOCH (W_RUNTIME + 0x3000)	/* 3.12 */
#define SOME_EXCEPTION 0x7777770ull

static struct world w;
static struct task_struct idle_task;
static u64 built_for;		/* host.mem_version that the page tables show */

static void set_cfg(const volatile bool *setting, bool v)
{
	host_set(setting, &v, sizeof(v));
}

static u64 epoch_at(void)
{
	return w.proc.epoch ? w.proc.epoch : W_INTERP + w.img.layout.interp_epoch;
}

static void show_memory(void)
{
	page_tables_build(4, 0);
	built_for = host.mem_version;
}

/* A machine whose thread has no frames yet. */
static void begin_empty(int build)
{
	world_init(&w, build);
	if (w.img.layout.interp_id != ABI_NO_OFF32)	/* others have no stamps */
		host_mem_put64(W_INTERP + w.img.layout.interp_id, 0);
	if (build % FREE_THREADED == 12) {
		w.proc.epoch = SHARED_EPOCH;
		host_mem_put32(SHARED_EPOCH, 40);
		world_put_proc(&w);
	}
	host.user_regs.orig_ax = host.user_regs.syscallno = 0;
	host.task.__state = 1;
	set_cfg(&cfg_stamps, true);
	show_memory();
}

static void begin(int build)
{
	begin_empty(build);
	world_recurse(&w, DEPTH);
}

/* The thread leaves its CPU. Returns its record, or NULL. *len: its bytes. */
static const struct raw_sample *leave_for(struct task_struct *next, size_t *len)
{
	const struct raw_sample *s;
	int i = 0;

	if (direct_map.base && built_for != host.mem_version)
		show_memory();
	host_drop_records();
	host.now_ns += 10000;
	host_on_switch(false, &host.task, next);
	s = host_record(RAW_SWITCH_OUT, &i, len);
	i = 0;
	return s ? s : host_record(RAW_SWITCH_SAME, &i, len);
}

/* It leaves, and comes back. */
static const struct raw_sample *leave(void)
{
	const struct raw_sample *s = leave_for(&idle_task, NULL);

	host_on_switch(false, &idle_task, &host.task);
	return s;
}

/* It leaves with its stack, which has these flags. Returns the time of the record. */
static u64 expect_flags(u8 flags)
{
	const struct raw_sample *s = leave();

	assert_non_null(s);
	assert_int_equal(s->h.kind, RAW_SWITCH_OUT);
	assert_int_equal(s->flags, flags);
	return s->h.time_ns;
}

static u64 expect_whole(void)
{
	const struct raw_sample *s = leave();

	assert_non_null(s);
	assert_int_equal(s->h.kind, RAW_SWITCH_OUT);
	assert_int_equal(s->flags, 0);
	assert_int_equal(s->stack_ns, 0);
	world_check_frames(&w, s, w.want_cnt);
	return s->h.time_ns;
}

/* It leaves with the stack of its record of stack_ns. Returns the record. */
static const struct raw_sample *expect_same(u64 stack_ns)
{
	const struct raw_sample *s;
	size_t len;

	s = leave_for(&idle_task, &len);
	assert_non_null(s);
	assert_int_equal(s->h.kind, RAW_SWITCH_SAME);
	assert_int_equal(len, sizeof(struct raw_head));
	assert_int_equal(s->nframes, 0);
	assert_int_equal(s->flags, 0);
	assert_int_equal(s->stack_ns, stack_ns);
	assert_int_equal(s->tid, host.task.pid);
	assert_int_equal(s->interp_id, 0);
	host_on_switch(false, &idle_task, &host.task);
	return s;
}

/* The thread's stack is known: its next record repeats it. Returns when it was sent. */
static u64 make_known(void)
{
	u64 sent_ns;

	expect_whole();		/* lists the code objects */
	sent_ns = expect_whole();
	expect_same(sent_ns);
	return sent_ns;
}

/* Frame i, counted from the root, goes on at another instruction. */
static void set_ip(u32 i, u32 lasti)
{
	host_mem_put64(w.at[i] + w.img.layout.fr_ip,
		       w.want[i].code + w.img.layout.co_code + lasti);
	w.want[i].lasti = lasti;
}

/* ---- what is repeated ---- */

static void test_third_switch_out(void **state)
{
	const struct raw_sample *s;
	u64 sent_ns, first_ns;
	int minor, i;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		first_ns = expect_whole();
		sent_ns = expect_whole();
		assert_true(sent_ns > first_ns);
		assert_int_equal(host_counter(CNT_WAIT_SAME), 0);
		host.user_regs.orig_ax = host.user_regs.syscallno = 7;
		s = expect_same(sent_ns);
		assert_int_equal(s->h.sysno, 7);
		assert_int_equal(s->h.why, WHY_BLOCKED);
		assert_int_equal(s->h.start_ns, 77);
		assert_int_equal(s->status, STATUS_MAIN_THREAD);
		assert_true(s->h.time_ns > sent_ns);
		host.task.__state = 0;
		host.user_regs.orig_ax = host.user_regs.syscallno = -1;
		for (i = 0; i < 5; i++) {
			s = expect_same(sent_ns);
			assert_int_equal(s->h.sysno, RAW_SYSNO_NONE);
			assert_int_equal(s->h.why, WHY_RUNNABLE);
		}
		assert_int_equal(host_counter(CNT_SWITCH), 8);
		assert_int_equal(host_counter(CNT_WAIT), 8);
		assert_int_equal(host_counter(CNT_WAIT_SAME), 6);
	}
}

static void test_free_threaded(void **state)
{
	u64 sent_ns;
	int build;

	for (build = 13 + FREE_THREADED; build <= 15 + FREE_THREADED; build++) {
		begin(build);
		if (w.img.layout.interp_epoch == ABI_NO_OFF32) {
			expect_whole();
			expect_whole();
			expect_whole();
			continue;
		}
		sent_ns = make_known();
		expect_same(sent_ns);
		if (w.img.layout.interp_gc_frame != ABI_NO_OFF32) {
			/* The stack may have the frame in which a collection began. */
			host_mem_put32(W_TSTATE + w.img.layout.ts_gil, w.img.layout.ts_gil_mask);
			expect_same(sent_ns);
			host_mem_put32(world_collecting(&w), 1);
			host_mem_put64(W_INTERP + w.img.layout.interp_gc_frame, w.at[4]);
			expect_flags(RAW_GC);
			host_mem_put32(world_collecting(&w), 0);
			sent_ns = expect_whole();
			expect_same(sent_ns);
		}
		if (w.img.layout.fr_tlbc_index == ABI_NO_OFF)
			continue;
		/* The thread goes on in another copy of the code, which cannot be read. */
		host_mem_put32(w.top + w.img.layout.fr_base + w.img.layout.fr_tlbc_index, 3);
		assert_int_equal(leave()->h.kind, RAW_SWITCH_OUT);
	}
}

static u64 put_gil(void)
{
	const u64 gil = 0x2800000;

	host_mem_map(gil, PAGE);
	host_mem_put64(W_INTERP + w.img.layout.interp_gil, gil);
	return gil + w.img.layout.gil_cond;
}

/* Where it says which thread is the main thread. *value: what it has if that is w's. */
static u64 main_thread_at(u64 *value)
{
	if (w.img.layout.interp_threads_main != ABI_NO_OFF32) {
		*value = W_TSTATE;
		return W_INTERP + w.img.layout.interp_threads_main;
	}
	*value = W_TP;
	return w.proc.main_id;
}

/* Only the stack is that of the last record: the status is the thread's now. */
static void test_status(void **state)
{
	u64 sent_ns, locks, main, me;
	int minor;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		locks = put_gil();
		main = main_thread_at(&me);
		host_mem_put64(main, 0x123450);
		sent_ns = make_known();
		assert_int_equal(expect_same(sent_ns)->status, 0);
		host_mem_put64(W_TSTATE + w.img.layout.ts_exc_current, SOME_EXCEPTION);
		assert_int_equal(expect_same(sent_ns)->status, STATUS_HAS_EXCEPTION);
		host_mem_put64(W_TSTATE + w.img.layout.ts_exc_current, 0);
		host.user_regs.orig_ax = host.user_regs.syscallno = NR_FUTEX;
		host.user_regs.di = host.user_regs.orig_x0 = locks + 40;
		host.user_regs.si = host.user_regs.regs[1] = 0x89;
		assert_int_equal(expect_same(sent_ns)->status, STATUS_GIL_REQUESTED);
		host.user_regs.orig_ax = host.user_regs.syscallno = 0;
		host_mem_put64(main, me);
		assert_int_equal(expect_same(sent_ns)->status, STATUS_MAIN_THREAD);
		host_mem_put32(W_TSTATE + w.img.layout.ts_gil, w.img.layout.ts_gil_mask);
		assert_int_equal(expect_same(sent_ns)->status, STATUS_MAIN_THREAD | STATUS_HAS_GIL);
	}
}

/* A frame that lies on two pages is a part of the stamp, too. */
static void test_frame_on_two_pages(void **state)
{
	u64 sent_ns, end;
	int minor, cut;

	EACH_STAMP_MINOR(minor) {
		begin_empty(minor);
		for (cut = 8; cut < w.img.layout.fr_bytes; cut += 8) {
			begin(minor);
			end = w.chunk + PAGE;
			world_push_at(&w, end - cut, OWNER_THREAD, 3, 8);
			w.sp = end + 256;
			world_push(&w, OWNER_THREAD, 4, 10);
			sent_ns = make_known();
			expect_same(sent_ns);
			set_ip(DEPTH, 12);
			expect_whole();
		}
	}
}

static void test_deep_stacks(void **state)
{
	static const u32 depths[] = { 1, 11, 12, 13, 100, 255, ABI_MAX_FRAMES };
	u64 sent_ns;
	size_t i;
	int minor;

	EACH_STAMP_MINOR(minor) {
		for (i = 0; i < sizeof(depths) / sizeof(*depths); i++) {
			begin_empty(minor);
			world_recurse(&w, depths[i]);
			sent_ns = make_known();
			expect_same(sent_ns);
			/* The outermost frame counts as the innermost does. */
			set_ip(0, 160);
			expect_whole();
		}
	}
}

/* Compiled code has its line in its frame's object, and goes on without an instruction. */
static void test_compiled(void **state)
{
	u32 line;
	int minor;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		world_push_compiled(&w, 2, 30);
		for (line = 30; line < 34; line++) {
			world_set_line(&w, line);
			expect_whole();
		}
	}
}

/* What follows the frames of a RAW_SWITCH_OUT follows the head of a RAW_SWITCH_SAME. */
static void test_thread_context(void **state)
{
	const u64 context = W_HEAP + 0x600000;
	const struct raw_sample *s;
	u64 sent_ns;
	size_t len;

	begin(13);
	w.proc.trace = (struct thread_ctx_place){ .how = THREAD_CTX_TP, .off = -128 };
	world_put_proc(&w);
	host_mem_map(context, PAGE);
	host_mem_put64(W_TP - 128, context);
	host_mem_put64(context, 0x1122334455667788);	/* the trace's id begins with it */
	host_mem_put8(context + 24, 1);			/* valid */
	set_cfg(&cfg_trace_context, true);
	assert_int_equal(leave()->flags, RAW_TRACED);
	s = leave();
	sent_ns = s->h.time_ns;
	host_mem_put64(context, 0x99);			/* each record has its own */
	s = leave_for(&idle_task, &len);
	set_cfg(&cfg_trace_context, false);
	assert_int_equal(s->h.kind, RAW_SWITCH_SAME);
	assert_int_equal(s->stack_ns, sent_ns);
	assert_int_equal(s->flags, RAW_TRACED);
	assert_true(len >= sizeof(struct raw_head) + RAW_TRACE_HEAD);
	assert_int_equal(((const u8 *)s)[sizeof(struct raw_head)], 0x99);
}

/* ---- what makes the next record whole ---- */

static void innermost_goes_on(void)
{
	set_ip(DEPTH - 1, 30);
}

static void caller_goes_on(void)
{
	set_ip(0, 30);
}

/* The instruction stays where it is, so that only the code object is another one. */
static void other_code(void)
{
	u64 code = w.want[1].code;

	host_mem_put64(w.at[3] + w.img.layout.fr_code, code);
	w.want[3].lasti += w.want[3].code - code;
	w.want[3].code = code;
	w.want[3].id = w.want[1].id;
}

static void one_frame_more(void)
{
	world_push(&w, OWNER_THREAD, 2, 8);
}

static void one_frame_less(void)
{
	world_set_frame(&w, w.at[--w.want_cnt - 1]);
}

/* The same code objects at the same instructions, but not in the same call. */
static void another_call(void)
{
	u32 code = DEPTH - 1;

	one_frame_less();
	w.sp += 64;
	world_push(&w, OWNER_THREAD, code, 2 * code);
}

static void other_epoch(void)
{
	host_mem_put32(epoch_at(), 41);
}

static void tick_between(void)
{
	host_tick();
}

static void lost(void)
{
	int room = host.ring_room;

	host.ring_room = 0;
	assert_null(leave());
	host.ring_room = room;
}

static void long_ago(void)
{
	host.now_ns += SECOND;
}

static void other_thread_in_slot(void)
{
	host.task.pid += WAIT_SLOTS;
	expect_whole();
	host.task.pid -= WAIT_SLOTS;
}

static void iterated(void)
{
	struct iter_meta meta = { NULL };
	struct task_iter ctx = { &meta, &host.task };

	on_task(&ctx);
	assert_int_equal(host.record_cnt > 0, 1);
}

static void no_direct_reads(void)
{
	direct_map.base = 0;
}

static void stamps_off(void)
{
	set_cfg(&cfg_stamps, false);
}

/* An exec, or a process that has the same pid. */
static void admitted_again(void)
{
	w.proc.ident += 2;
	world_put_proc(&w);
}

static void test_whole_again(void **state)
{
	static void (*const changes[])(void) = {
		innermost_goes_on, caller_goes_on, other_code, one_frame_more, one_frame_less,
		another_call, other_epoch, tick_between, lost, long_ago, other_thread_in_slot,
		iterated, no_direct_reads, stamps_off, admitted_again,
	};
	size_t i;
	int minor;

	EACH_STAMP_MINOR(minor) {
		for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
			begin(minor);
			make_known();
			changes[i]();
			expect_whole();
		}
	}
}

/* A stack that was sent is repeated again after each of them, unless there are no stamps at all. */
static void test_same_after_whole(void **state)
{
	static void (*const changes[])(void) = {
		tick_between, long_ago, other_thread_in_slot, iterated,
	};
	u64 sent_ns;
	size_t i;
	int minor;

	EACH_STAMP_MINOR(minor) {
		for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
			begin(minor);
			make_known();
			changes[i]();
			sent_ns = expect_whole();
			expect_same(sent_ns);
		}
	}
}

/* A stack is repeated for STAMP_NS from when it was sent, not from when it was last repeated. */
static void test_sent_once_a_second(void **state)
{
	u64 sent_ns;
	int minor, i;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		sent_ns = make_known();
		for (i = 0; i < 7; i++) {
			host.now_ns += SECOND / 8;
			expect_same(sent_ns);
		}
		host.now_ns += SECOND / 8;
		sent_ns = expect_whole();
		expect_same(sent_ns);
	}
}

/* The records of a collection have <GC>, and so they have no stamp. */
static void test_collection(void **state)
{
	u64 sent_ns;
	int minor;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		host_mem_put32(W_TSTATE + w.img.layout.ts_gil, w.img.layout.ts_gil_mask);
		make_known();
		host_mem_put32(world_collecting(&w), 1);
		if (w.img.layout.interp_gc_frame != ABI_NO_OFF32)
			host_mem_put64(W_INTERP + w.img.layout.interp_gc_frame, w.at[4]);
		expect_flags(RAW_GC);
		expect_flags(RAW_GC);
		expect_flags(RAW_GC);
		host_mem_put32(world_collecting(&w), 0);
		sent_ns = expect_whole();
		expect_same(sent_ns);
	}
}

/* ---- stacks that are never repeated ---- */

static void never_repeated(u8 flags)
{
	int i;

	for (i = 0; i < 6; i++)
		expect_flags(flags);
	assert_int_equal(host_counter(CNT_WAIT_SAME), 0);
	assert_int_equal(host_counter(CNT_WAIT), 6);
}

static void test_no_counter(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		begin(minor);
		if (minor >= STAMP_MINOR_MIN)	/* it has overflowed */
			host_mem_put32(epoch_at(), 0);
		never_repeated(0);
	}
}

/* Without a counter a number stands for it that each CPU counts for itself. */
static void test_no_counter_on_two_cpus(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		begin(minor);
		if (minor >= STAMP_MINOR_MIN)
			host_mem_put32(epoch_at(), 0);
		host.cpu = 1;
		expect_flags(0);
		host.cpu = 0;
		host_tick();
		host.cpu = 1;
		expect_flags(0);	/* the second walk of this CPU ... */
		host.cpu = 0;
		expect_flags(0);	/* ... and the second one of that */
		assert_int_equal(host_counter(CNT_WAIT_SAME), 0);
	}
}

static void test_too_deep(void **state)
{
	int minor;

	EACH_STAMP_MINOR(minor) {
		begin_empty(minor);
		world_recurse(&w, ABI_MAX_FRAMES + 1);
		never_repeated(RAW_TRUNCATED);
		begin_empty(minor);
		world_recurse(&w, 1000);
		never_repeated(RAW_TRUNCATED);
	}
}

static void test_unreadable_frame(void **state)
{
	int minor;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		host_mem_put64(w.at[2] + w.img.layout.fr_previous, 0xdead000);
		never_repeated(RAW_UNREADABLE);
	}
}

static void test_unreadable_code(void **state)
{
	int minor;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		host_mem_put64(w.at[2] + w.img.layout.fr_code, 0xdead000);
		never_repeated(0);
	}
}

/* No chain ends in the middle of one. */
static void test_broken_end(void **state)
{
	int minor;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		host_mem_put64(w.at[2] + w.img.layout.fr_previous, 0);
		never_repeated(RAW_BROKEN_END);
	}
}

static void test_cycle(void **state)
{
	int minor;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		host_mem_put64(w.at[2] + w.img.layout.fr_previous, w.at[2]);
		never_repeated(RAW_TRUNCATED);
	}
}

/* The time limit of a walk is one of a stamp, too: the target says where its frames are. */
static void test_time_limit(void **state)
{
	const u32 limit = 60000, none = 0;
	int minor;

	EACH_STAMP_MINOR(minor) {
		begin_empty(minor);
		world_recurse(&w, 240);
		make_known();
		host_set(&cfg_limit_ns, &limit, sizeof(limit));
		/* The clock is read three times in so many frames, and STALLS_MAX is two. */
		host.clock_step_ns = 300000;
		leave();
		host.clock_step_ns = 0;
		host_set(&cfg_limit_ns, &none, sizeof(none));
		assert_int_equal(host_counter(CNT_WAIT_SAME), 1);
		assert_int_equal(host_counter(CNT_CUT_OFF), 1);
	}
}

/* ---- the budget ---- */

/* What a repeated stack takes is measured once in eight times. */
static void test_budget_is_sampled(void **state)
{
	enum { TIMES = 4096, STEP = 16, READING = STEP + 1 };	/* host.c adds 1 */
	u64 sent_ns, begin_ns, readings;
	int i;

	begin(13);
	sent_ns = make_known();
	host.clock_step_ns = STEP;
	begin_ns = host.now_ns;
	for (i = 0; i < TIMES; i++)
		expect_same(sent_ns);
	host.clock_step_ns = 0;
	/* Each time 10 us pass, and the clock is read at the switch-out and at the switch-in. */
	readings = (host.now_ns - begin_ns - TIMES * 10000ull) / READING - 2 * TIMES;
	assert_in_range(readings, TIMES / 10, TIMES / 6);
}

/* All the same it counts: if repeated stacks take more than their share of the time, they end. */
static void test_budget_of_repeated_stacks(void **state)
{
	const struct raw_sample *s;
	int i, same = 0;

	begin(13);
	make_known();
	host.clock_step_ns = 100000;
	for (i = 0; i < 1000; i++) {
		s = leave();
		assert_non_null(s);
		same += s->h.kind == RAW_SWITCH_SAME;
	}
	host.clock_step_ns = 0;
	assert_in_range(same, 1, 900);
	assert_in_range(host_counter(CNT_WAIT_NOT_WALKED), 100, 999);
}

/* ---- the pause of stacks that change ---- */

static void test_alternating(void **state)
{
	int minor, i;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		for (i = 0; i < 400; i++) {
			set_ip(DEPTH - 1, i % 2 ? 30 : 40);
			expect_whole();
		}
		assert_int_equal(host_counter(CNT_WAIT_SAME), 0);
		assert_int_equal(host_counter(CNT_WAIT), 400);
	}
}

/*
 * The stack stays as it is: so many switch-outs go without a stamp, one has a stamp again, and the
 * next is repeated.
 */
static void expect_pause(u32 left)
{
	u64 sent_ns = 0;
	u32 i;

	for (i = 0; i < left + 1; i++)
		sent_ns = expect_whole();
	expect_same(sent_ns);
	expect_same(sent_ns);
}

static void test_pause(void **state)
{
	int minor, cnt, i;
	u32 pause, k;

	EACH_STAMP_MINOR(minor) {
		for (cnt = 1; cnt <= 8; cnt++) {
			begin(minor);
			make_known();
			for (i = 0, pause = 0; i < cnt; i++) {
				/* Each pause, and what sets the stamp that does not match. */
				for (k = 0; i && k < pause + 1; k++)
					expect_whole();
				set_ip(DEPTH - 1, 30 + 2 * i);
				expect_whole();
				pause = pause < PAUSE_MAX ? 2 * pause + 1 : PAUSE_MAX;
			}
			expect_pause(pause);
			/* It is over. */
			set_ip(DEPTH - 1, 70);
			expect_whole();
			expect_pause(1);
		}
	}
}

/* A stack that cannot be repeated is not looked at in vain each time: see its pause when it can. */
static void test_pause_of_unrepeatable(void **state)
{
	u64 previous;
	int minor, i;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		expect_whole();		/* lists the code objects, and begins no pause */
		previous = w.at[1];
		host_mem_put64(w.at[2] + w.img.layout.fr_previous, 0xdead000);
		for (i = 0; i < 4; i++)	/* in vain, a pause of one, in vain, a pause of three */
			expect_flags(RAW_UNREADABLE);
		host_mem_put64(w.at[2] + w.img.layout.fr_previous, previous);
		expect_pause(2);
	}
}

/* What is not sent, or sent without a stack, changes nothing of what user space has. */
static void test_kept(void **state)
{
	const u8 exception = STATUS_HAS_EXCEPTION, any = 0;
	u64 sent_ns, not_walked;
	int minor, i;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		not_walked = host_counter(CNT_WAIT_NOT_WALKED);
		sent_ns = make_known();
		host_set(&cfg_need_status, &exception, sizeof(exception));
		assert_null(leave());	/* the mode leaves it out */
		host_set(&cfg_need_status, &any, sizeof(any));
		expect_same(sent_ns);
		host.clock_step_ns = 1000000;	/* soon the budget is used up */
		for (i = 0; i < 40 && host_counter(CNT_WAIT_NOT_WALKED) == not_walked; i++)
			leave();
		assert_int_equal(host_counter(CNT_WAIT_NOT_WALKED), not_walked + 1);
		host.clock_step_ns = 0;
		host.now_ns += SECOND / 2;	/* there is budget again */
		expect_same(sent_ns);
	}
}

/* Another thread in the slot does not get the pause. */
static void test_pause_of_another(void **state)
{
	int i;

	begin(13);
	make_known();
	for (i = 0; i < 40; i++) {
		set_ip(DEPTH - 1, i % 2 ? 30 : 40);
		expect_whole();
	}
	host.task.pid += WAIT_SLOTS;
	expect_pause(0);
}

/* A record that would have repeated the stack is lost: the stack is sent again, once. */
static void test_lost_once(void **state)
{
	u64 before, sent_ns;
	int minor;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		make_known();
		before = host_counter(CNT_WAIT_SAME);
		lost();
		assert_int_equal(host_counter(CNT_WAIT_LOST), 1);
		assert_int_equal(host_counter(CNT_WAIT_SAME), before);
		sent_ns = expect_whole();
		expect_same(sent_ns);
	}
}

/* ---- _PyCFrames ---- */

/* 3.12. A stack whose inner frames C has called. Returns the frame that they were called from. */
static u64 two_calls(void)
{
	u64 from;

	begin(12);
	from = w.top;
	world_shim(&w);
	world_push(&w, OWNER_THREAD, world_code(&w), 6);
	world_push(&w, OWNER_THREAD, world_code(&w), 8);
	world_enter(&w, w.top, from);
	return from;
}

static void test_cframes(void **state)
{
	const u64 inner = W_CSTACK + 8192;
	u64 from = two_calls();

	make_known();
	/* The shim's caller is not the frame that the call was entered from any more. */
	host_mem_put64(W_ROOT_CFRAME + w.img.layout.cframe_frame, w.at[1]);
	assert_int_equal(leave()->h.kind, RAW_SWITCH_OUT);
	/* There is a _PyCFrame before that one. */
	two_calls();
	make_known();
	host_mem_put64(W_ROOT_CFRAME + w.img.layout.cframe_frame + 8, inner + 64);
	expect_whole();
	/* The first one is current again: its call has returned. */
	from = two_calls();
	make_known();
	host_mem_put64(W_TSTATE + w.img.layout.ts_frame, W_ROOT_CFRAME);
	w.want_cnt -= 2;
	assert_int_equal(w.at[w.want_cnt - 1], from);
	expect_whole();
	/* The same frames, called by another call. */
	two_calls();
	make_known();
	host_mem_map(inner + 512, 64);
	host_mem_put64(inner + 512 + w.img.layout.cframe_frame, w.top);
	host_mem_put64(inner + 512 + w.img.layout.cframe_frame + 8, W_ROOT_CFRAME);
	host_mem_put64(W_TSTATE + w.img.layout.ts_frame, inner + 512);
	expect_whole();
}

/*
 * The newest _PyCFrame is not filled in yet, so the stack begins at the one before: what the walk
 * has found is not what the stamp is of.
 */
static void test_entering(void **state)
{
	u64 from, stale;
	int i;

	begin(12);
	from = w.top;
	stale = w.at[3];
	world_enter(&w, stale, from);
	for (i = 0; i < 5; i++)
		expect_whole();
	assert_int_equal(host_counter(CNT_ENTERING), 5);
	assert_int_equal(host_counter(CNT_WAIT_SAME), 0);
}

/* ---- both threads of a switch ---- */

/* An entry of the ring buffer has the next thread's RAW_SWITCH_IN, and the repetition. */
static void test_joined(void **state)
{
	struct task_struct next;
	const struct raw_switch_in *in;
	const struct raw_sample *s;
	u64 sent_ns, out_ns;
	size_t len;
	int minor, i;

	EACH_STAMP_MINOR(minor) {
		begin(minor);
		sent_ns = make_known();
		/* The other thread leaves first. */
		host.task.pid++;
		out_ns = leave_for(&idle_task, NULL)->h.time_ns;
		next = host.task;
		host.task.pid--;
		s = leave_for(&next, &len);
		assert_int_equal(s->h.kind, RAW_SWITCH_SAME);
		assert_int_equal(len, sizeof(struct raw_head));
		assert_int_equal(s->stack_ns, sent_ns);
		assert_int_equal(host.entry_cnt, 1);
		assert_int_equal(host.record_cnt, 2);
		i = 0;
		in = host_record(RAW_SWITCH_IN, &i, &len);
		assert_int_equal(i, 1);
		assert_int_equal(len, sizeof(*in));
		assert_int_equal(in->tid, next.pid);
		assert_int_equal(in->out_ns, out_ns);
		assert_int_equal(in->h.time_ns, s->h.time_ns);
	}
}

static int stamps_end(void **state)
{
	set_cfg(&cfg_stamps, false);
	return host_done(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_third_switch_out),
		cmocka_unit_test(test_free_threaded),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_frame_on_two_pages),
		cmocka_unit_test(test_deep_stacks),
		cmocka_unit_test(test_compiled),
		cmocka_unit_test(test_thread_context),
		cmocka_unit_test(test_whole_again),
		cmocka_unit_test(test_same_after_whole),
		cmocka_unit_test(test_sent_once_a_second),
		cmocka_unit_test(test_collection),
		cmocka_unit_test(test_no_counter),
		cmocka_unit_test(test_no_counter_on_two_cpus),
		cmocka_unit_test(test_too_deep),
		cmocka_unit_test(test_unreadable_frame),
		cmocka_unit_test(test_unreadable_code),
		cmocka_unit_test(test_broken_end),
		cmocka_unit_test(test_cycle),
		cmocka_unit_test(test_budget_is_sampled),
		cmocka_unit_test(test_budget_of_repeated_stacks),
		cmocka_unit_test(test_alternating),
		cmocka_unit_test(test_time_limit),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_pause_of_unrepeatable),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_pause_of_another),
		cmocka_unit_test(test_lost_once),
		cmocka_unit_test(test_cframes),
		cmocka_unit_test(test_entering),
		cmocka_unit_test(test_joined),
	};

	return cmocka_run_group_tests(tests, NULL, stamps_end);
}
