// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_wait.c - switch-outs and switch-ins, and threads that were off-CPU before the recording.
 */
#include "world.h"

#include "bpf/losses.bpf.h"
#include "bpf/pysend.bpf.h"

static struct world w;
static struct task_struct idle_task;

static void begin(int minor)
{
	world_init(&w, minor);
	host.user_regs.orig_ax = host.user_regs.syscallno = 0;	/* read(2); arm64: io_setup */
	host.task.stack = NULL;
}

static void switch_out(u32 state, bool preempt)
{
	host_drop_records();
	host.task.__state = state;
	host_on_switch(preempt, &host.task, &idle_task);
}

static void switch_in(void)
{
	host_drop_records();
	host_on_switch(false, &idle_task, &host.task);
}

static const void *only_record(u8 kind)
{
	int i = 0;
	const void *r = host_record(kind, &i, NULL);

	assert_non_null(r);
	return r;
}

static void test_switch_out_and_in(void **state)
{
	const struct raw_sample *s;
	const struct raw_switch_in *r;
	u64 out_ns, wake_ns;
	int minor;

	EACH_MINOR(minor) {
		begin(minor);
		world_recurse(&w, 7);
		switch_out(1, false);
		s = only_record(RAW_SWITCH_OUT);
		assert_int_equal(s->nframes, 7);
		assert_int_equal(s->tid, 1001);
		assert_int_equal(s->h.why, WHY_BLOCKED);
		assert_int_equal(s->h.sysno, 0);
		assert_int_equal(s->h.start_ns, 77);
		assert_int_equal(s->status, STATUS_MAIN_THREAD);
		out_ns = s->h.time_ns;
		wake_ns = host.now_ns += 1000;
		host_on_wakeup(&host.task);
		host.now_ns += 500;
		host_on_wakeup(&host.task);	/* it is runnable already */
		switch_in();
		r = only_record(RAW_SWITCH_IN);
		assert_int_equal(r->tid, 1001);
		assert_int_equal(r->out_ns, out_ns);
		assert_int_equal(r->wake_ns, wake_ns);
		assert_true(r->h.time_ns > wake_ns);
		switch_in();		/* sent once */
		assert_int_equal(host.record_cnt, 0);
	}
}

static void test_preempted(void **state)
{
	const struct raw_sample *s;
	const struct raw_switch_in *r;
	int i;

	for (i = 0; i < 2; i++) {
		begin(13);
		world_recurse(&w, 3);
		host.user_regs.orig_ax = host.user_regs.syscallno = -1;
		switch_out(i, i);	/* runnable, or preempted just before it blocks */
		s = only_record(RAW_SWITCH_OUT);
		assert_int_equal(s->h.why, WHY_RUNNABLE);
		assert_int_equal(s->h.sysno, RAW_SYSNO_NONE);
		switch_in();
		r = only_record(RAW_SWITCH_IN);
		assert_int_equal(r->wake_ns, r->out_ns);
	}
}

/* Add a GIL. Returns the address of its locks. */
static u64 put_gil(int minor)
{
	const u64 gil = 0x2800000;

	host_mem_map(gil, 4096);
	if (w.img.layout.interp_gil)
		host_mem_put64(W_INTERP + w.img.layout.interp_gil, gil);
	else
		w.proc.gil = gil;
	if (minor == 6)
		w.proc.l.gil_locks = 176;
	world_put_proc(&w);
	return gil + w.img.layout.gil_cond;
}

static u8 status_on_futex(u64 addr, u64 op)
{
	host.user_regs.orig_ax = host.user_regs.syscallno = NR_FUTEX;
	host.user_regs.di = host.user_regs.orig_x0 = addr;
	host.user_regs.si = host.user_regs.regs[1] = op;
	switch_out(1, false);
	return ((const struct raw_sample *)only_record(RAW_SWITCH_OUT))->status;
}

