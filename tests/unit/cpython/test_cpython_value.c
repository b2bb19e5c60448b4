// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_cpython_value.c - values and variables out of the memory of each version, and out of hostile
 * memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>

#include "tests/unit/cpython/fake_values.h"

#define READS 2000

static struct fake_threads f;
static struct fake_types t;
static struct py_value value;

static void make(unsigned int minor, bool big)
{
	fake_threads_make(&f, minor, big);
	fake_types_make(&f, &t);
}

static const char *shown(uint64_t obj)
{
	struct py_walk w;

	py_walk_init(&w, &f.target, &f.at.objects, READS);
	py_value_read(&w, obj, &value);
	assert_true(value.len < sizeof(value.text) && value.chars <= VALUE_CHARS);
	value.text[value.len] = '\0';
	return value.text;
}

static void test_plain_values(void **state)
{
	const uint32_t digits[] = { 0x3fffffff, 0x3fffffff, 5 };
	const double half = -0.5;
	uint64_t real, bits;

	memcpy(&bits, &half, 8);
	EACH_VERSION(minor, big) {
		make(minor, big);
		assert_string_equal(shown(fake_object(&f, t.none, 0)), "None");
		assert_string_equal(shown(fake_small(&f, &t, 0)), "0");
		assert_string_equal(shown(fake_small(&f, &t, 42)), "42");
		assert_string_equal(shown(fake_int(&f, t.integer, digits, 3, true)),
				    "-6917529027641081855");
		assert_string_equal(shown(fake_int(&f, t.boolean, digits, 1, false)), "True");
		assert_string_equal(shown(fake_int(&f, t.boolean, digits, 0, false)), "False");
		real = fake_object(&f, t.real, 8);
		fake_poke(&f, real + f.head, bits, 8);
		assert_string_equal(shown(real), "-0.5");
		assert_string_equal(shown(fake_str(&f, &t, "it's\n")), "\"it's\\n\"");
		assert_string_equal(shown(fake_str(&f, &t, "\xe9\x1b")), "'\xc3\xa9\\x1b'");
		assert_string_equal(shown(fake_bytes(&f, &t, "a\0\xff", 3)), "b'a\\x00\\xff'");
	}
}

static void test_containers(void **state)
{
	char want[64];
	uint64_t objs[4], deep, thing;

	EACH_VERSION(minor, big) {
		make(minor, big);
		objs[0] = fake_small(&f, &t, 1);
		objs[1] = fake_str(&f, &t, "k");
		objs[2] = fake_object(&f, t.none, 0);
		objs[3] = fake_small(&f, &t, 2);
		assert_string_equal(shown(fake_list(&f, &t, objs, 3)), "[1, 'k', None]");
		assert_string_equal(shown(fake_tuple(&f, &t, objs, 1)), "(1,)");
		assert_string_equal(shown(fake_tuple(&f, &t, objs, 0)), "()");
		assert_string_equal(shown(fake_set(&f, &t, objs, 2)), "{1, 'k'}");
		assert_string_equal(shown(fake_set(&f, &t, objs, 0)), "set()");
		assert_string_equal(shown(fake_mapping(&f, &t, objs, 2)), "{1: 'k', None: 2}");
		deep = fake_list(&f, &t, objs, 1);
		deep = fake_tuple(&f, &t, &deep, 1);
		deep = fake_list(&f, &t, &deep, 1);
		assert_string_equal(shown(deep), "[([...],)]");
		thing = fake_object(&f, t.thing, 0);
		snprintf(want, sizeof(want), "<Thing at 0x%" PRIx64 ">", thing);
		assert_string_equal(shown(thing), want);
		assert_string_equal(shown(fake_named_type(&f, "Own", PY_IS_TYPE)),
				    "<unreadable>");	/* it has no type of its own */
	}
}

/* A class that calls itself as a plain type is none. */
static void test_a_class_with_a_borrowed_name(void **state)
{
	uint64_t obj;

	make(12, false);
	obj = fake_object(&f, fake_named_type(&f, "float", PY_HEAP_TYPE), 8);
	assert_memory_equal(shown(obj), "<float at 0x", 12);
	obj = fake_object(&f, fake_named_type(&f, "list", 0), 8);
	assert_memory_equal(shown(obj), "<list at 0x", 11);
	obj = fake_object(&f, fake_named_type(&f, "a\x1b[31m\xff", PY_HEAP_TYPE), 8);
	assert_memory_equal(shown(obj), "<a\\x1b[31m\\xff at 0x", 20);
}

