// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* config_new.c - a configuration with its defaults, and its end. See config_keys.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_keys.h"

static const struct agent_origin preset = { .source = AGENT_DEFAULT };

/* A list's preset has commas between its items. */
static void preset_list(struct config_loading *l, const struct setting *key)
{
	char items[256], *rest = items, *item;

	snprintf(items, sizeof(items), "%s", key->preset);
	while ((item = strsep(&rest, ",")))
		config_set(l, key, &preset, item);
}

static void apply_presets(struct config_loading *l)
{
	size_t i;

	for (i = 0; i < agent_key_cnt; i++)
		if (agent_keys[i].type->shape == SETTING_LIST && agent_keys[i].preset)
			preset_list(l, &agent_keys[i]);
		else if (agent_keys[i].preset)
			config_set(l, &agent_keys[i], &preset, agent_keys[i].preset);
}

struct agent_config *config_new(const char *path)
{
	struct config_loading l = { .config = calloc(1, sizeof(*l.config)) };

	if (!l.config)
		return NULL;
	strcpy(l.config->exporters.otlp.name, "otlp");
	apply_presets(&l);
	if (path) {
		l.config->path = strdup(path);
		l.no_memory |= !l.config->path;
	}
	if (!l.no_memory)
		return l.config;
	agent_config_free(l.config);
	return NULL;
}

void agent_config_free(struct agent_config *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < agent_key_cnt; i++)
		config_clear(c, &agent_keys[i]);
	while (c->otlp_more_cnt)
		agent_config_free(c->otlp_more[--c->otlp_more_cnt]);
	free(c->path);
	free(c);
}
