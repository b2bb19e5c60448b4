// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * value_plain.c - see value_parts.h: numbers, text, bytes.
 *
 * Sources, at v3.6.15 ... v3.15.0: Include/longintrepr.h and Include/cpython/longintrepr.h,
 * Include/floatobject.h and Include/cpython/floatobject.h, bytesobject.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/value_parts.h"

/* An int with more digits, of 30 bits each, has no text that fits. */
#define INT_DIGITS 22
#define DIGIT_BITS 30

/* ---- text ---- */

/* Append one character of len bytes. */
/* Append one character of len bytes. */
static void value_char(struct py_value *out, const char *c, uint32_t len)
{
	if (out->cut)
		return;
	if (out->chars == VALUE_CHARS) {
		memcpy(out->text + out->len, "...", 3);
		out->len += 3;
		out->cut = true;
		return;
	}
	memcpy(out->text + out->len, c, len);
	out->len += len;
	out->chars++;
}

/* ASCII */
void value_put(struct py_value *out, const char *s)
{
	for (; *s; s++)
		value_char(out, s, 1);
}

void value_hex(struct py_value *out, const char *prefix, uint64_t v, int digits)
{
	char text[32];

	snprintf(text, sizeof(text), "%s%0*" PRIx64, prefix, digits, v);
	value_put(out, text);
}

/* One byte of a bytes object, or one ASCII character of a str. */
void value_escaped(struct py_value *out, char c, char quote)
{
	static const char from[] = "\t\n\r\\", to[] = "tnr\\";
	const char *at = c ? strchr(from, c) : NULL;
	char pair[3] = { '\\', c };

	if (at)
		pair[1] = to[at - from];
	if (at || c == quote)
		value_put(out, pair);
	else if (c < ' ' || c >= 0x7f)
		value_hex(out, "\\x", (uint8_t)c, 2);
	else
		value_char(out, &c, 1);
}

/* As in Python: double quotes only around text that has single but no double ones. */
static char quote_for(const char *s, size_t len)
{
	return memchr(s, '\'', len) && !memchr(s, '"', len) ? '"' : '\'';
}

/* ---- numbers ---- */

void value_none(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	value_put(out, "None");
}

void value_ellipsis(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	value_put(out, "Ellipsis");
}

/* Divide a number of cnt digits by 10^9; returns the remainder. */
static uint32_t divide_digits(uint32_t *digits, uint32_t cnt)
{
	uint64_t rest = 0;

	while (cnt--) {
		rest = rest << DIGIT_BITS | digits[cnt];
		digits[cnt] = (uint32_t)(rest / 1000000000);
		rest %= 1000000000;
	}
	return (uint32_t)rest;
}

static void put_decimal(struct py_value *out, uint32_t *digits, uint32_t cnt, bool negative)
{
	char text[INT_DIGITS * 10 + 16], *at = text + sizeof(text) - 1, chunk[16];

	*at = '\0';
	do {
		snprintf(chunk, sizeof(chunk), "%09" PRIu32, divide_digits(digits, cnt));
		at -= 9;
		memcpy(at, chunk, 9);
		while (cnt && !digits[cnt - 1])
			cnt--;
	} while (cnt);
	at += strspn(at, "0");
	if (!*at)
		at--;
	if (negative)
		*--at = '-';
	value_put(out, at);
}

/* The number of digits, and the sign: up to 3.11 that of ob_size, from 3.12 on the low bits. */
static int read_digits(struct py_walk *w, uint64_t obj, uint32_t digits[INT_DIGITS], uint64_t *cnt,
		       bool *negative)
{
	int64_t size;
	int err = py_get(w, obj + w->head, &size, sizeof(size));

	if (err)
		return err;
	*negative = w->o->minor >= 12 ? (size & 3) == 2 : size < 0;
	*cnt = w->o->minor >= 12 ? (uint64_t)size >> 3 :
	       size < 0 ? -(uint64_t)size : (uint64_t)size;
	if (w->o->minor >= 12 && (size & 3) == 1)
		*cnt = 0;
	if (!*cnt || *cnt > INT_DIGITS)
		return 0;
	return py_get(w, obj + w->head + 8, digits, *cnt * sizeof(*digits));
}

void value_int(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	uint32_t digits[INT_DIGITS] = { 0 }, i;
	uint64_t cnt;
	bool negative;

	if (read_digits(w, obj, digits, &cnt, &negative)) {
		value_put(out, "<unreadable>");
		return;
	}
	for (i = 0; i < INT_DIGITS; i++)
		digits[i] &= (1u << DIGIT_BITS) - 1;
	if (cnt <= INT_DIGITS)
		put_decimal(out, digits, (uint32_t)cnt, negative);
	else
		value_hex(out, "<int at 0x", obj, 0), value_put(out, ">");
}

void value_bool(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	uint32_t digits[INT_DIGITS];
	uint64_t cnt;
	bool negative;

	value_put(out, read_digits(w, obj, digits, &cnt, &negative) ? "<unreadable>" :
		 cnt ? "True" : "False");
}

/* The shortest text that has this value. */
void value_float(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	char text[40];
	double v;
	int digits;

	if (py_get(w, obj + w->head, &v, sizeof(v))) {
		value_put(out, "<unreadable>");
		return;
	}
	for (digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	if (v != v)
		snprintf(text, sizeof(text), "nan");
	else if (v > -1e16 && v < 1e16 && strstr(text, "e+"))
		snprintf(text, sizeof(text), "%.1f", v);
	value_put(out, text);
	if (!text[strspn(text, "-0123456789")])
		value_put(out, ".0");
}

/* ---- text and bytes ---- */

static uint32_t utf8_len(char c)
{
	return (uint8_t)c < 0x80 ? 1 : (uint8_t)c < 0xe0 ? 2 : (uint8_t)c < 0xf0 ? 3 : 4;
}

void value_str(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	char *s, quote, q[2] = "";
	uint32_t len, i, n;

	if (!w->reads_left || code_read_string(w->mem, w->o, obj, &s, &len)) {
		value_put(out, "<unreadable>");
		return;
	}
	w->reads_left--;
	q[0] = quote = quote_for(s, len);
	value_put(out, q);
	for (i = 0; i < len && !out->cut; i += n) {
		n = utf8_len(s[i]);
		if (n == 1)
			value_escaped(out, s[i], quote);
		else
			value_char(out, s + i, n);
	}
	value_put(out, q);
	free(s);
}

void value_bytes(struct py_walk *w, uint64_t obj, unsigned int depth, struct py_value *out)
{
	char bytes[VALUE_CHARS + 1], quote, q[2] = "";
	uint64_t len;
	uint32_t n, i;

	if (py_get(w, obj + w->o->bytes_size, &len, sizeof(len))) {
		value_put(out, "<unreadable>");
		return;
	}
	n = len < sizeof(bytes) ? (uint32_t)len : sizeof(bytes);
	if (py_get(w, obj + w->o->bytes_data, bytes, n)) {
		value_put(out, "<unreadable>");
		return;
	}
	q[0] = quote = quote_for(bytes, n);
	value_put(out, "b");
	value_put(out, q);
	for (i = 0; i < n; i++)
		value_escaped(out, bytes[i], quote);
	value_put(out, q);
}
