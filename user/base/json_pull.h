/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * json_pull.h - reads JSON (RFC 8259) from memory, one value at a time, without building a
 * tree: large files cost time but no memory.
 *
 * A struct json_pull is a position in the text; a copy of it is a way back. Errors have an offset.
 * Of hostile text: strings that are asked for can have a limit (string_max), and of a mapped file
 * only the pages around the position stay in memory (mapped).
 * Nothing is accepted that the RFC does not allow, except a byte order mark at the beginning.
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
	size_t string_max;	/* how long strings and keys may be that are asked for; 0: any
				 * length */
	bool mapped;		/* data is a mapped file that nobody writes to: pages behind the
				 * position are given back; they are read again if a copy goes
				 * back to them */
	size_t dropped;		/* mapped: where those pages end */
	int depth;
	bool first;		/* no member of the current object or array was read yet */
	const char *err;	/* NULL: no error; else what was expected at this position */
};

/* Start at the beginning of len bytes. base: their offset in the file, for messages. */
void json_pull_start(struct json_pull *j, const void *data, size_t len, size_t base);

/* Type of the next value. JT_END: an error. */
enum json_type json_pull_type(struct json_pull *j);

/*
 * Enter the next object or array; then ask for its members until there are no more (false;
 * if it was an error, j->err is set). The value of each member must be read or skipped.
 */
bool json_pull_enter(struct json_pull *j, enum json_type type);
/* Read the next member's key, unescaped, into key. */
bool json_pull_key(struct json_pull *j, struct buf *key);
/* Advance to the next element of an array; false: there are no more, or an error. */
bool json_pull_element(struct json_pull *j);

/* Read a value. false: it has another type, see j->err. */
bool json_pull_string(struct json_pull *j, struct buf *s);
/* The characters of the number. */
bool json_pull_number(struct json_pull *j, const char **s, size_t *len);
/* The number as an unsigned integer; false: it is none. */
bool json_pull_uint(struct json_pull *j, uint64_t *v);
/* A finite number of at most 63 characters. */
bool json_pull_double(struct json_pull *j, double *v);
/* Skip a value of any type. */
bool json_pull_skip(struct json_pull *j);

/* Check that only white space follows. */
bool json_pull_finish(struct json_pull *j);

/* Set the error if it is the first. Always returns false. */
bool json_pull_fail(struct json_pull *j, const char *expected);
/* Offset of the position in the file. */
size_t json_pull_offset(const struct json_pull *j);

/* Is the key this word? */
bool json_key_is(const struct buf *key, const char *word);

#endif