static void test_what_is_too_long(void **state)
{
	uint32_t digits[40];
	char text[400];
	uint64_t many[30], one;
	int i;

	make(12, false);
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(strlen(shown(fake_str(&f, &t, text))), VALUE_CHARS + 3);
	assert_string_equal(value.text + VALUE_CHARS, "...");
	assert_int_equal(strlen(shown(fake_bytes(&f, &t, text, 399))), VALUE_CHARS + 3);
	memset(digits, 0x11, sizeof(digits));
	assert_memory_equal(shown(fake_int(&f, t.integer, digits, 40, false)), "<int at 0x", 10);
	for (i = 0; i < 30; i++)
		many[i] = fake_small(&f, &t, 1);
	one = fake_list(&f, &t, many, 30);
	assert_string_equal(shown(one), "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
					"1, 1, 1, 1, "
			    "...]");
}

/* Sizes that no process has, circles, and pointers to nowhere. */
static void test_hostile_objects(void **state)
{
	uint64_t list, self, huge = 1ull << 60;

	EACH_VERSION(minor, big) {
		make(minor, big);
		list = fake_list(&f, &t, &huge, 1);
		assert_string_equal(shown(list), "[<unreadable>]");
		fake_poke(&f, list + f.head, huge, 8);
		fake_poke(&f, list + f.head + 8, huge, 8);
		assert_string_equal(shown(list), "[<unreadable>]");
		self = fake_list(&f, &t, &huge, 1);
		fake_poke(&f, self + f.head + 8, fake_pointers(&f, &self, 1, fake_take(&f, 8)), 8);
		assert_string_equal(shown(self), "[[[...]]]");
		assert_string_equal(shown(0), "<unreadable>");
		assert_string_equal(shown(~0ull), "<unreadable>");
		self = fake_object(&f, 0, 64);
		fake_poke(&f, self + f.head - 8, self, 8);	/* its own type */
		assert_true(strlen(shown(self)) > 0);
		self = fake_bytes(&f, &t, "x", 1);
		fake_poke(&f, self + f.at.objects.bytes_size, huge, 8);
		assert_int_equal(strlen(shown(self)), VALUE_CHARS + 3);
		self = fake_set(&f, &t, &huge, 1);
		assert_string_equal(shown(self), "{<unreadable>}");
		fake_poke(&f, self + f.head + 16, ~0ull, 8);
		assert_true(strlen(shown(self)) > 0);
	}
}

/* ---- variables ---- */

static char said[1024];

static bool say(void *ctx, const char *name, uint32_t len, bool argument, const struct py_value *v)
{
	size_t at = strlen(said);

	snprintf(said + at, sizeof(said) - at, "%s%.*s=%.*s ", argument ? "*" : "", (int)len, name,
		 (int)v->len, v->text);
	return true;
}

static int variables(const struct fake_frame *frame)
{
	struct py_walk w;

	said[0] = '\0';
	f.reads = 0;
	py_walk_init(&w, &f.target, &f.at.objects, READS);
	return py_locals_read(&w, &frame->at, &frame->frame, say, NULL);
}

static void frame_of_four(struct fake_frame *frame)
{
	const uint64_t names[] = { fake_str(&f, &t, "a"), fake_str(&f, &t, "b"),
				   fake_str(&f, &t, "unset"), fake_str(&f, &t, "c") };
	const uint64_t objs[] = { fake_small(&f, &t, 1), fake_str(&f, &t, "x"), 0,
				  fake_small(&f, &t, 3) };

	fake_frame_make(&f, &t, frame, names, objs, 4, 1);
}

static void test_variables(void **state)
{
	struct fake_frame frame;

	EACH_VERSION(minor, big) {
		make(minor, big);
		frame_of_four(&frame);
		assert_int_equal(variables(&frame), 0);
		assert_string_equal(said, "*a=1 b='x' c=3 ");
	}
}

/* Each read may fail; the rest is shown, or nothing. */
static void test_reads_that_fail(void **state)
{
	struct fake_frame frame;
	uint32_t reads, i;

	EACH_VERSION(minor, big) {
		make(minor, big);
		frame_of_four(&frame);
		assert_int_equal(variables(&frame), 0);
		reads = f.reads;
		for (i = 1; i <= reads; i++) {
			f.fail_at = i;
			variables(&frame);
			assert_true(f.reads <= reads + 8);
		}
		f.fail_at = 0;
	}
}

static void test_hostile_code(void **state)
{
	const struct py_code_layout *l;
	struct fake_frame frame;

	EACH_VERSION(minor, big) {
		l = py_code_layout(minor);
		make(minor, big);
		frame_of_four(&frame);
		fake_code_int(&f, frame.frame.code, l->argcount, 0xffffffff);
		assert_int_equal(variables(&frame), 0);
		fake_code_int(&f, frame.frame.code, l->cnt, 0xffffffff);
		assert_int_equal(variables(&frame), -EBADMSG);
		fake_code_int(&f, frame.frame.code, l->cnt, 60);
		assert_true(variables(&frame) <= 0);
	}
	assert_null(py_code_layout(16));
	assert_null(py_code_layout(5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_values),
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_a_class_with_a_borrowed_name),
		cmocka_unit_test(test_what_is_too_long),
		cmocka_unit_test(test_hostile_objects),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_reads_that_fail),
		cmocka_unit_test(test_hostile_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
