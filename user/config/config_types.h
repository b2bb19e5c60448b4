/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* config_types.h - the types of single values in the agent's configuration (config_keys.h). */
#ifndef TACHBPF_AGENT_CONFIG_TYPES_H
#define TACHBPF_AGENT_CONFIG_TYPES_H

#include "config/config_keys.h"

extern const struct config_type config_integer;		/* uint32_t */
extern const struct config_type config_number;		/* double */
extern const struct config_type config_percent;		/* double, in percent */
extern const struct config_type config_boolean;		/* bool */
extern const struct config_type config_duration;	/* uint64_t, ns */
extern const struct config_type config_size;		/* uint64_t, bytes */
extern const struct config_type config_choice;		/* an enum */
extern const struct config_type config_choices;		/* uint32_t: words' values, joined by or */
extern const struct config_type config_string;		/* char *, never NULL once it is set */
extern const struct config_type config_path;		/* char *: of a file or directory */
extern const struct config_type config_url;		/* char *: http or https, no user */
extern const struct config_type config_proxy;		/* char *: a URL, perhaps with a user */
extern const struct config_type config_address;		/* char *: ADDRESS:PORT */

/* Fill *why with "give " and what the key's type allows. -EINVAL or -ENOMEM. */
int config_not_allowed(const struct config_key *key, struct config_why *why);

/* A text as YAML: in quotes, on one line. */
void config_print_text(const char *text, FILE *out);
/* Has the URL a user, perhaps with a password? */
bool config_url_has_user(const char *url);

#endif
