/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * config_keys.h - the table of all keys of the agent's configuration. Files, flags, environment,
 * --help, --print-config and the table in docs/agent-config.md are made of it.
 */
#ifndef TACHBPF_AGENT_CONFIG_KEYS_H
#define TACHBPF_AGENT_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct config_key;

/* What is allowed instead, behind "bad KEY 'VALUE': "; filled when the answer is -EINVAL. */
#define CONFIG_WHY_BYTES 256
struct config_why {
	char text[CONFIG_WHY_BYTES];
};
/* Fill *why. -EINVAL. */
int config_why(struct config_why *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* How values are written in YAML. */
enum config_shape {
	CONFIG_SCALAR,
	CONFIG_LIST,		/* of scalars; one alone is a list, too */
	CONFIG_MAP,		/* of names to scalars */
	CONFIG_RULES,		/* a list of service rules */
};

/*
 * A type of values. Fields are zero before the first value. These functions return 0, -ENOMEM, or
 * -EINVAL with *why; after a failure the field is as it was.
 */
struct config_type {
	const char *name;	/* for people: "duration" */
	const char *arg;	/* of the flag in --help; NULL: --FLAG and --no-FLAG */
	enum config_shape shape;
	size_t bytes;		/* of the field */
	/*
	 * Set the field to text, which is printable UTF-8; of the other shapes, add text as a flag
	 * gives it: an item, NAME=VALUE, a rule.
	 */
	int (*set)(const struct config_key *key, void *field, const char *text,
		   struct config_why *why);
	/* The same for the value of an OpenTelemetry variable; NULL: as set. */
	int (*set_env)(const struct config_key *key, void *field, const char *text,
		       struct config_why *why);
	/* What a bad value is answered with, and the docs' column "allowed"; NULL: anything. */
	void (*allowed)(const struct config_key *key, FILE *out);
	/* The value as YAML: scalars and [items] behind "KEY:"; maps and rules as lines below it,
	 * each of which begins with indent blanks; without the last newline. */
	void (*print)(const struct config_key *key, const void *field, int indent, FILE *out);
	/* NULL: the bytes say it. */
	bool (*equal)(const void *a, const void *b);
	/* Free what the field owns, and make it zero. NULL: only the latter. */
	void (*clear)(void *field);
};

/* A word that a key takes. */
struct config_word {
	const char *name;	/* NULL ends a table */
	int value;
};

struct config_key {
	const char *path;	/* in YAML, "exporters.otlp.endpoint" */
	const char *flag;	/* without the dashes */
	const char *env[2];	/* OpenTelemetry's variables, the stronger first; NULL: none */
	const struct config_type *type;
	size_t off;		/* of the field in struct agent_config */
	const char *preset;	/* the default, as a flag gives it; NULL: empty, 0 or false */
	double min, max;	/* of numbers, in the field's unit */
	const struct config_word *words;	/* of choices */
	/* What a text, an item of a list, or a name of a map must be, beyond its type. */
	int (*check)(const struct config_key *key, const char *text, struct config_why *why);
	int select;		/* of selection.*: 1 + enum proc_filter_kind, negative: excluded */
	bool secret;		/* not shown, and no flag: all can read a command line */
	bool restart;		/* a reload cannot change it */
	bool needed;		/* may not be empty */
	const char *group;	/* heading in --help; neighbours have the same */
	const char *help;	/* one line */
};

extern const struct config_key agent_keys[];
extern const size_t agent_key_cnt;	/* <= AGENT_KEYS_MAX */

/* The key's field. */
struct agent_config;
void *config_field(struct agent_config *c, const struct config_key *key);
const void *config_field_of(const struct agent_config *c, const struct config_key *key);

/* The key of this path; NULL: there is none. */
const struct config_key *config_key_find(const char *path);
/* Is there a key below this path: is it a map of keys? "" is the whole file. */
bool config_key_is_group(const char *path);
/* The key or group that is meant by a name in the group path, as a whole path; "": none. */
#define CONFIG_PATH_BYTES 128
void config_key_nearest(const char *group, const char *name, char near[CONFIG_PATH_BYTES]);

#endif
