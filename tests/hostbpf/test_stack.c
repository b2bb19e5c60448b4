// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_stack.c - intact and broken chains of frames of every supported CPython.
 */
#include "world.h"

static struct world w;

static void test_one_frame(void **state)
{
	const struct raw_sample *s;
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_push(&w, OWNER_THREAD, world_code(&w), 34);
		s = world_expect(&w, 1, 0);
		assert_int_equal(s->h.tgid, 1001);
		assert_int_equal(s->tid, 1001);
		assert_int_equal(s->h.start_ns, 77);
		assert_true(s->h.time_ns >= 1000);
		assert_int_equal(s->interp_id, world_interp_id(&w));
		assert_int_equal(s->status, STATUS_ON_CPU | STATUS_MAIN_THREAD);
		host.task.pid = 1002;
		host.cpu = 1;
		s = world_expect(&w, 1, 0);
		assert_int_equal(s->tid, 1002);
		assert_int_equal(s->cpu, 1);
	}
}

/* An instruction far from the start of its code changes no kind, and is no line. */
static void test_far_instruction(void **state)
{
	static const s32 far[] = {
		RAW_LASTI_LINE - 2, RAW_LASTI_LINE - 1, RAW_LASTI_LINE, RAW_LASTI_LINE + 1,
		RAW_LASTI_NONE - 1, RAW_LASTI_NONE, 2 * RAW_LASTI_NONE, INT32_MAX,
	};
	int minor;
	u32 i;

	EACH_MINOR(minor) {
		for (i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
			s32 lasti, unit;

			world_init(&w, minor);
			unit = w.img.layout.lasti_unit;
			lasti = unit ? far[i] / unit * unit : far[i];
			world_push(&w, OWNER_THREAD, world_code(&w), lasti);
			if (lasti >= (s32)RAW_LASTI_LINE)
				w.want[0].lasti = RAW_LASTI_NONE;
			world_expect(&w, 1, 0);
		}
	}
}

#define EACH_FREE_THREADED(build)                                                                 \
	for ((build) = 13 + FREE_THREADED; (build) <= 15 + FREE_THREADED; (build)++)

static void test_free_threaded(void **state)
{
	int build;

	EACH_FREE_THREADED(build) {
		world_init(&w, build);
		w.code_tag = w.img.layout.code_tag_mask ? 1 : 0;
		world_recurse(&w, 70);
		world_expect(&w, 70, 0);
	}
}

#define TLBC 0x6300000000ull	/* an array of bytecodes, per thread */

/*
 * Write an array of bytecode copies for the newest frame's code object: its size is cnt, and copy i
 * is at 0x7000 + 4096 i. The frame's instruction is lasti bytes after the start of copy index.
 */
static void own_bytecode_at(u64 cnt, u32 index, u32 lasti)
{
	const struct py_layout *l = &w.img.layout;
	u64 i;

	host_mem_map(TLBC, 4096);
	host_mem_put64(w.want[w.want_cnt - 1].code + l->co_tlbc, TLBC);
	host_mem_put64(TLBC, cnt);
	for (i = 0; i < 100; i++)
		host_mem_put64(TLBC + 8 + 8 * i, 0x7000 + 4096 * i);
	host_mem_put32(w.top + l->fr_tlbc_index, index);
	host_mem_put64(w.top + l->fr_ip, 0x7000 + 4096 * (u64)index + lasti);
}

/* 3.14t and later: a frame's instruction is in its thread's own copy of the bytecode. */
static void test_own_bytecode(void **state)
{
	int build;
	u32 i;

	for (build = 14 + FREE_THREADED; build <= 15 + FREE_THREADED; build++) {
		struct raw_frame *top;

		world_init(&w, build);
		world_recurse(&w, 3);
		top = &w.want[w.want_cnt - 1];
		for (i = 1; i < 100; i++) {
			top->lasti = 2 * i;
			own_bytecode_at(100, i, 2 * i);
			world_expect(&w, 3, 0);
		}
		assert_int_equal(host_counter(CNT_NO_BYTECODE), 0);
		/* Index 0 is the code object's own bytecode, whatever the array has. */
		host_mem_put32(w.top + w.img.layout.fr_tlbc_index, 0);
		host_mem_put64(w.top + w.img.layout.fr_ip, top->code + w.img.layout.co_code + 14);
		top->lasti = 14;
		world_expect(&w, 3, 0);
	}
}

