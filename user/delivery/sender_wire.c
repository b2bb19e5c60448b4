// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sender_wire.c - see sender_wire.h. A server is its strings, each with its NUL; the last one is
 * its number, followed by a "k" (as in curl -k) if certificates are not checked, and a "g" if it
 * speaks gRPC.
 */
#include "delivery/sender_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t texts[] = {
	offsetof(struct sender_server, url), offsetof(struct sender_server, headers),
	offsetof(struct sender_server, user), offsetof(struct sender_server, password),
	offsetof(struct sender_server, bearer), offsetof(struct sender_server, proxy),
	offsetof(struct sender_server, ca), offsetof(struct sender_server, certificate),
	offsetof(struct sender_server, key),
};

static int put_text(struct buf *out, const char *text)
{
	return buf_add(out, text, strlen(text) + 1);
}

int sender_servers_put(struct buf *out, const struct sender_server *servers, size_t cnt)
{
	char number[16];
	size_t i, t;
	int err = 0;

	for (i = 0; !err && i < cnt; i++) {
		for (t = 0; !err && t < ARRAY_SIZE(texts); t++) {
			const char *text = *(char *const *)((const char *)&servers[i] + texts[t]);

			err = put_text(out, text ? text : "");
		}
		snprintf(number, sizeof(number), "%u%s%s", servers[i].stall_ms,
			 servers[i].insecure ? "k" : "", servers[i].grpc ? "g" : "");
		if (!err)
			err = put_text(out, number);
	}
	return err;
}

/* Reads the string at *p, and advances *p. Returns false if there is none. "" becomes NULL. */
static bool get_text(const char **p, const char *end, const char **text)
{
	if (*p >= end)
		return false;
	*text = **p ? *p : NULL;
	*p += strlen(*p) + 1;
	return true;
}

int sender_servers_get(const struct buf *in, struct sender_server servers[SENDER_EXPORTERS_MAX])
{
	const char *p = (const char *)in->data, *end = p + in->len, *number;
	size_t t;
	int cnt;

	if (!in->len || end[-1])
		return -EBADMSG;
	for (cnt = 0; p < end; cnt++) {
		if (cnt == SENDER_EXPORTERS_MAX)
			return -EBADMSG;
		for (t = 0; t < ARRAY_SIZE(texts); t++)
			if (!get_text(&p, end, (const char **)((char *)&servers[cnt] + texts[t])))
				return -EBADMSG;
		if (!get_text(&p, end, &number))
			return -EBADMSG;
		servers[cnt].stall_ms = number ? (uint32_t)strtoul(number, NULL, 10) : 0;
		servers[cnt].insecure = number && strchr(number, 'k');
		servers[cnt].grpc = number && strchr(number, 'g');
	}
	return cnt;
}

static bool text_ok(const char *text, size_t room)
{
	size_t len = strnlen(text, room), at = 0, n;
	uint32_t cp;

	while (at < len) {
		n = utf8_char(text + at, len - at, &cp);
		if (!n || !utf8_printable(cp))
			return false;
		at += n;
	}
	return len < room;
}

bool sender_answer_ok(const struct sender_answer *a)
{
	return a->job && a->result < SEND_RESULTS && a->cause < SEND_CAUSES && a->status < 1000 &&
	       a->retry_after_ms <= SENDER_RETRY_AFTER_MAX_MS && text_ok(a->text, sizeof(a->text));
}
