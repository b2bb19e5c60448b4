// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_walk.c - machine code's frames: each kind of rule, and each way in which they end. */
#include "tests/hostbpf/native_world.h"

static struct world w;

#define SP (N_STACK + 1024)

enum { LEAF, PUSHED, FRAMED, PLT, ALIGNED, SIGNAL, NO_ROW, UNSUPPORTED, START, LOST, AT_SP, RULES };

static const u32 rules[RULES] = {
	[LEAF] = ROW_SP(8, 0),
	[PUSHED] = ROW_SP(48, 2),	/* it has saved FP, and made room */
	[FRAMED] = ROW_FP(16, 2),
	[PLT] = ROW_PLT(11),
	[ALIGNED] = ROW_EXT(0),
	[SIGNAL] = UNWIND_SIGNAL,
	[NO_ROW] = UNWIND_NO_ROW,
	[UNSUPPORTED] = UNWIND_UNSUPPORTED,
	[START] = UNWIND_END,
	[LOST] = ROW_EXT(1),
	[AT_SP] = ROW_EXT(2),
};

static void make_world(void)
{
	native_world(&w, 13, 3);
	put_table(0, rules, RULES, 1);
	put_table(1, rules, RULES, 1);
	put_long_rule(0, 0, (struct unwind_rule){ .cfa = UNWIND_AT_FP, .fp = UNWIND_AT_FRAME,
						  .ra = UNWIND_AT_CFA, .cfa_off = -8,
						  .ra_off = -8 });
	put_long_rule(0, 1, (struct unwind_rule){ .cfa = UNWIND_SP, .ra = UNWIND_LOST,
						  .cfa_off = 16 });
	put_long_rule(0, 2, (struct unwind_rule){ .cfa = UNWIND_AT_SP, .cfa_off = 24,
						  .cfa_add = 16 });
}

/* A tick whose walk must end so, after so many frames. */
static const struct raw_native *expect(enum native_end end, u32 frames)
{
	const struct raw_native *r = native_tick();

	assert_non_null(r);
	assert_int_equal(r->end, end);
	assert_int_equal(r->nframes, frames);
	return r;
}

static void test_each_rule(void **state)
{
	const struct raw_native *r;
	u64 sp = SP;

	make_world();
	/* PLT, called by LEAF, by PUSHED, by FRAMED, by ALIGNED, by AT_SP, by START. */
	interrupted_at(code_at(0, PLT) + 11, sp, 0xdead);
	host_mem_put64(sp + 8, code_at(0, LEAF));	/* behind what the stub has pushed */
	host_mem_put64(sp + 16, code_at(1, PUSHED));
	sp += 24;		/* PUSHED's */
	host_mem_put64(sp + 32, SP + 512);		/* FRAMED's FP */
	host_mem_put64(sp + 40, code_at(0, FRAMED));
	host_mem_put64(SP + 512, SP + 1024);		/* ALIGNED's FP */
	host_mem_put64(SP + 520, code_at(0, ALIGNED));
	host_mem_put64(SP + 1024 - 8, SP + 3000 / 8 * 8);	/* ALIGNED's CFA */
	host_mem_put64(SP + 1024, 0x77);			/* FP that it has saved */
	host_mem_put64(SP + 3000 - 8, code_at(0, AT_SP));
	host_mem_put64(SP + 3000 + 24, SP + 3984);	/* AT_SP's CFA, minus 16 */
	host_mem_put64(SP + 4000 - 8, code_at(0, START));
	r = expect(NATIVE_WHOLE, 7);
	assert_int_equal(r->sp, SP);
	check_frame(r, 0, 0, PLT, 16);
	/* Where it is: */
	assert_int_equal(native_frames_of(r)[0].addr, N_FILE + PLT * N_ROW + 16 + 11);
	check_frame(r, 1, 0, LEAF, 24);
	/* The call: */
	assert_int_equal(native_frames_of(r)[1].addr, N_FILE + LEAF * N_ROW + 15);
	check_frame(r, 2, 1, PUSHED, 24 + 48);
	check_frame(r, 3, 0, FRAMED, 528);
	check_frame(r, 4, 0, ALIGNED, 3000);
	check_frame(r, 5, 0, AT_SP, 4000);
	check_frame(r, 6, 0, START, 4000);
	/* Before its push, the stub has the return address only. */
	interrupted_at(code_at(0, PLT), SP, 0);
	host_mem_put64(SP, code_at(0, START));
	check_frame(expect(NATIVE_WHOLE, 2), 0, 0, PLT, 8);
}