/* A copy that is unreadable leads to no line, not to a wrong one; it is counted. */
static void test_own_bytecode_hostile(void **state)
{
	const struct py_layout *l = &w.img.layout;
	struct raw_frame *top;
	u64 array;

	world_init(&w, 14 + FREE_THREADED);
	world_recurse(&w, 3);
	top = &w.want[w.want_cnt - 1];
	top->lasti = RAW_LASTI_NONE;
	array = top->code + l->co_tlbc;
	own_bytecode_at(100, 100, 2);		/* after the end */
	world_expect(&w, 3, 0);
	own_bytecode_at(100, UINT32_MAX, 2);
	world_expect(&w, 3, 0);
	own_bytecode_at(0, 1, 2);
	world_expect(&w, 3, 0);
	own_bytecode_at(UINT64_MAX, 5000, 2);	/* more entries than are mapped */
	world_expect(&w, 3, 0);
	own_bytecode_at(100, 1, 2);
	host_mem_put64(array, 0);
	world_expect(&w, 3, 0);
	host_mem_put64(array, 0x10);
	world_expect(&w, 3, 0);
	own_bytecode_at(100, 1, 2);
	host_mem_put64(TLBC + 8 + 8, 0);	/* not made yet */
	world_expect(&w, 3, 0);
	host_mem_put64(TLBC + 8 + 8, 0x900000);	/* starts after the instruction */
	world_expect(&w, 3, 0);
	assert_int_equal(host_counter(CNT_NO_BYTECODE), 6);
}

static void test_no_frames(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_expect_end(CNT_NO_FRAMES);
		world_set_frame(&w, 0);
		world_expect_end(CNT_NO_FRAMES);
		host_mem_put64(W_TSTATE + w.img.layout.ts_frame, 0);
		world_expect_end(CNT_NO_FRAMES);
	}
}

/* Up to 256 frames the stack is complete; beyond, it has the innermost 256 and is truncated. */
static void test_depths(void **state)
{
	static const u32 depths[] = { 2, 23, 100, 255, 256, 257, 400, 1000 };
	int minor;
	size_t i;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		for (i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
			u64 truncated = host_counter(CNT_TRUNCATED);
			bool deep = depths[i] > ABI_MAX_FRAMES;

			world_no_frames(&w);
			world_recurse(&w, depths[i]);
			world_expect(&w, deep ? ABI_MAX_FRAMES : depths[i],
				     deep ? RAW_TRUNCATED : 0);
			assert_int_equal(host_counter(CNT_TRUNCATED), truncated + deep);
		}
	}
}

/* One read brings many frames of a data stack. */
static void test_reads_per_frame(void **state)
{
	world_init(&w, 13);
	world_recurse(&w, 200);
	world_expect(&w, 200, 0);
	world_expect(&w, 200, 0);
	world_expect(&w, 200, 0);	/* all code objects were sent, and the epoch is the same */
	assert_in_range(host.reads, 1, 26);
}

/* Frames of all sizes in several chunks, up to the last byte of each. */
static void test_chunks(void **state)
{
	u32 locals;
	int minor;

	EACH_MINOR(minor) {
		for (locals = 0; locals < 40; locals++) {
			world_init(&w, minor);
			w.locals = locals;
			world_recurse(&w, 250);
			world_expect(&w, 250, 0);
		}
	}
}