static void test_gil(void **state)
{
	u64 locks, end;
	int minor;

	EACH_MINOR(minor) {
		begin(minor);
		world_recurse(&w, 2);
		locks = put_gil(minor);
		end = locks + (minor == 6 ? 176 : w.img.layout.gil_locks);
		assert_int_equal(status_on_futex(locks + 40, 0x89), 8 | STATUS_MAIN_THREAD);
		assert_int_equal(status_on_futex(locks, 0x80), 8 | STATUS_MAIN_THREAD);
		assert_int_equal(status_on_futex(end - 4, 0x189), 8 | STATUS_MAIN_THREAD);
		assert_int_equal(status_on_futex(locks + 40, 0x81), STATUS_MAIN_THREAD);
		assert_int_equal(status_on_futex(locks - 4, 0x89), STATUS_MAIN_THREAD);
		assert_int_equal(status_on_futex(end, 0x89), STATUS_MAIN_THREAD);
		assert_int_equal(status_on_futex(0, 0x89), STATUS_MAIN_THREAD);
	}
}

/* 3.15 has a field for it, which also counts on-CPU. */
static void test_gil_requested(void **state)
{
	begin(15);
	world_recurse(&w, 2);
	host_mem_put32(W_TSTATE + w.img.layout.ts_gil_requested, 1);
	switch_out(1, false);
	assert_int_equal(((const struct raw_sample *)only_record(RAW_SWITCH_OUT))->status,
			 STATUS_GIL_REQUESTED | STATUS_MAIN_THREAD);
	host_tick();
	assert_int_equal(((const struct raw_sample *)only_record(RAW_SAMPLE))->status,
			 STATUS_GIL_REQUESTED | STATUS_MAIN_THREAD | STATUS_ON_CPU);
}

static void test_others(void **state)
{
	struct task_struct other = host.task;

	begin(13);
	world_recurse(&w, 2);
	host.task.tgid = 4000;		/* not admitted */
	switch_out(1, false);
	switch_in();
	assert_int_equal(host_counter(CNT_SWITCH), 0);
	host.task.tgid = 1001;
	host.leader.start_boottime++;	/* the pid was used again */
	switch_out(1, false);
	assert_int_equal(host_counter(CNT_SWITCH), 0);
	host.leader.start_boottime--;
	host.task.flags = PF_KTHREAD;
	switch_out(1, false);
	assert_int_equal(host_counter(CNT_SWITCH), 0);
	(void)other;
}

static void test_thread_exit(void **state)
{
	begin(13);
	world_recurse(&w, 2);
	host.task.flags = PF_EXITING;
	switch_out(2, false);
	assert_int_equal(host.record_cnt, 0);
	switch_out(TASK_DEAD, false);
	assert_int_equal(((const struct raw_switch_in *)only_record(RAW_THREAD_EXIT))->tid, 1001);
}

static void test_no_stack(void **state)
{
	begin(13);
	switch_out(1, false);		/* a thread state without a frame */
	assert_int_equal(host.record_cnt, 0);
	assert_int_equal(host_counter(CNT_WAIT_NOT_PYTHON), 1);
	switch_in();
	assert_int_equal(host.record_cnt, 0);
}

static void test_ring_full(void **state)
{
	const struct raw_switch_in *r;

	begin(13);
	world_recurse(&w, 2);
	host.ring_room = 0;
	switch_out(1, false);
	assert_int_equal(host_counter(CNT_WAIT_LOST), 1);
	host.ring_room = 10;
	switch_in();		/* has the time of the lost switch-out */
	r = only_record(RAW_SWITCH_IN);
	assert_true(r->out_lost && r->out_ns && r->out_ns < r->h.time_ns);
	switch_out(1, false);
	host.ring_room = 0;
	switch_in();
	assert_int_equal(host_counter(CNT_SWITCH_IN_LOST), 1);
}

/* Two threads share a slot: neither gets the other's wake-up time. */
static void test_slot_taken(void **state)
{
	begin(13);
	world_recurse(&w, 2);
	switch_out(1, false);
	host.task.pid += WAIT_SLOTS;
	switch_out(1, false);
	assert_int_equal(host_counter(CNT_WAIT_SLOT_TAKEN), 1);
	host.task.pid -= WAIT_SLOTS;
	host_on_wakeup(&host.task);
	switch_in();
	assert_int_equal(((const struct raw_switch_in *)only_record(RAW_SWITCH_IN))->out_ns, 0);
	assert_int_equal(((const struct raw_switch_in *)only_record(RAW_SWITCH_IN))->wake_ns, 0);
}

