/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * json_pull.h - reads JSON (RFC 8259) a value at a time from memory, without
 * building anything: files of any size cost nothing but time.
 *
 * A struct json_pull is a place in the text and may be copied to come back to
 * it. Errors carry the offset; nothing is accepted that the RFC does not allow,
 * but for a byte order mark at the beginning.
 */
#ifndef TACHBPF_JSON_PULL_H
#define TACHBPF_JSON_PULL_H

#include "base/util.h"

#define JSON_PULL_DEPTH 64

enum json_type { JT_END, JT_OBJECT, JT_ARRAY, JT_STRING, JT_NUMBER, JT_TRUE, JT_FALSE, JT_NULL };

struct json_pull {
	const char *data;
	size_t len, at;
	size_t base;		/* of data in its file: for messages */
	int depth;
	bool first;		/* nothing yet in the object or array we are in */
	const char *err;	/* NULL: none; what was expected at at */
};

void json_pull_start(struct json_pull *j, const void *data, size_t len, size_t base);

/* What the next value is. JT_END: an error. */
enum json_type json_pull_type(struct json_pull *j);

/*
 * Enter the object or array that comes next; then ask for its members until
 * there are no more (false; or there is an error in j->err). Each member's value
 * must be read or skipped.
 */
bool json_pull_enter(struct json_pull *j, enum json_type type);
/* The next member's key (unescaped) in key. */
bool json_pull_key(struct json_pull *j, struct buf *key);
bool json_pull_element(struct json_pull *j);

/* The values. false: is something else, see j->err. */
bool json_pull_string(struct json_pull *j, struct buf *s);
/* The number's own characters. */
bool json_pull_number(struct json_pull *j, const char **s, size_t *len);
bool json_pull_uint(struct json_pull *j, uint64_t *v);
/* A finite number of at most 63 characters. */
bool json_pull_double(struct json_pull *j, double *v);
bool json_pull_skip(struct json_pull *j);

/* Nothing but white space may follow. */
bool json_pull_finish(struct json_pull *j);

/* Remember the first error. Always false. */
bool json_pull_fail(struct json_pull *j, const char *expected);
/* Where at is in the file. */
size_t json_pull_offset(const struct json_pull *j);

/* The key is this word. */
bool json_key_is(const struct buf *key, const char *word);

#endif
