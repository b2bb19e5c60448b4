/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * config_set.h - sets values of a configuration that is being loaded, source after source from the
 * weakest to the strongest, keeps where each came from, and says what is wrong.
 */
#ifndef TACHBPF_AGENT_CONFIG_SET_H
#define TACHBPF_AGENT_CONFIG_SET_H

#include "config/config.h"
#include "config/config_keys.h"

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
void config_claim(struct config_loading *l, const struct config_key *key,
		  const struct agent_origin *at);

/* Set the key, or add to its list or map, as config_type.set; complains of a bad value. */
void config_set(struct config_loading *l, const struct config_key *key,
		const struct agent_origin *at, const char *text);

/*
 * The result of a function of config_type: complain if it is -EINVAL. what: the value; not shown
 * if it may be secret. NULL: none.
 */
void config_result(struct config_loading *l, const struct config_key *key,
		   const struct agent_origin *at, const char *what, int err,
		   const struct config_why *why);

/* What is wrong with a text that may be a value: too long, not printable; NULL: nothing. */
const char *config_text_error(const char *text);

/* Is this text a good value? Complains, as a flag, if it is not. */
bool config_try(const struct config_key *key, const char *text);

/* Free all values. */
void config_clear(struct agent_config *c);

#endif
