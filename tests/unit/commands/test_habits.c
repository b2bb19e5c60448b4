// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * test_habits.c - what users of other profilers type: each row of the tables is of use, what is
 * understood, what is answered; times with units; tachbpf alone.
 */
#include "user/commands/habits.c"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options_test.h"

/* What parsing a line logs; valid until the next call. It must be refused. */
static const char *answer(const char *line)
{
	static char text[1024];
	int saved = dup(STDERR_FILENO), fd = open("/tmp", O_TMPFILE | O_RDWR, 0600), err;
	ssize_t n;

	assert_true(saved >= 0 && fd >= 0);
	fflush(stderr);
	dup2(fd, STDERR_FILENO);
	err = parse(line);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	n = pread(fd, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
	close(saved);
	if (!err)
		fail_msg("'%s' was taken", line);
	return text;
}

static void assert_answer(const char *line, const char *words)
{
	const char *text = answer(line);

	if (!strstr(text, words))
		fail_msg("'%s' is answered by: %s", line, text);
	if (strchr(text, '\n') != text + strlen(text) - 1)
		fail_msg("'%s' is answered by more than a line: %s", line, text);
}

static const struct setting *find_row(const struct cli_command *cmd, const char *name)
{
	const struct setting *s;
	size_t i;

	for (i = 0; (s = cli_option(cmd, i)); i++)
		if (name[1] == '-' ? !strcmp(s->name, name + 2) : s->letter == name[1])
			return s;
	return NULL;
}

static void check_row(const struct habit_option *row, const struct cli_command *cmd)
{
	const char *names[] = { row->letter, row->name };
	char ours[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i] && find_row(cmd, names[i]))
			fail_msg("%s has %s itself", cmd->name, names[i]);
	if (!row->means.option == !row->means.answer)
		fail_msg("%s must be an option, or be answered", row->name);
	if (!row->means.option)
		return;
	snprintf(ours, sizeof(ours), "--%s", row->means.option);
	if (!find_row(cmd, ours))
		fail_msg("%s has no %s", cmd->name, ours);
}

/* A row that an option hides would never be seen; one without an option would crash. */
static void test_every_row_is_of_use(void **state)
{
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		for (k = 0; k < COMMAND_CNT; k++)
			if (options[i].commands & 1u << k && k != COMMAND_AGENT)
				check_row(&options[i], &options_commands[k]);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		for (k = 0; k < COMMAND_CNT; k++)
			assert_string_not_equal(commands[i].name, options_commands[k].name);
}

static void test_what_is_understood(void **state)
{
	assert_int_equal(parse("record -p 1 --subprocesses --sampling-rate 10khz -x 30"), 0);
	assert_int_equal(o.record.select.proc_filter.children, CHILDREN_YES);
	assert_int_equal(o.record.rate_hz, 10000);
	assert_true(o.record.duration_s == 30);
	assert_int_equal(parse("-sp 1 --freq=99 --async-aware --exposure=2m"), 0);
	assert_int_equal(o.record.select.proc_filter.children, CHILDREN_YES);
	assert_int_equal(o.record.rate_hz, 99);
	assert_true(o.record.capture.async && o.record.duration_s == 120);
	assert_int_equal(parse("--all-cpus"), 0);
	assert_true(o.record.select.all);
	assert_int_equal(parse("top -d 1"), 0);
	assert_true(o.top.interval_s == 1);
	assert_int_equal(parse("dump -jl 12"), 0);
	assert_true(o.dump.json && o.dump.locals);
	assert_int_equal(parse("report -l 7 x"), 0);
	assert_int_equal(o.report.limit, 7);
	assert_int_equal(parse("replay --heatmap x -o y"), 0);
	assert_string_equal(o.convert.export.format->name, "heatmap");
	assert_string_equal(o.convert.export.output, "y");
	assert_int_equal(parse("convert -f pprof x -o y"), 0);
	assert_string_equal(o.convert.export.format->name, "pprof");
	assert_int_equal(parse("report -V"), 0);
	assert_int_equal(o.show, SHOW_VERSION);
}

