/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * config_keys.h - the table of all keys of the agent's configuration, which file, options,
 * environment, --help, --print-config and the table in docs/agent-config.md are made from; and what
 * the files of this room share.
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

/* The key with this path, or NULL. */
const struct setting *config_key_find(const char *path);
/* Returns true if there are keys below this path: it is a map of keys. "" is the whole file. */
bool config_key_is_group(const char *path);
/* The key or group that a name in the group path probably means, as a whole path; "": none. */
#define CONFIG_PATH_BYTES 128
void config_key_nearest(const char *group, const char *name, char near[CONFIG_PATH_BYTES]);

/* The group of keys that each OTLP exporter has; config_key_is_otlp(): one of them. */
#define OTLP_GROUP "exporters.otlp"
bool config_key_is_otlp(const struct setting *key);

/* ---- types of values for configurations only ---- */

extern const struct setting_type config_string;	/* char *, never NULL once it is set */
extern const struct setting_type config_path;	/* char *: path of a file or directory */
extern const struct setting_type config_url;	/* char *: http or https, without a user */
extern const struct setting_type config_proxy;	/* char *: a URL, possibly with a user */
extern const struct setting_type config_address;	/* char *: ADDRESS:PORT */
extern const struct setting_type config_list;	/* struct agent_list */
extern const struct setting_type config_map;	/* struct agent_map */
extern const struct setting_type config_rules;	/* struct agent_rules */

#define CONFIG_ITEMS_MAX 1024	/* of a list, a map, or rules */
#define CONFIG_NAME_MAX 256	/* of a pair, in bytes */

/* Prints a text as YAML: in quotes, on one line. */
void config_print_text(const char *text, FILE *out);
/* The same for a value, in which a $ is written as $$. */
void config_print_value(const char *text, FILE *out);
/*
 * Appends a value of the file, and a NUL: ${NAME} and ${env:NAME} are the environment variable,
 * ${NAME:-DEFAULT} is the default if that is not set or empty, $$ is a $; what a variable contains
 * stays as it is. Returns 0; -EINVAL with *why: a variable is not set, or has no valid name, or the
 * value is longer than AGENT_TEXT_MAX; -ENOMEM.
 */
int config_expand(const char *text, struct buf *out, struct setting_why *why);
/* Returns true if the URL has a user, with or without a password. */
bool config_url_has_user(const char *url);
/* Returns true if it is an http or https URL, as CONFIG_URLS says. */
bool config_is_url(const char *text);
#define CONFIG_URLS "http://HOST:PORT or https://HOST:PORT, optionally with a path"

/* Adds a pair, or replaces the value of one with this name. Returns as setting_type.set. */
int config_map_put(const struct setting *key, struct agent_map *map, const char *name,
		   const char *value, struct setting_why *why);
/*
 * Builds a rule part by part, to be added then. what: "name", or what is compared ("exe", ...);
 * -EINVAL also for another word or a repeated one. After a failure the caller still frees it.
 */
int config_rule_part(struct service_rule *rule, const char *what, const char *text,
		     struct setting_why *why);
/* Adds the rule, which is empty then. Returns -EINVAL if a part of it is missing. */
int config_rules_add(struct agent_rules *rules, struct service_rule *rule, struct setting_why *why);
void config_rule_free(struct service_rule *rule);

/* ---- loading: one source after another, from the weakest to the strongest ---- */

struct config_loading {
	struct agent_config *config;
	const char *path;		/* of the file, for messages */
	unsigned int errors;		/* number of errors; only the first ones are logged */
	bool no_memory;
};

/* Logs what is wrong at this place, and counts it. */
void config_complain(struct config_loading *l, const struct agent_origin *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * This source sets the key: removes lists of a weaker one. config_set() calls it, and so does a
 * caller that sets an empty list or map.
 */
void config_claim(struct config_loading *l, const struct setting *key,
		  const struct agent_origin *at);

/* Sets the key, or adds to its list or map, as setting_type.set; complains about a bad value. */
void config_set(struct config_loading *l, const struct setting *key,
		const struct agent_origin *at, const char *text);

/*
 * Takes the result of a function of setting_type: complains if it is -EINVAL. what: the value; not
 * shown if it may be secret. NULL: none.
 */
void config_result(struct config_loading *l, const struct setting *key,
		   const struct agent_origin *at, const char *what, int err,
		   const struct setting_why *why);

/* What is wrong with a text as a value: too long, not printable; NULL: nothing. */
const char *config_text_error(const char *text);

/* Returns true if the text is a valid value; otherwise complains, as about an option. */
bool config_try(const struct setting *key, const char *text);
/* Frees what the key's value owns. */
void config_clear(struct agent_config *c, const struct setting *key);

/* A configuration with the defaults. path: of its file; NULL: none. NULL: no memory. */
struct agent_config *config_new(const char *path);

/* Returns true if a name among the exporters is that of a further OTLP exporter: otlp/NAME. */
bool config_otlp_is(const char *name);
/* Adds it. Returns the configuration with its values (config.h), or NULL after complaining. */
struct agent_config *config_otlp_add(struct config_loading *l, const struct agent_origin *at,
				     const char *name);

/* Sets what the file's text says, and complains about errors. l->path: the file's. */
void config_file_apply(struct config_loading *l, const void *text, size_t len);
/*
 * Reads the file l->path, and applies it. Returns 0; or -errno after logging if it cannot be read.
 * Refuses anything but a regular file, more than 1 MiB, and files that everyone may write.
 */
int config_file_load(struct config_loading *l);

#endif