/* The last frame of a chunk ends where the mapping does. */
static void test_chunk_end(void **state)
{
	u64 at;
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_push(&w, OWNER_THREAD, world_code(&w), 2);
		at = w.chunk + W_CHUNK_BYTES -
		     ((w.img.layout.fr_base + w.img.layout.fr_bytes + 7) & ~7u);
		world_push_at(&w, at, OWNER_THREAD, world_code(&w), 4);
		world_new_chunk(&w);
		world_push(&w, OWNER_THREAD, world_code(&w), 6);
		world_expect(&w, 3, 0);
	}
}

/* A chunk can be at any address, below or above the one before it. */
static void test_chunk_below(void **state)
{
	int i;

	world_init(&w, 14);
	for (i = 0; i < 30; i++) {
		u64 at = W_CHUNK + 0x100000000ull + (i % 3) * 0x10000000ull - i * 0x100000ull;

		host_mem_map(at, 4096);
		world_push_at(&w, at + 40 * i, OWNER_THREAD, world_code(&w), 2 * i);
	}
	world_expect(&w, 30, 0);
}

/* Objects have two more pointers at their start, and up to 3.10 frames are objects. */
static void test_trace_refs(void **state)
{
	int minor, i;

	for (minor = LAYOUT_MINOR_MIN; minor <= 12; minor++) {
		world_init(&w, minor + TRACE_REFS);
		assert_int_equal(w.img.layout.fr_base, minor <= 10 ? 40 : 0);
		for (i = 0; i < 60; i++)
			world_push(&w, i % 3 ? OWNER_GENERATOR : OWNER_THREAD, world_code(&w),
				   2 * i);
		world_expect(&w, 60, 0);
		host_mem_unmap(w.at[20], 200);
		world_expect(&w, 39, RAW_UNREADABLE);
	}
}

static void test_generators(void **state)
{
	int minor, i;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		for (i = 0; i < 60; i++)
			world_push(&w, i % 3 ? OWNER_GENERATOR : OWNER_THREAD, world_code(&w),
				   2 * i);
		world_expect(&w, 60, 0);
		world_push(&w, OWNER_GENERATOR, world_code(&w), -2);	/* no instruction yet */
		world_expect(&w, 61, 0);
	}
}

/* Python code called by C code called by Python code: shims are not shown. */
static void test_shims(void **state)
{
	int minor, i;

	for (minor = 12; minor <= LAYOUT_MINOR_MAX; minor++) {
		world_init(&w, minor);
		world_shim(&w);		/* 3.15 ends with two */
		for (i = 0; i < 120; i++) {
			world_push(&w, OWNER_THREAD, world_code(&w), 2 * i);
			world_shim(&w);
			if (i % 7 == 0)
				world_push(&w, 4, 0, 0);	/* 3.14: CSTACK */
		}
		world_expect(&w, 120, 0);
	}
}

/* More shims than steps: the stack is truncated. */
static void test_too_many_shims(void **state)
{
	const struct raw_sample *s;
	int i;

	world_init(&w, 14);
	for (i = 0; i < 250; i++) {
		world_push(&w, OWNER_THREAD, i ? 0 : world_code(&w), 2 * i);
		world_shim(&w);
		world_shim(&w);
	}
	s = world_sample();
	assert_non_null(s);
	assert_int_equal(s->flags, RAW_TRUNCATED);
	assert_true(s->nframes > 150 && s->nframes < 250);
	world_check_frames(&w, s, s->nframes);
}

/* References to code objects have a tag from 3.14 on. */
static void test_tags(void **state)
{
	u8 tag;
	int minor;

	for (minor = 14; minor <= LAYOUT_MINOR_MAX; minor++) {
		for (tag = 0; tag < 4; tag++) {
			world_init(&w, minor);
			w.code_tag = tag;
			world_recurse(&w, 10);
			world_expect(&w, 10, 0);
		}
	}
}

/* A frame without code is skipped, not shown. */
static void test_no_code(void **state)
{
	const struct py_layout *l = &w.img.layout;

	world_init(&w, 13);
	world_recurse(&w, 3);
	world_push(&w, OWNER_THREAD, 0, 0);
	host_mem_put64(w.top + l->fr_base + l->fr_code, 0);
	w.want_cnt--;
	world_push(&w, OWNER_THREAD, world_code(&w), 8);
	world_expect(&w, 4, 0);
}

