// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* config_file.c - walks the tree of config_yaml.h along the table of keys. See config_keys.h. */
#include "config/config_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config_yaml.h"
#include "base/cli.h"
#include "host/regular.h"

static struct agent_origin place_of(const struct yaml_node *node)
{
	return (struct agent_origin){ .source = AGENT_FILE, .line = node->line,
				      .column = node->column };
}

/* Is the node a text with a value? what: its name, for the complaint if not. */
static bool is_value(struct config_loading *l, const struct yaml_node *node, const char *what)
{
	const struct agent_origin at = place_of(node);

	if (node->kind != YAML_TEXT)
		config_complain(l, &at, "%s is one value, not a %s", what,
				node->kind == YAML_LIST ? "list" : "map");
	else if (node->null)
		config_complain(l, &at, "%s has no value: give one, or leave the line out", what);
	return node->kind == YAML_TEXT && !node->null;
}

static void set_text(struct config_loading *l, const struct setting *key,
		     const struct yaml_node *node)
{
	const struct agent_origin at = place_of(node);

	if (is_value(l, node, key->path))
		config_set(l, key, &at, node->text);
}

static void set_list(struct config_loading *l, const struct setting *key,
		     const struct yaml_node *node)
{
	const struct agent_origin at = place_of(node);
	size_t i;

	if (node->kind != YAML_LIST) {
		set_text(l, key, node);
		return;
	}
	config_claim(l, key, &at);
	for (i = 0; i < node->cnt; i++)
		set_text(l, key, &node->members[i]);
}

/* The text's name in a complaint: not longer than others can bear. */
static const char *shown_name(const struct yaml_node *node, char shown[CLI_TEXT_MAX])
{
	return escape_text(node->text, strlen(node->text), shown, CLI_TEXT_MAX);
}

static void set_map(struct config_loading *l, const struct setting *key,
		    const struct yaml_node *node)
{
	const struct agent_origin at = place_of(node);
	char shown[CLI_TEXT_MAX];
	size_t i;

	if (node->kind != YAML_MAP) {
		config_complain(l, &at, "%s is a map of names and values", key->path);
		return;
	}
	config_claim(l, key, &at);
	for (i = 0; i + 1 < node->cnt; i += 2) {
		const struct yaml_node *name = &node->members[i], *value = name + 1;
		const struct agent_origin there = place_of(name);
		struct setting_why why = { "" };
		const char *wrong = config_text_error(name->text);
		int err;

		if (!is_value(l, value, shown_name(name, shown)))
			continue;
		wrong = wrong ? wrong : config_text_error(value->text);
		if (wrong)
			err = setting_why(&why, "%s", wrong);
		else
			err = config_map_put(key, config_field(l->config, key), name->text,
					     value->text, &why);
		config_result(l, key, &there, name->text, err, &why);
	}
}

/* Take a text of a rule, or those of its "match". */
static void take_part(struct config_loading *l, const struct setting *key,
		      const struct yaml_node *name, struct service_rule *rule, bool inside)
{
	const struct agent_origin at = place_of(name);
	const struct yaml_node *value = name + 1;
	struct setting_why why = { "" };
	char shown[CLI_TEXT_MAX];
	const char *wrong;
	size_t i;

	if (!inside && !strcmp(name->text, "match") && value->kind == YAML_MAP) {
		for (i = 0; i + 1 < value->cnt; i += 2)
			take_part(l, key, &value->members[i], rule, true);
		return;
	}
	if (inside == !strcmp(name->text, "name")) {
		config_complain(l, &at, "a rule has a name, and match: a map with globs for "
				SERVICE_FACT_WORDS);
		return;
	}
	if (!is_value(l, value, shown_name(name, shown)))
		return;
	wrong = config_text_error(value->text);
	config_result(l, key, &at, value->text,
		      wrong ? setting_why(&why, "%s", wrong) :
		      config_rule_part(rule, name->text, value->text, &why), &why);
}

