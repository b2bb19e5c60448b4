// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * json_pull.c - see json_pull.h.
 */
#include "base/json_pull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OUT_OF_MEMORY "out of memory"
#define NUMBER_MAX_CHARS 63
/* How much mapped text before the position may stay in memory; and how often that is checked. */
#define KEPT_BYTES ((size_t)1 << 20)
#define LOOK_BYTES ((size_t)1 << 16)

void json_pull_start(struct json_pull *j, const void *data, size_t len, size_t base)
{
	*j = (struct json_pull){ .data = data, .len = len, .base = base, .first = true };
	if (len >= 3 && !memcmp(data, "\xef\xbb\xbf", 3))
		j->at = 3;
}

bool json_pull_fail(struct json_pull *j, const char *expected)
{
	if (!j->err)
		j->err = expected;
	return false;
}

size_t json_pull_offset(const struct json_pull *j)
{
	return j->base + j->at;
}

bool json_key_is(const struct buf *key, const char *word)
{
	return key->len == strlen(word) && !memcmp(key->data, word, key->len);
}

/* Releases the pages of a mapped text that were read. */
static void drop_read(struct json_pull *j)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from, to;

	if (!j->mapped || j->at - j->dropped < KEPT_BYTES)
		return;
	from = ((uintptr_t)j->data + j->dropped + page - 1) / page * page;
	to = ((uintptr_t)j->data + j->at) / page * page;
	j->dropped = j->at;
	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

/* Advances by one character. */
static inline void next_char(struct json_pull *j)
{
	if (++j->at % LOOK_BYTES == 0)
		drop_read(j);
}

static void skip_space(struct json_pull *j)
{
	while (j->at < j->len) {
		char c = j->data[j->at];

		if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
			break;
		next_char(j);
	}
}

/* Returns the next non-space character without consuming it; NUL at the end (and for a NUL). */
static char peek_char(struct json_pull *j)
{
	skip_space(j);
	return j->at < j->len ? j->data[j->at] : '\0';
}

enum json_type json_pull_type(struct json_pull *j)
{
	char c = peek_char(j);

	if (j->err)
		return JT_END;
	switch (c) {
	case '{':
		return JT_OBJECT;
	case '[':
		return JT_ARRAY;
	case '"':
		return JT_STRING;
	case 't':
		return JT_TRUE;
	case 'f':
		return JT_FALSE;
	case 'n':
		return JT_NULL;
	default:
		if (c == '-' || (c >= '0' && c <= '9'))
			return JT_NUMBER;
		json_pull_fail(j, "a JSON value");
		return JT_END;
	}
}

bool json_pull_enter(struct json_pull *j, enum json_type type)
{
	if (j->err)
		return false;
	if (peek_char(j) != (type == JT_OBJECT ? '{' : '['))
		return json_pull_fail(j, type == JT_OBJECT ? "an object" : "an array");
	if (j->depth == JSON_PULL_DEPTH)
		return json_pull_fail(j, "at most 64 levels of nesting");
	j->depth++;
	j->at++;
	j->first = true;
	return true;
}

/* Consumes the comma, if one is required. false: that was the last member, or an error. */
static bool next_member(struct json_pull *j, char close)
{
	char c;

	if (j->err)
		return false;
	drop_read(j);
	c = peek_char(j);
	if (c == close) {
		j->at++;
		j->depth--;
		j->first = false;
		return false;
	}
	if (j->first) {
		j->first = false;
		return true;
	}
	if (c != ',')
		return json_pull_fail(j, close == '}' ? "',' or '}'" : "',' or ']'");
	j->at++;
	return true;
}

bool json_pull_key(struct json_pull *j, struct buf *key)
{
	if (!next_member(j, '}'))
		return false;
	if (peek_char(j) != '"')
		return json_pull_fail(j, "a key in quotation marks");
	if (!json_pull_string(j, key))
		return false;
	if (peek_char(j) != ':')
		return json_pull_fail(j, "':'");
	j->at++;
	return true;
}

