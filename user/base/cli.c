// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cli.c - parses a command line from tables. See cli.h.
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

/* An option's name, possibly with "no-" before it, and its text in --help. */
#define NAME_BYTES 40
#define HELP_BYTES 512
/* At most this many names are compared with the user's word. */
#define NAMES_MAX 160

struct parser {
	const struct cli_command *cmd;
	char **argv;		/* the word being parsed is argv[0] */
	void *target;
};

/* Returns the table's row with this number; NULL: the table is shorter, and *i is the remainder. */
static const struct setting *row_of(const struct setting *s, size_t *i)
{
	const struct setting *found;

	for (; s && (s->name || s->others); s++) {
		if (s->name && !(*i)--)
			return s;
		found = s->name ? NULL : row_of(s->others, i);
		if (found)
			return found;
	}
	return NULL;
}

const struct setting *cli_option(const struct cli_command *cmd, size_t i)
{
	return row_of(cmd->settings, &i);
}

bool cli_is_shown(const struct setting *s)
{
	return s->help && !s->secret;
}

/* Returns true if --help shows --no-NAME, which is the opposite of the preset. */
static bool is_shown_as_no(const struct setting *s)
{
	return s->type == &setting_boolean && s->preset && !strcmp(s->preset, "true");
}

static bool is_name(const struct setting *s, const char *name, size_t len)
{
	return strlen(s->name) == len && !memcmp(s->name, name, len);
}

/* value: of a boolean, from its name. */
static const struct setting *find_long(const struct cli_command *cmd, const char *name, size_t len,
				       const char **value)
{
	bool no = len > 3 && !memcmp(name, "no-", 3);
	const struct setting *s;
	size_t i;

	*value = NULL;
	for (i = 0; (s = cli_option(cmd, i)); i++) {
		bool boolean = s->type == &setting_boolean;

		if (boolean)
			*value = "true";
		if (is_name(s, name, len))
			return s;
		if (boolean && no && is_name(s, name + 3, len - 3)) {
			*value = "false";
			return s;
		}
		*value = NULL;
	}
	return NULL;
}

static const struct setting *find_letter(const struct cli_command *cmd, char letter)
{
	const struct setting *s;
	size_t i;

	for (i = 0; (s = cli_option(cmd, i)); i++)
		if (s->letter == letter)
			return s;
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

/* The names in --help. */
struct shown_names {
	char list[NAMES_MAX][NAME_BYTES];
	size_t cnt;
};

static void list_names(const struct cli_command *cmd, struct shown_names *names)
{
	const struct setting *s;
	size_t i;

	names->cnt = 0;
	for (i = 0; (s = cli_option(cmd, i)) && names->cnt < NAMES_MAX; i++)
		if (cli_is_shown(s))
			snprintf(names->list[names->cnt++], NAME_BYTES, "%s%s",
				 is_shown_as_no(s) ? "no-" : "", s->name);
}

static const char *name_at(const void *ctx, size_t i)
{
	const struct shown_names *names = ctx;

	return i < names->cnt ? names->list[i] : NULL;
}

/* text: the word with its dashes, without a value. */
static void unknown_option(const struct cli_command *cmd, const char *text, size_t len)
{
	struct shown_names names;
	char shown[CLI_TEXT_MAX];
	const char *near = NULL;

	if (len > 2 && text[1] == '-') {
		list_names(cmd, &names);
		near = cli_nearest(text + 2, len - 2, name_at, &names);
	}
	escape_text(text, len, shown, sizeof(shown));
	if (near)
		log_error("unknown option '%s': did you mean --%s? See: tachbpf %s --help", shown,
			  near, cmd->name);
	else
		log_error("unknown option '%s'; see: tachbpf %s --help", shown, cmd->name);
}

/*
 * Returns the option that another program's option (with its dashes, len bytes) means. *value: what
 * it sets without a value of its own. NULL: none, which was logged.
 */
static const struct setting *find_foreign(struct parser *p, const char *text, size_t len,
					  const char **value)
{
	const struct cli_foreign *f = p->cmd->foreign ? p->cmd->foreign(p->target, text, len) :
							NULL;
	const struct setting *s;

	if (!f) {
		unknown_option(p->cmd, p->argv[0], strcspn(p->argv[0], "="));
		return NULL;
	}
	if (f->answer) {
		log_error("%.*s: %s", (int)len, text, f->answer);
		return NULL;
	}
	s = find_long(p->cmd, f->option, strlen(f->option), value);
	if (f->value)
		*value = f->value;
	return s;
}

/* Returns the option's value, which is the next word. NULL: there is none, which was logged. */
static const char *next_value(struct parser *p, const struct setting *s)
{
	if (!p->argv[1]) {
		log_error("option --%s needs a value: --%s %s", s->name, s->name, setting_arg(s));
		return NULL;
	}
	return *++p->argv;
}

int cli_set(void *target, const struct setting *s, const char *value)
{
	struct setting_why why = { "" };
	char shown[CLI_TEXT_MAX];
	int err = s->type->set(s, (char *)target + s->off, value, &why);

	if (err == -ENOMEM)
		log_error("out of memory");
	else if (err && *why.text)
		log_error("invalid --%s '%s': %s", s->name,
			  escape_text(value, strlen(value), shown, sizeof(shown)), why.text);
	return err;
}

int cli_preset(const struct cli_command *cmd, void *target)
{
	const struct setting *s;
	size_t i;
	int err = 0;

	for (i = 0; !err && (s = cli_option(cmd, i)); i++)
		if (s->preset)
			err = cli_set(target, s, s->preset);
	return err;
}

static int take_option(struct parser *p, const struct setting *s, const char *value)
{
	return (p->cmd->take ? p->cmd->take : cli_set)(p->target, s, value);
}

static int parse_long(struct parser *p)
{
	const char *name = p->argv[0] + 2, *value = strchr(name, '='), *said;
	int len = value ? (int)(value - name) : (int)strlen(name);
	const struct setting *s = find_long(p->cmd, name, (size_t)len, &said);

	if (!s)
		s = find_foreign(p, p->argv[0], (size_t)len + 2, &said);
	if (!s)
		return -EINVAL;
	if (value && !setting_arg(s)) {
		log_error("option --%.*s takes no value: use --%.*s alone", len, name, len, name);
		return -EINVAL;
	}
	if (value)
		return take_option(p, s, value + 1);
	if (!said && setting_arg(s) && !setting_value_is_optional(s)) {
		said = next_value(p, s);
		if (!said)
			return -EINVAL;
	}
	return take_option(p, s, said);
}

/* -a, -vv, -r99, -r 99: letters may share a word until one takes a value. */
static int parse_letters(struct parser *p)
{
	const char *letter;
	int err;

	for (letter = p->argv[0] + 1; *letter; letter++) {
		const struct setting *s = find_letter(p->cmd, *letter);
		const char *value = NULL, option[] = { '-', *letter, '\0' };

		if (!s)
			s = find_foreign(p, option, 2, &value);
		if (!s)
			return -EINVAL;
		if (!value && setting_arg(s)) {
			value = letter[1] ? letter + 1 : next_value(p, s);
			if (!value)
				return -EINVAL;
		}
		err = take_option(p, s, value);
		if (err || setting_arg(s))
			return err;
	}
	return 0;
}

static int parse_rest(struct parser *p)
{
	int err = 0;

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

		if (!strcmp(word, "--")) {
			p.argv++;
			return parse_rest(&p);
		}
		if (!strncmp(word, "--", 2))
			err = parse_long(&p);
		else if (word[0] == '-' && word[1])
			err = parse_letters(&p);
		else
			err = cmd->word(target, word);
		if (err == CLI_REST)
			return parse_rest(&p);
	}
	return err;
}