static void test_what_is_answered(void **state)
{
	assert_answer("-p 1 --gil", "--gil: use -m gil");
	assert_answer("-p 1 -n", "-n: use --native");
	assert_answer("-p 1 --nonblocking", "--nonblocking: tachbpf never stops a program");
	assert_answer("-p 1 --function", "--by line shows lines");
	assert_answer("-p 1 --format=speedscope -o x", "--format: the name of -o decides");
	assert_answer("-p 1 -i 100", "-r 999");
	assert_answer("-p 1 --interval 100", "use -r");
	assert_answer("-p 1 --live", "tachbpf top");
	assert_answer("dump -c core", "core dumps");
	assert_answer("open --leaks x", "tachbpf mem --leaks");
	assert_answer("run -m http.server", "-- python3 -m MODULE");
	assert_answer("-a -p 1", "leave one of them out");
	/* Only where they are meant; and what nobody knows. */
	assert_answer("report --gil x", "unknown option '--gil'");
	assert_answer("info -x f", "unknown option '-x'");
	assert_answer("-a --frob", "unknown option '--frob'");
	assert_answer("tree x", "unknown command 'tree': use tachbpf mem --by stack FILE");
	assert_answer("help detach", "nothing to detach");
	assert_answer("reprot x", "did you mean tachbpf report");
	assert_answer("-a reprot", "did you mean tachbpf report");
}

static void test_commands_of_others(void **state)
{
	assert_int_equal(parse("attach 12 -d 5 34"), 0);
	assert_int_equal(o.command, COMMAND_RECORD);
	assert_int_equal(o.record.select.pid_cnt, 2);
	assert_true(o.record.duration_s == 5);
	assert_int_equal(parse("run -d 5 prog -d 6"), 0);
	assert_string_equal(o.record.command[0], "prog");
	assert_string_equal(o.record.command[2], "6");
	assert_true(o.record.duration_s == 5 && !o.record.script);
	assert_int_equal(parse("record prog -a"), 0);
	assert_string_equal(o.record.command[1], "-a");
	assert_int_equal(parse("flamegraph x -o y"), 0);
	assert_int_equal(o.command, COMMAND_OPEN);
	assert_string_equal(o.input.paths[0], "x");
	assert_int_equal(parse("help run"), 0);
	assert_true(o.show == SHOW_HELP && o.command == COMMAND_RECORD);
	assert_int_equal(parse("version"), 0);
	assert_int_equal(o.show, SHOW_VERSION);
	assert_int_equal(parse("1234,5 -d 1"), 0);
	assert_int_equal(o.record.select.pids[1], 5);
	assert_answer("attach app.py", "expected process IDs");
}

static void test_nothing_shows_how_to_begin(void **state)
{
	static char text[4096];
	FILE *out = fmemopen(text, sizeof(text), "w");
	size_t lines = 0;
	char *line, *save;

	assert_int_equal(parse(""), 0);
	assert_int_equal(o.show, SHOW_START);
	options_print(&o, out);
	fclose(out);
	assert_non_null(strstr(text, "tachbpf app.py"));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		assert_true(strlen(line) <= 80);
		lines++;
	}
	assert_true(lines <= 20);
	assert_answer("record", "nothing selected");
}

/* ---- scripts ---- */

static char dir[] = "/tmp/test_habits-XXXXXX";

static const char *make_file(const char *name, const char *text)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

/* The words that "tachbpf [WORDS] PATH --help" runs, joined by spaces; "": it runs none. */
static const char *command_of(const char *words, const char *path)
{
	static char text[256];
	char line[128];
	char **word;

	*text = '\0';
	snprintf(line, sizeof(line), "%s%s --help", words, path);
	if (parse(line) || o.command != COMMAND_RECORD)
		return text;
	for (word = o.record.command; word && *word; word++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? " " : "",
			 *word);
	return text;
}

