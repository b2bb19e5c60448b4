/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * json_pull.h - reads JSON (RFC 8259) from memory, one value at a time, without building a tree:
 * large files cost time but no memory.
 *
 * A struct json_pull is a position in the text; a copy of it can be used to go back. Errors have an
 * offset. For hostile text: requested strings can have a limit (string_max), and of a mapped file
 * only the pages around the position stay in memory (mapped). Accepts nothing that the RFC does not
 * allow, except a byte order mark at the beginning.
 */
#ifndef TACHBPF_JSON_PULL_H
#define TACHBPF_JSON_PULL_H

#include "base/util.h"

#define JSON_PULL_DEPTH 64

enum json_type { JT_END, JT_OBJECT, JT_ARRAY, JT_STRING, JT_NUMBER, JT_TRUE, JT_FALSE, JT_NULL };

struct json_pull {
	const char *data;
	size_t len, at;
	size_t base;		/* offset of data in its file, for messages */
	size_t string_max;	/* limit for requested strings and keys; 0: none */
	bool mapped;		/* data is a mapped file that nobody writes to: pages before the
				 * position are released; they are read again if a copy goes back
				 * to them */
	size_t dropped;		/* mapped: where those pages end */
	int depth;
	bool first;		/* no member of the current object or array was read yet */
	const char *err;	/* NULL: no error; otherwise what was expected at this position */
};

/* Starts at the beginning of len bytes. base: their offset in the file, for messages. */
void json_pull_start(struct json_pull *j, const void *data, size_t len, size_t base);

/* Returns the type of the next value. JT_END: an error. */
enum json_type json_pull_type(struct json_pull *j);

/*
 * Enters the next object or array; then read its members until there are no more (false; if it was
 * an error, j->err is set). The value of each member must be read or skipped.
 */
bool json_pull_enter(struct json_pull *j, enum json_type type);
/* Reads the next member's key, unescaped, into key. */
bool json_pull_key(struct json_pull *j, struct buf *key);
/* Advances to the next element of an array; false: there are no more, or an error. */
bool json_pull_element(struct json_pull *j);

/* These read a value. false: it has another type, see j->err. */
bool json_pull_string(struct json_pull *j, struct buf *s);
/* Returns the characters of the number. */
bool json_pull_number(struct json_pull *j, const char **s, size_t *len);
/* Returns the number as an unsigned integer; false: it is none. */
bool json_pull_uint(struct json_pull *j, uint64_t *v);
/* Returns a finite number of at most 63 characters. */
bool json_pull_double(struct json_pull *j, double *v);
/* Skips a value of any type. */
bool json_pull_skip(struct json_pull *j);

/* Checks that only white space follows. */
bool json_pull_finish(struct json_pull *j);

/* Sets the error if it is the first. Always returns false. */
bool json_pull_fail(struct json_pull *j, const char *expected);
/* Returns the position as an offset in the file. */
size_t json_pull_offset(const struct json_pull *j);

/* Returns true if the key is this word. */
bool json_key_is(const struct buf *key, const char *word);

#endif
