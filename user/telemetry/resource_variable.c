// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* resource_variable.c - see resource_variable.h. */
#include "telemetry/resource_variable.h"

#include <string.h>

/* A part of the text. */
struct part {
	const char *s;
	size_t len;
};

static struct part trim_part(const char *s, size_t len)
{
	for (; len && (*s == ' ' || *s == '\t'); s++, len--)
		;
	for (; len && (s[len - 1] == ' ' || s[len - 1] == '\t'); len--)
		;
	return (struct part){ s, len };
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes as much as fits. Returns the length; the result may have any bytes, even NUL. */
static size_t decode_part(struct part p, char *out, size_t size)
{
	size_t i, o = 0;

	for (i = 0; i < p.len && o < size; i++) {
		int high = i + 2 < p.len && p.s[i] == '%' ? hex_digit(p.s[i + 1]) : -1;
		int low = high >= 0 ? hex_digit(p.s[i + 2]) : -1;

		out[o++] = low < 0 ? p.s[i] : (char)(high << 4 | low);
		if (low >= 0)
			i += 2;
	}
	return o;
}

static void take_pair(struct attrs *a, const char *s, size_t len)
{
	char key[ATTR_KEY_BYTES], value[ATTR_VALUE_BYTES];
	const char *equals = memchr(s, '=', len);
	size_t key_len, value_len;

	if (!equals) {
		a->dropped += trim_part(s, len).len > 0;
		return;
	}
	key_len = decode_part(trim_part(s, (size_t)(equals - s)), key, sizeof(key));
	value_len = decode_part(trim_part(equals + 1, len - (size_t)(equals + 1 - s)), value,
				sizeof(value));
	attrs_put(a, key, key_len, value, value_len);
}

void resource_variable_read(const char *text, struct attrs *a)
{
	size_t len;

	for (;; text += len + 1) {
		len = strcspn(text, ",");
		take_pair(a, text, len);
		if (!text[len])
			return;
	}
}
