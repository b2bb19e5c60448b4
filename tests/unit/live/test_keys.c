// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_keys.c - the bytes of a terminal as keys, in one piece and in several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "live/keys.h"

static struct keys keys;

static void type(const char *bytes)
{
	assert_int_equal(keys_add(&keys, bytes, strlen(bytes)), strlen(bytes));
}

static void test_characters(void **state)
{
	keys.len = 0;
	type("a\r\n\b\177\t é€😀");
	assert_int_equal(keys_next(&keys, false), 'a');
	assert_int_equal(keys_next(&keys, false), KEY_ENTER);
	assert_int_equal(keys_next(&keys, false), KEY_ENTER);
	assert_int_equal(keys_next(&keys, false), KEY_BACKSPACE);
	assert_int_equal(keys_next(&keys, false), KEY_BACKSPACE);
	assert_int_equal(keys_next(&keys, false), KEY_TAB);
	assert_int_equal(keys_next(&keys, false), ' ');
	assert_int_equal(keys_next(&keys, false), 0xe9);
	assert_int_equal(keys_next(&keys, false), 0x20ac);
	assert_int_equal(keys_next(&keys, false), 0x1f600);
	assert_int_equal(keys_next(&keys, false), KEY_NONE);
}

static void test_sequences(void **state)
{
	static const struct {
		const char *bytes;
		int key;
	} all[] = {
		{ "\033[A", KEY_UP }, { "\033OB", KEY_DOWN }, { "\033[5~", KEY_PAGE_UP },
		{ "\033[6~", KEY_PAGE_DOWN }, { "\033[H", KEY_HOME }, { "\033[4~", KEY_END },
		{ "\033[Z", KEY_BACK_TAB }, { "\033OC", KEY_RIGHT }, { "\033[D", KEY_LEFT },
	};
	size_t i;

	keys.len = 0;
	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		type(all[i].bytes);
		assert_int_equal(keys_next(&keys, false), all[i].key);
		assert_int_equal(keys.len, 0);
	}
}

/* What is no key is ignored, and what follows is one. */
static void test_unknown(void **state)
{
	keys.len = 0;
	type("\033[1;5Pq\033OQw\377\300x");
	assert_int_equal(keys_next(&keys, false), 'q');
	assert_int_equal(keys_next(&keys, false), 'w');
	assert_int_equal(keys_next(&keys, false), 'x');
	assert_int_equal(keys_next(&keys, true), KEY_NONE);
	/* too large, too long, a surrogate */
	type("\364\220\200\200\340\200\215\355\240\200z");
	assert_int_equal(keys_next(&keys, false), 'z');
}

/* Bytes of one key come one after the other; a single Esc is a key if nothing follows. */
static void test_pieces(void **state)
{
	keys.len = 0;
	type("\033");
	assert_int_equal(keys_next(&keys, false), KEY_NONE);
	type("[");
	assert_int_equal(keys_next(&keys, false), KEY_NONE);
	type("A");
	assert_int_equal(keys_next(&keys, false), KEY_UP);
	type("\033");
	assert_int_equal(keys_next(&keys, true), KEY_ESC);
	type("\033q");
	assert_int_equal(keys_next(&keys, false), KEY_ESC);
	assert_int_equal(keys_next(&keys, false), 'q');
	type("\303");
	assert_int_equal(keys_next(&keys, false), KEY_NONE);
	type("\251");
	assert_int_equal(keys_next(&keys, false), 0xe9);
	type("\303");
	assert_int_equal(keys_next(&keys, true), KEY_NONE);
	assert_int_equal(keys.len, 0);
}

/* A sequence without end takes no more than there is room for, and ends. */
static void test_too_long(void **state)
{
	char many[200];

	keys.len = 0;
	memset(many, '1', sizeof(many));
	many[0] = '\033';
	many[1] = '[';
	assert_int_equal(keys_add(&keys, many, sizeof(many)), KEYS_BYTES);
	assert_int_equal(keys_next(&keys, false), KEY_NONE);
	assert_int_equal(keys.len, 0);
}

static void test_utf8(void **state)
{
	static const int all[] = { 'a', 0xe9, 0x20ac, 0x1f600 };
	char bytes[5];
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		bytes[keys_utf8(all[i], bytes)] = '\0';
		keys.len = 0;
		type(bytes);
		assert_int_equal(keys_next(&keys, false), all[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters), cmocka_unit_test(test_sequences),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_too_long), cmocka_unit_test(test_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
