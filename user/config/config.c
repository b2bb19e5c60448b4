// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* config.c - what others ask of a configuration, and what a reload changes. See config.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_keys.h"

/* ---- what a reload changes ---- */

static bool same_value(const struct setting *key, const struct agent_config *a,
		       const struct agent_config *b)
{
	const void *x = config_field_of(a, key), *y = config_field_of(b, key);

	return key->type->equal ? key->type->equal(x, y) : !memcmp(x, y, key->type->bytes);
}

int agent_config_diff(const struct agent_config *old, const struct agent_config *new,
		      struct agent_changes *changes)
{
	char names[512] = "";
	size_t i, len;

	memset(changes, 0, sizeof(*changes));
	for (i = 0; i < agent_key_cnt; i++) {
		if (same_value(&agent_keys[i], old, new))
			continue;
		changes->changed[i] = true;
		changes->cnt++;
		len = strlen(names);
		if (agent_keys[i].restart)
			snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "",
				 agent_keys[i].path);
	}
	if (!*names)
		return 0;
	log_error("not reloaded: only a restart changes %s", names);
	return -EBUSY;
}

bool agent_config_changed(const struct agent_changes *changes, const char *path)
{
	size_t i, len = strlen(path);

	for (i = 0; i < agent_key_cnt; i++)
		if (changes->changed[i] && !strncmp(agent_keys[i].path, path, len) &&
		    (!agent_keys[i].path[len] || agent_keys[i].path[len] == '.'))
			return true;
	return false;
}

/* ---- what others ask ---- */

static int add_conditions(const struct agent_list *list, enum proc_filter_kind kind, bool exclude,
			  struct proc_filter *filter)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < list->cnt; i++)
		err = proc_filter_add(filter, kind, exclude, list->items[i]);
	return err;
}

int agent_config_selection(const struct agent_config *c, struct proc_filter *filter)
{
	enum proc_filter_kind kind;
	int err = 0;

	for (kind = 0; !err && kind < FILTER_KINDS; kind++) {
		err = add_conditions(&c->select[0][kind], kind, false, filter);
		if (!err)
			err = add_conditions(&c->select[1][kind], kind, true, filter);
	}
	filter->min_age_s = (double)c->min_age_ns / 1e9;
	return err;
}

bool agent_config_has_otlp(const struct agent_config *c)
{
	return *c->exporters.otlp.endpoint || *c->exporters.otlp.profiles_endpoint;
}

char *agent_config_otlp_url(const struct agent_config *c)
{
	const char *base = c->exporters.otlp.endpoint, *whole = c->exporters.otlp.profiles_endpoint;
	size_t len = strlen(base);
	char *url;

	if (!agent_config_has_otlp(c)) {
		errno = ENOENT;
		return NULL;
	}
	if (*whole)
		return strdup(whole);
	while (len && base[len - 1] == '/')
		len--;
	if (asprintf(&url, "%.*s/v1development/profiles", (int)len, base) >= 0)
		return url;
	errno = ENOMEM;
	return NULL;
}
