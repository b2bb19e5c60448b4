/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * config_yaml.h - YAML as a tree of texts, lists and maps, with bounds: what a configuration needs.
 *
 * Knows no key. Aliases, anchors and tags are refused, and so are two equal names in a map, and a
 * second document. Links libyaml.
 */
#ifndef TACHBPF_AGENT_CONFIG_YAML_H
#define TACHBPF_AGENT_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define YAML_BYTES_MAX (1u << 20)	/* of a document */
#define YAML_DEPTH_MAX 16		/* lists and maps inside each other */
#define YAML_NODES_MAX 65536		/* texts, lists and maps */
#define YAML_MEMBERS_MAX 1024		/* of one list or map */

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };
struct yaml_node {
	enum yaml_kind kind;
	uint32_t line, column;		/* of its first character; from 1 */
	bool null;			/* a text without quotes: nothing, "~" or "null" */
	char *text;			/* UTF-8; NULL for lists and maps */
	struct yaml_node *members;	/* of a map: name, value, name, value, ... */
	size_t cnt, cap;		/* of members */
};

/* What is wrong, and where; line 0: nowhere. */
struct yaml_error {
	uint32_t line, column;
	char text[160];
};

/*
 * Read one document; an empty one is a null text. 0; -EINVAL or -EFBIG with *e; -ENOMEM. The caller
 * calls config_yaml_free() in any case.
 */
int config_yaml_read(const void *data, size_t len, struct yaml_node *root, struct yaml_error *e);
void config_yaml_free(struct yaml_node *root);

#endif