void cli_print_heading(const char *text, FILE *out)
{
	fprintf(out, "\n%s%s:%s\n", colour_on(out, COLOUR_BOLD), text, colour_off(out));
}

/* For a key of a configuration, the words and the default come from the row. */
static void add_facts(const struct setting *s, FILE *out)
{
	bool preset = s->preset && *s->preset && setting_arg(s);

	fputs(s->type->shape == SETTING_SCALAR ? "" : "; may be repeated", out);
	if (s->words || preset)
		fputs(" (", out);
	if (s->words)
		setting_list_words(s, out);
	if (preset)
		fprintf(out, "%sdefault: %s", s->words ? "; " : "", s->preset);
	if (s->words || preset)
		fputc(')', out);
}

static void print_help(const struct setting *s, FILE *out)
{
	char text[HELP_BYTES] = "";
	FILE *f = s->path ? fmemopen(text, sizeof(text), "w") : NULL;

	if (f) {
		fprintf(f, "%s%s", is_shown_as_no(s) ? "without " : "", s->help);
		add_facts(s, f);
		fclose(f);
	}
	text_wrap(out, f ? text : s->help, HELP_COLUMN, TEXT_COLUMNS);
}

static void print_option(const struct setting *s, FILE *out)
{
	const char *arg = setting_arg(s), *no = is_shown_as_no(s) ? "no-" : "";
	int n = s->letter ? fprintf(out, "  -%c, --%s", s->letter, s->name) :
			    fprintf(out, "      --%s%s", no, s->name);

	if (arg)
		n += fprintf(out, "%s%s", setting_value_is_optional(s) ? "" : " ", arg);
	if (n > HELP_COLUMN - 2)
		n = fprintf(out, "\n") - 1;
	fprintf(out, "%*s", HELP_COLUMN - n, "");
	print_help(s, out);
}

void cli_print_options(const struct cli_command *cmd, FILE *out)
{
	const char *group = NULL;
	const struct setting *s;
	size_t i;

	for (i = 0; (s = cli_option(cmd, i)); i++) {
		if (!cli_is_shown(s))
			continue;
		if (!group || strcmp(group, s->group))
			cli_print_heading(s->group, out);
		group = s->group;
		print_option(s, out);
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
