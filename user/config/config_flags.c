// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config_flags.c - makes options of base/cli.h of the table of keys. See config_flags.h.
 */
#include "config/config_flags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_set.h"
#include "config/config_types.h"
#include "base/cli.h"
#include "base/util.h"

#define GENERAL "General"
/* Of keys: two for each boolean one; and the general ones. */
#define OPTIONS_MAX (2 * AGENT_KEYS_MAX + 8)
/* Also for a flag's text in --help. */
#define HELP_BYTES 256

/* ---- setters: cli_option.data is the key, or the action ---- */

static int add_flag(struct agent_options *o, const struct config_key *key, const char *text)
{
	struct agent_flag *flags = reallocarray(o->flags, o->cnt + 1, sizeof(*flags));

	if (!flags) {
		log_error("out of memory");
		return -ENOMEM;
	}
	o->flags = flags;
	flags[o->cnt++] = (struct agent_flag){ key, text };
	return 0;
}

static int opt_key(void *target, const struct cli_option *opt, const char *value)
{
	const struct config_key *key = opt->data;

	if (key->secret || (key->type == &config_proxy && config_url_has_user(value))) {
		log_error("--%s may hold a secret, and everyone can read a command line: write "
			  "%s into the file of --config", key->flag, key->path);
		return -EINVAL;
	}
	return config_try(key, value) ? add_flag(target, key, value) : -EINVAL;
}

static int opt_yes(void *target, const struct cli_option *opt, const char *value)
{
	return add_flag(target, opt->data, "true");
}

static int opt_no(void *target, const struct cli_option *opt, const char *value)
{
	return add_flag(target, opt->data, "false");
}

static int opt_config(void *target, const struct cli_option *opt, const char *value)
{
	if (!*value) {
		log_error("bad --config '': it is empty");
		return -EINVAL;
	}
	((struct agent_options *)target)->path = value;
	return 0;
}

static int opt_action(void *target, const struct cli_option *opt, const char *value)
{
	struct agent_options *o = target;

	/* --help wins, whatever else there is. */
	if (o->action != AGENT_HELP)
		o->action = *(const enum agent_action *)opt->data;
	return 0;
}

static int opt_word(void *target, char *word)
{
	char shown[CLI_TEXT_MAX];

	escape_text(word, strlen(word), shown, sizeof(shown));
	log_error("'%s' is too much: the agent takes options only; see: tachbpf agent --help",
		  shown);
	return -EINVAL;
}

/* ---- the command ---- */

static const enum agent_action check = AGENT_CHECK, print = AGENT_PRINT_CONFIG,
			       help = AGENT_HELP, version = AGENT_VERSION;

static const struct cli_option general[] = {
	{ 0, "config", "FILE", GENERAL, "read this YAML file; flags and variables of the "
	  "environment are stronger", opt_config, 0, NULL },
	{ 0, "check", NULL, GENERAL, "say what is wrong with the configuration, and end",
	  opt_action, 0, &check },
	{ 0, "print-config", NULL, GENERAL, "print the configuration in force, where each value "
	  "comes from, and end", opt_action, 0, &print },
	{ 'h', "help", NULL, GENERAL, "this text", opt_action, 0, &help },
	{ 0, "version", NULL, GENERAL, "the version", opt_action, 0, &version },
};

static const char *const synopsis[] = {
	"tachbpf agent [--config FILE] [OPTION...]",
	"tachbpf agent ctl {status|burst|reload} [OPTION...]", NULL
};
static const char *const examples[] = {
	"sudo tachbpf agent --tach-dir /var/lib/tachbpf", "all Pythons of this host, into files",
	"sudo tachbpf agent --otlp-endpoint http://collector:4318",
	"to an OpenTelemetry Collector",
	"tachbpf agent --config /etc/tachbpf/agent.yaml --check", "before a reload by SIGHUP",
	NULL
};

/* The options of all keys, made once. */
struct flag_table {
	struct cli_option options[OPTIONS_MAX];
	char names[OPTIONS_MAX][CONFIG_PATH_BYTES];	/* of --no-FLAG */
	char helps[OPTIONS_MAX][HELP_BYTES];
	struct cli_command command;
};

