// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_cpython_taken.c - locks that a frame has acquired by hand, in each version's bytecode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cpython/opcode_names.h"
#include "cpython/taken.h"
#include "tests/unit/cpython/fake_values.h"

enum { ACQUIRE, LOCK, RELEASE, NAMES };

static struct fake_threads f;
static struct fake_types t;
static struct fake_frame frame;
static struct py_taken found[PY_TAKEN_MAX];
static uint64_t lock, names;
static uint8_t code[256];
static uint32_t len, cnt;

static uint8_t number_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < 256; i++)
		if (opcode_name(3, f.at.objects.minor, (uint8_t)i) &&
		    !strcmp(opcode_name(3, f.at.objects.minor, (uint8_t)i), name))
			return (uint8_t)i;
	fail_msg("3.%d has no %s", f.at.objects.minor, name);
	return 0;
}

/* An instruction, and caches behind it that look like LOAD_FAST. */
static void put(const char *name, uint32_t arg)
{
	uint8_t op = number_of(name), i;

	code[len++] = op;
	code[len++] = (uint8_t)arg;
	for (i = code_cache_units(f.at.objects.minor, op); i; i--) {
		code[len++] = number_of("LOAD_FAST");
		code[len++] = 7;
	}
}

static void put_attribute(uint32_t name)
{
	put("LOAD_ATTR", f.at.objects.minor >= 12 ? name << 1 : name);
}

static void put_method(uint32_t name)
{
	unsigned int minor = f.at.objects.minor;

	if (minor >= 12)
		put("LOAD_ATTR", name << 1 | 1);
	else
		put(minor >= 7 ? "LOAD_METHOD" : "LOAD_ATTR", name);
}

static void set_word(uint8_t off, uint64_t v)
{
	fake_poke(&f, frame.frame.code + off + f.head - 16, v, 8);
}

/* Variables: the lock, an object that has it, and the lock again, in a cell. A global `lock`. */
static void make(unsigned int minor, bool big)
{
	const struct py_code_layout *l = py_code_layout(minor);
	uint64_t words[NAMES], objs[3], keys, globals;

	fake_threads_make(&f, minor, big);
	fake_types_make(&f, &t);
	words[ACQUIRE] = fake_str(&f, &t, "acquire");
	words[LOCK] = fake_str(&f, &t, "lock");
	words[RELEASE] = fake_str(&f, &t, "release");
	names = fake_tuple(&f, &t, words, NAMES);
	lock = fake_object(&f, fake_named_type(&f, "_thread.lock", 0), 24);
	objs[0] = objs[2] = lock;
	objs[1] = fake_instance(&f, &t, "Account", "lock", lock, NULL, 0);
	keys = fake_keys(&f, false);
	fake_add(&f, keys, words[LOCK], lock);
	globals = fake_dict(&f, keys, 0);
	fake_frame_make(&f, &t, &frame, words, objs, 3, 1);
	fake_poke(&f, frame.frame.addr + l->globals + (minor <= 10 ? f.head - 16 : 0), globals, 8);
	set_word(l->used, names);
	memset(code, 0, sizeof(code));
	len = 0;
}

/* What is known when the frame is at this offset. */
static void look(uint32_t lasti)
{
	bool old = f.at.objects.minor <= 10;
	uint64_t start = frame.frame.code + frame.at.layout.co_code, i;
	struct py_walk w;

	if (old)
		fake_poke(&f, start, fake_bytes(&f, &t, (const char *)code, sizeof(code)), 8);
	for (i = 0; !old && i < len; i++)
		fake_poke(&f, start + i, code[i], 1);
	fake_poke(&f, frame.frame.addr + 32,
		  old ? lasti / frame.at.layout.lasti_unit : start + lasti, 8);
	py_walk_init(&w, &f.target, &f.at.objects, 1000);
	py_frame_taken(&w, &frame.at, &frame.frame, found, &cnt);
}

