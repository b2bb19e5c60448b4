// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* config_options.c - the agent's command line: the keys' options, and those that end at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/util.h"
#include "config/config_keys.h"

static int add_flag(struct agent_options *o, const struct setting *key, const char *text)
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

/* A key's option takes precedence over the file, so it waits for it; the others are set at once. */
static int take_option(void *target, const struct setting *key, const char *value)
{
	if (!key->path)
		return cli_set(target, key, value);
	if (key->secret || (key->type == &config_proxy && config_url_has_user(value))) {
		log_error("--%s may hold a secret, and everyone can read a command line: write "
			  "%s into the file of --config", key->name, key->path);
		return -EINVAL;
	}
	return config_try(key, value) ? add_flag(target, key, value) : -EINVAL;
}

static int take_word(void *target, char *word)
{
	char shown[CLI_TEXT_MAX];

	escape_text(word, strlen(word), shown, sizeof(shown));
	log_error("'%s' is too much: the agent takes options only; see: tachbpf agent --help",
		  shown);
	return -EINVAL;
}

static int set_action(const struct setting *s, void *field, const char *text,
		      struct setting_why *why)
{
	enum agent_action *action = field;

	if (*action != AGENT_HELP)
		*action = s->words->value;
	return 0;
}

static const struct setting_type type_action = { .set = set_action };

#define ACTION(NAME, VALUE, HELP)                                                                  \
	.name = NAME, .group = "General", .help = HELP, .type = &type_action,                      \
	.off = offsetof(struct agent_options, action),                                             \
	.words = (const struct setting_word[]){ { "", VALUE }, { 0 } }

static const struct setting options[] = {
	{ .name = "config", .group = "General", .help = "read this YAML file; flags and variables "
	  "of the environment are stronger", .type = &setting_file,
	  .off = offsetof(struct agent_options, path) },
	{ ACTION("check", AGENT_CHECK, "say what is wrong with the configuration, and end") },
	{ ACTION("print-config", AGENT_PRINT_CONFIG, "print the configuration in force, where each "
		 "value comes from, and end") },
	{ .letter = 'h', ACTION("help", AGENT_HELP, "this text") },
	{ ACTION("version", AGENT_VERSION, "the version") },
	{ .others = agent_keys },
	{ 0 }
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

static const struct cli_command command = {
	.name = "agent",
	.help = "Profiles all Pythons of this host for ever, and exports the profiles.",
	.synopsis = synopsis, .examples = examples,
	.settings = options, .word = take_word, .take = take_option,
};

/* The column where the meaning of a variable begins. */
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
	cli_print_usage(&command, out);
	cli_print_options(&command, out);
	print_variables(out);
	cli_print_examples(&command, out);
}

void agent_options_free(struct agent_options *o)
{
	free(o->flags);
	memset(o, 0, sizeof(*o));
}

int agent_config_begin(struct agent_options *o, char **words, FILE *out,
		       struct agent_config **config)
{
	struct agent_config *c;

	*config = NULL;
	memset(o, 0, sizeof(*o));
	if (cli_parse(&command, words, o))
		return AGENT_EXIT_USAGE;
	if (o->action == AGENT_HELP || o->action == AGENT_VERSION) {
		if (o->action == AGENT_HELP)
			agent_options_help(out);
		else
			fprintf(out, "tachbpf %s\n", TACHBPF_VERSION);
		return ferror(out) ? AGENT_EXIT_CONFIG : EXIT_SUCCESS;
	}
	c = agent_config_load(o);
	if (!c)
		return AGENT_EXIT_CONFIG;
	if (o->action == AGENT_RUN) {
		*config = c;
		return AGENT_GO;
	}
	if (o->action == AGENT_PRINT_CONFIG)
		agent_config_print(c, out);
	agent_config_free(c);
	return ferror(out) ? AGENT_EXIT_CONFIG : EXIT_SUCCESS;
}