bool json_pull_element(struct json_pull *j)
{
	return next_member(j, ']');
}

static bool hex4(struct json_pull *j, uint32_t *v)
{
	int i;

	if (j->len - j->at < 4)
		return json_pull_fail(j, "four hexadecimal digits");
	for (*v = 0, i = 0; i < 4; i++) {
		char c = j->data[j->at + i], low = c | 0x20;

		if (c >= '0' && c <= '9')
			*v = *v << 4 | (uint32_t)(c - '0');
		else if (low >= 'a' && low <= 'f')
			*v = *v << 4 | (uint32_t)(low - 'a' + 10);
		else
			return json_pull_fail(j, "four hexadecimal digits");
	}
	j->at += 4;
	return true;
}

static bool put_bytes(struct json_pull *j, struct buf *s, const void *data, size_t len)
{
	if (!s)
		return true;
	if (j->string_max && len > j->string_max - s->len)
		return json_pull_fail(j, "a shorter string");
	return buf_add(s, data, len) ? json_pull_fail(j, OUT_OF_MEMORY) : true;
}

static bool put_char(struct json_pull *j, struct buf *s, uint32_t cp)
{
	char u[4];
	size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4, i;

	if (n == 1) {
		u[0] = (char)cp;
		return put_bytes(j, s, u, 1);
	}
	for (i = n; --i; cp >>= 6)
		u[i] = (char)(0x80 | (cp & 0x3f));
	u[0] = (char)(0xf0 << (4 - n) | cp);
	return put_bytes(j, s, u, n);
}

/* Decodes what follows "\u". An unpaired surrogate becomes U+FFFD. */
static bool unicode_escape(struct json_pull *j, struct buf *s)
{
	uint32_t cp, low;
	size_t back;

	if (!hex4(j, &cp))
		return false;
	if (cp < 0xd800 || cp > 0xdfff)
		return put_char(j, s, cp);
	back = j->at;
	if (cp < 0xdc00 && j->len - j->at >= 6 && !memcmp(j->data + j->at, "\\u", 2)) {
		j->at += 2;
		if (!hex4(j, &low))
			return false;
		if (low >= 0xdc00 && low <= 0xdfff)
			return put_char(j, s, 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00));
		j->at = back;
	}
	return put_char(j, s, 0xfffd);
}

/* Decodes what follows a backslash. */
static bool read_escape(struct json_pull *j, struct buf *s)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c;

	if (j->at == j->len)
		return json_pull_fail(j, "an escape");
	c = j->data[j->at];
	if (c == 'u') {
		j->at++;
		return unicode_escape(j, s);
	}
	found = c ? strchr(from, c) : NULL;
	if (!found)
		return json_pull_fail(j, "an escape");
	j->at++;
	return put_bytes(j, s, &to[found - from], 1);
}

/* Reads a string into s; NULL: skip it. Invalid UTF-8 is kept: names are bytes. */
static bool read_string(struct json_pull *j, struct buf *s)
{
	size_t from;

	if (j->err)
		return false;
	if (peek_char(j) != '"')
		return json_pull_fail(j, "a string");
	if (s)
		s->len = 0;
	for (j->at++;; ) {
		from = j->at;
		while (j->at < j->len && (uint8_t)j->data[j->at] >= ' ' &&
		       j->data[j->at] != '"' && j->data[j->at] != '\\')
			next_char(j);
		if (!put_bytes(j, s, j->data + from, j->at - from))
			return false;
		if (j->at == j->len || (uint8_t)j->data[j->at] < ' ')
			return json_pull_fail(j, "the rest of a string");
		if (j->data[j->at++] == '"')
			return true;
		if (!read_escape(j, s))
			return false;
	}
}

bool json_pull_string(struct json_pull *j, struct buf *s)
{
	return read_string(j, s);
}