/* Each walk takes long: soon there is no budget left. */
static void test_budget(void **state)
{
	const struct raw_sample *s;
	int i, walked = 0;

	begin(13);
	world_recurse(&w, 2);
	host.clock_step_ns = 100000;
	for (i = 0; i < 100; i++) {
		switch_out(1, false);
		s = only_record(RAW_SWITCH_OUT);
		assert_int_equal(s->flags, s->nframes ? 0 : RAW_NOT_WALKED);
		walked += s->nframes != 0;
	}
	assert_in_range(walked, 1, 99);
	assert_int_equal(host_counter(CNT_WAIT_NOT_WALKED), 100 - walked);
}

/* on_switch() was not called at a switch-in: its time comes from the scheduler. */
static void test_missed_switch_in(void **state)
{
	const struct raw_switch_in *r;
	const struct raw_sample *out;
	u64 out_ns;
	int i = 0;

	begin(13);
	world_recurse(&w, 2);
	switch_out(1, false);
	out = only_record(RAW_SWITCH_OUT);
	out_ns = out->h.time_ns;
	host.now_ns += 100000;
	host.task.se.sum_exec_runtime = 5030000;
	host.task.se.prev_sum_exec_runtime = 5000000;
	switch_out(1, false);
	r = only_record(RAW_SWITCH_IN);
	assert_int_equal(r->out_ns, out_ns);
	out = only_record(RAW_SWITCH_OUT);
	assert_int_equal(r->h.time_ns, out->h.time_ns - 30000);
	/* If the fair scheduler does not know it, the time is that of the switch-out. */
	host.now_ns += 100000;
	host.task.se.sum_exec_runtime += 200000000;
	switch_out(1, false);
	r = only_record(RAW_SWITCH_IN);
	assert_int_equal(r->h.time_ns,
			 ((const struct raw_sample *)only_record(RAW_SWITCH_OUT))->h.time_ns);
	/* A switch-in that was sent is not sent again. */
	switch_in();
	switch_out(1, false);
	assert_null(host_record(RAW_SWITCH_IN, &i, NULL));
}

/* The thread state is unreadable at this moment: the RAW_SWITCH_OUT is sent without a stack. */
static void test_unreadable(void **state)
{
	const struct raw_sample *s;

	begin(13);
	world_recurse(&w, 2);
	host_mem_unmap(W_TSTATE, 4096);
	switch_out(1, false);
	s = only_record(RAW_SWITCH_OUT);
	assert_int_equal(s->flags, RAW_NOT_WALKED);
	assert_int_equal(s->nframes, 0);
	assert_int_equal(s->status, STATUS_UNKNOWN);
	assert_int_equal(host_counter(CNT_WAIT_UNREADABLE), 1);
	assert_int_equal(host_counter(CNT_WAIT), 1);
}

static const struct raw_offcpu_scan *iterate(void)
{
	struct iter_meta meta = { NULL };
	struct task_iter ctx = { &meta, &host.task };

	host_drop_records();
	on_task(&ctx);
	return host.record_cnt ? (const void *)host.records[0].data : NULL;
}

static void test_offcpu_scan(void **state)
{
	const struct raw_offcpu_scan *a;
	const struct raw_switch_in *r;
	u64 since;

	begin(13);
	host.task.__state = 1;
	host.task.nvcsw = 5;
	strcpy(host.task.comm, "reader");
	host.user_regs.orig_ax = host.user_regs.syscallno = 0;
	host.user_regs.di = host.user_regs.orig_x0 = 11;
	host.user_regs.si = host.user_regs.regs[1] = 12;
	host.user_regs.r10 = host.user_regs.regs[3] = 14;
	host.user_regs.ip = host.user_regs.pc = 15;
	host.user_regs.bp = host.user_regs.regs[29] = 16;
	host.user_regs.sp = 17;
	host.ring_room = 0;
	assert_null(iterate());		/* no room: the slot is not written */
	host.ring_room = 10;
	a = iterate();
	assert_int_equal(a->tid, 1001);
	assert_int_equal(a->why, WHY_BLOCKED);
	assert_int_equal(a->out_sent, 0);
	assert_int_equal(a->switches, 5);
	assert_int_equal(a->sysno, 0);
	assert_int_equal(a->args[0], 11);
	assert_int_equal(a->args[1], 12);
	assert_int_equal(a->fourth, 14);
	assert_int_equal(a->pc, 15);
	assert_int_equal(a->fp, 16);
	assert_int_equal(a->sp, 17);
	assert_string_equal((const char *)a->comm, "reader");
	assert_int_equal(a->thread_pointer, W_TP);
	assert_int_equal(a->left_ns, a->time_ns);	/* the current thread left its CPU now */
	since = a->time_ns;
	a = iterate();
	assert_int_equal(a->out_sent, 1);
	switch_in();
	r = only_record(RAW_SWITCH_IN);
	assert_int_equal(r->out_ns, since);
	host.task.on_cpu = 1;
	assert_int_equal(iterate()->why, 0);
	host.task.self_exec_id = 1;	/* another program, without a switch */
	assert_int_not_equal(iterate()->switches, 5);
	host.task.tgid = 4000;
	assert_null(iterate());
}

