// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * json.c - a JSON stream on a FILE or a struct writer. See json.h.
 */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static void put_file(void *to, const void *data, size_t len)
{
	fwrite(data, 1, len, to);
}

static void put_writer(void *to, const void *data, size_t len)
{
	writer_put(to, data, len);
}

void json_start(struct json *j, FILE *out, bool pretty)
{
	memset(j, 0, sizeof(*j));
	j->put = put_file;
	j->to = out;
	j->pretty = pretty;
	j->short_escapes = true;
	j->first[0] = true;
}

void json_start_in(struct json *j, struct writer *w)
{
	memset(j, 0, sizeof(*j));
	j->put = put_writer;
	j->to = w;
	j->first[0] = true;
}

static void put_bytes(struct json *j, const char *bytes, size_t len)
{
	if (len)	/* bytes may be NULL otherwise */
		j->put(j->to, bytes, len);
}

static void put_text(struct json *j, const char *text)
{
	put_bytes(j, text, strlen(text));
}

static void new_line(struct json *j)
{
	int i;

	if (!j->pretty)
		return;
	put_text(j, "\n");
	for (i = 0; i < j->depth; i++)
		put_text(j, "  ");
}

/* Writes the escape of a character that must not appear literally. */
static void put_escape(struct json *j, uint32_t cp)
{
	char text[16];

	if (cp == '"' || cp == '\\')
		snprintf(text, sizeof(text), "\\%c", (int)cp);
	else if (j->short_escapes && (cp == '\n' || cp == '\t'))
		snprintf(text, sizeof(text), "\\%c", cp == '\n' ? 'n' : 't');
	else if (cp < 0x10000)
		snprintf(text, sizeof(text), "\\u%04x", cp);
	else
		snprintf(text, sizeof(text), "\\u%04x\\u%04x", 0xd7c0 + (cp >> 10 & 0xfff),
			 0xdc00 | (cp & 0x3ff));
	put_text(j, text);
}

/* Literal characters are written in pieces as long as possible. */
/* Returns true for ASCII that needs no escape: most of what is written. */
static inline bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static void put_string(struct json *j, const char *s, size_t len)
{
	size_t from = 0, at = 0, n;
	uint32_t cp;

	put_text(j, "\"");
	while (at < len) {
		if (is_plain(s[at])) {
			at++;
			continue;
		}
		n = utf8_char(s + at, len - at, &cp);
		if (n && cp != '"' && cp != '\\' && utf8_printable(cp)) {
			at += n;
			continue;
		}
		put_bytes(j, s + from, at - from);
		if (n)
			put_escape(j, cp);
		else
			put_text(j, "\xef\xbf\xbd");		/* U+FFFD */
		at += n ? n : 1;
		from = at;
	}
	put_bytes(j, s + from, len - from);
	put_text(j, "\"");
}

void json_string_in(struct writer *w, struct string_ref s)
{
	struct json j;

	json_start_in(&j, w);
	put_string(&j, s.data, s.len);
}

/* Writes what comes before every value: comma, line break, key. */
static void begin_value(struct json *j, const char *key)
{
	if (!j->first[j->depth])
		put_text(j, ",");
	if (j->depth)
		new_line(j);
	j->first[j->depth] = false;
	if (key) {
		put_string(j, key, strlen(key));
		put_text(j, j->pretty ? ": " : ":");
	}
}

static void open_level(struct json *j, const char *key, char bracket)
{
	begin_value(j, key);
	j->put(j->to, &bracket, 1);
	if (j->depth + 1 >= JSON_MAX_DEPTH)
		abort();	/* nesting depends on the program, not on the input */
	j->first[++j->depth] = true;
}

static void close_level(struct json *j, char bracket)
{
	bool empty = j->first[j->depth];

	j->depth--;
	if (!empty)
		new_line(j);
	j->put(j->to, &bracket, 1);
	if (!j->depth && j->pretty)
		put_text(j, "\n");
}

void json_object(struct json *j, const char *key)
{
	open_level(j, key, '{');
}

void json_object_end(struct json *j)
{
	close_level(j, '}');
}

void json_array(struct json *j, const char *key)
{
	open_level(j, key, '[');
}

void json_array_end(struct json *j)
{
	close_level(j, ']');
}

void json_string(struct json *j, const char *key, const char *s)
{
	if (s)
		json_string_n(j, key, s, strlen(s));
	else
		json_null(j, key);
}

void json_string_n(struct json *j, const char *key, const char *s, size_t len)
{
	begin_value(j, key);
	put_string(j, s, len);
}

void json_ref(struct json *j, const char *key, const struct string_ref *s)
{
	json_string_n(j, key, s->data, s->len);
}

void json_int(struct json *j, const char *key, int64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)v);
	begin_value(j, key);
	put_text(j, text);
}

void json_uint(struct json *j, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	begin_value(j, key);
	put_text(j, text);
}

void json_uint_known(struct json *j, const char *key, uint64_t v)
{
	if (v)
		json_uint(j, key, v);
	else
		json_null(j, key);
}

void json_double(struct json *j, const char *key, double v)
{
	char text[32];

	if (!isfinite(v)) {
		json_null(j, key);
		return;
	}
	/* Use the shorter form if it is read back as the same number: 0.1, not 0.1000...0001. */
	snprintf(text, sizeof(text), "%.15g", v);
	if (strtod(text, NULL) != v)
		snprintf(text, sizeof(text), "%.17g", v);
	begin_value(j, key);
	put_text(j, text);
}

void json_bool(struct json *j, const char *key, bool v)
{
	begin_value(j, key);
	put_text(j, v ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	begin_value(j, key);
	put_text(j, "null");
}
