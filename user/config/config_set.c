// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* config_set.c - sets values, records their origins, reports errors. See config_keys.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cli.h"
#include "base/util.h"
#include "config/config_keys.h"

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
		log_error("too many errors: the rest is not shown");
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
		return "it is longer than 4096 bytes";
	for (; len; text += n, len -= n) {
		n = utf8_char(text, len, &cp);
		/* The last two of each plane are not characters. */
		if (!n || !utf8_printable(cp) || (cp & 0xfffe) == 0xfffe)
			return "it contains characters that are not printable UTF-8";
	}
	return NULL;
}

static bool is_url(const struct setting *key, const char *text)
{
	return key->type == &config_url || key->type == &config_proxy || strstr(text, "://");
}

void config_result(struct config_loading *l, const struct setting *key,
		   const struct agent_origin *at, const char *what, int err,
		   const struct setting_why *why)
{
	bool secret = key->secret || (what && is_url(key, what) && config_url_has_user(what));
	bool flag = at->source == AGENT_FLAG;
	char shown[CLI_TEXT_MAX];

	if (!err)
		return;
	if (err != -EINVAL) {
		l->no_memory = true;
		l->errors++;
	} else if (secret || !what) {
		config_complain(l, at, "invalid %s%s: %s", flag ? "--" : "",
				flag ? key->name : key->path, why->text);
	} else {
		config_complain(l, at, "invalid %s%s '%s': %s", flag ? "--" : "",
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

void config_clear(struct agent_config *c, const struct setting *key)
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
	config_clear(l.config, key);
	free(l.config);
	return !l.errors;
}
