/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * attrs.h - a bounded list of attributes: keys with a text or a number, as OpenTelemetry has them.
 *
 * Keys and texts are cleaned when they are put in (escape_text()): valid UTF-8 without control
 * characters. The list is one piece of memory without pointers: it can be copied by assignment.
 * A key is there once, and the first value stays. Runs in any process; no allocation.
 */
#ifndef TACHBPF_ATTRS_H
#define TACHBPF_ATTRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ATTRS_MAX 48
#define ATTRS_TEXT_BYTES 8192		/* of all keys and values, with their NULs */
#define ATTR_KEY_BYTES 128		/* with the NUL; a longer key is dropped */
#define ATTR_VALUE_BYTES 1024		/* with the NUL; a longer value is cut */

struct attr {
	uint16_t key, value;		/* where they are in the list's text */
	bool is_number;
	int64_t number;
};

struct attrs {
	struct attr items[ATTRS_MAX];
	char text[ATTRS_TEXT_BYTES];
	uint16_t cnt, text_len;
	uint32_t dropped;		/* attributes for which there was no room, or of a kind
					 * that is not kept: OTLP's dropped_attributes_count */
};

void attrs_clear(struct attrs *a);

/*
 * Add key and value (hostile, len bytes). Returns false if the key is there already, or if it is
 * dropped: no room, or the key is empty or too long.
 */
bool attrs_put(struct attrs *a, const char *key, size_t key_len, const char *value, size_t len);
/* The same for text that ends with NUL; nothing is added if value is NULL or "". */
bool attrs_put_text(struct attrs *a, const char *key, const char *value);
bool attrs_put_number(struct attrs *a, const char *key, size_t key_len, int64_t number);

/* Find an attribute; NULL: it is not there. */
const struct attr *attrs_find(const struct attrs *a, const char *key);
/* The text of an attribute; "": it is not there, or a number. */
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
