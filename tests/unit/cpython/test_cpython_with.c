// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_with.c - the `with` statements that a frame is inside of, in each version's form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cpython/with.c"
#include "tests/unit/cpython/fake_values.h"

/*
 * 3.12's table of
 *	with a:
 *		with b:
 *			try: g()
 *			except ValueError: h()
 * as `dis` shows it: start, bytes, target, depth, lasti; and how many statements are below.
 */
static const uint32_t entries[][6] = {
	{ 6, 6, 144, 1, 1, 1 },		{ 12, 2, 120, 2, 1, 2 },	{ 16, 20, 70, 2, 0, 2 },
	{ 36, 16, 144, 1, 1, 1 },	{ 70, 38, 114, 3, 1, 2 },	{ 108, 4, 120, 2, 1, 2 },
	{ 112, 2, 114, 3, 1, 2 },	{ 114, 6, 120, 2, 1, 2 },	{ 120, 10, 138, 4, 1, 2 },
	{ 130, 14, 144, 1, 1, 1 },	{ 144, 10, 162, 3, 1, 1 },
};
#define ENTRIES (sizeof(entries) / sizeof(*entries))
#define BEFORE_A 4u		/* BEFORE_WITH of each, and its body */
#define BEFORE_B 10u
#define IN_B 26u
#define IN_EXCEPT 90u
#define BEHIND_B 42u
#define BEHIND_A 58u

static struct fake_threads f;
static struct fake_types t;
static struct fake_frame frame;
static struct py_with found[PY_WITHS_MAX];
static uint64_t a, b, slots;
static uint32_t cnt;

static uint32_t put_varint(uint8_t *out, uint32_t v, uint8_t first)
{
	uint32_t n = 0;
	int shift = 30;

	while (shift && !(v >> shift))
		shift -= 6;
	for (; shift >= 0; shift -= 6)
		out[n++] = (v >> shift & 63) | (shift ? 64 : 0);
	out[0] |= first;
	return n;
}

/* units: values on the stack of each statement. */
static uint32_t make_table(uint8_t *out, uint32_t units)
{
	uint32_t n = 0, i;

	for (i = 0; i < ENTRIES; i++) {
		const uint32_t *e = entries[i];

		n += put_varint(out + n, e[0] / 2, 0x80);
		n += put_varint(out + n, e[1] / 2, 0);
		n += put_varint(out + n, e[2] / 2, 0);
		n += put_varint(out + n, (e[3] + (units - 1) * e[5]) << 1 | e[4], 0);
	}
	return n;
}

static uint64_t method(const char *type, uint64_t self)
{
	uint64_t at = fake_object(&f, fake_named_type(&f, type, 0), 24);

	fake_poke(&f, at + f.head + 8, self, 8);
	return at;
}

/* Put what the statements of a, b have on the value stack, from place 0 on. */
static void fill_stack(bool builtin)
{
	const char *bound = builtin ? "builtin_function_or_method" : "method";
	const char *unbound = builtin ? "method_descriptor" : "function";
	bool is_new = f.at.objects.minor >= 14;
	uint64_t objs[4] = { is_new ? fake_object(&f, fake_named_type(&f, unbound, 0), 24) :
				      method(bound, a), is_new ? a : method(bound, b) };

	if (is_new) {	/* b's is bound, as that of an object of its own kind */
		objs[2] = method(bound, b);
		objs[3] = 0;
	}
	fake_pointers(&f, objs, is_new ? 4 : 2, slots);
}

static uint64_t code_at(uint32_t off)
{
	return frame.frame.code + off + f.head - 16;
}

/* Up to 3.10: SETUP_WITH at 4 and 10, with handlers at 144 and 120. */
static void make_bytecode(void)
{
	uint32_t unit = f.at.objects.minor == 10 ? 2 : 1;
	char code[256] = { 0 };

	code[4] = code[10] = (char)143;
	code[5] = (char)((144 - 6) / unit);
	code[11] = (char)((120 - 12) / unit);
	fake_poke(&f, code_at(200), fake_bytes(&f, &t, code, sizeof(code)), 8);
}

static void push_block(uint32_t i, uint32_t type, uint32_t handler, uint32_t level)
{
	uint32_t unit = f.at.objects.minor == 10 ? 2 : 1;
	uint64_t base = frame.frame.addr + py_code_layout(f.at.objects.minor)->slots + f.head - 16;
	uint64_t at = base - PY_BLOCKS_BYTES + 12 * i;

	fake_poke(&f, at, type, 4);
	fake_poke(&f, at + 4, handler / unit, 4);
	fake_poke(&f, at + 8, level, 4);
	fake_poke(&f, base - PY_BLOCKS_BYTES - PY_IBLOCK_BEFORE, i + 1, 4);
}