/* The frames outside of a signal handler's are those that the signal has interrupted. */
static void test_signal(void **state)
{
	const struct raw_native *r;
	u64 at = SP + 8;

	make_world();
	interrupted_at(code_at(0, LEAF), SP, 0);
	host_mem_put64(SP, code_at(0, SIGNAL));
	host_mem_put64(at + 40 + 80, SP + 2048);		/* rbp */
	host_mem_put64(at + 40 + 120, SP + 1024);		/* rsp */
	host_mem_put64(at + 40 + 128, code_at(1, FRAMED) - 16);	/* rip: a function's first */
	host_mem_put64(SP + 2048, 0);
	host_mem_put64(SP + 2056, code_at(0, START));
	r = expect(NATIVE_WHOLE, 4);
	check_frame(r, 1, 0, SIGNAL, 1024);
	check_frame(r, 2, 1, FRAMED, 2064);
	assert_int_equal(native_frames_of(r)[2].addr, N_FILE + FRAMED * N_ROW);
	/* A handler with a stack of its own, above the interrupted one. */
	host_mem_put64(at + 40 + 120, SP - 512);
	host_mem_put64(at + 40 + 128, code_at(1, LEAF));
	host_mem_put64(SP - 512, code_at(0, START));
	r = expect(NATIVE_WHOLE, 4);
	check_frame(r, 1, 0, SIGNAL, (u32)-512);
	/* Its registers are gone. */
	host_mem_put64(at + 40 + 128, 0);
	expect(NATIVE_NO_PROGRESS, 2);
}

static void test_ends(void **state)
{
	const struct raw_native *r;

	make_world();
	interrupted_at(code_at(0, LEAF), SP, SP);
	host_mem_put64(SP, 0x4444);
	r = expect(NATIVE_NO_MAPPING, 2);
	assert_int_equal(native_frames_of(r)[1].addr, 0x4443);
	assert_int_equal(native_frames_of(r)[1].file, 0);
	assert_int_equal(native_frames_of(r)[1].below, 8);	/* its CFA is not known */
	host_mem_put64(SP, 0);
	expect(NATIVE_WHOLE, 1);
	host_mem_put64(SP, code_at(0, NO_ROW));
	check_frame(expect(NATIVE_NO_ROW, 2), 1, 0, NO_ROW, 8);
	host_mem_put64(SP, code_at(0, UNSUPPORTED));
	check_frame(expect(NATIVE_UNSUPPORTED, 2), 1, 0, UNSUPPORTED, 8);
	host_mem_put64(SP, code_at(0, LOST));
	check_frame(expect(NATIVE_WHOLE, 2), 1, 0, LOST, 24);
	host_mem_put64(SP, code_at(0, RULES));		/* behind the last row */
	expect(NATIVE_NO_ROW, 2);
	host_mem_put64(SP, code_at(2, 0));		/* no table yet */
	assert_int_equal(native_frames_of(expect(NATIVE_NO_TABLE, 2))[1].file, 12);
	interrupted_at(code_at(0, FRAMED), SP, SP - 32);
	expect(NATIVE_NO_PROGRESS, 1);
	interrupted_at(code_at(0, LEAF), N_STACK + N_STACK_BYTES + 8, 0);
	check_frame(expect(NATIVE_UNREADABLE, 1), 0, 0, LEAF, 8);
	interrupted_at(code_at(0, FRAMED), SP, N_STACK + N_STACK_BYTES * 2);
	expect(NATIVE_UNREADABLE, 1);
}

