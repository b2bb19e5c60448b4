// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_search.c - the searches for mappings and rows find what a linear search finds, and
 * native memory with anything in it is read within its bounds.
 */
#include "tests/hostbpf/native_world.h"

static struct world w;

#define SP (N_STACK + 1024)

/* What the walk's first frame says of this address. */
static struct raw_native_frame frame_at(u64 pc)
{
	const struct raw_native *r;

	interrupted_at(pc, SP, 0);
	r = native_tick();
	assert_non_null(r);
	assert_int_equal(r->nframes, 1);
	return native_frames_of(r)[0];
}

/* As many mappings as there may be, with gaps between some. */
static void test_mappings(void **state)
{
	u32 i, cnt, counts[] = { 1, 2, 3, 1000, NATIVE_MAPPINGS };
	struct raw_native_frame f;
	u64 start;
	size_t k;

	for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		cnt = counts[k];
		native_world(&w, 13, 1);
		for (i = 0; i < cnt; i++) {
			start = N_CODE + i * N_STEP;
			put_mapping(i, (struct native_mapping){ start, start + N_STEP - i % 2 * 16,
								start - N_FILE, 5, i + 1 });
		}
		put_place(cnt, 2);
		for (i = 0; i < cnt; i++) {
			f = frame_at(N_CODE + i * N_STEP);
			assert_int_equal(f.file, i + 1);
			assert_int_equal(f.addr, N_FILE);
			f = frame_at(N_CODE + (i + 1) * N_STEP - 1);
			assert_int_equal(f.file, i % 2 ? 0 : i + 1);
		}
		assert_int_equal(frame_at(N_CODE - 1).file, 0);
		assert_int_equal(frame_at(N_CODE + cnt * N_STEP).file, 0);
	}
}

/* Each row of tables of many sizes; each row's rule has another CFA. */
static void test_rows(void **state)
{
	static u32 rules[2000];
	u32 i, k, counts[] = { 1, 2, 3, 4, 5, 7, 16, 1999, 2000 };
	const struct raw_native *r;

	for (i = 0; i < 2000; i++)
		rules[i] = ROW_SP(8 * (i + 1), 0);
	for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		native_world(&w, 13, 1);
		put_table(0, rules, counts[k], 1);
		for (i = 0; i < counts[k]; i++) {
			interrupted_at(N_CODE + i * N_ROW + (i % 2 ? N_ROW - 1 : 0), SP, 0);
			r = native_tick();
			assert_non_null(r);
			assert_int_equal(native_frames_of(r)[0].below, 8 * (i + 1));
		}
		interrupted_at(N_CODE + counts[k] * N_ROW, SP, 0);
		assert_int_equal(native_tick()->end, NATIVE_NO_ROW);
	}
}

/* All rows in one entry of the index; 2^20 are searched. */
static void test_one_index_entry(void **state)
{
	static u32 rules[1000];
	u32 i, last = 999;

	native_world(&w, 13, 1);
	for (i = 0; i < 1000; i++)
		rules[i] = ROW_SP(8 * (i + 1), 0);
	put_table(0, rules, 1000, 1);
	table_of(0)->shift = 16;
	memset(native_bytes(N_TABLE_CHUNK(0), 4 * N_INDEX_AT), 0, 4);
	memcpy(native_bytes(N_TABLE_CHUNK(0), 4 * N_INDEX_AT + 4), &last, 4);
	for (i = 0; i < 1000; i++) {
		interrupted_at(N_CODE + i * N_ROW, SP, 0);
		assert_int_equal(native_frames_of(native_tick())[0].below, 8 * (i + 1));
	}
}

