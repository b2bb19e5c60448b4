/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attrs.h - a limited list of attributes: keys with a text, a number, or a list of one text, as in
 * OpenTelemetry.
 *
 * Keys and texts are cleaned when they are added (escape_text()): valid UTF-8 without control
 * characters. The list is one piece of memory without pointers: it can be copied by assignment. A
 * key is there once, and its first value stays. Runs in any process; no allocation.
 */
#ifndef TACHBPF_ATTRS_H
#define TACHBPF_ATTRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTRS_MAX 48
#define ATTRS_TEXT_BYTES 8192		/* all keys and values, with their NULs */
#define ATTR_KEY_BYTES 128		/* including the NUL; a longer key is dropped */
#define ATTR_VALUE_BYTES 1024		/* including the NUL; a longer value is cut */

struct attr {
	uint16_t key, value;		/* offsets in the list's text */
	bool is_number;
	bool is_list;			/* of the one text */
	int64_t number;
};

struct attrs {
	struct attr items[ATTRS_MAX];
	char text[ATTRS_TEXT_BYTES];
	uint16_t cnt, text_len;
	/*
	 * attributes without room, or of a kind that is not kept: OTLP's dropped_attributes_count
	 */
	uint32_t dropped;
};

void attrs_clear(struct attrs *a);

/*
 * Adds key and value (hostile, len bytes). Returns false if the key is there already, or if it is
 * dropped: no room, or the key is empty or too long.
 */
bool attrs_put(struct attrs *a, const char *key, size_t key_len, const char *value, size_t len);
/* The same for NUL-terminated text; adds nothing if value is NULL or "". */
bool attrs_put_text(struct attrs *a, const char *key, const char *value);
/* The same for a list of one text. */
bool attrs_put_list(struct attrs *a, const char *key, const char *value);
bool attrs_put_number(struct attrs *a, const char *key, size_t key_len, int64_t number);

/* Finds an attribute. Returns NULL if there is none. */
const struct attr *attrs_find(const struct attrs *a, const char *key);
/* The text of an attribute; "" if there is none, or if it is a number. */
const char *attrs_text(const struct attrs *a, const char *key);

static inline const char *attr_key(const struct attrs *a, const struct attr *at)
{
	return a->text + at->key;
}

/* "" for a number. */
static inline const char *attr_value(const struct attrs *a, const struct attr *at)
{
	return a->text + at->value;
}

#endif