/* An intact chain ends at a shim (3.12+). */
static void test_broken_end(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		u8 flag = minor <= 11 ? 0 : RAW_BROKEN_END;

		world_init(&w, minor);
		world_recurse(&w, 5);
		world_expect(&w, 5, 0);
		host_mem_put64(w.at[1] + w.img.layout.fr_base + w.img.layout.fr_previous, 0);
		world_expect(&w, 4, flag);
		assert_int_equal(host_counter(CNT_BROKEN_END), flag ? 1 : 0);
	}
}

static void test_cycles(void **state)
{
	const struct raw_sample *s;
	u32 i;
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 5);
		host_mem_put64(w.at[2] + w.img.layout.fr_base + w.img.layout.fr_previous, w.at[4]);
		s = world_sample();
		assert_non_null(s);
		assert_int_equal(s->flags, RAW_TRUNCATED);
		assert_int_equal(s->nframes, ABI_MAX_FRAMES);
		for (i = 0; i < s->nframes; i++)
			assert_memory_equal(&s->frames[i], &w.want[4 - i % 3], sizeof(w.want[0]));
	}
	/* A cycle of shims: the walk ends without frames. */
	world_init(&w, 14);
	host_mem_put64(w.top + w.img.layout.fr_base + w.img.layout.fr_previous, w.top);
	world_expect_end(CNT_NO_FRAMES);
}

/* A page in the middle is not mapped: the sample has the inner frames and RAW_UNREADABLE. */
static void test_unmapped_middle(void **state)
{
	u32 cut;
	int minor;

	EACH_MINOR(minor) {
		for (cut = 1; cut < 30; cut++) {
			world_init(&w, minor);
			for (u32 i = 0; i < 30; i++) {
				host_mem_map(W_HEAP + i * 0x10000, 4096);
				world_push_at(&w, W_HEAP + i * 0x10000 + 64, OWNER_GENERATOR,
					      world_code(&w), 2 * i);
			}
			host_mem_unmap(w.at[30 - 1 - cut], 4096);
			world_expect(&w, cut, RAW_UNREADABLE);
			assert_int_equal(host_counter(CNT_UNREADABLE_FRAME), 1);
		}
	}
}

/* The same in a data stack, of which one read brings many frames. */
static void test_unmapped_chunk_page(void **state)
{
	u32 kept = 0;
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 70);
		host_mem_unmap(w.chunk + 4096, 4096);
		for (kept = 0; kept < 70; kept++) {
			u64 at = w.at[69 - kept];

			at += w.img.layout.fr_base;
			if (at < w.chunk + 8192 &&
			    at + w.img.layout.fr_bytes > w.chunk + 4096)
				break;
		}
		assert_in_range(kept, 1, 69);
		world_expect(&w, kept, RAW_UNREADABLE);
	}
}

/* The first frame is unreadable: a sample without frames and with RAW_UNREADABLE. */
static void test_unreadable_first(void **state)
{
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		world_recurse(&w, 3);
		world_set_frame(&w, 0x7fdead000000);
		world_expect(&w, 0, RAW_UNREADABLE);
		assert_int_equal(host_counter(CNT_UNREADABLE_FRAME), 1);
	}
}