static void make(unsigned int minor, bool big, bool builtin)
{
	const struct py_code_layout *l = py_code_layout(minor);
	uint64_t names[2], objs[2];
	uint8_t table[256];
	uint32_t len;

	fake_threads_make(&f, minor, big);
	fake_types_make(&f, &t);
	a = fake_object(&f, t.thing, 24);
	b = fake_object(&f, t.thing, 24);
	names[0] = names[1] = fake_str(&f, &t, "x");
	objs[0] = objs[1] = a;
	fake_frame_make(&f, &t, &frame, names, objs, 2, 0);
	fake_code_int(&f, frame.frame.code, l->stacksize, 12);
	slots = frame.frame.addr + l->slots + (minor <= 10 ? f.head - 16 : 0) + 16;
	fill_stack(builtin);
	if (minor <= 10) {
		make_bytecode();
		return;
	}
	len = make_table(table, minor >= 14 ? 2 : 1);
	fake_poke(&f, code_at(l->exceptions), fake_bytes(&f, &t, (char *)table, len), 8);
}

static void look(uint32_t lasti)
{
	struct py_walk w;

	py_walk_init(&w, &f.target, &f.at.objects, 1000);
	fake_poke(&f, frame.frame.addr + 32, frame.frame.code + frame.at.layout.co_code + lasti, 8);
	py_frame_withs(&w, &frame.at, &frame.frame, found, &cnt);
}

static void check_both(void)
{
	assert_int_equal(cnt, 2);
	assert_int_equal(found[0].self, b);
	assert_int_equal(found[0].lasti, BEFORE_B);
	assert_int_equal(found[1].self, a);
	assert_int_equal(found[1].lasti, BEFORE_A);
}

static void check_outer(void)
{
	assert_int_equal(cnt, 1);
	assert_int_equal(found[0].self, a);
	assert_int_equal(found[0].lasti, BEFORE_A);
}

#define EACH(from, to, minor, big, builtin) \
	for (unsigned int minor = from; minor <= to; minor++) \
		for (unsigned int big = 0; big < 2; big++) \
			for (unsigned int builtin = 0; builtin < 2; builtin++)

static void test_by_the_exception_table(void **state)
{
	EACH(11, 15, minor, big, builtin) {
		make(minor, big, builtin);
		look(IN_B);
		check_both();
		look(IN_EXCEPT);
		check_both();
		look(BEFORE_B);
		check_outer();
		look(BEHIND_B);
		check_outer();
		look(BEFORE_A);
		assert_int_equal(cnt, 0);
		look(BEHIND_A);		/* what is on the stack is no more in use */
		assert_int_equal(cnt, 0);
		look(4096);
		assert_int_equal(cnt, 0);
	}
}

static void test_by_the_block_stack(void **state)
{
	EACH(6, 10, minor, big, builtin) {
		make(minor, big, builtin);
		look(0);
		assert_int_equal(cnt, 0);
		push_block(0, 122, 144, 1);
		look(0);
		check_outer();
		push_block(1, 122, 120, 2);
		push_block(2, 120, 90, 2);	/* a loop; try and finally; an except clause */
		push_block(3, 122, 70, 2);
		push_block(4, 257, 120, 2);
		look(0);
		check_both();
		push_block(20, 122, 120, 2);	/* more than there can be */
		look(0);
		assert_int_equal(cnt, 0);
	}
}

/* Without a method in its place it is another statement. */
static void test_what_is_no_with(void **state)
{
	const uint64_t things[4] = { 0 };

	EACH(6, 15, minor, big, builtin) {
		make(minor, big, builtin);
		if (minor <= 10)
			push_block(0, 122, 144, 1);
		look(IN_B);
		assert_true(cnt > 0);
		fake_pointers(&f, things, 4, slots);
		look(IN_B);
		assert_int_equal(cnt, 0);
		fake_pointers(&f, (const uint64_t[]){ a, b, a, b }, 4, slots);
		look(IN_B);
		assert_int_equal(cnt, 0);
	}
}

static void test_reads_that_fail(void **state)
{
	uint32_t reads, i;

	EACH(6, 15, minor, big, builtin) {
		make(minor, big, builtin);
		if (minor <= 10)
			push_block(0, 122, 144, 1);
		f.reads = 0;
		look(IN_B);
		reads = f.reads;
		for (i = 1; i <= reads; i++) {
			f.reads = 0;
			f.fail_at = i;
			look(IN_B);
			assert_true(cnt <= 2);
			for (uint32_t n = 0; n < cnt; n++)
				assert_true(found[n].self == a || found[n].self == b);
		}
		f.fail_at = 0;
	}
}

static void test_damaged_tables(void **state)
{
	const uint8_t circle[] = { 0x80, 63, 0, 1, 0x00, 63, 0, 0 };
	const uint8_t endless[] = { 0x80 | 64, 127, 127 };
	struct py_handler h;

	assert_false(py_handler_of(circle, 0, 0, &h));
	assert_true(py_handler_of(circle, sizeof(circle), 8, &h));
	assert_int_equal(h.target, 0);
	assert_false(py_handler_of(circle, sizeof(circle), 500, &h));	/* the second has no mark */
	assert_false(py_handler_of(endless, sizeof(endless), 8, &h));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_the_exception_table),
		cmocka_unit_test(test_by_the_block_stack),
		cmocka_unit_test(test_what_is_no_with),
		cmocka_unit_test(test_reads_that_fail),
		cmocka_unit_test(test_damaged_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
