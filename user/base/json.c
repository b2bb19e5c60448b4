// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * json.c - a JSON stream on a FILE. See json.h.
 */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

void json_start(struct json *j, FILE *out, bool pretty)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
	j->pretty = pretty;
	j->first[0] = true;
}

static void new_line(struct json *j)
{
	if (j->pretty)
		fprintf(j->out, "\n%*s", j->depth * 2, "");
}

/*
 * Write one character inside a string. What controls a terminal is escaped although JSON
 * allows it: people look at JSON with cat.
 */
static void put_char(FILE *out, const char *s, size_t n, uint32_t cp)
{
	if (cp == '"' || cp == '\\')
		fprintf(out, "\\%c", (int)cp);
	else if (cp == '\n')
		fputs("\\n", out);
	else if (cp == '\t')
		fputs("\\t", out);
	else if (!utf8_printable(cp))	/* no unprintable character is above U+FFFF */
		fprintf(out, "\\u%04x", cp);
	else
		fwrite(s, 1, n, out);
}

static void put_string(FILE *out, const char *s, size_t len)
{
	uint32_t cp;
	size_t n;

	fputc('"', out);
	for (; len; s += n, len -= n) {
		n = utf8_char(s, len, &cp);
		if (n) {
			put_char(out, s, n, cp);
		} else {
			fputs("\xef\xbf\xbd", out);	/* U+FFFD */
			n = 1;
		}
	}
	fputc('"', out);
}

/* What comes before every value: comma, line break, key. */
static void begin_value(struct json *j, const char *key)
{
	if (!j->first[j->depth])
		fputc(',', j->out);
	if (j->depth)
		new_line(j);
	j->first[j->depth] = false;
	if (key) {
		put_string(j->out, key, strlen(key));
		fputs(j->pretty ? ": " : ":", j->out);
	}
}

static void open_level(struct json *j, const char *key, char bracket)
{
	begin_value(j, key);
	fputc(bracket, j->out);
	if (j->depth + 1 >= JSON_MAX_DEPTH)
		abort();	/* the nesting is the program's, not the input's */
	j->first[++j->depth] = true;
}

static void close_level(struct json *j, char bracket)
{
	bool empty = j->first[j->depth];

	j->depth--;
	if (!empty)
		new_line(j);
	fputc(bracket, j->out);
	if (!j->depth && j->pretty)
		fputc('\n', j->out);
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
	put_string(j->out, s, len);
}

void json_int(struct json *j, const char *key, int64_t v)
{
	begin_value(j, key);
	fprintf(j->out, "%lld", (long long)v);
}

void json_uint(struct json *j, const char *key, uint64_t v)
{
	begin_value(j, key);
	fprintf(j->out, "%llu", (unsigned long long)v);
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
	fputs(text, j->out);
}

void json_bool(struct json *j, const char *key, bool v)
{
	begin_value(j, key);
	fputs(v ? "true" : "false", j->out);
}

void json_null(struct json *j, const char *key)
{
	begin_value(j, key);
	fputs("null", j->out);
}
