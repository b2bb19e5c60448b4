// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_records.c - which records have machine code's frames, and which calls from C lie
 * among them (entries); whose mappings a process has after fork, exec and exit.
 */
#include "tests/hostbpf/native_world.h"

static struct world w;
static struct task_struct idle_task;

#define SP (N_STACK + 1024)
#define CFRAME (W_CSTACK + 8192)	/* world_enter()'s */

/* A thread in a function that the thread's first one has called. */
static void make_world(int minor)
{
	static const u32 rules[] = { ROW_SP(8, 0), UNWIND_END };

	native_world(&w, minor, 1);
	put_table(0, rules, 2, 1);
	interrupted_at(code_at(0, 0), SP, 0);
	host.user_regs = (struct pt_regs){ .cs = 0x33, .ip = code_at(0, 0), .sp = SP };
	host_mem_put64(SP, code_at(0, 1));
}

static void set(const volatile bool *setting, bool v)
{
	host_set(setting, &v, sizeof(v));
}

static void test_without_native(void **state)
{
	make_world(13);
	native_switch(false);
	assert_null(native_tick());
	native_switch(true);
	assert_non_null(native_tick());
}

/* The RAW_NATIVE comes right before the RAW_EXTRA or the sample, with the same header and tid. */
static void test_order(void **state)
{
	const struct raw_native *r;
	const struct raw_sample *s;
	const struct raw_extra *x;
	int i = 0;

	make_world(13);
	set(&cfg_kernel_stacks, true);
	host.kernel_frames = 2;
	host.kernel_stack[0] = 0xffffffff81000010;
	host.regs.cs = 0x10;
	r = native_tick();
	assert_non_null(r);
	assert_int_equal(r->end, NATIVE_WHOLE);
	assert_int_equal(r->nframes, 2);
	while (host.records[i].data != (const u8 *)r)
		i++;
	x = (const void *)host.records[i + 1].data;
	s = (const void *)host.records[i + 2].data;
	assert_int_equal(x->h.kind, RAW_EXTRA);
	assert_int_equal(x->nkernel, 2);
	assert_int_equal(x->kernel[0], host.kernel_stack[0]);
	assert_int_equal(s->h.kind, RAW_SAMPLE);
	assert_int_equal(r->h.time_ns, s->h.time_ns);
	assert_int_equal(r->h.tgid, s->h.tgid);
	assert_int_equal(r->h.start_ns, s->h.start_ns);
	assert_int_equal(r->tid, s->tid);
	assert_int_equal(r->cpu, s->cpu);
	assert_int_equal(r->interp_id, s->interp_id);
	/* User space was interrupted: there is no kernel stack. */
	host.regs.cs = 0x33;
	assert_non_null(native_tick());
	i = 0;
	assert_null(host_record(RAW_EXTRA, &i, NULL));
	set(&cfg_kernel_stacks, false);
}

/* The machine code's frames are lost, the Python frames are not, or are, too. */
static void test_ring_full(void **state)
{
	make_world(13);
	assert_non_null(native_tick());	/* all code objects are sent now */
	host.ring_room = 0;
	assert_null(native_tick());
	assert_int_equal(host_counter(CNT_NATIVE_LOST), 1);
	assert_int_equal(host_counter(CNT_RING_FULL), 1);
}

/* Threads without Python frames have machine code, too, if such ticks are sent. */
static void test_no_stack(void **state)
{
	const struct raw_native *r;
	int i = 0;

	make_world(13);
	world_set_frame(&w, 0);
	assert_null(native_tick());
	set(&cfg_native_threads, true);
	r = native_tick();
	assert_non_null(r);
	assert_int_equal(r->nframes, 2);
	assert_int_equal(r->nentries, 0);
	assert_non_null(host_record(RAW_NO_STACK, &i, NULL));
	host.task.flags |= PF_EXITING;	/* its registers are of no use */
	assert_int_equal(native_tick()->end, NATIVE_NO_REGS);
	host.mm.start_code = 0;		/* in an exec */
	host_mem_unmap(W_TSTATE, 4096);
	host.task.flags = 0;
	assert_null(native_tick());
	set(&cfg_native_threads, false);
}

static void switch_out(void)
{
	host_drop_records();
	host.task.__state = 1;
	host_on_switch(false, &host.task, &idle_task);
}

/* A thread that leaves its CPU has the registers with which it has entered the kernel. */
static void test_switch_out(void **state)
{
	const struct raw_native *r;
	const struct raw_sample *s;
	int i = 0, k = 0;

	make_world(13);
	host_mem_put64(SP + 8, code_at(0, 0));
	host_mem_put64(SP + 16, code_at(0, 1));
	host.user_regs.sp = SP + 8;
	host.now_ns += 1000000000;	/* there is a budget */
	switch_out();
	r = host_record(RAW_NATIVE, &i, NULL);
	s = host_record(RAW_SWITCH_OUT, &k, NULL);
	assert_non_null(r);
	assert_non_null(s);
	assert_int_equal(i, k - 1);
	assert_int_equal(r->h.time_ns, s->h.time_ns);
	assert_int_equal(r->end, NATIVE_WHOLE);
	assert_int_equal(r->nframes, 3);
	assert_int_equal(r->sp, SP + 8);
	assert_int_equal(r->nentries, 1);
}

