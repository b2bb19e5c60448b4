// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_mlyze_marks.c - names of markers: what is written is read; what is damaged is not ours. */
#include "formats/mlyze/mlyze_marks.h"
#include "tests/unit/tach_test.h"

static struct mlyze_mark parse(const char *text)
{
	struct mlyze_mark m;

	mlyze_mark_parse(text, strlen(text), &m);
	return m;
}

static void test_what_is_written_is_read(void **state)
{
	struct mlyze_mark_text t;
	struct mlyze_mark m;

	mlyze_mark_begin(&t, MARK_PROCESS);
	mlyze_mark_put_number(&t, "pid", 4711);
	mlyze_mark_put(&t, "comm", "a b=%\n\x7f\xff");
	mlyze_mark_put(&t, "empty", "");
	assert_string_equal(t.text, "tachbpf process pid=4711 comm=a%20b=%25%0A%7F%FF empty=");
	assert_int_equal(t.len, strlen(t.text));
	mlyze_mark_parse(t.text, t.len, &m);
	assert_int_equal(m.word, MARK_PROCESS);
	assert_int_equal(m.cnt, 3);
	assert_int_equal(mlyze_mark_number(&m, "pid", 0), 4711);
	assert_string_equal(mlyze_mark_value(&m, "comm"), "a b=%\n\x7f\xff");
	assert_string_equal(mlyze_mark_value(&m, "empty"), "");
	assert_null(mlyze_mark_value(&m, "other"));
	assert_int_equal(mlyze_mark_number(&m, "other", 9), 9);
	assert_int_equal(mlyze_mark_number(&m, "comm", 9), 9);
}

static void test_each_word(void **state)
{
	static const struct {
		enum mlyze_mark_word word;
		const char *text;
	} words[] = {
		{ MARK_RECORDING, "tachbpf recording" }, { MARK_PROCESS, "tachbpf process" },
		{ MARK_THREAD, "tachbpf thread" },	 { MARK_CHECK, "tachbpf check" },
		{ MARK_GC, "tachbpf gc" },		 { MARK_LOST, "tachbpf lost" },
		{ MARK_END, "tachbpf end" },		 { MARK_FATE, "tachbpf fate" },
	};
	struct mlyze_mark_text t;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		mlyze_mark_begin(&t, words[i].word);
		assert_string_equal(t.text, words[i].text);
		assert_int_equal(parse(t.text).word, words[i].word);
	}
}

static void test_what_is_not_ours(void **state)
{
	static const char *const texts[] = {
		"", "tachbpf", "tachbpf ", "tachbpf thing", "tachbpf check=1", "Tachbpf end",
		"tachbpf end exited", "tachbpf end =1", "tachbpf end exited=%", "tachbpf end a=%4",
		"tachbpf end a=%zz", "tachbpf end a=%00", "tachbpf end  a=1", "epoch 12",
	};
	struct mlyze_mark m;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		m = parse(texts[i]);
		assert_int_equal(m.word, MARK_NONE);
		assert_int_equal(m.cnt, 0);
	}
	mlyze_mark_parse("tachbpf end a=\0b", 16, &m);
	assert_int_equal(m.word, MARK_NONE);
}

/* Later versions may say more: what is not known is left out, and what is too much. */
static void test_more_than_is_known(void **state)
{
	char text[4096] = "tachbpf end a_key_of_more_than_23_bytes=1 exited=1";
	struct mlyze_mark m = parse(text);
	size_t i;

	assert_int_equal(m.word, MARK_END);
	assert_int_equal(m.cnt, 1);
	assert_int_equal(mlyze_mark_number(&m, "exited", 0), 1);
	for (i = 0; i < 20; i++)
		sprintf(text + strlen(text), " k%zu=%zu", i, i);
	m = parse(text);
	assert_int_equal(m.cnt, MLYZE_MARK_KEYS);
	assert_int_equal(mlyze_mark_number(&m, "k6", 0), 6);
	snprintf(text, sizeof(text), "tachbpf process comm=%0*d", 600, 7);
	m = parse(text);
	assert_int_equal(strlen(mlyze_mark_value(&m, "comm")), MLYZE_MARK_VALUE - 1);
}

/* The text ends at a whole pair, and values at their limit. */
static void test_the_limits_of_a_text(void **state)
{
	char value[2000];
	struct mlyze_mark_text t;
	struct mlyze_mark m;

	memset(value, '\n', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	mlyze_mark_begin(&t, MARK_PROCESS);
	mlyze_mark_put(&t, "command", value);
	mlyze_mark_put(&t, "beyond", value);
	mlyze_mark_put(&t, "comm", "x");
	assert_true(t.len < sizeof(t.text));
	assert_int_equal(t.text[t.len], '\0');
	mlyze_mark_parse(t.text, t.len, &m);
	assert_int_equal(m.cnt, 2);
	assert_int_equal(strlen(mlyze_mark_value(&m, "command")), MLYZE_MARK_VALUE - 1);
	assert_string_equal(mlyze_mark_value(&m, "comm"), "x");
}

/* Any bytes: as a value they are read as they were written; as a name they do no harm. */
static void test_any_bytes(void **state)
{
	uint64_t seed = 1;
	int round;

	for (round = 0; round < 20000; round++) {
		char bytes[64] = "tachbpf end ", value[32];
		struct mlyze_mark_text t;
		struct mlyze_mark m;
		size_t i, len = rnd(&seed) % 51;

		for (i = 0; i < len; i++)
			bytes[12 + i] = "%0A= kv\xff"[rnd(&seed) % 8];
		mlyze_mark_parse(bytes, 12 + len, &m);
		for (i = 0; i + 1 < sizeof(value); i++)
			value[i] = (char)rnd(&seed);
		value[i] = '\0';
		mlyze_mark_begin(&t, MARK_THREAD);
		mlyze_mark_put(&t, "name", value);
		mlyze_mark_parse(t.text, t.len, &m);
		assert_string_equal(mlyze_mark_value(&m, "name"), value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read),
		cmocka_unit_test(test_each_word),
		cmocka_unit_test(test_what_is_not_ours),
		cmocka_unit_test(test_more_than_is_known),
		cmocka_unit_test(test_the_limits_of_a_text),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
