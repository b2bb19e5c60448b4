// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* session_json_keep.c - see session_json_keep.h. */
#include "recording/session_json_keep.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/json_members.h"
#include "base/util.h"
#include "model/intern.h"
#include "model/thread_names.h"

/* Limit of everything that is kept. */
#define KEPT_MAX_BYTES ((size_t)8 << 20)

struct kept {
	struct intern *strings;
	struct buf names;		/* struct thread_names *, of processes */
	size_t bytes;
	bool full;			/* there was more than KEPT_MAX_BYTES */
};

/* Returns true if this many bytes more may be kept. */
static bool has_room(struct kept *k, size_t bytes)
{
	if (bytes > KEPT_MAX_BYTES - k->bytes) {
		if (!k->full)
			log_warn("the JSON of this recording has more than %zu MiB of names: some "
				 "are omitted", KEPT_MAX_BYTES >> 20);
		k->full = true;
		return false;
	}
	k->bytes += bytes;
	return true;
}

/* Keeps a text; NULL: no room. */
static const char *keep_text(struct kept *k, struct buf *text)
{
	uint32_t id;

	if (intern_find_string(k->strings, (const char *)text->data, text->len, &id))
		return intern_tables(k->strings)->strings[id].data;
	if (!has_room(k, text->len + 64) ||
	    intern_string(k->strings, (const char *)text->data, text->len, &id))
		return NULL;
	return intern_tables(k->strings)->strings[id].data;
}

const char *kept_string(struct kept *k, const struct json_member *m)
{
	struct buf text = { 0 };
	const char *kept = NULL;

	/* The terminating NUL is kept, too. */
	if (json_member_string(m, &text)) {
		text.len++;
		kept = keep_text(k, &text);
	}
	buf_free(&text);
	return kept;
}

const char *kept_command(struct kept *k, const struct json_member *m)
{
	struct buf joined = { 0 }, word = { 0 };
	const char *kept = NULL;
	bool first = true;
	struct json_pull j;
	int err = 0;

	if (!json_member_enter(m, JT_ARRAY, &j))
		return kept_string(k, m);
	while (!err && joined.len < KEPT_STRING_BYTES && json_pull_element(&j)) {
		if (!first)
			err = buf_add(&joined, " ", 1);
		first = false;
		if (json_pull_type(&j) != JT_STRING)
			json_pull_skip(&j);
		else if (!err && json_pull_string(&j, &word))
			err = buf_add(&joined, word.data, word.len);
	}
	if (!err && !buf_add(&joined, "", 1))
		kept = keep_text(k, &joined);
	buf_free(&joined);
	buf_free(&word);
	return kept;
}

/* Adds a thread's name if its key is a number and the name a string. 0 or -errno. */
static int add_name(struct thread_names *names, const struct buf *key, struct json_pull *j,
		    struct buf *name)
{
	const char *digits = (const char *)key->data;
	char *end;
	uint64_t tid = strtoull(digits, &end, 10);

	if (*digits < '0' || *digits > '9' || *end || json_pull_type(j) != JT_STRING) {
		json_pull_skip(j);
		return 0;
	}
	if (!json_pull_string(j, name))
		return 0;
	if (buf_add(name, "", 1))
		return -ENOMEM;
	return thread_names_set(names, tid, (const char *)name->data);
}

const struct thread_names *kept_names(struct kept *k, const struct json_member *m)
{
	struct thread_names *names = NULL;
	struct buf key = { 0 }, name = { 0 };
	struct json_pull j;
	int err = 0;

	if (!json_member_enter(m, JT_OBJECT, &j))
		return NULL;
	while (!err && json_pull_key(&j, &key)) {
		if (!names)
			names = thread_names_new();
		err = names && !buf_add(&key, "", 1) ? add_name(names, &key, &j, &name) : -ENOMEM;
		if (!err && !has_room(k, 2 * sizeof(struct thread_name)))
			err = -ENOSPC;
	}
	buf_free(&key);
	buf_free(&name);
	if (names && buf_add(&k->names, &names, sizeof(names))) {
		thread_names_drop(names);
		names = NULL;
	}
	return names;
}

struct kept *kept_new(void)
{
	struct kept *k = calloc(1, sizeof(*k));

	if (k)
		k->strings = intern_new();
	if (k && k->strings)
		return k;
	free(k);
	return NULL;
}

void kept_free(struct kept *k)
{
	size_t i;

	if (!k)
		return;
	for (i = 0; i < k->names.len / sizeof(struct thread_names *); i++)
		thread_names_drop(((struct thread_names **)(void *)k->names.data)[i]);
	buf_free(&k->names);
	intern_free(k->strings);
	free(k);
}