/* Without budget the RAW_SWITCH_OUT has no stack of either kind. The walks spend the budget. */
static void test_switch_budget(void **state)
{
	int i, k, walked = 0;

	make_world(13);
	host.clock_step_ns = 300000;
	host.now_ns += 1000000000;
	for (k = 0; k < 20; k++) {
		switch_out();
		i = 0;
		walked += host_record(RAW_NATIVE, &i, NULL) != NULL;
		i = 0;
		assert_non_null(host_record(RAW_SWITCH_OUT, &i, NULL));
	}
	assert_in_range(walked, 1, 10);
	assert_true(host_counter(CNT_WAIT_NOT_WALKED) > 0);
}

/* 3.12 and later: each call from C has a shim. */
static void test_shims(void **state)
{
	const struct raw_native *r;
	u64 outer, inner;
	int minor;

	for (minor = 12; minor <= LAYOUT_MINOR_MAX; minor++) {
		make_world(minor);
		outer = w.top;
		world_recurse(&w, 3);
		world_shim(&w);
		inner = w.top;
		world_recurse(&w, 2);
		r = native_tick();
		assert_non_null(r);
		assert_int_equal(r->nentries, 2);
		assert_int_equal(r->entries[0].at, inner);
		assert_int_equal(r->entries[0].frames, 2);
		assert_int_equal(r->entries[1].frames, 2 + 3 + 1);
		assert_true(r->entries[1].at > r->entries[0].at && r->entries[1].at != outer);
	}
}

/* 3.11: the frame that C has called the interpreter with, and the call's _PyCFrame. */
static void test_entry_frames(void **state)
{
	const struct py_layout *l = &w.img.layout;
	const struct raw_native *r;
	u64 from;

	make_world(11);
	host_mem_put8(w.top + l->fr_base + l->fr_is_entry, 1);
	world_recurse(&w, 2);
	from = w.top;
	world_recurse(&w, 1);
	host_mem_put8(w.top + l->fr_base + l->fr_is_entry, 1);
	world_recurse(&w, 3);
	world_enter(&w, w.top, from);
	r = native_tick();
	assert_non_null(r);
	assert_int_equal(r->nentries, 2);
	assert_int_equal(r->entries[0].at, CFRAME);
	assert_int_equal(r->entries[0].frames, 4);
	assert_int_equal(r->entries[1].at, W_ROOT_CFRAME);
	assert_int_equal(r->entries[1].frames, 7);
	/* When the call is not complete, the stack begins at its caller; so do the entries. */
	host_mem_put64(CFRAME + l->cframe_frame, 0x666);
	r = native_tick();
	assert_non_null(r);
	assert_int_equal(r->nentries, 1);
	assert_int_equal(r->entries[0].at, W_ROOT_CFRAME);
	assert_int_equal(r->entries[0].frames, 3);
}

/* Up to 3.10 each Python frame is an entry, and none is sent. */
static void test_no_entries(void **state)
{
	int minor;

	for (minor = LAYOUT_MINOR_MIN; minor <= 10; minor++) {
		make_world(minor);
		world_recurse(&w, 20);
		assert_int_equal(native_tick()->nentries, 0);
	}
}

/* More entries than fit: the outer ones are left out. */
static void test_many_entries(void **state)
{
	const struct raw_native *r;
	int i;

	make_world(13);
	for (i = 0; i < RAW_NATIVE_ENTRIES + 20; i++) {
		world_shim(&w);
		world_push(&w, OWNER_THREAD, 0, 2);
	}
	r = native_tick();
	assert_int_equal(r->nentries, RAW_NATIVE_ENTRIES);
	assert_int_equal(r->entries[RAW_NATIVE_ENTRIES - 1].frames, RAW_NATIVE_ENTRIES);
}

static struct native_place *place_of(u32 tgid)
{
	return bpf_map_lookup_elem(&native_places, &tgid);
}

static void test_lifecycle(void **state)
{
	struct task_struct child;
	u32 tgid = 1001, children = WATCH_CHILDREN;

	make_world(13);
	assert_int_equal(bpf_map_update_elem(&watched, &tgid, &children, BPF_ANY), 0);
	child = host.task;
	child.pid = child.tgid = 2002;
	child.start_boottime = 99;
	host_on_fork(&host.task, &child);
	assert_non_null(place_of(2002));
	assert_memory_equal(place_of(2002), place_of(1001), sizeof(struct native_place));
	host_on_exec(&host.task, 1001, &host.bprm);
	assert_null(place_of(1001));
	assert_non_null(place_of(2002));
	host_on_exit(&child);
	assert_null(place_of(2002));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_native),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_ring_full),
		cmocka_unit_test(test_no_stack),
		cmocka_unit_test(test_switch_out),
		cmocka_unit_test(test_switch_budget),
		cmocka_unit_test(test_shims),
		cmocka_unit_test(test_entry_frames),
		cmocka_unit_test(test_no_entries),
		cmocka_unit_test(test_many_entries),
		cmocka_unit_test(test_lifecycle),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
