// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* keys.c - see keys.h. Sequences: ECMA-48 (CSI), xterm, screen and the Linux console. */
#include "live/keys.h"

#include <string.h>

#include "base/util.h"

#define ESC 27

static const struct {
	const char *sequence;	/* after Esc */
	int key;
} sequences[] = {
	{ "[A", KEY_UP }, { "OA", KEY_UP }, { "[B", KEY_DOWN }, { "OB", KEY_DOWN },
	{ "[C", KEY_RIGHT }, { "OC", KEY_RIGHT }, { "[D", KEY_LEFT }, { "OD", KEY_LEFT },
	{ "[H", KEY_HOME }, { "OH", KEY_HOME }, { "[1~", KEY_HOME }, { "[7~", KEY_HOME },
	{ "[F", KEY_END }, { "OF", KEY_END }, { "[4~", KEY_END }, { "[8~", KEY_END },
	{ "[5~", KEY_PAGE_UP }, { "[6~", KEY_PAGE_DOWN }, { "[3~", KEY_DELETE },
	{ "[Z", KEY_BACK_TAB }, { "OM", KEY_ENTER },
};

size_t keys_add(struct keys *k, const void *bytes, size_t len)
{
	size_t room = sizeof(k->bytes) - k->len, n = len < room ? len : room;

	memcpy(k->bytes + k->len, bytes, n);
	k->len += n;
	return n;
}

static void drop_bytes(struct keys *k, size_t n)
{
	k->len -= n;
	memmove(k->bytes, k->bytes + n, k->len);
}

/* Returns the bytes of a sequence after Esc; 0: it is incomplete. */
static size_t sequence_bytes(const unsigned char *s, size_t len)
{
	size_t i;

	if (s[0] == 'O')
		return len < 2 ? 0 : 2;
	for (i = 1; i < len; i++)
		if (s[i] >= 0x40 && s[i] <= 0x7e)
			return i + 1;
	return 0;
}

/* Takes a key that begins with Esc. */
static int take_escape(struct keys *k, bool idle)
{
	const unsigned char *s = k->bytes + 1;
	size_t len = k->len - 1, n, i;
	int key = KEY_NONE;

	if (!len || (s[0] != '[' && s[0] != 'O')) {
		if (!len && !idle)
			return KEY_NONE;
		drop_bytes(k, 1);
		return KEY_ESC;
	}
	n = sequence_bytes(s, len);
	if (!n) {
		if (idle || k->len == sizeof(k->bytes))
			drop_bytes(k, k->len);
		return KEY_NONE;
	}
	for (i = 0; i < ARRAY_SIZE(sequences); i++)
		if (strlen(sequences[i].sequence) == n && !memcmp(sequences[i].sequence, s, n))
			key = sequences[i].key;
	drop_bytes(k, n + 1);
	return key;
}

/* Returns the bytes of the character that begins with this one; 0: invalid. */
static size_t utf8_bytes(unsigned char first)
{
	return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 :
	       first < 0xf5 ? 4 : 0;
}

/* Takes a character; KEY_NONE: dropped as invalid, or with *more, incomplete. */
static int take_character(struct keys *k, bool *more)
{
	size_t n = utf8_bytes(k->bytes[0]), i;
	static const int lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int c = n > 1 ? k->bytes[0] & 0xff >> (n + 1) : k->bytes[0];

	*more = n > k->len;
	if (*more)
		return KEY_NONE;
	for (i = 1; i < n; i++) {
		if ((k->bytes[i] & 0xc0) != 0x80)
			break;
		c = c << 6 | (k->bytes[i] & 0x3f);
	}
	if (!n || i < n || c < lowest[n] || c >= KEY_UP || (c >= 0xd800 && c < 0xe000))
		n = 0;
	drop_bytes(k, n ? n : 1);
	return n ? c : KEY_NONE;
}

int keys_next(struct keys *k, bool idle)
{
	bool more = false;
	int key = KEY_NONE;
	size_t before;

	while (!key && k->len && !more) {
		before = k->len;
		key = k->bytes[0] == ESC ? take_escape(k, idle) : take_character(k, &more);
		if (k->len == before)
			break;
	}
	if (more && idle)
		k->len = 0;
	return key == '\n' ? KEY_ENTER : key == '\b' ? KEY_BACKSPACE : key;
}

size_t keys_utf8(int c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}
