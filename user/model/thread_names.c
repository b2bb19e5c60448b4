// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * thread_names.c - see thread_names.h.
 */
#include "model/thread_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/u64map.h"
#include "base/util.h"

struct thread_names {
	unsigned int owners;
	struct thread_name *list;
	size_t cnt, cap;
	struct u64map by_tid;		/* index in the list, + 1 */
};

struct thread_names *thread_names_new(void)
{
	struct thread_names *t = calloc(1, sizeof(*t));

	if (t)
		t->owners = 1;
	return t;
}

struct thread_names *thread_names_keep(const struct thread_names *t)
{
	struct thread_names *ours = (struct thread_names *)t;	/* only the reference count
								 * changes */

	if (ours)
		ours->owners++;
	return ours;
}

void thread_names_drop(struct thread_names *t)
{
	if (!t || --t->owners)
		return;
	u64map_free(&t->by_tid);
	free(t->list);
	free(t);
}

static struct thread_name *entry_of(const struct thread_names *t, uint64_t tid)
{
	uintptr_t at = t ? (uintptr_t)u64map_get(&t->by_tid, tid) : 0;

	return at ? &t->list[at - 1] : NULL;
}

static struct thread_name *new_entry(struct thread_names *t, uint64_t tid)
{
	size_t cap = t->cap ? 2 * t->cap : 4;
	struct thread_name *list;

	if (t->cnt == t->cap) {
		list = reallocarray(t->list, cap, sizeof(*list));
		if (!list)
			return NULL;
		t->list = list;
		t->cap = cap;
	}
	if (u64map_put(&t->by_tid, tid, (void *)(uintptr_t)(t->cnt + 1)))
		return NULL;
	t->list[t->cnt] = (struct thread_name){ .tid = tid };
	return &t->list[t->cnt++];
}

int thread_names_set(struct thread_names *t, uint64_t tid, const char *name)
{
	struct thread_name *entry = entry_of(t, tid);

	if (!entry && !*name)
		return 0;
	if (!entry && t->cnt == THREAD_NAMES_MAX)
		return -ENOSPC;
	if (!entry)
		entry = new_entry(t, tid);
	if (!entry)
		return -ENOMEM;
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	return 0;
}

const char *thread_names_find(const struct thread_names *t, uint64_t tid)
{
	const struct thread_name *entry = entry_of(t, tid);

	return entry && *entry->name ? entry->name : NULL;
}

const struct thread_name *thread_names_list(const struct thread_names *t, size_t *cnt)
{
	*cnt = t ? t->cnt : 0;
	return t ? t->list : NULL;
}

char *thread_label(const struct thread_names *t, uint64_t tid, const char *otherwise,
		   char out[THREAD_LABEL_BYTES])
{
	const char *name = thread_names_find(t, tid);
	char shown[4 * THREAD_NAME_BYTES];

	if (name)
		snprintf(out, THREAD_LABEL_BYTES, "%s (tid %" PRIu64 ")",
			 escape_text(name, strlen(name), shown, sizeof(shown)), tid);
	else
		snprintf(out, THREAD_LABEL_BYTES, "%.*s%" PRIu64, THREAD_NAME_BYTES, otherwise,
			 tid);
	return out;
}

void thread_names_json(struct json *j, const struct thread_names *t)
{
	bool any = false;
	size_t i, cnt;
	const struct thread_name *list = thread_names_list(t, &cnt);
	char tid[24];

	for (i = 0; i < cnt; i++) {
		if (!*list[i].name)
			continue;
		if (!any)
			json_object(j, "thread_names");
		any = true;
		snprintf(tid, sizeof(tid), "%" PRIu64, list[i].tid);
		json_string(j, tid, list[i].name);
	}
	if (any)
		json_object_end(j);
}
