/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* keys.h - the bytes that a terminal sends, as keys. Other bytes are ignored. */
#ifndef TACHBPF_LIVE_KEYS_H
#define TACHBPF_LIVE_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* A key is a Unicode character, or one of these. */
enum key {
	KEY_NONE = 0,
	KEY_TAB = '\t',
	KEY_ENTER = '\r',
	KEY_ESC = 27,
	KEY_BACKSPACE = 127,
	KEY_UP = 0x110000, KEY_DOWN, KEY_LEFT, KEY_RIGHT, KEY_HOME, KEY_END, KEY_PAGE_UP,
	KEY_PAGE_DOWN, KEY_DELETE, KEY_BACK_TAB,
};

/* If more bytes contain no complete key, they are dropped. */
#define KEYS_BYTES 64

/* Bytes that were received but not returned yet. Zero-initialise. */
struct keys {
	unsigned char bytes[KEYS_BYTES];
	size_t len;
};

/* Adds bytes. Returns how many fit. */
size_t keys_add(struct keys *k, const void *bytes, size_t len);

/*
 * Removes the next key and returns it; KEY_NONE: there is no complete one. idle: nothing was
 * received for some time, so a single Esc is the key and not the beginning of another.
 */
int keys_next(struct keys *k, bool idle);

/* Writes a Unicode character as UTF-8, without a NUL. Returns the number of bytes, at most 4. */
size_t keys_utf8(int c, char out[4]);

#endif