static void set_rules(struct config_loading *l, const struct setting *key,
		      const struct yaml_node *node)
{
	const struct agent_origin at = place_of(node);
	size_t i, j;

	if (node->kind != YAML_LIST) {
		config_complain(l, &at, "%s is a list of rules: - match: {exe: GLOB} and name: "
				"NAME", key->path);
		return;
	}
	config_claim(l, key, &at);
	for (i = 0; i < node->cnt; i++) {
		const struct yaml_node *item = &node->members[i];
		const struct agent_origin there = place_of(item);
		struct service_rule rule = { .name = NULL };
		unsigned int errors = l->errors;
		struct setting_why why = { "" };

		for (j = 0; item->kind == YAML_MAP && j + 1 < item->cnt; j += 2)
			take_part(l, key, &item->members[j], &rule, false);
		/* What is missing is missing because it was wrong. */
		if (l->errors == errors)
			config_result(l, key, &there, NULL,
				      config_rules_add(config_field(l->config, key), &rule, &why),
				      &why);
		config_rule_free(&rule);
	}
}

static void set_value(struct config_loading *l, const struct setting *key,
		      const struct yaml_node *node)
{
	static void (*const set[])(struct config_loading *l, const struct setting *key,
				   const struct yaml_node *node) = {
		[SETTING_SCALAR] = set_text, [SETTING_LIST] = set_list, [SETTING_MAP] = set_map,
		[SETTING_RULES] = set_rules,
	};

	set[key->type->shape](l, key, node);
}

static void unknown(struct config_loading *l, const struct yaml_node *name, const char *group)
{
	const struct agent_origin at = place_of(name);
	char near[CONFIG_PATH_BYTES], shown[CLI_TEXT_MAX];

	config_key_nearest(group, name->text, near);
	shown_name(name, shown);
	if (*near)
		config_complain(l, &at, "unknown key '%s%s%s': did you mean %s?", group,
				*group ? "." : "", shown, near);
	else
		config_complain(l, &at, "unknown key '%s%s%s'; see: tachbpf agent --help", group,
				*group ? "." : "", shown);
}

/* The keys below a group. It is as deep as the table's paths. */
static void set_group(struct config_loading *l, const struct yaml_node *node, const char *group)
{
	const struct agent_origin at = place_of(node);
	size_t i;

	if (node->kind != YAML_MAP) {
		/* "otlp:" with nothing, or comments, below it says nothing. */
		if (!node->null)
			config_complain(l, &at, "%s is a map of keys", *group ? group : "the file");
		return;
	}
	for (i = 0; i + 1 < node->cnt; i += 2) {
		const struct yaml_node *name = &node->members[i];
		char path[CONFIG_PATH_BYTES];
		const struct setting *key;
		int len = snprintf(path, sizeof(path), "%s%s%s", group, *group ? "." : "",
				   name->text);

		key = config_key_find(path);
		if (key)
			set_value(l, key, name + 1);
		else if (len < CONFIG_PATH_BYTES && *name->text && config_key_is_group(path))
			set_group(l, name + 1, path);
		else
			unknown(l, name, group);
	}
}

void config_file_apply(struct config_loading *l, const void *text, size_t len)
{
	struct agent_origin at = { .source = AGENT_FILE };
	struct yaml_error error;
	struct yaml_node root;
	int err = config_yaml_read(text, len, &root, &error);

	if (err == -ENOMEM) {
		l->no_memory = true;
		l->errors++;
	} else if (err) {
		at.line = error.line;
		at.column = error.column;
		config_complain(l, &at, "%s", error.text);
	} else {
		set_group(l, &root, "");
	}
	config_yaml_free(&root);
}

int config_file_load(struct config_loading *l)
{
	const struct agent_origin whole = { .source = AGENT_FILE };
	struct buf text = { .data = NULL };
	int fd = open_regular(AT_FDCWD, l->path, 0), err = fd < 0 ? fd : 0;
	struct stat st;

	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err)
		err = buf_add_file(&text, fd, YAML_BYTES_MAX);
	if (err == -EINVAL)
		config_complain(l, &whole, "it is not a regular file");
	else if (err == -EFBIG)
		config_complain(l, &whole, "it has more than 1 MiB");
	else if (err)
		config_complain(l, &whole, "%s", strerror(-err));
	else if (st.st_mode & S_IWOTH)
		config_complain(l, &whole, "everyone may write to it: chmod o-w");
	else
		config_file_apply(l, text.data, text.len);
	buf_free(&text);
	if (fd >= 0)
		close(fd);
	return err;
}
