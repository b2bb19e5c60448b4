/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* config_lists.h - lists, maps and service rules in the agent's configuration (config_keys.h). */
#ifndef TACHBPF_AGENT_CONFIG_LISTS_H
#define TACHBPF_AGENT_CONFIG_LISTS_H

#include "config/config.h"
#include "config/config_keys.h"

#define CONFIG_ITEMS_MAX 1024	/* of a list, a map, or rules */
#define CONFIG_NAME_MAX 256	/* of a pair, in bytes */

extern const struct config_type config_list;	/* struct agent_list */
extern const struct config_type config_map;	/* struct agent_map */
extern const struct config_type config_rules;	/* struct agent_rules */

/* Make room for one more of cnt elements in *list, a pointer. As config_type.set. */
int config_one_more(void *list, size_t cnt, size_t bytes, struct config_why *why);

/* Add a pair; one of the same name gets the value. As config_type.set. */
int config_map_put(const struct config_key *key, struct agent_map *map, const char *name,
		   const char *value, struct config_why *why);

/*
 * Build a rule part by part, then add it. what: "name", or what is compared ("exe", ...); -EINVAL,
 * too, for another word or one that was there before. After a failure the caller still frees it.
 */
int config_rule_part(struct service_rule *rule, const char *what, const char *text,
		     struct config_why *why);
/* Add the rule, which then is empty. -EINVAL if a part of it is missing. */
int config_rules_add(struct agent_rules *rules, struct service_rule *rule, struct config_why *why);
void config_rule_free(struct service_rule *rule);

#endif
