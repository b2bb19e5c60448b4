// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_native_names.c - the names of addresses, and what a helper must not say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the headers above */
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "native/native_names.h"
#include "native/native_patterns.h"

static struct native_names names;
static struct native_name_pool pool;
static struct elf_message m;
static uint8_t data[ELF_WIRE_BYTES];

static int set_up(void **state)
{
	names = (struct native_names){ 0 };
	pool = (struct native_name_pool){ 0 };
	m = (struct elf_message){ .kind = NAMES };
	return 0;
}

static int tear_down(void **state)
{
	native_names_free(&names, &pool);
	assert_int_equal(pool.bytes, 0);
	return 0;
}

static void say(struct elf_name n, const char *name, const char *source)
{
	n.name_bytes = (uint16_t)(strlen(name) + 1);
	n.source_bytes = source ? (uint16_t)(strlen(source) + 1) : 0;
	memcpy(data + m.bytes, &n, sizeof(n));
	m.bytes += (uint32_t)sizeof(n);
	memcpy(data + m.bytes, name, n.name_bytes);
	m.bytes += n.name_bytes;
	if (source)
		memcpy(data + m.bytes, source, n.source_bytes);
	m.bytes += n.source_bytes;
	m.cnt++;
}

static int take(void)
{
	return native_names_take(&names, &pool, "libx.so.1", &m, data);
}

static enum native_name_state get(uint64_t addr, struct native_name *out)
{
	return native_names_get(&names, &pool, addr, out);
}

static void test_names_of_one_function_are_one(void **state)
{
	struct native_name a, b;

	assert_int_equal(get(16, &a), NAME_MISSING);
	native_names_ask(&names, &pool, 16);
	native_names_ask(&names, &pool, 24);
	assert_int_equal(get(16, &a), NAME_ASKED);
	say((struct elf_name){ .addr = 16, .start = 8 }, "foo", NULL);
	say((struct elf_name){ .addr = 24, .start = 8 }, "foo", NULL);
	assert_int_equal(take(), 0);
	assert_int_equal(get(16, &a), NAME_KNOWN);
	assert_int_equal(get(24, &b), NAME_KNOWN);
	assert_string_equal(a.functions[0].name, "foo");
	assert_ptr_equal(a.functions[0].name, b.functions[0].name);
	assert_null(a.functions[0].source);
	assert_int_equal(pool.names, 2);
}

static void test_inlined_functions_and_lines(void **state)
{
	struct native_name a;

	native_names_ask(&names, &pool, 16);
	say((struct elf_name){ .addr = 16, .start = 8, .line = 7, .inlined = 1 }, "in", "a.h");
	say((struct elf_name){ .addr = 16, .start = 8, .line = 9 }, "out", "a.c");
	assert_int_equal(take(), 0);
	assert_int_equal(get(16, &a), NAME_KNOWN);
	assert_int_equal(a.cnt, 2);
	assert_string_equal(a.functions[0].name, "in");
	assert_string_equal(a.functions[0].source, "a.h");
	assert_int_equal(a.functions[0].line, 7);
	assert_string_equal(a.functions[1].name, "out");
	assert_int_equal(a.functions[1].line, 9);
}

/* Code that has a start but no name is called by it; what has neither is unknown. */
static void test_code_without_a_name(void **state)
{
	struct native_name a;

	native_names_ask(&names, &pool, 0x1234);
	native_names_ask(&names, &pool, 0x2000);
	say((struct elf_name){ .addr = 0x1234, .start = 0x1200 }, "", NULL);
	say((struct elf_name){ .addr = 0x2000 }, "", NULL);
	assert_int_equal(take(), 0);
	assert_int_equal(get(0x1234, &a), NAME_KNOWN);
	assert_string_equal(a.functions[0].name, "libx.so.1+0x1200");
	assert_int_equal(get(0x2000, &a), NAME_UNKNOWN);
	assert_int_equal(pool.unknown, 1);
	assert_int_equal(native_names_ask(&names, &pool, 0x2000), 0);
	assert_int_equal(pool.names, 2);
}

static void test_too_many_inlined_functions_are_cut(void **state)
{
	struct native_name a;
	int i;

	native_names_ask(&names, &pool, 16);
	for (i = 0; i < 20; i++)
		say((struct elf_name){ .addr = 16, .start = 8, .inlined = i < 19 }, "f", NULL);
	assert_int_equal(take(), 0);
	assert_int_equal(get(16, &a), NAME_KNOWN);
	assert_int_equal(a.cnt, 8);
}

