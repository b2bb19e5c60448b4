// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * config_texts.c - texts of the agent's configuration: paths, URLs, addresses. Knows no key. See
 * config_keys.h.
 */
#include "config/config_keys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/util.h"

static int set_string(const struct setting *key, void *field, const char *text,
		      struct setting_why *why)
{
	char *copy;

	if (!*text && key->needed)
		return setting_why(why, "it must not be empty");
	if (*text && key->check && key->check(key, text, why))
		return -EINVAL;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*(char **)field);
	*(char **)field = copy;
	return 0;
}

/* Where the user of http://USER:PASSWORD@HOST/ ends, at the "@"; NULL: there is none. */
static const char *user_end(const char *url)
{
	const char *host = strstr(url, "://"), *end;

	if (!host)
		host = url;
	else
		host += 3;
	end = host + strcspn(host, "/?#");
	while (end > host && *end != '@')
		end--;
	return end > host || *end == '@' ? end : NULL;
}

bool config_url_has_user(const char *url)
{
	return user_end(url) != NULL;
}

/* Returns true if text is one of the schemes, "://" and something. schemes: NULL-terminated. */
static bool is_url(const char *text, const char *const *schemes)
{
	size_t len = strcspn(text, ":");
	const char *rest = text + len;

	for (; *schemes; schemes++)
		if (strlen(*schemes) == len && !strncasecmp(*schemes, text, len))
			break;
	return *schemes && !strncmp(rest, "://", 3) && rest[3] && !strchr("/:@", rest[3]) &&
	       !text[strcspn(text, " ?#")];
}

bool config_is_url(const char *text)
{
	static const char *const schemes[] = { "http", "https", NULL };

	return is_url(text, schemes);
}

static int set_url(const struct setting *key, void *field, const char *text,
		   struct setting_why *why)
{
	if (*text && config_url_has_user(text))
		return setting_why(why, "leave out the user and the password: use basic_auth_file "
				  "for them");
	if (*text && !config_is_url(text))
		return setting_not_allowed(key, why);
	return set_string(key, field, text, why);
}

static int set_proxy(const struct setting *key, void *field, const char *text,
		     struct setting_why *why)
{
	static const char *const schemes[] = { "http", "https", "socks5", "socks5h", NULL };

	if (*text && !is_url(text, schemes))
		return setting_not_allowed(key, why);
	return set_string(key, field, text, why);
}

/* The address before ":PORT": of IPv4, of IPv6 in brackets, localhost, or nothing. */
static bool is_address(const char *text, size_t len)
{
	char copy[64], place[sizeof(struct in6_addr)];

	if (!len || (len == 9 && !memcmp(text, "localhost", len)))
		return true;
	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (*copy != '[')
		return inet_pton(AF_INET, copy, place) == 1;
	if (copy[len - 1] != ']')
		return false;
	copy[len - 1] = '\0';
	return inet_pton(AF_INET6, copy + 1, place) == 1;
}

static int set_address(const struct setting *key, void *field, const char *text,
		       struct setting_why *why)
{
	const char *colon = strrchr(text, ':');
	uint64_t port;

	if (*text && (!colon || !is_address(text, (size_t)(colon - text)) ||
		      !parse_decimal(colon + 1, strlen(colon + 1), &port) || port > UINT16_MAX))
		return setting_not_allowed(key, why);
	return set_string(key, field, text, why);
}

static void allowed_url(const struct setting *key, FILE *out)
{
	fputs(CONFIG_URLS, out);
}

static void allowed_proxy(const struct setting *key, FILE *out)
{
	fputs("http, https, socks5 or socks5h: http://HOST:PORT", out);
}

static void allowed_address(const struct setting *key, FILE *out)
{
	fputs("ADDRESS:PORT, [IPV6]:PORT or :PORT", out);
}

void config_print_text(const char *text, FILE *out)
{
	struct json j;

	/* YAML reads what JSON escapes, as there are no control characters and no broken UTF-8. */
	json_start(&j, out, false);
	json_string(&j, NULL, text);
}

void config_print_value(const char *text, FILE *out)
{
	size_t len = strlen(text);
	char *escaped = malloc(2 * len + 1), *to = escaped;

	if (!escaped)
		return;		/* the line has no value, as if its memory had failed */
	for (; *text; text++) {
		*to++ = *text;
		if (*text == '$')
			*to++ = '$';
	}
	*to = '\0';
	config_print_text(escaped, out);
	free(escaped);
}

static const char *text_of(const void *field)
{
	const char *text = *(char *const *)field;

	return text ? text : "";
}

static void print_string(const struct setting *key, const void *field, int indent, FILE *out)
{
	config_print_value(key->secret && *text_of(field) ? "<secret>" : text_of(field), out);
}

static void print_proxy(const struct setting *key, const void *field, int indent, FILE *out)
{
	const char *url = text_of(field), *at = user_end(url), *host = strstr(url, "://");
	char *shown;

	if (!at || asprintf(&shown, "%.*s<secret>%s", (int)(host + 3 - url), url, at) < 0) {
		config_print_value(at ? "<secret>" : url, out);
		return;
	}
	config_print_value(shown, out);
	free(shown);
}

static bool equal_string(const void *a, const void *b)
{
	return !strcmp(text_of(a), text_of(b));
}

static void clear_string(void *field)
{
	free(*(char **)field);
	*(char **)field = NULL;
}

#define TEXT_TYPE(NAME, ARG)                                                                       \
	.name = NAME, .arg = ARG, .bytes = sizeof(char *), .equal = equal_string,                  \
	.clear = clear_string

const struct setting_type config_string = {
	TEXT_TYPE("string", "TEXT"), .set = set_string,
	.print = print_string,
};
const struct setting_type config_path = {
	TEXT_TYPE("path", "PATH"), .set = set_string,
	.print = print_string,
};
const struct setting_type config_url = {
	TEXT_TYPE("URL", "URL"), .set = set_url, .allowed = allowed_url, .print = print_string,
};
const struct setting_type config_proxy = {
	TEXT_TYPE("URL", "URL"), .set = set_proxy, .allowed = allowed_proxy, .print = print_proxy,
};
const struct setting_type config_address = {
	TEXT_TYPE("address", "ADDRESS"), .set = set_address, .allowed = allowed_address,
	.print = print_string,
};