/* The key's help, its words, and its default. begin: "", or "without ". */
static void write_help(const struct config_key *key, const char *begin, char text[HELP_BYTES])
{
	bool preset = key->preset && *key->preset && key->type->arg;
	FILE *out = fmemopen(text, HELP_BYTES, "w");

	if (!out) {
		snprintf(text, HELP_BYTES, "%s", key->help);
		return;
	}
	fprintf(out, "%s%s%s", begin, key->help,
		key->type->shape == CONFIG_SCALAR ? "" : "; may be repeated");
	if (key->words || preset)
		fputs(" (", out);
	if (key->words)
		key->type->allowed(key, out);
	if (preset)
		fprintf(out, "%sdefault: %s", key->words ? "; " : "", key->preset);
	if (key->words || preset)
		fputc(')', out);
	fclose(out);
	text[HELP_BYTES - 1] = '\0';
}

static void add_option(struct flag_table *t, const struct config_key *key, const char *name,
		       int (*set)(void *, const struct cli_option *, const char *))
{
	size_t i = t->command.option_cnt++;

	write_help(key, set == opt_no ? "without " : "", t->helps[i]);
	t->options[i] = (struct cli_option){ .name = name, .arg = key->type->arg,
					     .group = key->group, .help = t->helps[i], .set = set,
					     .data = key };
	/* Not in --help, but known: the answer says where it belongs. */
	if (key->secret)
		t->options[i].help = NULL;
}

static void add_key(struct flag_table *t, const struct config_key *key)
{
	bool on = key->preset && !strcmp(key->preset, "true");
	char *no = t->names[t->command.option_cnt];

	if (key->type->arg) {
		add_option(t, key, key->flag, opt_key);
		return;
	}
	snprintf(no, CONFIG_PATH_BYTES, "no-%s", key->flag);
	add_option(t, key, on ? no : key->flag, on ? opt_no : opt_yes);
	/* The other way round, too, against what the file says. */
	add_option(t, key, on ? key->flag : no, on ? opt_yes : opt_no);
	t->options[t->command.option_cnt - 1].help = NULL;
}

static const struct cli_command *command(void)
{
	static struct flag_table table;
	size_t i;

	if (table.command.name)
		return &table.command;
	table.command = (struct cli_command){
		.name = "agent", .help = "Profiles all Pythons of this host for ever, and exports "
		"the profiles.", .synopsis = synopsis, .examples = examples,
		.options = table.options, .word = opt_word,
	};
	for (i = 0; i < ARRAY_SIZE(general); i++)
		table.options[table.command.option_cnt++] = general[i];
	for (i = 0; i < agent_key_cnt; i++)
		add_key(&table, &agent_keys[i]);
	return &table.command;
}

int agent_options_parse(struct agent_options *o, char **words)
{
	memset(o, 0, sizeof(*o));
	return cli_parse(command(), words, o);
}

void agent_options_free(struct agent_options *o)
{
	free(o->flags);
	memset(o, 0, sizeof(*o));
}

void agent_options_apply(const struct agent_options *o, struct config_loading *l)
{
	size_t i;

	for (i = 0; i < o->cnt; i++) {
		const struct agent_flag *flag = &o->flags[i];
		const struct agent_origin at = { .source = AGENT_FLAG, .name = flag->key->flag };

		config_set(l, flag->key, &at, flag->text);
	}
}

/* Where what a variable stands for begins. */
#define VARIABLE_COLUMN 50

static void print_variables(FILE *out)
{
	size_t i, j;

	cli_print_heading("Variables of the environment", out);
	for (i = 0; i < agent_key_cnt; i++)
		for (j = 0; j < ARRAY_SIZE(agent_keys[i].env) && agent_keys[i].env[j]; j++)
			cli_print_row(agent_keys[i].env[j], agent_keys[i].path, VARIABLE_COLUMN,
				      out);
}

void agent_options_help(FILE *out)
{
	const struct cli_command *cmd = command();

	cli_print_usage(cmd, out);
	cli_print_options(cmd, out);
	print_variables(out);
	cli_print_examples(cmd, out);
}
