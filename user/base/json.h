/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * json.h - writes JSON as a stream; keeps track of commas and nesting.
 *
 * Strings may have any bytes: invalid ones are escaped or replaced by U+FFFD, so the output is
 * always valid UTF-8 JSON.
 */
#ifndef TACHBPF_JSON_H
#define TACHBPF_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/string_ref.h"
#include "base/writer.h"

#define JSON_MAX_DEPTH 32

struct json {
	void (*put)(void *to, const void *data, size_t len);
	void *to;		/* a FILE or a struct writer */
	int depth;
	bool pretty, short_escapes;
	bool first[JSON_MAX_DEPTH];
};

/*
 * Starts writing to out (owned by the caller; check ferror()/fclose() yourself). A line break in a
 * string is \n.
 */
void json_start(struct json *j, FILE *out, bool pretty);
/*
 * Starts writing a value of an export to w (owned by the caller, who flushes it), without spaces. A
 * line break in a string is \u000a.
 */
void json_start_in(struct json *j, struct writer *w);
/* Writes a string of an export, with its quotes, into text that the caller writes itself. */
void json_string_in(struct writer *w, struct string_ref s);

/* key is NULL inside arrays and at top level. */
void json_object(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_string(struct json *j, const char *key, const char *s);
void json_string_n(struct json *j, const char *key, const char *s, size_t len);
void json_ref(struct json *j, const char *key, const struct string_ref *s);
void json_int(struct json *j, const char *key, int64_t v);
void json_uint(struct json *j, const char *key, uint64_t v);
/* As json_uint(), for numbers that are never 0: null if v is 0, which stands for "not known". */
void json_uint_known(struct json *j, const char *key, uint64_t v);
/* NaN and infinity become null. */
void json_double(struct json *j, const char *key, double v);
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);

#endif