static void test_what_was_not_asked_is_refused(void **state)
{
	struct native_name a;

	say((struct elf_name){ .addr = 16, .start = 8 }, "foo", NULL);
	assert_int_equal(take(), -EBADMSG);
	assert_int_equal(get(16, &a), NAME_MISSING);
	native_names_ask(&names, &pool, 16);
	assert_int_equal(take(), 0);
	/* It does not say it twice. */
	assert_int_equal(take(), -EBADMSG);
}

/* Each prefix of a good message, and each byte changed: never more than -EBADMSG. */
static void test_false_lengths(void **state)
{
	uint32_t whole, i;
	uint8_t byte;
	int err;

	native_names_ask(&names, &pool, 16);
	say((struct elf_name){ .addr = 16, .start = 8, .inlined = 1 }, "foo", "x.c");
	say((struct elf_name){ .addr = 16, .start = 8 }, "bar", NULL);
	whole = m.bytes;
	for (m.bytes = 1; m.bytes < whole; m.bytes++)
		assert_int_equal(take(), -EBADMSG);
	for (i = 0; i < whole; i++)
		for (byte = 1; byte; byte <<= 1) {
			native_names_free(&names, &pool);
			native_names_ask(&names, &pool, 16);
			data[i] ^= byte;
			err = take();
			assert_true(!err || err == -EBADMSG);
			data[i] ^= byte;
		}
}

static void test_the_bound_of_a_file(void **state)
{
	struct native_name a;
	uint64_t i;

	for (i = 0; i < NATIVE_NAMES_OF_FILE; i++)
		assert_int_equal(native_names_ask(&names, &pool, i + 1), 0);
	assert_int_equal(native_names_ask(&names, &pool, i + 1), -ENOSPC);
	assert_int_equal(get(i + 1, &a), NAME_FULL);
	assert_int_equal(get(i, &a), NAME_ASKED);
	assert_int_equal(pool.unknown, 1);
}

/* Of all files; a file that nobody needs gives its room back. */
static void test_the_bound_of_all(void **state)
{
	char name[512];
	struct native_name a;
	uint64_t i = 0;

	while (!native_names_ask(&names, &pool, ++i)) {
		snprintf(name, sizeof(name), "%0511llu", (unsigned long long)i);
		m.bytes = m.cnt = 0;
		say((struct elf_name){ .addr = i, .start = i }, name, NULL);
		assert_int_equal(take(), 0);
	}
	assert_in_range(i, NATIVE_NAMES_BYTES_MAX / 1024, NATIVE_NAMES_BYTES_MAX / 512);
	assert_in_range(pool.bytes, NATIVE_NAMES_BYTES_MAX, NATIVE_NAMES_BYTES_MAX + 1024);
	assert_true(pool.full);
	assert_int_equal(get(i, &a), NAME_FULL);
	assert_int_equal(get(i - 1, &a), NAME_KNOWN);
	native_names_free(&names, &pool);
	assert_int_equal(pool.bytes, 0);
	assert_int_equal(native_names_ask(&names, &pool, i), 0);
}

static void test_giving_up(void **state)
{
	struct native_name a;

	native_names_ask(&names, &pool, 16);
	native_names_give_up(&names, 16, false);
	assert_int_equal(get(16, &a), NAME_MISSING);
	native_names_ask(&names, &pool, 16);
	native_names_give_up(&names, 16, true);
	assert_int_equal(get(16, &a), NAME_UNKNOWN);
	native_names_give_up(&names, 17, true);
}

static void test_patterns_fit_a_message(void **state)
{
	uint32_t cnt, bytes, i, nuls = 0, again;
	const char *text = native_patterns(&cnt, &bytes);

	for (i = 0; i < bytes; i++)
		nuls += !text[i];
	assert_int_equal(nuls, cnt);
	assert_in_range(bytes, 1, ELF_WIRE_BYTES);
	assert_string_equal(text, "_PyEval_EvalFrameDefault*");
	assert_int_equal(native_pattern_class(0), NATIVE_EVAL);
	for (i = 0; i < cnt; i++)
		assert_int_not_equal(native_pattern_class(i), NATIVE_CODE);
	assert_int_equal(native_pattern_class(cnt), NATIVE_CODE);
	native_patterns(&again, &bytes);
	assert_int_equal(again, cnt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names_of_one_function_are_one, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_inlined_functions_and_lines, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_code_without_a_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_many_inlined_functions_are_cut, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_was_not_asked_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_false_lengths, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_bound_of_a_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_bound_of_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_giving_up, set_up, tear_down),
		cmocka_unit_test(test_patterns_fit_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