/* ---- what a thread waits for ---- */

static const struct {
	const char *what;
	u32 state, flags;
	u64 jobctl;
	bool iowait, fault;
	s64 nr;
	u16 wait;
} waits[] = {
	{ "a system call", TASK_INTERRUPTIBLE, 0, 0, 0, 0, 7, 7 },
	{ "a disk, in a system call", TASK_UNINTERRUPTIBLE, 0, 0, 1, 0, 7, 7 },
	{ "no system call has this number", TASK_INTERRUPTIBLE, 0, 0, 0, 0, 0xff13,
	  RAW_SYSNO_NONE },
	{ "SIGSTOP while it computes", TASK_STOPPED | 0x100, 0, 19, 0, 0, -1,
	  RAW_WAIT_STOPPED + 19 },
	{ "SIGTSTP in a system call", TASK_STOPPED | 0x100, 0, 20, 0, 0, 7, RAW_WAIT_STOPPED + 20 },
	{ "a stop without a signal", TASK_STOPPED | 0x100, 0, 0, 0, 0, -1, RAW_WAIT_STOPPED },
	{ "a tracer", TASK_TRACED, 0, 1ull << 27, 0, 0, -1, RAW_WAIT_TRACED },
	{ "a tracer up to 5.19, in a call", TASK_TRACED | 0x100, 0, 19, 0, 0, 7, RAW_WAIT_TRACED },
	{ "v1's freezer since 6.1", TASK_FROZEN, 0, 0, 0, 0, -1, RAW_WAIT_FROZEN },
	{ "v1's freezer before", TASK_UNINTERRUPTIBLE, PF_FROZEN, 0, 0, 0, 7, RAW_WAIT_FROZEN },
	{ "v2's freezer", TASK_INTERRUPTIBLE | 0x2000, 0, JOBCTL_TRAP_FREEZE, 0, 0, 7,
	  RAW_WAIT_FROZEN },
	{ "a disk, before it must freeze", TASK_UNINTERRUPTIBLE, 0, JOBCTL_TRAP_FREEZE, 1, 0, 7,
	  7 },
	{ "stopped, in a frozen cgroup", TASK_STOPPED | 0x100, 0, JOBCTL_TRAP_FREEZE | 19, 0, 0, -1,
	  RAW_WAIT_STOPPED + 19 },
	{ "a disk, in a page fault", TASK_UNINTERRUPTIBLE, 0, 0, 1, 0, -1, RAW_WAIT_FAULT },
	{ "userfaultfd", TASK_INTERRUPTIBLE, 0, 0, 0, 1, -1, RAW_WAIT_FAULT },
	{ "it is not known", TASK_UNINTERRUPTIBLE, 0, 19, 0, 0, -1, RAW_SYSNO_NONE },
	{ "preempted in a page fault", 0, 0, 0, 0, 1, -1, RAW_SYSNO_NONE },
};

