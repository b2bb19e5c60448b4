/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * json_doc.h - what is written in a JSON document, by paths such as "threads.0.name". The
 * reader is base/json_pull.c, which test_json_pull.c holds against RFC 8259.
 */
#ifndef TACHBPF_JSON_DOC_H
#define TACHBPF_JSON_DOC_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_members.h"

/* A copy of the text, after all of it has been read. free() it. */
struct json_doc {
	size_t len;
	char text[];
};

static inline struct json_doc *parse_json(const struct buf *b)
{
	struct json_doc *doc = malloc(sizeof(*doc) + b->len);
	struct json_pull j;

	assert_non_null(doc);
	doc->len = b->len;
	memcpy(doc->text, b->data, b->len);
	json_pull_start(&j, doc->text, doc->len, 0);
	if (!json_pull_skip(&j) || !json_pull_finish(&j))
		fail_msg("expected %s at byte %zu: %.300s", j.err, json_pull_offset(&j),
			 doc->text);
	return doc;
}

/* The value at path; without data if there is none. */
static inline struct json_member at(const struct json_doc *doc, const char *path)
{
	struct json_member m = { 0 }, next;
	char word[64];
	unsigned long i;
	size_t n;

	json_pull_start(&m.value, doc->text, doc->len, 0);
	for (; *path && m.value.data; path += n + (path[n] == '.')) {
		n = strcspn(path, ".");
		snprintf(word, sizeof(word), "%.*s", (int)n, path);
		next = (struct json_member){ .key = word };
		if (json_member_enter(&m, JT_ARRAY, &next.value)) {
			for (i = strtoul(word, NULL, 10); json_pull_element(&next.value) && i; i--)
				json_pull_skip(&next.value);
			if (next.value.depth <= m.value.depth)
				next.value.data = NULL;
		} else {
			json_member_object(&m, &next, 1);
		}
		m = next;
	}
	return m;
}

static inline size_t json_length(const struct json_doc *doc, const char *path)
{
	struct json_member m = at(doc, path);
	struct buf key = { 0 };
	struct json_pull j;
	size_t cnt = 0;
	bool object = json_member_enter(&m, JT_OBJECT, &j);

	assert_true(object || json_member_enter(&m, JT_ARRAY, &j));
	while (object ? json_pull_key(&j, &key) : json_pull_element(&j)) {
		json_pull_skip(&j);
		cnt++;
	}
	buf_free(&key);
	return cnt;
}

static inline double json_number(const struct json_doc *doc, const char *path)
{
	struct json_member m = at(doc, path);
	double v = 0;

	if (!m.value.data || !json_pull_double(&m.value, &v))
		fail_msg("%s is no number", path);
	return v;
}

/* A string's characters. Valid until the next call. */
static inline const char *json_chars(const struct json_doc *doc, const char *path)
{
	static char chars[4096];
	struct json_member m = at(doc, path);
	struct buf s = { 0 };

	if (!json_member_string(&m, &s))
		fail_msg("%s is no string", path);
	assert_true(s.len < sizeof(chars));
	memcpy(chars, s.data, s.len + 1);
	buf_free(&s);
	return chars;
}

/* The value as it is written, but for line breaks between its parts. */
static inline void assert_json(const struct json_doc *doc, const char *path, const char *want)
{
	struct json_member m = at(doc, path);
	struct json_pull end = m.value;
	char *got, *to;

	if (!m.value.data || !json_pull_skip(&end))
		fail_msg("there is no %s", path);
	got = to = calloc(1, end.at - m.value.at + 1);
	assert_non_null(got);
	for (; m.value.at < end.at; m.value.at++)
		if (doc->text[m.value.at] != '\n')
			*to++ = doc->text[m.value.at];
	if (strcmp(got, want))
		fail_msg("%s is %s, not %s", path, got, want);
	free(got);
}

#endif
