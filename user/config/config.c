// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config.c - sets values from defaults, file, environment and options, keeps where each came from, and
 * says what is wrong, also of values that do not fit together; what a reload changes; what others ask.
 * See config.h, config_keys.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/util.h"
#include "config/config_keys.h"

/* ---- values and their origins ---- */

/* More errors than these are only counted: a file of another kind has one in each line. */
#define SHOWN_ERRORS 20

void config_complain(struct config_loading *l, const struct agent_origin *at, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	l->errors++;
	if (l->errors > SHOWN_ERRORS + 1)
		return;
	if (l->errors > SHOWN_ERRORS) {
		log_error("and so on: no more errors are shown");
		return;
	}
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (at->source == AGENT_FILE && at->line)
		log_error("%s:%u:%u: %s", l->path, at->line, at->column, what);
	else if (at->source == AGENT_FILE)
		log_error("%s: %s", l->path, what);
	else if (at->source == AGENT_ENV)
		log_error("environment variable %s: %s", at->name, what);
	else
		log_error("%s", what);
}

void config_claim(struct config_loading *l, const struct setting *key,
		  const struct agent_origin *at)
{
	struct agent_origin *origin = &l->config->origin[key - agent_keys];
	enum setting_shape shape = key->type->shape;

	if (origin->source != at->source && (shape == SETTING_LIST || shape == SETTING_RULES)) {
		if (key->type->clear)
			key->type->clear(config_field(l->config, key));
		else
			memset(config_field(l->config, key), 0, key->type->bytes);
	}
	*origin = *at;
}

const char *config_text_error(const char *text)
{
	size_t len = strlen(text), n;
	uint32_t cp;

	if (len > AGENT_TEXT_MAX)
		return "it has more than 4096 bytes";
	for (; len; text += n, len -= n) {
		n = utf8_char(text, len, &cp);
		/* The last two of each plane are not characters. */
		if (!n || !utf8_printable(cp) || (cp & 0xfffe) == 0xfffe)
			return "it has characters that are not printable UTF-8";
	}
	return NULL;
}

void config_result(struct config_loading *l, const struct setting *key,
		   const struct agent_origin *at, const char *what, int err,
		   const struct setting_why *why)
{
	bool url = key->type == &config_url || key->type == &config_proxy;
	bool secret = key->secret || (url && what && config_url_has_user(what));
	bool flag = at->source == AGENT_FLAG;
	char shown[CLI_TEXT_MAX];

	if (!err)
		return;
	if (err != -EINVAL) {
		l->no_memory = true;
		l->errors++;
	} else if (secret || !what) {
		config_complain(l, at, "bad %s%s: %s", flag ? "--" : "",
				flag ? key->name : key->path, why->text);
	} else {
		config_complain(l, at, "bad %s%s '%s': %s", flag ? "--" : "",
				flag ? key->name : key->path,
				escape_text(what, strlen(what), shown, sizeof(shown)), why->text);
	}
}

void config_set(struct config_loading *l, const struct setting *key,
		const struct agent_origin *at, const char *text)
{
	const struct setting_type *type = key->type;
	const char *wrong = config_text_error(text);
	struct setting_why why = { "" };
	void *field = config_field(l->config, key);
	int err;

	config_claim(l, key, at);
	if (wrong)
		err = setting_why(&why, "%s", wrong);
	else if (at->source == AGENT_ENV && type->set_env)
		err = type->set_env(key, field, text, &why);
	else
		err = type->set(key, field, text, &why);
	config_result(l, key, at, text, err, &why);
}

static void clear_field(struct agent_config *c, const struct setting *key)
{
	if (key->type->clear)
		key->type->clear(config_field(c, key));
}

bool config_try(const struct setting *key, const char *text)
{
	struct config_loading l = { .config = calloc(1, sizeof(*l.config)) };
	const struct agent_origin flag = { .source = AGENT_FLAG };

	if (!l.config) {
		log_error("out of memory");
		return false;
	}
	config_set(&l, key, &flag, text);
	clear_field(l.config, key);
	free(l.config);
	return !l.errors;
}

/* ---- what must fit together ---- */

/* Complain at the origin of a key. */
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
		snprintf(what, sizeof(what), "%s needs %s.%s, too", path, group,
			 *http->cert_file ? "key_file" : "cert_file");
		complain_of(l, path, what);
	}
	if (*http->bearer_token_file && *http->basic_auth_file) {
		snprintf(path, sizeof(path), "%s.basic_auth_file", group);
		snprintf(what, sizeof(what), "%s and %s.bearer_token_file are two answers to one "
			 "question: give one", path, group);
		complain_of(l, path, what);
	}
}

static void check_together(struct config_loading *l)
{
	const struct agent_config *c = l->config;

	if (!c->modes)
		complain_of(l, "modes", "modes is empty: name at least one, such as cpu");
	if (c->modes & AGENT_MEMORY && c->probability < 1)
		complain_of(l, "probability", "probability is for time: what is held of memory "
			    "cannot be known from some windows; leave memory out of modes");
	if (c->budget.min_rate_hz > c->rate_hz)
		complain_of(l, "budget.min_rate", "budget.min_rate is more than rate");
	if (c->retry.initial_ns > c->retry.max_ns)
		complain_of(l, "retry.initial", "retry.initial is more than retry.max");
	check_http(l, &c->exporters.otlp.http, "exporters.otlp");
	check_http(l, &c->exporters.pyroscope.http, "exporters.pyroscope");
}

/* ---- loading ---- */

static void apply_presets(struct config_loading *l)
{
	static const struct agent_origin preset = { .source = AGENT_DEFAULT };
	size_t i;

	for (i = 0; i < agent_key_cnt; i++)
		if (agent_keys[i].preset)
			config_set(l, &agent_keys[i], &preset, agent_keys[i].preset);
}

/* With the defaults. NULL: no memory. */
static struct agent_config *new_config(const char *path)
{
	struct config_loading l = { .config = calloc(1, sizeof(*l.config)) };

	if (!l.config)
		return NULL;
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

/* What has been loaded, if nothing was wrong; else NULL with errno. err: of the file. */
static struct agent_config *finish(struct config_loading *l, int err)
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

/* An empty variable counts as not set, as OpenTelemetry wants it. */
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
	struct config_loading l = { .config = new_config(o->path), .path = o->path };
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
	return finish(&l, err);
}

struct agent_config *agent_config_parse(const char *path, const void *text, size_t len)
{
	struct config_loading l = { .config = new_config(path), .path = path };

	if (!l.config) {
		errno = ENOMEM;
		return NULL;
	}
	config_file_apply(&l, text, len);
	return finish(&l, 0);
}

void agent_config_free(struct agent_config *c)
{
	size_t i;

	for (i = 0; c && i < agent_key_cnt; i++)
		clear_field(c, &agent_keys[i]);
	if (c)
		free(c->path);
	free(c);
}

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
