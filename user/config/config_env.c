// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* config_env.c - see config_env.h. */
#include "config/config_env.h"

#include <stdlib.h>

#include "base/util.h"

static void apply_key(struct config_loading *l, const struct config_key *key)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(key->env) && key->env[i]; i++) {
		const struct agent_origin at = { .source = AGENT_ENV, .name = key->env[i] };
		const char *value = getenv(key->env[i]);

		if (!value || !*value)
			continue;
		config_set(l, key, &at, value);
		return;
	}
}

void config_env_apply(struct config_loading *l)
{
	size_t i;

	for (i = 0; i < agent_key_cnt; i++)
		apply_key(l, &agent_keys[i]);
}
