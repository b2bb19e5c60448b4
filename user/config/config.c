// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config.c - combines defaults, file, environment and options; checks that they fit together; says
 * what a reload changes; answers questions about the configuration. See config.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "config/config_keys.h"

/* ---- consistency ---- */

/* Complains at the origin of a key. */
static void complain_of(struct config_loading *l, const char *path, const char *what)
{
	const struct setting *key = config_key_find(path);

	config_complain(l, &l->config->origin[key - agent_keys], "%s", what);
}

static void check_http(struct config_loading *l, const struct agent_http *http, const char *group)
{
	char path[CONFIG_PATH_BYTES], what[256];

	if (!*http->cert_file != !*http->key_file) {
		snprintf(path, sizeof(path), "%s.%s", group,
			 *http->cert_file ? "cert_file" : "key_file");
		snprintf(what, sizeof(what), "%s requires %s.%s", path, group,
			 *http->cert_file ? "key_file" : "cert_file");
		complain_of(l, path, what);
	}
	if (*http->bearer_token_file && *http->basic_auth_file) {
		snprintf(path, sizeof(path), "%s.basic_auth_file", group);
		snprintf(what, sizeof(what), "%s and %s.bearer_token_file are mutually exclusive: "
			 "use only one of them", path, group);
		complain_of(l, path, what);
	}
}

static void check_debuginfod(struct config_loading *l)
{
	const struct agent_list *urls = &l->config->debuginfod;
	size_t bytes = 0, i;

	for (i = 0; i < urls->cnt; i++)
		bytes += strlen(urls->items[i]) + 1;
	if (bytes > AGENT_TEXT_MAX)
		complain_of(l, "debuginfod", "debuginfod is longer than 4096 bytes in all: name "
			    "fewer servers");
	if (urls->cnt && l->config->native == AGENT_NATIVE_OFF)
		complain_of(l, "debuginfod", "debuginfod requires native: set native to on, full "
			    "or lines");
}

/* The other OTLP exporters, each with its own origins. */
static void check_more(struct config_loading *l)
{
	struct agent_config *whole = l->config;
	size_t i;

	for (i = 0; i < whole->otlp_more_cnt; i++) {
		l->config = whole->otlp_more[i];
		check_http(l, &l->config->exporters.otlp.http, OTLP_GROUP);
	}
	l->config = whole;
}

static void check_together(struct config_loading *l)
{
	const struct agent_config *c = l->config;

	check_debuginfod(l);
	if (!c->modes)
		complain_of(l, "modes", "modes is empty: expected at least one, such as cpu");
	if (c->modes & AGENT_MEMORY && c->probability < 1)
		complain_of(l, "probability", "probability cannot be used with mode memory: held "
			    "memory is only known if every window is recorded; leave memory out of "
			    "modes");
	if (c->budget.min_rate_hz > c->rate_hz)
		complain_of(l, "budget.min_rate", "budget.min_rate is higher than rate");
	if (c->retry.initial_ns > c->retry.max_ns)
		complain_of(l, "retry.initial", "retry.initial is longer than retry.max");
	check_http(l, &c->exporters.otlp.http, OTLP_GROUP);
	check_http(l, &c->exporters.pyroscope.http, "exporters.pyroscope");
	check_more(l);
}

/* ---- loading ---- */

/* Returns what has been loaded, if it has no errors; else NULL with errno. err: of the file. */
static struct agent_config *finish_loading(struct config_loading *l, int err)
{
	if (!err && !l->no_memory)
		check_together(l);
	if (!err && !l->errors)
		return l->config;
	if (l->no_memory)
		log_error("out of memory");
	agent_config_free(l->config);
	errno = l->no_memory ? ENOMEM : err ? -err : EINVAL;
	return NULL;
}

/* An empty variable counts as not set, as OpenTelemetry requires. */
static void apply_variables(struct config_loading *l, const struct setting *key)
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

static void apply_flags(struct config_loading *l, const struct agent_options *o)
{
	size_t i;

	for (i = 0; i < o->cnt; i++) {
		const struct agent_flag *flag = &o->flags[i];
		const struct agent_origin at = { .source = AGENT_FLAG, .name = flag->key->name };

		config_set(l, flag->key, &at, flag->text);
	}
}

struct agent_config *agent_config_load(const struct agent_options *o)
{
	struct config_loading l = { .config = config_new(o->path), .path = o->path };
	int err = 0;
	size_t i;

	if (!l.config) {
		errno = ENOMEM;
		return NULL;
	}
	if (o->path)
		err = config_file_load(&l);
	for (i = 0; i < agent_key_cnt; i++)
		apply_variables(&l, &agent_keys[i]);
	apply_flags(&l, o);
	return finish_loading(&l, err);
}

struct agent_config *agent_config_parse(const char *path, const void *text, size_t len)
{
	struct config_loading l = { .config = config_new(path), .path = path };

	if (!l.config) {
		errno = ENOMEM;
		return NULL;
	}
	config_file_apply(&l, text, len);
	return finish_loading(&l, 0);
}

/* ---- what a reload changes ---- */

static bool same_value(const struct setting *key, const struct agent_config *a,
		       const struct agent_config *b)
{
	const void *x = config_field_of(a, key), *y = config_field_of(b, key);

	return key->type->equal ? key->type->equal(x, y) : !memcmp(x, y, key->type->bytes);
}

/* The same in all OTLP exporters. */
static bool same_values(const struct setting *key, const struct agent_config *a,
			const struct agent_config *b)
{
	size_t i;

	if (!same_value(key, a, b))
		return false;
	if (!config_key_is_otlp(key))
		return true;
	for (i = 0; i < a->otlp_more_cnt && i < b->otlp_more_cnt; i++)
		if (strcmp(a->otlp_more[i]->exporters.otlp.name,
			   b->otlp_more[i]->exporters.otlp.name) != 0 ||
		    !same_value(key, a->otlp_more[i], b->otlp_more[i]))
			return false;
	return a->otlp_more_cnt == b->otlp_more_cnt;
}

int agent_config_diff(const struct agent_config *old, const struct agent_config *new,
		      struct agent_changes *changes)
{
	char names[512] = "";
	size_t i, len;

	memset(changes, 0, sizeof(*changes));
	for (i = 0; i < agent_key_cnt; i++) {
		if (same_values(&agent_keys[i], old, new))
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
	log_error("not reloaded: changing %s requires a restart", names);
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

/* ---- queries ---- */

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