/* The programs for the two ways by which a wait is seen agree. */
static void test_what_is_waited_for(void **state)
{
	const struct raw_offcpu_scan *a;
	const struct raw_sample *s;
	size_t i;

	for (i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		print_message("%s\n", waits[i].what);
		begin(13);
		world_recurse(&w, 2);
		host.task.flags = waits[i].flags;
		host.task.jobctl = waits[i].jobctl;
		host.task.in_iowait = waits[i].iowait;
		host.task.in_user_fault = waits[i].fault;
		host.user_regs.orig_ax = host.user_regs.syscallno = waits[i].nr;
		switch_out(waits[i].state, false);
		s = only_record(RAW_SWITCH_OUT);
		assert_int_equal(s->h.sysno, waits[i].wait);
		assert_int_equal(s->h.why, waits[i].state ? WHY_BLOCKED : WHY_RUNNABLE);
		a = iterate();
		assert_int_equal(a->sysno, waits[i].wait);
		assert_int_equal(a->why, waits[i].state ? WHY_BLOCKED : WHY_RUNNABLE);
	}
}

/* The list's reader has had its CPU for 300 ns of the scheduler's clock when it sees a thread. */
static void test_since_when(void **state)
{
	static const struct {
		u64 arrived, ran, ago;
	} threads[] = {
		{ 4000, 700, 5600 },
		{ 10000, 300, 0 },
		{ 10000, 301, 0 },	/* later than now: of a real-time thread it is not known */
	};
	const struct raw_offcpu_scan *a;
	size_t i;

	for (i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		struct iter_meta meta = { NULL };
		struct task_struct asleep;
		struct task_iter ctx = { &meta, &asleep };

		begin(13);
		host.now_ns = 1000000;
		host.task.sched_info.last_arrival = 10000;
		host.task.se.sum_exec_runtime = 900;
		host.task.se.prev_sum_exec_runtime = 600;
		asleep = host.task;
		asleep.__state = TASK_INTERRUPTIBLE;
		asleep.sched_info.last_arrival = threads[i].arrived;
		asleep.se.sum_exec_runtime = 600 + threads[i].ran;
		host_drop_records();
		on_task(&ctx);
		a = (const void *)host.records[0].data;
		assert_int_equal(a->left_ns, i == 2 ? 0 : a->time_ns - threads[i].ago);
	}
}

/* ---- both threads of a switch ---- */

/* Threads of a process: the current one, which has its frames, and another. */
static struct task_struct other_task, other_leader;

/* The other thread waits; its RAW_SWITCH_OUT was sent at *out_ns. other_process: it has its own. */
static void other_waits(bool other_process, u64 *out_ns)
{
	struct task_struct mine = host.task;
	u32 tgid = 4000;

	if (other_process) {
		other_leader = host.leader;
		other_leader.start_boottime = 99;
		host.task.group_leader = &other_leader;
		host.task.tgid = tgid;
		w.proc.start_ns = 99;
		world_put_proc(&w);
		w.proc.start_ns = 77;
	}
	host.task.pid = 4001;
	switch_out(1, false);
	*out_ns = ((const struct raw_sample *)only_record(RAW_SWITCH_OUT))->h.time_ns;
	host.now_ns += 1000;
	other_task = host.task;
	host.task = mine;
}

/* The current thread leaves its CPU to the other one. */
static void switch_to_other(void)
{
	host_drop_records();
	host.task.__state = 1;
	host_on_switch(false, &host.task, &other_task);
}

static void check_other_comes(u64 out_ns, bool other_process)
{
	const struct raw_switch_in *r = only_record(RAW_SWITCH_IN);

	assert_int_equal(r->tid, 4001);
	assert_int_equal(r->h.tgid, other_process ? 4000 : 1001);
	assert_int_equal(r->h.start_ns, other_process ? 99 : 77);
	assert_int_equal(r->out_ns, out_ns);
	assert_int_equal(r->out_lost, 0);
}

/* One entry has the record of the thread that comes, and behind it that of the one that leaves. */
static void test_both_threads(void **state)
{
	const struct raw_sample *s;
	u64 out_ns;
	int minor, other_process, i;

	EACH_MINOR(minor) {
		for (other_process = 0; other_process < 2; other_process++) {
			begin(minor);
			world_recurse(&w, 7);
			other_waits(other_process, &out_ns);
			switch_to_other();
			assert_int_equal(host.record_cnt, 2);
			assert_int_equal(host.entry_cnt, 1);
			i = 0;
			assert_non_null(host_record(RAW_SWITCH_IN, &i, NULL));
			assert_int_equal(i, 1);
			check_other_comes(out_ns, other_process);
			s = only_record(RAW_SWITCH_OUT);
			assert_int_equal(s->tid, 1001);
			assert_int_equal(s->h.tgid, 1001);
			assert_int_equal(s->h.start_ns, 77);
			assert_int_equal(s->h.time_ns,
					 ((const struct raw_switch_in *)only_record(RAW_SWITCH_IN))
						 ->h.time_ns);
			world_check_frames(&w, s, 7);
			/* It is sent once. */
			switch_in();
			assert_int_equal(host.record_cnt, 1);
			assert_int_equal(((const struct raw_switch_in *)
						  only_record(RAW_SWITCH_IN))->tid, 1001);
		}
	}
}

