// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* test_settings.c - values by their types, good and bad; command lines of rows; presets; --help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cli.h"
#include "base/util.h"

static struct values {
	uint32_t number, rate, bits;
	uint64_t count, ns, us, bytes;
	double seconds, percent;
	int word;
	bool of_word, boolean, flag, no_flag;
	const char *text;
} v;

static const struct setting_word colours[] = { { "red", 1 }, { "green", 2 }, { "blue", 4 }, { 0 } };

#define AT(member) .off = offsetof(struct values, member)
static const struct setting below[] = {
	{ 'n', "number", NULL, "One", "a number", &setting_integer, AT(number), .min = 2,
	  .max = 9 },
	{ 0, "count", NULL, "One", "a count", &setting_count, AT(count), .max = 1e9 },
	{ 0 }
};
static const struct setting rows[] = {
	{ .others = below },
	{ 'r', "rate", NULL, "One", "a rate", &setting_rate, AT(rate), .min = 1, .max = 50000,
	  .preset = "1khz" },
	{ 0, "time", NULL, "Two", "a time", &setting_duration, AT(ns), .min = NS_OF_MS,
	  .max = NS_OF_H },
	{ 0, "us", NULL, "Two", "a time", &setting_microseconds, AT(us), .max = NS_OF_H },
	{ 0, "s", NULL, "Two", "a time", &setting_seconds, AT(seconds), .min = 1, .max = NS_OF_D },
	{ 0, "size", "BYTES", "Two", "a size", &setting_size, AT(bytes), .max = 0x1p40 },
	{ 0, "percent", NULL, "Two", "a share", &setting_percent, AT(percent), .max = 100,
	  .wanted = "expected less" },
	{ 0, "word", NULL, "Two", "a word", &setting_choice, AT(word), .words = colours },
	{ 0, "switch", NULL, "Two", "a word", &setting_switch, AT(of_word), .words = colours },
	{ 0, "bits", NULL, "Two", "words", &setting_choices, AT(bits), .words = colours },
	{ 0, "boolean", NULL, "Two", "what is true", &setting_boolean, AT(boolean),
	  .preset = "true", .path = "x.boolean" },
	{ 'f', "flag", NULL, "Two", "a flag", &setting_flag, AT(flag) },
	{ 0, "no-flag", NULL, "Two", "no flag", &setting_no_flag, AT(no_flag), .preset = "on" },
	{ 0, "old-flag", NULL, "Two", NULL, &setting_flag, AT(flag) },
	{ 0, "text", NULL, "Two", "a text", &setting_text, AT(text) },
	{ 0 }
};

static int take_word(void *target, char *word)
{
	return -1;
}

static const char *const none[] = { NULL };
static const struct cli_command command = {
	.name = "x", .help = "Tests.", .synopsis = none, .examples = none, .settings = rows,
	.word = take_word,
};

/* Presets, and the words of a line. messages: what is logged. */
static char messages[512];
static int parse(const char *line)
{
	static char copy[256];
	char *words[16], *save, *word;
	FILE *terminal = stderr;
	int cnt = 0, err;

	snprintf(copy, sizeof(copy), "%s", line);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		words[cnt++] = word;
	words[cnt] = NULL;
	memset(&v, 0, sizeof(v));
	memset(messages, 0, sizeof(messages));
	stderr = fmemopen(messages, sizeof(messages), "w");
	err = cli_preset(&command, &v);
	if (!err)
		err = cli_parse(&command, words, &v);
	fclose(stderr);
	stderr = terminal;
	return err;
}

static void assert_bad(const char *line, const char *message)
{
	char want[256];

	assert_int_not_equal(parse(line), 0);
	snprintf(want, sizeof(want), "tachbpf: error: %s\n", message);
	assert_string_equal(messages, want);
}

static void test_numbers(void **state)
{
	assert_int_equal(parse("-n9 --count=10k --rate 2khz --time 1.5m --us 5ms --s 250ms --size "
			       "1.5KiB --percent 0.5%"), 0);
	assert_true(v.number == 9 && v.count == 10000 && v.rate == 2000);
	assert_true(v.ns == 90000000000 && v.us == 5000 && v.seconds == 0.25 && v.bytes == 1536);
	assert_true(v.percent == 0.5);
	assert_int_equal(parse("--s 0.1 --size 2kb --time 1h"), 0);
	assert_true(v.seconds == 0.1 && v.bytes == 2000 && v.ns == 3600000000000);
	assert_bad("--number 1", "invalid --number '1': expected 2 to 9");
	assert_bad("--number 2.5", "invalid --number '2.5': expected 2 to 9");
	assert_bad("--time 1us", "invalid --time '1us': expected 1ms to 1h");
	assert_bad("--size 2TiB", "invalid --size '2TiB': expected 0 to 1TiB");
	assert_bad("--percent 101", "invalid --percent '101': expected less");
	assert_bad("--s 0", "invalid --s '0': expected 1ns to 1d");
}

static void test_words(void **state)
{
	assert_int_equal(parse("--word Green --switch blue --bits red,blue --bits green "
			       "--text a"), 0);
	assert_true(v.word == 2 && v.of_word && v.bits == 7);
	assert_string_equal(v.text, "a");
	assert_bad("--word gren", "invalid --word 'gren': expected red, green or blue");
	assert_bad("--bits red,", "invalid --bits 'red,': expected red, green or blue");
	assert_bad("--text=", "invalid --text '': it is empty");
}

/* The last one wins; what is not given is the preset. */
static void test_flags_and_presets(void **state)
{
	assert_int_equal(parse(""), 0);
	assert_true(v.boolean && v.no_flag && !v.flag && v.rate == 1000);
	assert_int_equal(parse("--no-boolean --no-flag -fr5 --rate=6"), 0);
	assert_true(!v.boolean && !v.no_flag && v.flag && v.rate == 6);
	assert_int_equal(parse("--no-boolean --boolean --old-flag"), 0);
	assert_true(v.boolean && v.flag);
	assert_bad("--no-boolean=1",
		   "option --no-boolean takes no value: use --no-boolean alone");
	assert_bad("--no-bolean", "unknown option '--no-bolean': did you mean --no-boolean? See: "
		   "tachbpf x --help");
	assert_bad("--old-fla", "unknown option '--old-fla'; see: tachbpf x --help");
	assert_bad("--size", "option --size needs a value: --size BYTES");
}

static void test_help(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	cli_print_options(&command, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "\nOne:\n  -n, --number N              a number\n"));
	assert_non_null(strstr(text, "\nTwo:\n      --time TIME             a time\n"));
	assert_non_null(strstr(text, "      --no-boolean            without what is true\n"));
	assert_null(strstr(text, "old-flag"));
	free(text);
	assert_string_equal(cli_option(&command, 1)->name, "count");
	assert_string_equal(cli_option(&command, 2)->name, "rate");
	assert_null(cli_option(&command, ARRAY_SIZE(rows) + ARRAY_SIZE(below) - 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_words),
		cmocka_unit_test(test_flags_and_presets), cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