/* What no user space writes: a walk ends by a cause that says so. */
static void test_wrong_tables(void **state)
{
	u32 rules[] = { ROW_SP(8, 0), ROW_EXT(0), ROW_EXT(5), ROW_EXT(0x1fffffffu) }, i, bad[2];
	struct unwind_table good;

	native_world(&w, 13, 1);
	put_table(0, rules, 4, 1);
	put_long_rule(0, 0, (struct unwind_rule){ .cfa = 77 });
	for (i = 1; i < 4; i++) {
		interrupted_at(code_at(0, i), SP, 0);
		assert_int_equal(native_tick()->end, NATIVE_UNSUPPORTED);
	}
	good = *table_of(0);
	interrupted_at(code_at(0, 0), SP, 0);
	assert_int_not_equal(native_tick()->end, NATIVE_NO_ROW);
	for (i = 0; i < 5; i++) {
		*table_of(0) = good;
		table_of(0)->stamp = 10 + i;
		if (i == 0)
			table_of(0)->chunk = 0xffffffff;
		if (i == 1)
			table_of(0)->index_at = 0xffffffff;
		if (i == 2)
			table_of(0)->start = N_FILE + 100;
		if (i == 3)
			table_of(0)->row_cnt = 1;
		bad[0] = 3;	/* the index goes backwards */
		bad[1] = 2;
		if (i == 4)
			memcpy(native_bytes(N_TABLE_CHUNK(0), 4 * N_INDEX_AT), bad, 8);
		assert_int_equal(native_tick()->nframes, 1);
		if (i > 1)
			assert_int_equal(native_tick()->end, NATIVE_NO_ROW);
	}
	/* A list of mappings where there is none. */
	put_place(65000, 7);
	assert_in_range(native_tick()->nframes, 1, 1);
	assert_int_equal(bpf_map_delete_elem(&native_places, &host.task.tgid), 0);
	assert_int_equal(native_tick()->end, NATIVE_NO_MAPPINGS);
}

/* A stack that leads to itself ends. */
static void test_cycles(void **state)
{
	u32 rules[] = { ROW_FP(16, 2), ROW_EXT(0), UNWIND_SIGNAL };

	native_world(&w, 13, 1);
	put_table(0, rules, 3, 1);
	put_long_rule(0, 0, (struct unwind_rule){ .cfa = UNWIND_AT_SP, .ra = UNWIND_AT_FRAME,
						  .cfa_off = 8 });
	interrupted_at(code_at(0, 0), SP, SP + 16);
	host_mem_put64(SP + 16, SP + 16);
	host_mem_put64(SP + 24, code_at(0, 0));
	assert_int_equal(native_tick()->end, NATIVE_NO_PROGRESS);
	interrupted_at(code_at(0, 1), SP, SP);
	host_mem_put64(SP, code_at(0, 1));
	host_mem_put64(SP + 8, SP);		/* the CFA is SP */
	assert_int_equal(native_tick()->end, NATIVE_NO_PROGRESS);
	/* Signal frames may lead anywhere, so the depth bounds them. */
	interrupted_at(code_at(0, 2), SP, 0);
	host_mem_put64(SP + 40 + 120, SP);
	host_mem_put64(SP + 40 + 128, code_at(0, 2));
	assert_int_equal(native_tick()->end, NATIVE_DEPTH);
	assert_in_range(host.reads, 1, NATIVE_STEPS + 200);
}

/* Chunks, tables and a stack with random contents, and numbers of chunks that do not exist. */
static void test_noise(void **state)
{
	static const struct unwind_rule none;
	u32 i, k, rules[64], ends = 0;
	const struct raw_native *r;

	srandom(7);
	native_world(&w, 13, 20);
	for (i = 0; i < 3000; i++) {
		if (i % 100 == 0) {
			for (k = 0; k < 20; k++) {
				u32 n;

				for (n = 0; n < 64; n++)
					rules[n] = random() ^ random() << 11;
				put_table(k, rules, 64, i + k);
				put_long_rule(k, 3, none);
				for (n = 0; n < 64; n++)
					native_bytes(N_TABLE_CHUNK(k), 16 * N_EXT_AT)[n] = random();
			}
			put_place(20, i + 1);
		}
		for (k = 0; k < 64; k++)
			host_mem_put64(SP + 8 * (random() % 1000),
				       k % 2 ? code_at(random() % 20, random() % 64) :
					       SP + 8 * (random() % 1000));
		for (k = 0; k < 4; k++)
			((u8 *)table_of(random() % 20))[random() % 40] = random();
		interrupted_at(code_at(i % 20, random() % 64), SP + 8 * (random() % 100),
			       SP + 8 * (random() % 1000));
		r = native_tick();
		assert_non_null(r);
		assert_in_range(r->nframes, 0, RAW_NATIVE_FRAMES);
		assert_in_range(r->end, 0, NATIVE_END_CNT - 1);
		assert_in_range(host.reads, 0, 8 * NATIVE_STEPS);
		ends |= 1u << r->end;
	}
	assert_true(ends & 1u << NATIVE_NO_PROGRESS && ends & 1u << NATIVE_UNSUPPORTED &&
		    ends & 1u << NATIVE_NO_ROW && ends & 1u << NATIVE_UNREADABLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_one_index_entry),
		cmocka_unit_test(test_wrong_tables),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
