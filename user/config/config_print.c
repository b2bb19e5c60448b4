// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* config_print.c - the configuration as YAML. See config.h. */
#include "config/config_keys.h"

#include <stdlib.h>
#include <string.h>

/* Where comments begin, if there is room. */
#define COMMENT_COLUMN 48

static void print_origin(const struct agent_config *c, size_t i, FILE *out)
{
	const struct agent_origin *o = &c->origin[i];

	switch (o->source) {
	case AGENT_FLAG:
		fprintf(out, "# --%s", o->name);
		break;
	case AGENT_ENV:
		fprintf(out, "# %s", o->name);
		break;
	case AGENT_FILE:
		fprintf(out, "# line %u", o->line);
		break;
	case AGENT_DEFAULT:
		fprintf(out, "# default");
		break;
	}
}

/* Begins the groups of this path that the last one was not in. Returns its depth. */
static int open_groups(const char *path, const char *last, FILE *out)
{
	const char *dot, *name = path;
	int depth = 0;

	for (; (dot = strchr(name, '.')); name = dot + 1, depth++)
		if (strncmp(path, last, (size_t)(dot + 1 - path)) != 0)
			fprintf(out, "%*s%.*s:\n", 2 * depth, "", (int)(dot - name), name);
	return depth;
}

static void print_key(const struct agent_config *c, size_t i, int depth, FILE *out)
{
	const struct setting *key = &agent_keys[i];
	const char *dot = strrchr(key->path, '.'), *name = dot ? dot + 1 : key->path;
	const void *field = config_field_of(c, key);
	char *line = NULL;
	size_t len = 0;
	FILE *text = open_memstream(&line, &len);

	if (!text)
		return;
	key->type->print(key, field, 2 * depth + 2, text);
	fclose(text);
	if (line && *line == '\n') {
		/* A map or rules: the origin follows the key. */
		fprintf(out, "%*s%s:%*s", 2 * depth, "", name,
			(int)(COMMENT_COLUMN - 1 - strlen(name)) - 2 * depth, "");
		print_origin(c, i, out);
		fprintf(out, "%s\n", line);
	} else if (line) {
		fprintf(out, "%*s%s: %-*s ", 2 * depth, "", name,
			(int)(COMMENT_COLUMN - 3 - strlen(name)) - 2 * depth, line);
		print_origin(c, i, out);
		fputc('\n', out);
	}
	free(line);
}

/* Prints the exporters otlp/NAME, whose keys are those of the first one. */
static void print_more(const struct agent_config *c, FILE *out)
{
	const struct agent_config *more;
	size_t i, k;

	for (i = 0; i < c->otlp_more_cnt; i++) {
		more = c->otlp_more[i];
		fprintf(out, "  %s:\n", more->exporters.otlp.name);
		for (k = 0; k < agent_key_cnt; k++)
			if (config_key_is_otlp(&agent_keys[k]))
				print_key(more, k, 2, out);
	}
}

void agent_config_print(const struct agent_config *c, FILE *out)
{
	const char *last = "";
	size_t i;

	if (c->path) {
		fputs("# file: ", out);
		config_print_text(c->path, out);
		fputc('\n', out);
	}
	for (i = 0; i < agent_key_cnt; i++) {
		print_key(c, i, open_groups(agent_keys[i].path, last, out), out);
		last = agent_keys[i].path;
		if (config_key_is_otlp(&agent_keys[i]) && !config_key_is_otlp(&agent_keys[i + 1]))
			print_more(c, out);
	}
}
