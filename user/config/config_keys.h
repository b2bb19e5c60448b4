/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * config_keys.h - the table of all keys of the agent's configuration, of which file, options,
 * environment, --help, --print-config and the table in docs/agent-config.md are made; and what the
 * files of this room share.
 */
#ifndef TACHBPF_AGENT_CONFIG_KEYS_H
#define TACHBPF_AGENT_CONFIG_KEYS_H

#include "base/settings.h"
#include "config/config.h"

/* ---- the keys ---- */

/* A row without a name ends it. setting.off is in struct agent_config. */
extern const struct setting agent_keys[];
extern const size_t agent_key_cnt;	/* <= AGENT_KEYS_MAX */

/* The key's field. */
void *config_field(struct agent_config *c, const struct setting *key);
const void *config_field_of(const struct agent_config *c, const struct setting *key);

/* The key of this path; NULL: there is none. */
const struct setting *config_key_find(const char *path);
/* Returns true if there are keys below this path: it is a map of keys. "" is the whole file. */
bool config_key_is_group(const char *path);
/* The key or group that is meant by a name in the group path, as a whole path; "": none. */
#define CONFIG_PATH_BYTES 128
void config_key_nearest(const char *group, const char *name, char near[CONFIG_PATH_BYTES]);

/* ---- types of values that only a configuration has ---- */

extern const struct setting_type config_string;	/* char *, never NULL once it is set */
extern const struct setting_type config_path;	/* char *: of a file or directory */
extern const struct setting_type config_url;	/* char *: http or https, no user */
extern const struct setting_type config_proxy;	/* char *: a URL, perhaps with a user */
extern const struct setting_type config_address;	/* char *: ADDRESS:PORT */
extern const struct setting_type config_list;	/* struct agent_list */
extern const struct setting_type config_map;	/* struct agent_map */
extern const struct setting_type config_rules;	/* struct agent_rules */

#define CONFIG_ITEMS_MAX 1024	/* of a list, a map, or rules */
#define CONFIG_NAME_MAX 256	/* of a pair, in bytes */

/* A text as YAML: in quotes, on one line. */
void config_print_text(const char *text, FILE *out);
/* Returns true if the URL has a user, perhaps with a password. */
bool config_url_has_user(const char *url);

/* Add a pair; one of the same name gets the value. As setting_type.set. */
int config_map_put(const struct setting *key, struct agent_map *map, const char *name,
		   const char *value, struct setting_why *why);
/*
 * Build a rule part by part, then add it. what: "name", or what is compared ("exe", ...); -EINVAL,
 * too, for another word or one that was there before. After a failure the caller still frees it.
 */
int config_rule_part(struct service_rule *rule, const char *what, const char *text,
		     struct setting_why *why);
/* Add the rule, which then is empty. -EINVAL if a part of it is missing. */
int config_rules_add(struct agent_rules *rules, struct service_rule *rule, struct setting_why *why);
void config_rule_free(struct service_rule *rule);

/* ---- loading: source after source, from the weakest to the strongest ---- */

struct config_loading {
	struct agent_config *config;
	const char *path;		/* of the file, for messages */
	unsigned int errors;		/* what was wrong so far; only the first ones are logged */
	bool no_memory;
};

/* Log what is wrong at this place, and count it. */
void config_complain(struct config_loading *l, const struct agent_origin *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * This source gives the key: lists of a weaker one go. config_set() calls it; who gives an empty
 * list or map does, too.
 */
void config_claim(struct config_loading *l, const struct setting *key,
		  const struct agent_origin *at);

/* Set the key, or add to its list or map, as setting_type.set; complains of a bad value. */
void config_set(struct config_loading *l, const struct setting *key,
		const struct agent_origin *at, const char *text);

/*
 * The result of a function of setting_type: complain if it is -EINVAL. what: the value; not shown
 * if it may be secret. NULL: none.
 */
void config_result(struct config_loading *l, const struct setting *key,
		   const struct agent_origin *at, const char *what, int err,
		   const struct setting_why *why);

/* What is wrong with a text that may be a value: too long, not printable; NULL: nothing. */
const char *config_text_error(const char *text);

/* Returns true if the text is a good value; complains, as of an option, if it is not. */
bool config_try(const struct setting *key, const char *text);
/* Free what the key's value owns. */
void config_clear(struct agent_config *c, const struct setting *key);

/* Set what the file's text says, and complain of what is wrong. l->path: the file's. */
void config_file_apply(struct config_loading *l, const void *text, size_t len);
/*
 * Read the file l->path, and apply it. 0; or -errno if it cannot be read, which was logged. Refuses
 * what is no regular file, is larger than 1 MiB, or may be written by everyone.
 */
int config_file_load(struct config_loading *l);

#endif
