// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_outer.c - a thread that runs an interpreter inside another one has the frames of both. */
#include "world.h"

static struct world w;

#define SUB (W_INTERP + 0x200000)	/* interpreter 5, which runs */
#define OUT (W_TSTATE + 0x10000)	/* the thread's state in the main interpreter */
#define OTHER (W_TSTATE + 0x20000)	/* another thread's */
#define CFRAME (W_CSTACK - 4096)
#define OUTER 3
#define INNER 4
#define OUTER_MAX 8	/* bpf/pyscratch.bpf.h */

/* A state of the main interpreter, whose current frame this is. */
static void put_state(u64 ts, u64 thread_id, u64 next, u64 frame, u64 cframe)
{
	const struct py_layout *l = &w.img.layout;

	host_mem_map(ts, 4096);
	host_mem_put64(ts + l->ts_interp, W_INTERP);
	host_mem_put64(ts + l->ts_thread_id, thread_id);
	host_mem_put64(ts + l->ts_next, next);
	host_mem_put64(ts + l->ts_frame, frame);
	host_mem_map(cframe, 64);
	if (l->cframe_frame != ABI_NO_OFF) {
		host_mem_put64(cframe + l->cframe_frame, frame);
		host_mem_put64(ts + l->ts_frame, cframe);
	} else if (l->ts_cframe != ABI_NO_OFF) {
		host_mem_put64(ts + l->ts_cframe, cframe);
	}
}

/* OUTER frames in the main interpreter, which have called INNER ones. */
static void begin(int minor, u32 outer)
{
	const struct py_layout *l = &w.img.layout;
	u64 top;

	world_init(&w, minor);
	host.regs.sp = W_CSTACK - 64 * 1024;
	world_recurse(&w, outer);
	top = w.top;
	world_set_frame(&w, 0);
	world_shim(&w);
	world_recurse(&w, INNER);
	host_mem_map(SUB, 256 * 1024);
	host_mem_put64(SUB + l->interp_id, 5);
	host_mem_put64(W_INTERP + l->interp_id, 0);
	host_mem_put64(W_TSTATE + l->ts_interp, SUB);
	if (l->interp_epoch != ABI_NO_OFF32)
		host_mem_put32(SUB + l->interp_epoch, 7);
	if (l->gil_how == PY_GIL_RT_CURRENT)
		host_mem_put64(w.proc.current, W_TSTATE);
	host_mem_put64(w.proc.interps, SUB);
	host_mem_put64(SUB + l->interp_next, W_INTERP);
	host_mem_put64(SUB + l->interp_threads_head, W_TSTATE);
	host_mem_put64(W_INTERP + l->interp_threads_head, OTHER);
	put_state(OTHER, 0xdead, OUT, top, 0x123000);
	put_state(OUT, W_TP, 0, top, CFRAME);
}

/* What tells that a state is this thread's, if it runs: see is_outer(). */
static bool is_known(int minor)
{
	return minor >= 10;
}

static void expect_frame(const struct raw_frame *got, const struct raw_frame *want)
{
	assert_int_equal(got->code, want->code);
	assert_int_equal(got->lasti, want->lasti);
	assert_int_equal(got->id, want->id);
}

/* All frames, and between them which interpreter those further inside belong to. */
static void expect_both(void)
{
	const struct raw_sample *s = world_sample();
	u32 i;

	assert_non_null(s);
	assert_int_equal(s->flags, 0);
	assert_int_equal(s->interp_id, 5);
	assert_int_equal(s->nframes, INNER + 1 + OUTER);
	for (i = 0; i < INNER; i++)
		expect_frame(&s->frames[i], &w.want[w.want_cnt - 1 - i]);
	assert_int_equal(raw_frame_kind(&s->frames[INNER]), FRAME_SYNTHETIC);
	assert_int_equal(s->frames[INNER].code, 5);
	for (i = 0; i < OUTER; i++)
		expect_frame(&s->frames[INNER + 1 + i], &w.want[OUTER - 1 - i]);
}

static void expect_inner(u8 flags)
{
	const struct raw_sample *s = world_sample();

	assert_non_null(s);
	assert_int_equal(s->flags, flags);
	assert_int_equal(s->nframes, INNER);
}

static void test_both(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		if (minor == 6)		/* it has no ids */
			continue;
		begin(minor, OUTER);
		if (is_known(minor))
			expect_both();
		else
			expect_inner(0);
	}
}

/* The thread has states in other interpreters, which it does not run. */
static void test_idle_states(void **state)
{
	int minor;

	for (minor = 10; minor <= 15; minor++) {
		begin(minor, OUTER);
		put_state(OUT, W_TP, 0, 0, 0x123000);
		expect_inner(0);
		begin(minor, 0);	/* only a shim */
		expect_inner(0);
	}
}

/* Up to 3.12 a state that another thread runs may have this thread's id. */
static void test_foreign_ids(void **state)
{
	int minor;

	for (minor = 10; minor <= 12; minor++) {
		begin(minor, OUTER);
		host_mem_put64(OTHER + w.img.layout.ts_thread_id, W_TP);
		host_mem_put64(OUT + w.img.layout.ts_thread_id, 0xdead);
		expect_both();
	}
}

/* Lists without an end, and those that lead nowhere. */
static void test_hostile_lists(void **state)
{
	const struct raw_sample *s;
	int minor;

	for (minor = 10; minor <= 15; minor++) {
		const struct py_layout *l = &w.img.layout;

		begin(minor, OUTER);
		host_mem_put64(OTHER + l->ts_next, OTHER);
		expect_inner(RAW_TRUNCATED);
		begin(minor, OUTER);
		host_mem_put64(OTHER + l->ts_next, 0x10);
		expect_inner(RAW_TRUNCATED);
		begin(minor, OUTER);
		host_mem_put64(OUT + l->ts_next, OUT);
		s = world_sample();
		assert_int_equal(s->flags, RAW_TRUNCATED);
		assert_int_equal(s->nframes, INNER + OUTER_MAX * (1 + OUTER));
		begin(minor, OUTER);
		host_mem_put64(OUT + l->ts_interp, 0x10);
		assert_int_equal(world_sample()->flags, RAW_TRUNCATED);
	}
}

static void test_deep(void **state)
{
	const struct raw_sample *s;
	int minor;

	for (minor = 10; minor <= 15; minor++) {
		begin(minor, 300);
		s = world_sample();
		assert_int_equal(s->flags, RAW_TRUNCATED);
		assert_int_equal(s->nframes, ABI_MAX_FRAMES);
		expect_frame(&s->frames[255], &w.want[300 - 1 - (255 - INNER - 1)]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_idle_states),
		cmocka_unit_test(test_foreign_ids),
		cmocka_unit_test(test_hostile_lists),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
