// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_native_trampoline.c - the trampolines of CPython's -X perf on x86-64: recognised at each of
 * their instructions, and nothing else is. (test_native_arm64.c has those of arm64.)
 */
#include "tests/hostbpf/native_world.h"

static struct world w;

#define SP (N_STACK + 1024)
#define ARENA (N_CODE + N_STEP)	/* mapping 1: code in no file */
#define ARENA_BYTES 4096u
#define FP 0xabcdef00ull

/* What the assembler makes of each: see bpf/native_trampoline.bpf.h. */
static const u8 sub_form[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3 };
static const u8 sub_cet_form[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48,
				   0x83, 0xc4, 8, 0xc3 };
static const u8 push_form[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3 };
static const u8 push_cet_form[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1,
				    0x5d, 0xc3 };

/* An instruction's first byte, and how far SP is below the CFA there. */
struct place {
	u32 at, off;
};

static const struct form {
	const u8 *code;
	u32 bytes;
	bool push;
	u32 returns;	/* the call's return address */
	struct place places[7];
} forms[] = {
	{ sub_form, sizeof(sub_form), false, 6, { { 0, 8 }, { 4, 16 }, { 6, 16 }, { 10, 8 } } },
	{ sub_cet_form, sizeof(sub_cet_form), false, 10,
	  { { 0, 8 }, { 4, 8 }, { 8, 16 }, { 10, 16 }, { 14, 8 } } },
	{ push_form, sizeof(push_form), true, 6,
	  { { 0, 8 }, { 1, 16 }, { 4, 16 }, { 6, 16 }, { 7, 8 } } },
	{ push_cet_form, sizeof(push_cet_form), true, 10,
	  { { 0, 8 }, { 4, 8 }, { 5, 16 }, { 8, 16 }, { 10, 16 }, { 11, 8 } } },
};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

static const u32 rules[] = { ROW_SP(8, 0), UNWIND_END, ROW_FP(16, 2) };
enum { LEAF, START, FRAMED };

/* A file's code, and an arena with copies of the form at this stride. Returns their number. */
static u32 make_arena(const struct form *f, u32 stride)
{
	u32 i, cnt = ARENA_BYTES / stride;

	native_world(&w, 13, 1);
	put_table(0, rules, 3, 1);
	put_mapping(1, (struct native_mapping){ ARENA, ARENA + ARENA_BYTES, 0, 2, 0 });
	put_place(2, 2);
	*table_of(1) = (struct unwind_table){ .why = NATIVE_JIT, .stamp = 2 };
	host_mem_map(ARENA, ARENA_BYTES);
	for (i = 0; i < cnt; i++)
		host_mem_write(ARENA + i * stride, f->code, f->bytes);
	return cnt;
}

static const struct raw_native *expect(enum native_end end, u32 frames)
{
	const struct raw_native *r = native_tick();

	assert_non_null(r);
	assert_int_equal(r->end, end);
	assert_int_equal(r->nframes, frames);
	return r;
}

/* Frame i is a trampoline, at this address. */
static void check_trampoline(const struct raw_native *r, u32 i, u64 addr, u64 below)
{
	assert_int_equal(native_frames_of(r)[i].file, NATIVE_FILE_TRAMPOLINE);
	assert_int_equal(native_frames_of(r)[i].addr, addr);
	assert_int_equal(native_frames_of(r)[i].below, below);
}

/* LEAF was called by the trampoline, that by FRAMED, whose FP it has kept or saved. */
static void check_called(const struct form *f, u64 copy)
{
	const struct raw_native *r;

	interrupted_at(code_at(0, LEAF), SP, f->push ? SP + 8 : SP + 256);
	host_mem_put64(SP, copy + f->returns);
	host_mem_put64(SP + 8, SP + 256);
	host_mem_put64(SP + 16, code_at(0, FRAMED));
	host_mem_put64(SP + 256, 0);
	host_mem_put64(SP + 264, code_at(0, START));
	r = expect(NATIVE_WHOLE, 4);
	check_trampoline(r, 1, copy + f->returns - 1, 24);
	check_frame(r, 2, 0, FRAMED, 272);
}