/* The code objects of the stack come before both. */
static void test_both_threads_and_codes(void **state)
{
	u64 out_ns;
	int i;

	begin(13);
	world_recurse(&w, 3);
	other_waits(false, &out_ns);
	world_push(&w, OWNER_THREAD, world_code(&w), 2);
	switch_to_other();
	i = 0;
	assert_non_null(host_record(RAW_CODE, &i, NULL));
	assert_int_equal(i, 1);
	assert_int_equal(host.record_cnt, 3);
	assert_int_equal(host.entry_cnt, 2);
	check_other_comes(out_ns, false);
}

static u32 lost_of(u32 tgid, u32 tid, enum counter which)
{
	u32 zero = 0, i, n = 0;
	struct loss_table *t = bpf_map_lookup_elem(&losses, &zero);

	for (i = 0; i < 2 * LOSS_SLOTS; i++)
		if (t->slots[i].tgid == tgid && t->slots[i].tid == tid)
			n += t->slots[i].cnt[which - CNT_LOSSES];
	return n;
}

/* Without room both are lost, each of its own thread. */
static void test_both_threads_lost(void **state)
{
	const struct raw_switch_in *r;
	int other_process;
	u32 tgid;
	u64 out_ns;

	for (other_process = 0; other_process < 2; other_process++) {
		begin(13);
		host.now_ns += 2 * LOSS_KEPT_NS;
		world_recurse(&w, 7);
		other_waits(other_process, &out_ns);
		tgid = other_process ? 4000 : 1001;
		host.ring_room = 0;
		switch_to_other();
		assert_int_equal(host_counter(CNT_WAIT_LOST), 1);
		assert_int_equal(lost_of(1001, 1001, CNT_WAIT_LOST), 1);
		assert_int_equal(host_counter(CNT_SWITCH_IN_LOST), 1);
		assert_int_equal(lost_of(tgid, 4001, CNT_SWITCH_IN_LOST), 1);
		/* The next switch does not send what is lost. */
		host.ring_room = 10;
		switch_in();
		assert_int_equal(host.record_cnt, 1);
		r = only_record(RAW_SWITCH_IN);
		assert_int_equal(r->tid, 1001);
		assert_int_equal(r->out_lost, 1);
	}
}

/* The thread that leaves has no stack, or its process is not recorded: the other one's is sent. */
static void test_other_thread_alone(void **state)
{
	u64 out_ns;

	begin(13);
	world_recurse(&w, 7);
	other_waits(false, &out_ns);
	world_no_frames(&w);
	switch_to_other();
	assert_int_equal(host_counter(CNT_WAIT_NOT_PYTHON), 1);
	assert_int_equal(host.record_cnt, 1);
	check_other_comes(out_ns, false);

	begin(13);
	world_recurse(&w, 7);
	other_waits(true, &out_ns);
	host.task.tgid = 5000;
	switch_to_other();
	assert_int_equal(host.record_cnt, 1);
	check_other_comes(out_ns, true);

	begin(13);
	world_recurse(&w, 7);
	other_waits(true, &out_ns);
	host_drop_records();
	host_on_switch(false, &idle_task, &other_task);
	assert_int_equal(host.record_cnt, 1);
	check_other_comes(out_ns, true);
}

/* The thread that leaves ends: its record is an entry of its own. */
static void test_other_thread_after_an_exit(void **state)
{
	u64 out_ns;

	begin(13);
	world_recurse(&w, 7);
	other_waits(false, &out_ns);
	host_drop_records();
	host.task.flags = PF_EXITING;
	host.task.__state = TASK_DEAD;
	host_on_switch(false, &host.task, &other_task);
	assert_int_equal(host.record_cnt, 2);
	assert_int_equal(host.entry_cnt, 2);
	check_other_comes(out_ns, false);
	assert_int_equal(((const struct raw_switch_in *)only_record(RAW_THREAD_EXIT))->tid, 1001);
}

