// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sender_check.c - see sender.h: checks a server's settings. Needs no libcurl. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "delivery/sender.h"

#define HEADER_MAX 8192

/* Returns true if nothing in it can end a line of HTTP. */
static bool one_line(const char *s)
{
	for (; s && *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static bool is_url(const char *s)
{
	return s && (!strncasecmp(s, "http://", 7) || !strncasecmp(s, "https://", 8)) &&
	       strlen(strstr(s, "://")) > 3 && one_line(s) && !strchr(s, ' ');
}

/* Each line must be "Name: value". */
static bool are_headers(const char *s)
{
	const char *end;
	size_t name;

	for (; s && *s; s = *end ? end + 1 : end) {
		end = strchrnul(s, '\n');
		name = strcspn(s, ": \t\r\n");
		if (!name || s[name] != ':' || end - s > HEADER_MAX || memchr(s, '\r', end - s))
			return false;
	}
	return true;
}

int sender_check_server(const struct sender_server *s, char *why, size_t why_size)
{
	const char *what = NULL;

	if (s->url && !is_url(s->url))
		what = "the URL does not begin with http:// or https://, or contains blanks";
	else if (s->proxy && !one_line(s->proxy))
		what = "the proxy's URL has control characters";
	else if (!are_headers(s->headers))
		what = "a header is not written as \"Name: value\"";
	else if (!one_line(s->user) || !one_line(s->password) || !one_line(s->bearer))
		what = "user, password or token have control characters";
	else if (s->bearer && s->user)
		what = "there are both a token and a user; use one of them";
	else if (!s->certificate != !s->key)
		what = "a client certificate and its key must be used together";
	snprintf(why, why_size, "%s", what ? what : "");
	return what ? -EINVAL : 0;
}