static void test_called(void **state)
{
	u32 i, k, cnt, stride, strides;

	for (i = 0; i < FORMS; i++)
		for (strides = 0; strides < 3; strides++) {
			stride = strides == 0 ? forms[i].bytes : strides == 1 ? 16 : 96;
			cnt = make_arena(&forms[i], stride);
			/* The first and the last are next to what is not mapped. */
			for (k = 0; k < cnt; k += k && k < cnt - 12 ? 7 : 1)
				check_called(&forms[i], ARENA + k * stride);
		}
}

/* The trampoline itself is interrupted. */
static void test_innermost(void **state)
{
	const struct raw_native *r;
	const struct place *p;
	u32 i, k, cnt;
	u64 copy;

	for (i = 0; i < FORMS; i++) {
		cnt = make_arena(&forms[i], forms[i].bytes);
		for (k = 0; k < cnt; k += cnt - 1)
			for (p = forms[i].places; p->off; p++) {
				copy = ARENA + k * forms[i].bytes;
				interrupted_at(copy + p->at, SP, SP + 256);
				host_mem_put64(SP, p->off == 8 ? code_at(0, FRAMED) : SP + 256);
				host_mem_put64(SP + 8, code_at(0, FRAMED));
				host_mem_put64(SP + 256, 0);
				host_mem_put64(SP + 264, code_at(0, START));
				r = expect(NATIVE_WHOLE, 3);
				check_trampoline(r, 0, copy + p->at, p->off);
				check_frame(r, 1, 0, FRAMED, 272);
			}
	}
}

/* The arena was mapped a moment ago. */
static void test_before_its_mapping_is_known(void **state)
{
	make_arena(&forms[0], 11);
	put_place(1, 3);
	check_called(&forms[0], ARENA + 33);
}

/* Other code, and code with a byte changed, ends the walk as code in no file does. */
static void test_other_code(void **state)
{
	u32 i, k;
	u8 byte;

	for (i = 0; i < FORMS; i++)
		for (k = 0; k < forms[i].bytes; k++) {
			if (forms[i].code[0] == 0xf3 && k < 4)
				continue;	/* before the form */
			make_arena(&forms[i], 64);
			byte = forms[i].code[k] ^ 0x40;
			host_mem_write(ARENA + 64 + k, &byte, 1);
			interrupted_at(code_at(0, LEAF), SP, SP + 8);
			host_mem_put64(SP, ARENA + 64 + forms[i].returns);
			assert_int_equal(native_frames_of(expect(NATIVE_JIT, 2))[1].file, 0);
		}
	/* The same code in a file without a table. */
	make_arena(&forms[0], 64);
	put_mapping(1, (struct native_mapping){ ARENA, ARENA + ARENA_BYTES, 0, 2, 11 });
	put_place(2, 3);
	interrupted_at(code_at(0, LEAF), SP, SP + 8);
	host_mem_put64(SP, ARENA + 64 + 6);
	assert_int_equal(native_frames_of(expect(NATIVE_JIT, 2))[1].file, 11);
}

/* What cannot be read now is looked at again the next time. */
static void test_unreadable(void **state)
{
	make_arena(&forms[0], 64);
	host_mem_unmap(ARENA, ARENA_BYTES);
	interrupted_at(code_at(0, LEAF), SP, SP + 256);
	host_mem_put64(SP, ARENA + 64 + 6);
	expect(NATIVE_JIT, 2);
	host_mem_map(ARENA, ARENA_BYTES);
	host_mem_write(ARENA + 64, sub_form, sizeof(sub_form));
	check_called(&forms[0], ARENA + 64);
}

/* A stack that consists of nothing else ends. */
static void test_endless(void **state)
{
	u64 at;

	make_arena(&forms[0], 11);
	for (at = SP; at < N_STACK + N_STACK_BYTES; at += 8)
		host_mem_put64(at, ARENA + 6);
	interrupted_at(ARENA + 6, SP, 0);
	expect(NATIVE_UNREADABLE, RAW_NATIVE_FRAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_called),
		cmocka_unit_test(test_innermost),
		cmocka_unit_test(test_before_its_mapping_is_known),
		cmocka_unit_test(test_other_code),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_endless),
	};

	return cmocka_run_group_tests(tests, NULL, host_done);
}