static void assert_command(const char *words, const char *path, const char *interpreter)
{
	char want[128];

	snprintf(want, sizeof(want), "%s%s%s --help", interpreter, *interpreter ? " " : "", path);
	assert_string_equal(command_of(words, path), want);
	assert_int_equal(o.record.script, *interpreter != '\0');
}

static void test_scripts_run_under_their_python(void **state)
{
	char bin[64], python[64], line[80];
	const char *path;

	assert_non_null(mkdtemp(dir));
	snprintf(bin, sizeof(bin), "%s/bin", dir);
	assert_int_equal(mkdir(bin, 0755), 0);
	snprintf(python, sizeof(python), "%s", make_file("bin/python3", ""));
	setenv("VIRTUAL_ENV", dir, true);
	unsetenv("SUDO_USER");
	assert_command("", make_file("app.py", "x = 1\n"), python);
	assert_command("-r 99 ", make_file("app.py", "x = 1\n"), python);
	assert_command("run ", make_file("app.py", "x = 1\n"), python);
	assert_command("", make_file("tool", "#!/usr/bin/env python3\n"), python);
	assert_command("", make_file("tool", "#!/usr/bin/env -S python3 -u\r\n"),
		       strcat(strcpy(line, python), " -u"));
	assert_command("", make_file("app.py", "#! /no/such/python2 -E\n"), python);
	snprintf(line, sizeof(line), "#!%s -E\n", python);
	path = make_file("tool", line);
	line[strlen(line) - 1] = '\0';
	assert_command("", path, line + 2);
	/* What is no Python script is a command only if that was said. */
	assert_command("run ", make_file("other", "#!/bin/sh\n"), "");
	assert_answer(make_file("other", "#!/bin/sh\n"), "tachbpf -- ");
	assert_answer("no-such-file.py", "tachbpf -- no-such-file.py");
	/* Without any. */
	assert_int_equal(unlink(python), 0);
	setenv("PATH", bin, true);
	assert_answer(make_file("app.py", ""), "no python3 in PATH");
	snprintf(line, sizeof(line), "rm -r %s", dir);
	setenv("PATH", "/usr/bin:/bin", true);
	assert_int_equal(system(line), 0);
}

/* ---- times ---- */

static bool is_time(const struct setting *s)
{
	return s->type == &setting_seconds || s->type == &setting_duration ||
	       s->type == &setting_microseconds || s->type == &type_moment;
}

/* Each option with a time takes all units, and says which there are. */
static void test_every_time_has_units(void **state)
{
	static const char *const good[] = { "5", "1.5", "5s", "5sec", "500ms", "0.01h", "1m",
					    "1min" };
	const struct setting *s;
	struct setting_why why;
	size_t i, k, g, cnt = 0;

	options_free(&o);
	for (i = 0; i < COMMAND_CNT; i++) {
		for (k = 0; (s = cli_option(&options_commands[i], k)); k++) {
			if (!is_time(s))
				continue;
			cnt++;
			for (g = 0; g < ARRAY_SIZE(good); g++)
				if (s->type->set(s, (char *)&o + s->off, good[g], &why) &&
				    strcmp(s->name, "keep"))	/* at least 1 s */
					fail_msg("--%s %s: %s", s->name, good[g], why.text);
			assert_int_equal(s->type->set(s, (char *)&o + s->off, "5x", &why), -EINVAL);
			if (!strstr(why.text, "such as"))
				fail_msg("--%s 5x: %s", s->name, why.text);
		}
	}
	assert_true(cnt > 10);
	memset(&o, 0, sizeof(o));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_is_of_use),
		cmocka_unit_test(test_what_is_understood),
		cmocka_unit_test(test_what_is_answered),
		cmocka_unit_test(test_commands_of_others),
		cmocka_unit_test(test_nothing_shows_how_to_begin),
		cmocka_unit_test(test_scripts_run_under_their_python),
		cmocka_unit_test(test_every_time_has_units),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	options_free(&o);
	return failed;
}
