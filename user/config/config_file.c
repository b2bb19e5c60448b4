// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config_file.c - the configuration's file: libyaml's events become a tree of texts, lists and
 * maps, which is checked against the table of keys. See config_keys.h.
 *
 * Aliases, anchors and tags are refused, and so are duplicate names in a map, and a second
 * document. Values may have ${VARIABLES}; names may not.
 */
#include "config/config_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "base/cli.h"
#include "base/util.h"
#include "host/regular.h"

/* ---- YAML as a tree ---- */

#define YAML_BYTES_MAX (1u << 20)	/* of a document */
#define YAML_DEPTH_MAX 16		/* nesting of lists and maps */
#define YAML_NODES_MAX 65536		/* texts, lists and maps */
#define YAML_MEMBERS_MAX 1024		/* of one list or map */

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };
struct yaml_node {
	enum yaml_kind kind;
	uint32_t line, column;		/* of its first character; from 1 */
	bool plain;			/* a text without quotes */
	bool null;			/* it is plain, and empty, "~" or "null" */
	char *text;			/* UTF-8; NULL for lists and maps */
	struct yaml_node *members;	/* of a map: name, value, name, value, ... */
	size_t cnt, cap;		/* of members */
};

/* What is wrong, and where; line 0: nowhere. */
struct yaml_error {
	uint32_t line, column;
	char text[SETTING_WHY_BYTES];
};

struct reading {
	yaml_parser_t parser;
	size_t nodes;
	struct yaml_error *e;
};

