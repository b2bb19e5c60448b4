// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cli.c - parses a command line from a table. See cli.h.
 *
 * Not getopt_long(): it accepts abbreviations, so a new option can change the meaning of an
 * existing script, and its messages contain neither the command nor the remedy.
 */
#include "base/cli.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/colour.h"
#include "base/text.h"
#include "base/util.h"

/* Column of an option's help text, and of an example. */
#define HELP_COLUMN 30
#define EXAMPLE_COLUMN 6

/* Longer names are not compared with the user's word. */
#define NEAR_BYTES 32

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

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Returns how many letters must be inserted, deleted, replaced, or exchanged with their neighbour,
 * to make b of the len letters at a (optimal string alignment). Both have at most NEAR_BYTES.
 */
static size_t edit_distance(const char *a, size_t len, const char *b)
{
	size_t rows[3][NEAR_BYTES + 1], b_len = strlen(b), i, j;

	for (j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (i = 1; i <= len; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3];

		row[0] = i;
		for (j = 1; j <= b_len; j++) {
			row[j] = min(min(above[j], row[j - 1]) + 1,
				     above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min(row[j], rows[(i + 1) % 3][j - 2] + 1);
		}
	}
	return rows[len % 3][b_len];
}

const char *cli_nearest(const char *word, size_t len, cli_name_fn at, const void *ctx)
{
	const char *name, *nearest = NULL;
	size_t i, far, best = SIZE_MAX;

	if (len < 2 || len > NEAR_BYTES)
		return NULL;
	for (i = 0; (name = at(ctx, i)); i++) {
		size_t longer = strlen(name);

		if (longer > NEAR_BYTES)
			continue;
		far = edit_distance(word, len, name);
		/* A prefix of a name counts as one mistake. */
		if (len > 2 && far && !strncmp(word, name, len))
			far = 1;
		longer = longer > len ? longer : len;
		if (far <= (longer < 6 ? 1 : longer / 3) && far < best) {
			best = far;
			nearest = name;
		}
	}
	return nearest;
}

static const char *option_name(const void *ctx, size_t i)
{
	const struct cli_command *cmd = ctx;

	while (i < cmd->option_cnt && !cmd->options[i].help)
		i++;	/* an old name: the next one, even if it repeats */
	return i < cmd->option_cnt ? cmd->options[i].name : NULL;
}

/* text: the word with its dashes, without a value. */
static int unknown_option(const struct cli_command *cmd, const char *text, size_t len)
{
	bool is_long = len > 2 && text[1] == '-';
	const char *near = is_long ? cli_nearest(text + 2, len - 2, option_name, cmd) : NULL;
	char shown[CLI_TEXT_MAX];

	escape_text(text, len, shown, sizeof(shown));
	if (near)
		log_error("unknown option '%s': did you mean --%s? See: tachbpf %s --help", shown,
			  near, cmd->name);
	else
		log_error("unknown option '%s'; see: tachbpf %s --help", shown, cmd->name);
	return -EINVAL;
}

/* Returns the option's value, which is the next word. NULL: there is none, which was logged. */
static const char *next_value(struct parser *p, const struct cli_option *opt)
{
	if (!p->argv[1]) {
		log_error("option --%s needs a value: --%s %s", opt->name, opt->name, opt->arg);
		return NULL;
	}
	return *++p->argv;
}

bool cli_value_is_optional(const struct cli_option *opt)
{
	return opt->arg && opt->arg[0] == '[';
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
	if (opt->arg && !cli_value_is_optional(opt)) {
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

void cli_print_heading(const char *text, FILE *out)
{
	fprintf(out, "\n%s%s:%s\n", colour_on(out, COLOUR_BOLD), text, colour_off(out));
}

static void print_option(const struct cli_option *opt, FILE *out)
{
	int n = opt->letter ? fprintf(out, "  -%c, --%s", opt->letter, opt->name) :
			      fprintf(out, "      --%s", opt->name);

	if (opt->arg)
		n += fprintf(out, "%s%s", cli_value_is_optional(opt) ? "" : " ", opt->arg);
	if (n > HELP_COLUMN - 2)
		n = fprintf(out, "\n") - 1;
	fprintf(out, "%*s", HELP_COLUMN - n, "");
	text_wrap(out, opt->help, HELP_COLUMN, TEXT_COLUMNS);
}

void cli_print_options(const struct cli_command *cmd, FILE *out)
{
	const char *group = NULL;
	size_t i;

	for (i = 0; i < cmd->option_cnt; i++) {
		const struct cli_option *opt = &cmd->options[i];

		if (!opt->help)
			continue;
		if (!group || strcmp(group, opt->group))
			cli_print_heading(opt->group, out);
		group = opt->group;
		print_option(opt, out);
	}
}

void cli_print_examples(const struct cli_command *cmd, FILE *out)
{
	const char *const *line;

	cli_print_heading("Examples", out);
	for (line = cmd->examples; line[0]; line += 2) {
		fprintf(out, "  %s\n%*s", line[0], EXAMPLE_COLUMN, "");
		text_wrap(out, line[1], EXAMPLE_COLUMN, TEXT_COLUMNS);
	}
}

void cli_print_row(const char *name, const char *text, size_t column, FILE *out)
{
	int n = fprintf(out, "  %s", name);

	fprintf(out, "%*s", (size_t)n < column ? (int)column - n : 1, "");
	text_wrap(out, text, column, TEXT_COLUMNS);
}

void cli_print_usage(const struct cli_command *cmd, FILE *out)
{
	const char *const *line;

	for (line = cmd->synopsis; *line; line++)
		fprintf(out, "%s %s\n", line == cmd->synopsis ? "Usage:" : "      ", *line);
	fprintf(out, "\n%s\n", cmd->help);
}
