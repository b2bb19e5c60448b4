// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* attrs.c - see attrs.h. */
#include "telemetry/attrs.h"

#include <string.h>

#include "base/util.h"

_Static_assert(ATTRS_TEXT_BYTES <= UINT16_MAX, "positions are 16 bits");

void attrs_clear(struct attrs *a)
{
	a->cnt = a->text_len = 0;
	a->dropped = 0;
}

const struct attr *attrs_find(const struct attrs *a, const char *key)
{
	size_t i;

	for (i = 0; i < a->cnt; i++)
		if (!strcmp(attr_key(a, &a->items[i]), key))
			return &a->items[i];
	return NULL;
}

const char *attrs_text(const struct attrs *a, const char *key)
{
	const struct attr *at = attrs_find(a, key);

	return at ? attr_value(a, at) : "";
}

/* Adds text with its NUL; there is room for it. Returns its offset. */
static uint16_t add_text(struct attrs *a, const char *text, size_t len)
{
	uint16_t at = a->text_len;

	memcpy(a->text + at, text, len + 1);
	a->text_len += (uint16_t)(len + 1);
	return at;
}

static bool put_attr(struct attrs *a, const char *key, const char *value, bool is_number,
		     int64_t number)
{
	size_t key_len = strlen(key), len = strlen(value);
	struct attr *at = &a->items[a->cnt];

	if (a->cnt == ATTRS_MAX || a->text_len + key_len + len + 2 > ATTRS_TEXT_BYTES) {
		a->dropped++;
		return false;
	}
	*at = (struct attr){ .is_number = is_number, .number = number };
	at->key = add_text(a, key, key_len);
	at->value = add_text(a, value, len);
	a->cnt++;
	return true;
}

/* Cleans the key. Returns false if it is there already, or cannot be a key. */
static bool is_new_key(struct attrs *a, const char *key, size_t len, char out[ATTR_KEY_BYTES])
{
	/* Attributes that do not fit are counted without a check whether they are new. */
	if (!len || len >= ATTR_KEY_BYTES || a->cnt == ATTRS_MAX) {
		a->dropped++;
		return false;
	}
	return !attrs_find(a, escape_text(key, len, out, ATTR_KEY_BYTES));
}

bool attrs_put(struct attrs *a, const char *key, size_t key_len, const char *value, size_t len)
{
	char clean_key[ATTR_KEY_BYTES], clean[ATTR_VALUE_BYTES];

	if (!is_new_key(a, key, key_len, clean_key))
		return false;
	return put_attr(a, clean_key, escape_text(value, len, clean, sizeof(clean)), false, 0);
}

bool attrs_put_text(struct attrs *a, const char *key, const char *value)
{
	return value && *value && attrs_put(a, key, strlen(key), value, strlen(value));
}

bool attrs_put_list(struct attrs *a, const char *key, const char *value)
{
	if (!attrs_put_text(a, key, value))
		return false;
	a->items[a->cnt - 1].is_list = true;
	return true;
}

bool attrs_put_number(struct attrs *a, const char *key, size_t key_len, int64_t number)
{
	char clean_key[ATTR_KEY_BYTES];

	return is_new_key(a, key, key_len, clean_key) && put_attr(a, clean_key, "", true, number);
}