/* The mode leaves out the waits of threads that do not ask for the GIL. */
static void test_other_thread_with_a_status(void **state)
{
	u8 need = STATUS_GIL_REQUESTED, any = 0;
	u64 out_ns;

	begin(13);
	world_recurse(&w, 7);
	other_waits(false, &out_ns);
	host_set(&cfg_need_status, &need, sizeof(need));
	switch_to_other();
	host_set(&cfg_need_status, &any, sizeof(any));
	assert_int_equal(host_counter(CNT_WAIT_UNWANTED), 1);
	assert_int_equal(host.record_cnt, 1);
	check_other_comes(out_ns, false);
	switch_in();
	assert_int_equal(host.record_cnt, 0);
}

/* Without budget the thread that leaves has no stack, and still both are in one entry. */
static void test_both_threads_without_budget(void **state)
{
	u64 out_ns;

	begin(13);
	host_mem_put64(W_INTERP + w.img.layout.interp_id, 0);
	world_recurse(&w, 7);
	other_waits(false, &out_ns);
	host.clock_step_ns = 10000000;
	switch_to_other();
	switch_in();
	host.clock_step_ns = 0;
	other_waits(false, &out_ns);
	switch_to_other();
	assert_int_equal(((const struct raw_sample *)only_record(RAW_SWITCH_OUT))->flags,
			 RAW_NOT_WALKED);
	assert_int_equal(host.entry_cnt, 1);
	check_other_comes(out_ns, false);
}

/* Bytes of switch-outs and switch-ins since the last wake-up. */
static u64 sent;

/* Adds sent bytes, which wake user space at UNASKED_BYTES. Returns whether they did. */
static bool add_sent(void)
{
	bool woken = host.woken;
	int i;

	for (i = 0; i < host.record_cnt; i++) {
		const struct raw_header *h = (const void *)host.records[i].data;

		if (h->kind == RAW_SWITCH_OUT || h->kind == RAW_SWITCH_IN)
			sent += host.records[i].len;
	}
	assert_true(woken == (sent >= UNASKED_BYTES));
	if (woken)
		sent = 0;
	host.woken = false;
	return woken;
}

/* A CPU asks seldom whether so much waits that user space must be woken, and then wakes it. */
static void test_wakes_user_space(void **state)
{
	static const u32 wakeup_bytes = 10000, always = 0;
	int i, woken = 0;

	begin(13);
	world_recurse(&w, 7);
	host_set(&cfg_wakeup_bytes, &wakeup_bytes, sizeof(wakeup_bytes));
	host.ring_waits = wakeup_bytes;
	for (i = 0; i < 200; i++) {
		switch_out(1, false);
		woken += add_sent();
		switch_in();
		woken += add_sent();
	}
	assert_in_range(woken, 5, 20);
	host.ring_waits = wakeup_bytes - 1;
	for (i = 0; i < 200; i++) {
		switch_out(1, false);
		switch_in();
		assert_false(host.woken);
	}
	host_set(&cfg_wakeup_bytes, &always, sizeof(always));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switch_out_and_in), cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_gil),	 cmocka_unit_test(test_gil_requested),
		cmocka_unit_test(test_others),	 cmocka_unit_test(test_thread_exit),
		cmocka_unit_test(test_no_stack), cmocka_unit_test(test_ring_full),
		cmocka_unit_test(test_slot_taken), cmocka_unit_test(test_budget),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_missed_switch_in),
		cmocka_unit_test(test_offcpu_scan),
		cmocka_unit_test(test_what_is_waited_for), cmocka_unit_test(test_since_when),
		cmocka_unit_test(test_both_threads),
		cmocka_unit_test(test_both_threads_and_codes),
		cmocka_unit_test(test_both_threads_lost),
		cmocka_unit_test(test_other_thread_alone),
		cmocka_unit_test(test_other_thread_after_an_exit),
		cmocka_unit_test(test_other_thread_with_a_status),
		cmocka_unit_test(test_both_threads_without_budget),
		cmocka_unit_test(test_wakes_user_space),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
