// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config_variables.c - environment variables in the values of the configuration's file, as in
 * OpenTelemetry's declarative configuration and in the Collector (specification/configuration/
 * data-model.md). See config_keys.h.
 */
#include "config/config_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define NAME_BYTES 128

static int add_text(struct buf *out, const char *text, size_t len, struct setting_why *why)
{
	if (out->len + len > AGENT_TEXT_MAX)
		return setting_why(why, "it is longer than 4096 bytes with its variables");
	return buf_add(out, text, len);
}

/* Adds the value of a reference: the len bytes between its braces. */
static int add_variable(struct buf *out, const char *ref, size_t len, struct setting_why *why)
{
	char name[NAME_BYTES];
	const char *value, *rest;
	size_t name_len;

	if (len > 4 && !memcmp(ref, "env:", 4)) {
		ref += 4;
		len -= 4;
	}
	name_len = strspn(ref, LETTERS "0123456789");
	rest = ref + name_len;
	if (!name_len || strchr("0123456789", *ref) || name_len >= NAME_BYTES ||
	    (*rest != '}' && strncmp(rest, ":-", 2) != 0))
		return setting_why(why, "after ${ there must be the name of an environment "
				   "variable, and then } or :-DEFAULT}; write $$ for a $");
	memcpy(name, ref, name_len);
	name[name_len] = '\0';
	value = getenv(name);
	if (*rest == ':' && (!value || !*value))
		return add_text(out, rest + 2, len - name_len - 2, why);
	if (!value)
		return setting_why(why, "the environment variable %s is not set: set it, or write "
				   "${%s:-DEFAULT}", name, name);
	return add_text(out, value, strlen(value), why);
}

int config_expand(const char *text, struct buf *out, struct setting_why *why)
{
	const char *end;
	int err = 0;

	while (*text && !err) {
		size_t plain = strcspn(text, "$");

		if (plain) {
			end = text + plain;
			err = add_text(out, text, plain, why);
		} else if (text[1] == '$') {
			end = text + 2;
			err = add_text(out, "$", 1, why);
		} else if (text[1] == '{' && (end = strchr(text, '}'))) {
			err = add_variable(out, text + 2, (size_t)(end - text - 2), why);
			end++;
		} else {
			end = text + 1;
			err = add_text(out, "$", 1, why);
		}
		text = end;
	}
	return err ? err : buf_add(out, "", 1);
}