/* JIT code has a mapping without a file. */
static void test_jit(void **state)
{
	const struct raw_native *r;

	make_world();
	put_mapping(2, (struct native_mapping){ code_at(2, 0), code_at(2, 8), 0x123, 40, 0 });
	*table_of(39) = (struct unwind_table){ .why = NATIVE_JIT, .stamp = 9 };
	interrupted_at(code_at(2, 1), SP, 0);
	r = expect(NATIVE_JIT, 1);
	assert_int_equal(native_frames_of(r)[0].addr, code_at(2, 1));
	assert_int_equal(native_frames_of(r)[0].file, 0);
}

static void test_without_registers(void **state)
{
	make_world();
	interrupted_at(code_at(0, START), SP, 0);
	expect(NATIVE_WHOLE, 1);
	host.regs.cs = 0x23;	/* a 32-bit program */
	expect(NATIVE_NO_REGS, 0);
	interrupted_at(0, SP, 0);
	expect(NATIVE_NO_REGS, 0);
	interrupted_at(code_at(0, START), 0, 0);
	expect(NATIVE_NO_REGS, 0);
}

/* The kernel was interrupted: the registers with which the thread has entered it. */
static void test_in_the_kernel(void **state)
{
	int helpers;

	for (helpers = 1; helpers >= 0; helpers--) {
		static u8 stack[16384] __attribute__((aligned(16)));
		struct pt_regs *regs = helpers ? &host.user_regs :
			(struct pt_regs *)(stack + sizeof(stack) - sizeof(*regs));

		make_world();
		host_task_btf = helpers;
		host.task.stack = stack;
		*regs = (struct pt_regs){ .cs = 0x33, .ip = code_at(0, FRAMED), .sp = SP,
					  .bp = SP + 64 };
		host_mem_put64(SP + 72, code_at(0, START));
		host.regs.cs = 0x10;
		check_frame(expect(NATIVE_WHOLE, 2), 0, 0, FRAMED, 80);
		regs->cs = 0x23;
		expect(NATIVE_NO_REGS, 0);
	}
}

static void test_mappings_are_not_known(void **state)
{
	u32 tgid;

	make_world();
	tgid = host.task.tgid;
	interrupted_at(code_at(0, START), SP, 0);
	bpf_map_delete_elem(&native_places, &tgid);
	expect(NATIVE_NO_MAPPINGS, 0);
}

/* So many frames, the outermost of which is the thread's first function. */
static void make_deep(u32 frames)
{
	u32 i;

	interrupted_at(code_at(0, LEAF), SP, 0);
	for (i = 0; i + 2 < frames; i++)
		host_mem_put64(SP + 8 * i, code_at(0, LEAF));
	host_mem_put64(SP + 8 * i, code_at(0, START));
}

/* Frame i of such a walk is where the record says. */
static void check_deep(const struct raw_native *r, u32 frames, u32 i)
{
	u32 at = i < RAW_NATIVE_INNER || !r->left_out ? i :
		 RAW_NATIVE_INNER + i % RAW_NATIVE_OUTER;
	bool start = i == frames - 1;

	check_frame(r, at, 0, start ? START : LEAF, 8 * (i + !start));
}

static void test_depth(void **state)
{
	static const u32 beyond[] = { 1, 2, 100, 255, 256, 257, 511, 512, 513, 2000,
				      NATIVE_STEPS - RAW_NATIVE_FRAMES };
	const struct raw_native *r;
	u32 entries, frames, i, k;

	/* The frames follow the entries, however many there are. */
	for (entries = 0; entries <= 3; entries += 3) {
		make_world();
		for (i = 0; i < entries; i++) {
			world_shim(&w);
			world_push(&w, OWNER_THREAD, 0, 2);
		}
		make_deep(RAW_NATIVE_FRAMES);
		r = expect(NATIVE_WHOLE, RAW_NATIVE_FRAMES);
		assert_int_equal(r->nentries, 1 + entries);
		assert_int_equal(r->left_out, 0);
		for (i = 0; i < RAW_NATIVE_FRAMES; i++)
			check_deep(r, RAW_NATIVE_FRAMES, i);
		for (k = 0; k < sizeof(beyond) / sizeof(beyond[0]); k++) {
			frames = RAW_NATIVE_FRAMES + beyond[k];
			make_deep(frames);
			r = expect(NATIVE_WHOLE, RAW_NATIVE_FRAMES);
			assert_int_equal(r->left_out, beyond[k]);
			for (i = 0; i < RAW_NATIVE_INNER; i++)
				check_deep(r, frames, i);
			for (i = frames - RAW_NATIVE_OUTER; i < frames; i++)
				check_deep(r, frames, i);
		}
	}
	/* Deeper than a walk goes: the outermost that it has met. */
	make_deep(NATIVE_STEPS + 1);
	r = expect(NATIVE_DEPTH, RAW_NATIVE_FRAMES);
	assert_int_equal(r->left_out, NATIVE_STEPS - RAW_NATIVE_FRAMES);
	for (i = NATIVE_STEPS - RAW_NATIVE_OUTER; i < NATIVE_STEPS; i++)
		check_deep(r, NATIVE_STEPS + 1, i);
}