static void test_a_variable(void **state)
{
	uint32_t acquired;

	EACH_VERSION(minor, big) {
		make(minor, big);
		put("LOAD_FAST", 0);
		acquired = len;
		put_method(ACQUIRE);
		look(acquired);
		assert_int_equal(cnt, 0);
		look(len);
		assert_int_equal(cnt, 1);
		assert_int_equal(found[0].lock, lock);
		assert_int_equal(found[0].lasti, acquired);
		assert_true(found[0].held);
		put("POP_TOP", 0);
		put("LOAD_FAST", 0);
		put_method(RELEASE);
		look(len);
		assert_int_equal(cnt, 1);
		assert_false(found[0].held);
	}
}

static void test_an_attribute_a_cell_and_a_global(void **state)
{
	unsigned int way;

	EACH_VERSION(minor, big)
		for (way = 0; way < 3; way++) {
			make(minor, big);
			if (way == 0) {
				put("EXTENDED_ARG", 0);
				put("LOAD_FAST", 1);
				put_attribute(LOCK);
			} else if (way == 1) {
				put("LOAD_DEREF", minor <= 10 ? 0 : 2);
			} else {
				put("LOAD_GLOBAL", minor >= 11 ? LOCK << 1 : LOCK);
			}
			put_method(ACQUIRE);
			look(len);
			assert_int_equal(cnt, 1);
			assert_int_equal(found[0].lock, lock);
			assert_true(found[0].held);
		}
}

/* LOAD_FAST__LOAD_FAST of 3.11 and 3.12: the second LOAD_FAST follows. */
static void test_an_instruction_without_a_name(void **state)
{
	unsigned int op;

	EACH_VERSION(minor, big) {
		make(minor, big);
		for (op = 0; op < 256; op++)
			if (!opcode_name(3, minor, op) && !code_cache_units(minor, op))
				break;
		assert_true(op < 256);
		code[len++] = op;
		code[len++] = 1;
		put("LOAD_FAST", 0);
		put_method(ACQUIRE);
		look(len);
		assert_int_equal(cnt, 1);
		assert_true(found[0].held);
	}
}

static void test_another_object_is_not_it(void **state)
{
	EACH_VERSION(minor, big) {
		make(minor, big);
		put("LOAD_FAST", 1);
		put_method(ACQUIRE);	/* of the object that has the lock */
		put("LOAD_FAST", 0);
		put("POP_TOP", 0);
		put_method(ACQUIRE);	/* of who knows what */
		put("LOAD_FAST", 0);
		put_method(LOCK);
		look(len);
		assert_int_equal(cnt, 0);
	}
}

static void test_the_names_of_a_function(void **state)
{
	struct py_walk w;

	EACH_VERSION(minor, big) {
		make(minor, big);
		py_walk_init(&w, &f.target, &f.at.objects, 1000);
		assert_true(py_code_takes(&w, frame.frame.code));
		assert_true(py_code_releases(&w, frame.frame.code));
		fake_poke(&f, names + f.head, 2, 8);	/* without the last one */
		assert_true(py_code_takes(&w, frame.frame.code));
		assert_false(py_code_releases(&w, frame.frame.code));
		fake_poke(&f, names + f.head, 0, 8);
		assert_false(py_code_takes(&w, frame.frame.code));
		fake_poke(&f, names + f.head, 1ull << 40, 8);
		assert_false(py_code_takes(&w, frame.frame.code));
		assert_true(py_code_releases(&w, frame.frame.code));
	}
}

static void test_reads_that_fail(void **state)
{
	uint32_t reads, i;

	EACH_VERSION(minor, big) {
		make(minor, big);
		put("LOAD_FAST", 1);
		put_attribute(LOCK);
		put_method(ACQUIRE);
		f.reads = 0;
		look(len);
		reads = f.reads;
		for (i = 1; i <= reads; i++) {
			f.reads = 0;
			f.fail_at = i;
			look(len);
			assert_true(cnt <= 1 && (!cnt || found[0].lock == lock));
		}
		f.fail_at = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_variable),
		cmocka_unit_test(test_an_attribute_a_cell_and_a_global),
		cmocka_unit_test(test_an_instruction_without_a_name),
		cmocka_unit_test(test_another_object_is_not_it),
		cmocka_unit_test(test_the_names_of_a_function),
		cmocka_unit_test(test_reads_that_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