static size_t skip_digits(struct json_pull *j)
{
	size_t from = j->at;

	while (j->at < j->len && j->data[j->at] >= '0' && j->data[j->at] <= '9')
		next_char(j);
	return j->at - from;
}

static bool is_at(const struct json_pull *j, const char *set)
{
	return j->at < j->len && j->data[j->at] && strchr(set, j->data[j->at]);
}

bool json_pull_number(struct json_pull *j, const char **s, size_t *len)
{
	size_t from, whole;

	if (j->err)
		return false;
	skip_space(j);
	from = j->at;
	j->at += is_at(j, "-");
	whole = j->at;
	if (!skip_digits(j) || (j->data[whole] == '0' && j->at - whole > 1)) {
		j->at = from;
		return json_pull_fail(j, "a number");
	}
	if (is_at(j, ".")) {
		j->at++;
		if (!skip_digits(j))
			return json_pull_fail(j, "digits behind the point");
	}
	if (is_at(j, "eE")) {
		j->at++;
		j->at += is_at(j, "+-");
		if (!skip_digits(j))
			return json_pull_fail(j, "digits of an exponent");
	}
	*s = j->data + from;
	*len = j->at - from;
	return true;
}

bool json_pull_uint(struct json_pull *j, uint64_t *v)
{
	const char *s;
	size_t len, i, from;

	skip_space(j);
	from = j->at;
	if (!json_pull_number(j, &s, &len))
		return false;
	for (*v = 0, i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(s[i] - '0'), v)) {
			j->at = from;
			return json_pull_fail(j, "a whole number of at most 64 bits, not negative");
		}
	}
	return true;
}

bool json_pull_double(struct json_pull *j, double *v)
{
	char text[NUMBER_MAX_CHARS + 1];
	const char *s;
	size_t len;

	if (!json_pull_number(j, &s, &len))
		return false;
	if (len > NUMBER_MAX_CHARS)
		return json_pull_fail(j, "a number of at most 63 characters");
	memcpy(text, s, len);
	text[len] = '\0';
	*v = strtod(text, NULL);
	return isfinite(*v) ? true : json_pull_fail(j, "a finite number");
}

static bool read_word(struct json_pull *j, const char *w)
{
	size_t len = strlen(w);

	if (j->len - j->at < len || memcmp(j->data + j->at, w, len))
		return json_pull_fail(j, "true, false or null");
	j->at += len;
	return true;
}

static bool skip_scalar(struct json_pull *j, enum json_type type)
{
	const char *s;
	size_t len;

	switch (type) {
	case JT_STRING:
		return read_string(j, NULL);
	case JT_NUMBER:
		return json_pull_number(j, &s, &len);
	case JT_TRUE:
		return read_word(j, "true");
	case JT_FALSE:
		return read_word(j, "false");
	case JT_NULL:
		return read_word(j, "null");
	default:
		return false;
	}
}

/* Skips a key and its colon. */
static bool skip_key(struct json_pull *j)
{
	if (!next_member(j, '}') || !read_string(j, NULL))
		return false;
	if (peek_char(j) != ':')
		return json_pull_fail(j, "':'");
	j->at++;
	return true;
}

/* The depth of recursion is at most JSON_PULL_DEPTH. */
bool json_pull_skip(struct json_pull *j)
{
	enum json_type type = json_pull_type(j);

	if (type != JT_OBJECT && type != JT_ARRAY)
		return skip_scalar(j, type);
	if (!json_pull_enter(j, type))
		return false;
	while (type == JT_OBJECT ? skip_key(j) : next_member(j, ']')) {
		if (!json_pull_skip(j))
			return false;
	}
	return !j->err;
}

bool json_pull_finish(struct json_pull *j)
{
	if (j->err)
		return false;
	skip_space(j);
	return j->at == j->len ? true : json_pull_fail(j, "nothing more");
}