/* The Python frames have used the sample's time, or the machine code's do. */
static void test_time(void **state)
{
	unsigned int limit = 1000, none = 0;
	const struct raw_native *r;
	u32 i;

	make_world();
	interrupted_at(code_at(0, LEAF), SP, 0);
	for (i = 0; i < 100; i++)
		host_mem_put64(SP + 8 * i, code_at(0, LEAF));
	host_set(&cfg_limit_ns, &limit, sizeof(limit));
	host.clock_step_ns = 300;
	r = native_tick();
	assert_non_null(r);
	assert_int_equal(r->end, NATIVE_TIME);
	assert_in_range(r->nframes, 1, 60);
	host.clock_step_ns = 2000;
	expect(NATIVE_TIME, 0);
	host.clock_step_ns = 0;
	host_set(&cfg_limit_ns, &none, sizeof(none));
	expect(NATIVE_WHOLE, 101);
}

/* Frames larger than the window, and the last ones below the end of the mapped stack. */
static void test_windows(void **state)
{
	u32 big[2] = { ROW_SP(8 * 1000, 0), UNWIND_END };
	u64 sp = N_STACK + N_STACK_BYTES - 8000 * 3;
	u32 i;

	make_world();
	put_table(0, big, 2, 2);
	interrupted_at(code_at(0, 0), sp, 0);
	for (i = 1; i <= 3; i++)
		host_mem_put64(sp + 8000 * i - 8, code_at(0, i == 3));
	host.reads = 0;
	check_frame(expect(NATIVE_WHOLE, 4), 2, 0, 0, 24000);
}

/* A table or mappings that change are used at once, and no entry of the cache survives them. */
static void test_cache(void **state)
{
	u32 other[RULES];

	make_world();
	interrupted_at(code_at(0, LEAF), SP, 0);
	host_mem_put64(SP, code_at(0, START));
	host_mem_put64(SP + 8, code_at(0, START));
	check_frame(expect(NATIVE_WHOLE, 2), 0, 0, LEAF, 8);
	memcpy(other, rules, sizeof(rules));
	other[LEAF] = ROW_SP(16, 0);
	put_table(0, other, RULES, 1);		/* the same stamp: the cache has the old rule */
	check_frame(expect(NATIVE_WHOLE, 2), 0, 0, LEAF, 8);
	put_table(0, other, RULES, 2);
	check_frame(expect(NATIVE_WHOLE, 2), 0, 0, LEAF, 16);
	table_of(0)->row_cnt = 0;		/* it gave way */
	table_of(0)->why = NATIVE_NO_TABLE;
	table_of(0)->stamp = 3;
	expect(NATIVE_NO_TABLE, 1);
	put_mapping(0, (struct native_mapping){ N_CODE, N_CODE + N_STEP, N_CODE - N_FILE, 2, 77 });
	put_place(3, 2);
	assert_int_equal(native_frames_of(expect(NATIVE_WHOLE, 2))[0].file, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rule),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_jit),
		cmocka_unit_test(test_without_registers),
		cmocka_unit_test(test_in_the_kernel),
		cmocka_unit_test(test_mappings_are_not_known),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_cache),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
