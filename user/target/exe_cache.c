// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * exe_cache.c - see exe_cache.h.
 */
#include "target/exe_cache.h"

#include <stdlib.h>

#include "base/u64map.h"
#include "base/util.h"
#include "target/discover.h"
#include "target/inspector.h"

/* An executable, and what is known about the interpreter that it runs. */
struct known_exe {
	const struct cpython_image *image;	/* NULL: no interpreter, or
						 * one that is not supported */
	struct py_exe exe;
	bool seen;	/* found in a process; otherwise its library is a guess */
};

/*
 * Upper bound, more than any host has in use. An executable beyond it is inspected each
 * time it runs.
 */
#define MAX_EXES_SEEN 65536

struct exe_cache {
	struct discovery *discovery;
	struct u64map by_key;		/* exe_key() -> struct known_exe */
	exe_cache_fn cb;
	void *ctx;
};

struct exe_cache *exe_cache_new(struct discovery *d, exe_cache_fn cb, void *ctx)
{
	struct exe_cache *e = calloc(1, sizeof(*e));

	if (e) {
		e->discovery = d;
		e->cb = cb;
		e->ctx = ctx;
	}
	return e;
}

void exe_cache_free(struct exe_cache *e)
{
	struct known_exe *known;
	size_t pos = 0;

	if (!e)
		return;
	while ((known = u64map_next(&e->by_key, &pos)))
		free(known);
	u64map_free(&e->by_key);
	free(e);
}

const struct cpython_image *exe_cache_find(struct exe_cache *e, uint64_t key,
					   const struct py_exe **exe)
{
	const struct known_exe *known = u64map_get(&e->by_key, key);

	if (!known || !known->image)
		return NULL;
	*exe = &known->exe;
	return known->image;
}

static struct known_exe *entry(struct exe_cache *e, uint64_t key)
{
	struct known_exe *known = u64map_get(&e->by_key, key);

	if (known || e->by_key.cnt >= MAX_EXES_SEEN)
		return known;
	known = calloc(1, sizeof(*known));
	if (known && u64map_put(&e->by_key, key, known)) {
		free(known);
		known = NULL;
	}
	return known;
}

void exe_cache_take(struct exe_cache *e, const struct learned_exe *l)
{
	struct known_exe *known = l->key ? entry(e, l->key) : NULL;

	if (!known || !l->runs_python || known->seen || (known->image && !l->seen))
		return;
	known->image = discovery_image(e->discovery, &l->file, &l->image);
	if (!known->image)
		return;
	known->seen = l->seen;
	known->exe = l->exe;
	if (e->cb)
		e->cb(e->ctx, l->key, &known->exe);
}

void exe_cache_learn_likely(struct exe_cache *e)
{
	const struct learned_exe *learned;
	size_t cnt, i;

	if (inspector_likely(&learned, &cnt))
		return;
	for (i = 0; i < cnt; i++)
		exe_cache_take(e, &learned[i]);
}

void exe_cache_learn_process(struct exe_cache *e, pid_t tgid, uint64_t key)
{
	struct learned_exe learned;

	if (key && !u64map_get(&e->by_key, key) && !inspector_learn(tgid, &learned))
		exe_cache_take(e, &learned);
}

void exe_cache_seen(struct exe_cache *e, const struct proc_info *who,
		    const struct cpython_image *image, const struct py_proc *proc)
{
	const struct file_id *file = discovery_file(image);
	struct learned_exe learned;

	if (!inspector_seen(who, file, proc, &learned))
		exe_cache_take(e, &learned);
}
