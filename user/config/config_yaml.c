// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* config_yaml.c - libyaml's events become a tree. See config_yaml.h. */
#include "config/config_yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/util.h"

struct reading {
	yaml_parser_t parser;
	size_t nodes;
	struct yaml_error *e;
};

static int wrong_at(struct reading *r, yaml_mark_t mark, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

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

/* What libyaml says is wrong; its texts have nothing of the document. */
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

/* The next event, which the caller deletes. 0 or -errno. */
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
		return wrong_at(r, event->start_mark, "there is a NUL in this text");
	node->text = strdup(text);
	if (!node->text)
		return -ENOMEM;
	node->null = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && is_null(text);
	return 0;
}

/* Nothing that means more than it says. */
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

/* Is the last name of a map, which has just come, one that it did not have yet? */
static int check_name(struct reading *r, const struct yaml_node *map, yaml_mark_t mark)
{
	const struct yaml_node *name = &map->members[map->cnt - 1], *other;
	char shown[64];

	if (name->kind != YAML_TEXT)
		return wrong_at(r, mark, "a name is a text, not a list or a map");
	for (other = map->members; other < name; other += 2)
		if (!strcmp(other->text, name->text))
			return wrong_at(r, mark, "'%s' is here twice: first in line %u",
					escape_text(name->text, strlen(name->text), shown,
						    sizeof(shown)), other->line);
	return 0;
}

static int read_node(struct reading *r, const yaml_event_t *first, struct yaml_node *node,
		     int depth);

/* Read the next member of a list or map, or the next name or value of a map. */
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
	if (!err && node->kind == YAML_MAP && node->cnt % 2)
		err = check_name(r, node, first->start_mark);
	return err;
}

/* Read the node that begins with this event, and all that is in it. depth: what it is in. */
static int read_node(struct reading *r, const yaml_event_t *first, struct yaml_node *node,
		     int depth)
{
	yaml_event_t event;
	bool end;
	int err = start_node(r, first, node);

	if (err || node->kind == YAML_TEXT)
		return err;
	if (depth >= YAML_DEPTH_MAX)
		return wrong_at(r, first->start_mark, "lists and maps are inside each other more "
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

/* Take the next event, which must be of this type. */
static int skip(struct reading *r, yaml_event_type_t type, const char *otherwise)
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
	int err = skip(r, YAML_STREAM_START_EVENT, "no stream");

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
		err = skip(r, YAML_DOCUMENT_END_EVENT, "the document does not end here");
	if (!err)
		err = skip(r, YAML_STREAM_END_EVENT, "a second document begins here: only one is "
			   "allowed");
	return err;
}

int config_yaml_read(const void *data, size_t len, struct yaml_node *root, struct yaml_error *e)
{
	struct reading r = { .e = e };
	int err;

	memset(root, 0, sizeof(*root));
	root->line = root->column = 1;
	memset(e, 0, sizeof(*e));
	if (len > YAML_BYTES_MAX) {
		snprintf(e->text, sizeof(e->text), "it has more than 1 MiB");
		return -EFBIG;
	}
	if (!yaml_parser_initialize(&r.parser))
		return -ENOMEM;
	/* With no bytes, data may be NULL. */
	yaml_parser_set_input_string(&r.parser, len ? data : (const void *)"", len);
	err = read_document(&r, root);
	yaml_parser_delete(&r.parser);
	return err;
}

void config_yaml_free(struct yaml_node *root)
{
	size_t i;

	/* No deeper than YAML_DEPTH_MAX. */
	for (i = 0; i < root->cnt; i++)
		config_yaml_free(&root->members[i]);
	free(root->members);
	free(root->text);
	memset(root, 0, sizeof(*root));
}