__attribute__((format(printf, 3, 4)))
static int wrong_at(struct reading *r, yaml_mark_t mark, const char *fmt, ...)
{
	va_list ap;

	r->e->line = (uint32_t)mark.line + 1;
	r->e->column = (uint32_t)mark.column + 1;
	va_start(ap, fmt);
	vsnprintf(r->e->text, sizeof(r->e->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Libyaml's complaint; its texts contain nothing of the document. */
static int not_yaml(struct reading *r)
{
	const yaml_parser_t *p = &r->parser;
	yaml_mark_t mark = p->problem_mark;

	if (p->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (p->error == YAML_READER_ERROR)
		mark = p->mark;
	return wrong_at(r, mark, "this is not YAML: %s%s%s", p->problem ? p->problem : "?",
			p->context ? ", " : "", p->context ? p->context : "");
}

/* Gets the next event, which the caller deletes. Returns 0 or -errno. */
static int next_event(struct reading *r, yaml_event_t *event)
{
	return yaml_parser_parse(&r->parser, event) ? 0 : not_yaml(r);
}

static bool is_null(const char *text)
{
	return !*text || !strcmp(text, "~") || !strcasecmp(text, "null");
}

static int take_text(struct reading *r, const yaml_event_t *event, struct yaml_node *node)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;

	if (memchr(text, '\0', len))
		return wrong_at(r, event->start_mark, "this text contains a NUL character");
	node->text = strdup(text);
	if (!node->text)
		return -ENOMEM;
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->null = node->plain && is_null(text);
	return 0;
}

/* Refuses everything with a special meaning. */
static int check_plain(struct reading *r, const yaml_event_t *event)
{
	const void *anchor = NULL, *tag = NULL;

	switch (event->type) {
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
		break;
	case YAML_ALIAS_EVENT:
		return wrong_at(r, event->start_mark, "aliases (*NAME) are not allowed: write the "
				"value again, or put the text in quotes");
	default:
		break;
	}
	if (anchor)
		return wrong_at(r, event->start_mark, "anchors (&NAME) are not allowed");
	if (tag)
		return wrong_at(r, event->start_mark, "tags (!NAME) are not allowed: put the text "
				"in quotes");
	return 0;
}

/* Whatever happens, the node can be freed. */
static int start_node(struct reading *r, const yaml_event_t *event, struct yaml_node *node)
{
	int err;

	memset(node, 0, sizeof(*node));
	err = check_plain(r, event);
	if (err)
		return err;
	if (++r->nodes > YAML_NODES_MAX)
		return wrong_at(r, event->start_mark, "there are more than %d values",
				YAML_NODES_MAX);
	node->line = (uint32_t)event->start_mark.line + 1;
	node->column = (uint32_t)event->start_mark.column + 1;
	node->kind = event->type == YAML_SEQUENCE_START_EVENT ? YAML_LIST :
		     event->type == YAML_MAPPING_START_EVENT ? YAML_MAP : YAML_TEXT;
	return node->kind == YAML_TEXT ? take_text(r, event, node) : 0;
}

/* Checks that the last name of a map, which has just been read, is new in it. */
static int check_name(struct reading *r, const struct yaml_node *map, yaml_mark_t mark)
{
	const struct yaml_node *name = &map->members[map->cnt - 1], *other;
	char shown[64];

	if (name->kind != YAML_TEXT)
		return wrong_at(r, mark, "a name must be a text, not a list or a map");
	for (other = map->members; other < name; other += 2)
		if (!strcmp(other->text, name->text))
			return wrong_at(r, mark, "duplicate '%s': first used in line %u",
					escape_text(name->text, strlen(name->text), shown,
						    sizeof(shown)), other->line);
	return 0;
}

/* Replaces the variables in a value. What they contain is text, never YAML. */
static int expand_value(struct reading *r, struct yaml_node *node, yaml_mark_t mark)
{
	struct setting_why why = { "" };
	struct buf text = { .data = NULL };
	int err;

	if (node->kind != YAML_TEXT || !strchr(node->text, '$'))
		return 0;
	err = config_expand(node->text, &text, &why);
	if (err) {
		buf_free(&text);
		return err == -EINVAL ? wrong_at(r, mark, "%s", why.text) : err;
	}
	free(node->text);
	node->text = (char *)text.data;
	node->null = node->plain && is_null(node->text);
	return 0;
}

static int read_node(struct reading *r, const yaml_event_t *first, struct yaml_node *node,
		     int depth);

/* Reads the next member of a list or map, or the next name or value of a map. */
static int read_member(struct reading *r, const yaml_event_t *first, struct yaml_node *node,
		       int depth)
{
	size_t max = node->kind == YAML_MAP ? 2 * YAML_MEMBERS_MAX : YAML_MEMBERS_MAX;
	struct yaml_node *members;
	int err;

	if (node->cnt == max)
		return wrong_at(r, first->start_mark, "a list or map has more than %d members",
				YAML_MEMBERS_MAX);
	members = array_grow(node->members, node->cnt, &node->cap, sizeof(*members));
	if (!members)
		return -ENOMEM;
	node->members = members;
	err = read_node(r, first, &members[node->cnt++], depth + 1);
	if (err)
		return err;
	if (node->kind == YAML_MAP && node->cnt % 2)
		return check_name(r, node, first->start_mark);
	return expand_value(r, &members[node->cnt - 1], first->start_mark);
}

/* Reads the node that begins with this event, and everything in it. depth: that of its parent. */
static int read_node(struct reading *r, const yaml_event_t *first, struct yaml_node *node,
		     int depth)
{
	yaml_event_t event;
	bool end;
	int err = start_node(r, first, node);

	if (err || node->kind == YAML_TEXT)
		return err;
	if (depth >= YAML_DEPTH_MAX)
		return wrong_at(r, first->start_mark, "lists and maps are nested more "
				"than %d deep", YAML_DEPTH_MAX);
	for (;;) {
		err = next_event(r, &event);
		if (err)
			return err;
		end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
		if (!end)
			err = read_member(r, &event, node, depth);
		yaml_event_delete(&event);
		if (err || end)
			return err;
	}
}

/* Takes the next event, which must be of this type. */
static int skip_event(struct reading *r, yaml_event_type_t type, const char *otherwise)
{
	yaml_event_t event;
	int err = next_event(r, &event);

	if (err)
		return err;
	if (event.type != type)
		err = wrong_at(r, event.start_mark, "%s", otherwise);
	yaml_event_delete(&event);
	return err;
}

static int read_document(struct reading *r, struct yaml_node *root)
{
	yaml_event_t event;
	int err = skip_event(r, YAML_STREAM_START_EVENT, "no stream");

	if (err)
		return err;
	err = next_event(r, &event);
	if (err)
		return err;
	if (event.type == YAML_STREAM_END_EVENT) {
		yaml_event_delete(&event);
		root->null = true;
		root->text = strdup("");
		return root->text ? 0 : -ENOMEM;
	}
	yaml_event_delete(&event);
	err = next_event(r, &event);
	if (err)
		return err;
	err = read_node(r, &event, root, 0);
	yaml_event_delete(&event);
	if (!err)
		err = skip_event(r, YAML_DOCUMENT_END_EVENT, "the document does not end here");
	if (!err)
		err = skip_event(r, YAML_STREAM_END_EVENT,
				 "a second document begins here: only one is "
				 "allowed");
	return err;
}

/*
 * Reads one document; an empty one is a null text. Returns 0; -EINVAL or -EFBIG with *e; -ENOMEM.
 * The caller calls yaml_free() in any case.
 */
static int yaml_read(const void *data, size_t len, struct yaml_node *root, struct yaml_error *e)
{
	struct reading r = { .e = e };
	int err;

	memset(root, 0, sizeof(*root));
	root->line = root->column = 1;
	memset(e, 0, sizeof(*e));
	if (len > YAML_BYTES_MAX) {
		snprintf(e->text, sizeof(e->text), "it is larger than 1 MiB");
		return -EFBIG;
	}
	if (!yaml_parser_initialize(&r.parser))
		return -ENOMEM;
	/* Without any bytes, data may be NULL. */
	yaml_parser_set_input_string(&r.parser, len ? data : (const void *)"", len);
	err = read_document(&r, root);
	yaml_parser_delete(&r.parser);
	return err;
}

static void yaml_free(struct yaml_node *root)
{
	size_t i;

	/* No deeper than YAML_DEPTH_MAX. */
	for (i = 0; i < root->cnt; i++)
		yaml_free(&root->members[i]);
	free(root->members);
	free(root->text);
	memset(root, 0, sizeof(*root));
}

/* ---- the tree against the table of keys ---- */

static struct agent_origin place_of(const struct yaml_node *node)
{
	return (struct agent_origin){ .source = AGENT_FILE, .line = node->line,
				      .column = node->column };
}

/* Returns true if the node is a text with a value. what: its name, for the complaint if not. */
static bool is_value(struct config_loading *l, const struct yaml_node *node, const char *what)
{
	const struct agent_origin at = place_of(node);

	if (node->kind != YAML_TEXT)
		config_complain(l, &at, "%s is one value, not a %s", what,
				node->kind == YAML_LIST ? "list" : "map");
	else if (node->null)
		config_complain(l, &at, "%s has no value: add one, or leave the line out", what);
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

/* The text's name in a complaint: not too long for the other fields. */
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
		config_complain(l, &at, "%s must be a map of names to values", key->path);
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

/* Takes a text of a rule, or those of its "match". */
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
		config_complain(l, &at, "a rule must have a name, and match: a map with globs for "
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
		config_complain(l, &at, "%s must be a list of rules: - match: {exe: GLOB} and "
				"name: NAME", key->path);
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

static void complain_unknown(struct config_loading *l, const struct yaml_node *name,
			     const char *group)
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

static void set_group(struct config_loading *l, const struct yaml_node *node, const char *group);

/* Sets the keys of an exporter otlp/NAME. */
static void set_otlp(struct config_loading *l, const struct yaml_node *name)
{
	const struct agent_origin at = place_of(name);
	struct agent_config *whole = l->config, *more = config_otlp_add(l, &at, name->text);

	if (!more)
		return;
	l->config = more;
	set_group(l, name + 1, OTLP_GROUP);
	l->config = whole;
}

/* Sets the keys below a group. Recurses as deep as the table's paths. */
static void set_group(struct config_loading *l, const struct yaml_node *node, const char *group)
{
	const struct agent_origin at = place_of(node);
	size_t i;

	if (node->kind != YAML_MAP) {
		/* "otlp:" with nothing, or only comments, below it means nothing. */
		if (!node->null)
			config_complain(l, &at, "%s must be a map of "
						"keys", *group ? group : "the file");
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
		else if (!strcmp(group, "exporters") && config_otlp_is(name->text))
			set_otlp(l, name);
		else
			complain_unknown(l, name, group);
	}
}

void config_file_apply(struct config_loading *l, const void *text, size_t len)
{
	struct agent_origin at = { .source = AGENT_FILE };
	struct yaml_error error;
	struct yaml_node root;
	int err = yaml_read(text, len, &root, &error);

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
	yaml_free(&root);
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
		config_complain(l, &whole, "it is larger than 1 MiB");
	else if (err)
		config_complain(l, &whole, "%s", strerror(-err));
	else if (st.st_mode & S_IWOTH)
		config_complain(l, &whole, "it is writable by everyone: chmod o-w");
	else
		config_file_apply(l, text.data, text.len);
	buf_free(&text);
	if (fd >= 0)
		close(fd);
	return err;
}