/* Pointers to the first page, kernel memory, unmapped memory, the middle of objects. */
static void test_wild_pointers(void **state)
{
	static const u64 wild[] = {
		1, 8, 64, 100, 1000, 1900, 1968, 1976, 2047, 2048, 4096, 0xffffffffffffffff,
		0xfffffffffffff800, 0xffff888000000000, 0x8000000000000000, 0x7ffffffff000,
	};
	const struct py_layout *l = &w.img.layout;
	size_t i;
	int minor;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		for (i = 0; i < sizeof(wild) / sizeof(wild[0]); i++) {
			world_no_frames(&w);
			world_recurse(&w, 40);
			world_expect(&w, 40, 0);
			/* The last sample's window must not be taken for memory. */
			world_set_frame(&w, wild[i]);
			world_expect(&w, 0, RAW_UNREADABLE);
			world_set_frame(&w, w.at[39]);
			host_mem_put64(w.at[38] + l->fr_base + l->fr_previous, wild[i]);
			world_expect(&w, 2, RAW_UNREADABLE);
			/* Nor a window that could not be read. */
			host_mem_put64(w.at[38] + l->fr_base + l->fr_previous,
				       w.at[38] - 0x3000000);
			world_expect(&w, 2, RAW_UNREADABLE);
		}
	}
}

static u64 seed = 88172645463325252ull;

static u64 rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Random stacks of frames, generators, chunks and shims. */
static void test_random_stacks(void **state)
{
	int minor, round, i;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		for (i = 0; i < 200; i++)
			world_code(&w);
		for (round = 0; round < 300; round++) {
			u32 n = 1 + rnd() % (round % 5 ? 40 : 330), k, shims = 0;

			world_no_frames(&w);
			for (k = 0; k < n; k++) {
				w.locals = rnd() % 30;
				if (rnd() % 50 == 0)
					world_new_chunk(&w);
				if (rnd() % 4 == 0 && shims++ < 100)
					world_shim(&w);
				world_push(&w, rnd() % 4 ? OWNER_THREAD : OWNER_GENERATOR,
					   rnd() % 200, (s32)(rnd() % 5000) * 2 - 2);
			}
			world_expect(&w, n > ABI_MAX_FRAMES ? ABI_MAX_FRAMES : n,
				     n > ABI_MAX_FRAMES ? RAW_TRUNCATED : 0);
		}
	}
}

/* Random values in the frames: any stack is allowed, but no crash and no uncounted tick. */
static void test_noise(void **state)
{
	int minor, round;
	u32 i;

	EACH_MINOR(minor) {
		world_init(&w, minor);
		for (round = 0; round < 2000; round++) {
			u64 ends = 0, ticks;

			world_no_frames(&w);
			world_recurse(&w, 20);
			for (i = 0; i < 1 + rnd() % 20; i++)
				host_mem_put64(w.at[rnd() % 20] + 8 * (rnd() % 10),
					       rnd() % 3 ? rnd() >> rnd() % 64 :
							   w.at[rnd() % 20] + rnd() % 32);
			if (round % 3 == 0)
				host_mem_put64(W_TSTATE + 8 * (rnd() % 48), rnd() >> rnd() % 64);
			host_tick();
			ticks = host_counter(CNT_TICK);
			for (i = CNT_TICK + 1; i <= CNT_UNWANTED; i++)
				ends += host_counter(i);
			for (i = CNT_LOSSES; i <= CNT_BUSY; i++)
				ends += host_counter(i);
			assert_int_equal(ends, ticks);
			world_thread(&w);
			world_put_proc(&w);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_frame),
		cmocka_unit_test(test_far_instruction),
		cmocka_unit_test(test_free_threaded),
		cmocka_unit_test(test_own_bytecode),
		cmocka_unit_test(test_own_bytecode_hostile),
		cmocka_unit_test(test_no_frames),
		cmocka_unit_test(test_depths),
		cmocka_unit_test(test_reads_per_frame),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_chunk_end),
		cmocka_unit_test(test_chunk_below),
		cmocka_unit_test(test_trace_refs),
		cmocka_unit_test(test_generators),
		cmocka_unit_test(test_shims),
		cmocka_unit_test(test_too_many_shims),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_no_code),
		cmocka_unit_test(test_broken_end),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_unmapped_middle),
		cmocka_unit_test(test_unmapped_chunk_page),
		cmocka_unit_test(test_unreadable_first),
		cmocka_unit_test(test_wild_pointers),
		cmocka_unit_test(test_random_stacks),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
