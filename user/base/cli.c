// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cli.c - parses a command line by means of a table. See cli.h.
 *
 * Not getopt_long(): it accepts abbreviations, so a new option can change the meaning of an
 * existing script, and its messages contain neither the command nor the remedy.
 */
#include "base/cli.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

/* Where the help text of an option begins. */
#define HELP_COLUMN 30

struct parser {
	const struct cli_command *cmd;
	char **argv;		/* the word being parsed is argv[0] */
	void *target;
};

static const struct cli_option *find_long(const struct cli_command *cmd, const char *name,
					  size_t len)
{
	size_t i;

	for (i = 0; i < cmd->option_cnt; i++) {
		const char *known = cmd->options[i].name;

		if (strlen(known) == len && !memcmp(known, name, len))
			return &cmd->options[i];
	}
	return NULL;
}

static const struct cli_option *find_letter(const struct cli_command *cmd, char letter)
{
	size_t i;

	for (i = 0; i < cmd->option_cnt; i++)
		if (cmd->options[i].letter == letter)
			return &cmd->options[i];
	return NULL;
}

static int unknown_option(const struct cli_command *cmd, const char *text, size_t len)
{
	char shown[CLI_TEXT_MAX];

	log_error("unknown option '%s'; see: tachbpf %s --help",
		  escape_text(text, len, shown, sizeof(shown)), cmd->name);
	return -EINVAL;
}

/* The option's value, which is the next word. NULL: there is none, which was logged. */
static const char *next_value(struct parser *p, const struct cli_option *opt)
{
	if (!p->argv[1]) {
		log_error("option --%s needs a value: --%s %s", opt->name, opt->name, opt->arg);
		return NULL;
	}
	return *++p->argv;
}

static int parse_long(struct parser *p)
{
	const char *name = p->argv[0] + 2;
	const char *value = strchr(name, '=');
	size_t len = value ? (size_t)(value - name) : strlen(name);
	const struct cli_option *opt = find_long(p->cmd, name, len);

	if (!opt)
		return unknown_option(p->cmd, p->argv[0], len + 2);
	if (value && !opt->arg) {
		log_error("option --%s takes no value: write --%s alone", opt->name, opt->name);
		return -EINVAL;
	}
	if (value)
		return opt->set(p->target, opt, value + 1);
	if (opt->arg) {
		value = next_value(p, opt);
		if (!value)
			return -EINVAL;
	}
	return opt->set(p->target, opt, value);
}

/* -a, -vv, -r99, -r 99: letters may share a word until one takes a value. */
static int parse_letters(struct parser *p)
{
	const char *letter;
	int err;

	for (letter = p->argv[0] + 1; *letter; letter++) {
		const struct cli_option *opt = find_letter(p->cmd, *letter);
		const char *value = NULL;

		if (!opt)
			return unknown_option(p->cmd, p->argv[0], strlen(p->argv[0]));
		if (opt->arg) {
			value = letter[1] ? letter + 1 : next_value(p, opt);
			if (!value)
				return -EINVAL;
		}
		err = opt->set(p->target, opt, value);
		if (err || value)
			return err;
	}
	return 0;
}

static int parse_rest(struct parser *p)
{
	int err = 0;

	p->argv++;
	if (p->cmd->rest)
		return p->cmd->rest(p->target, p->argv);
	for (; !err && *p->argv; p->argv++)
		err = p->cmd->word(p->target, *p->argv);
	return err;
}

int cli_parse(const struct cli_command *cmd, char **argv, void *target)
{
	struct parser p = { .cmd = cmd, .argv = argv, .target = target };
	int err = 0;

	for (; !err && *p.argv; p.argv++) {
		char *word = *p.argv;

		if (!strcmp(word, "--"))
			return parse_rest(&p);
		if (!strncmp(word, "--", 2))
			err = parse_long(&p);
		else if (word[0] == '-' && word[1])
			err = parse_letters(&p);
		else
			err = cmd->word(target, word);
	}
	return err;
}

/* Print the lines of text from HELP_COLUMN on; column: where the first one begins. */
static void print_lines(const char *text, int column, FILE *out)
{
	for (;;) {
		size_t len = strcspn(text, "\n");

		fprintf(out, "%*s%.*s\n", HELP_COLUMN - column, "", (int)len, text);
		if (!text[len])
			return;
		text += len + 1;
		column = 0;
	}
}

void cli_print_options(const struct cli_command *cmd, FILE *out)
{
	const char *group = NULL;
	size_t i;

	for (i = 0; i < cmd->option_cnt; i++) {
		const struct cli_option *opt = &cmd->options[i];
		int n;

		if (!opt->help)
			continue;
		if (!group || strcmp(group, opt->group))
			fprintf(out, "\n%s:\n", opt->group);
		group = opt->group;
		n = opt->letter ? fprintf(out, "  -%c, --%s", opt->letter, opt->name) :
				  fprintf(out, "      --%s", opt->name);
		if (opt->arg)
			n += fprintf(out, " %s", opt->arg);
		if (n > HELP_COLUMN - 2)
			n = fprintf(out, "\n") - 1;
		print_lines(opt->help, n, out);
	}
}

void cli_print_examples(const struct cli_command *cmd, FILE *out)
{
	const char *const *line;

	fprintf(out, "\nExamples:\n");
	for (line = cmd->examples; line[0]; line += 2)
		fprintf(out, "  %s\n      %s\n", line[0], line[1]);
}

void cli_print_help(const struct cli_command *cmd, FILE *out)
{
	const char *const *line;

	for (line = cmd->synopsis; *line; line++)
		fprintf(out, "%s %s\n", line == cmd->synopsis ? "Usage:" : "      ", *line);
	fprintf(out, "\n%s\n", cmd->help);
	cli_print_options(cmd, out);
	cli_print_examples(cmd, out);
}
