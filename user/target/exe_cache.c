// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * exe_cache.c - see exe_cache.h.
 */
#include "target/exe_cache.h"

#include <stdlib.h>

#include "base/lru.h"
#include "base/u64map.h"
#include "base/util.h"
#include "target/discover.h"
#include "target/inspector.h"

/* What is known about the interpreter that an executable runs. */
struct runs {
	const struct cpython_image *image;	/* held */
	struct py_exe exe;
	bool seen;	/* found in a process; otherwise its library is a guess */
};

/* An executable. */
struct known_exe {
	uint64_t key;		/* exe_key() */
	struct lru_item lru;	/* in pythons or in others */
	struct runs *runs;	/* NULL: no interpreter, or one that is not supported */
};

/*
 * Executables without Python, in all and of one user. One that was forgotten is inspected again
 * when it runs. Those with Python are as many as the map known_exes has room for; one of them that
 * was forgotten is found again in its process, a little later than at its exec.
 */
#define OTHERS_MAX 65536
#define OTHERS_OF_USER 8192
#define PYTHONS_OF_USER (MAX_EXES / 8)

struct exe_cache {
	struct discovery *discovery;
	struct u64map by_key;		/* exe_key() -> struct known_exe */
	struct lru pythons, others;
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
		lru_init(&e->pythons, MAX_EXES, PYTHONS_OF_USER);
		lru_init(&e->others, OTHERS_MAX, OTHERS_OF_USER);
	}
	return e;
}

static void free_runs(struct runs *r)
{
	if (r && r->image)
		known_image_release(r->image);
	free(r);
}

void exe_cache_free(struct exe_cache *e)
{
	struct known_exe *known;
	size_t pos = 0;

	if (!e)
		return;
	while ((known = u64map_next(&e->by_key, &pos))) {
		free_runs(known->runs);
		free(known);
	}
	u64map_free(&e->by_key);
	lru_free(&e->pythons);
	lru_free(&e->others);
	free(e);
}

static struct lru *list_of(struct exe_cache *e, const struct known_exe *known)
{
	return known->runs ? &e->pythons : &e->others;
}

/* Forget an executable, and say so if it runs Python. NULL: nothing to do. */
static void forget(struct exe_cache *e, struct known_exe *known)
{
	if (!known)
		return;
	lru_remove(list_of(e, known), &known->lru);
	u64map_remove(&e->by_key, known->key);
	if (known->runs && e->cb)
		e->cb(e->ctx, known->key, NULL);
	free_runs(known->runs);
	free(known);
}

static struct known_exe *find(struct exe_cache *e, uint64_t key)
{
	struct known_exe *known = u64map_get(&e->by_key, key);

	if (known)
		lru_use(list_of(e, known), &known->lru);
	return known;
}

const struct cpython_image *exe_cache_find(struct exe_cache *e, uint64_t key,
					   const struct py_exe **exe)
{
	const struct known_exe *known = find(e, key);

	if (!known || !known->runs)
		return NULL;
	*exe = &known->runs->exe;
	return known->runs->image;
}

/* Make room in the list, and add it there. Without memory it is forgotten. */
static bool enlist(struct exe_cache *e, struct known_exe *known, uint32_t owner)
{
	struct lru *l = list_of(e, known);

	forget(e, LRU_STRUCT(lru_excess(l, owner), struct known_exe, lru));
	if (!lru_add(l, &known->lru, owner))
		return true;
	forget(e, known);
	return false;
}

static struct known_exe *entry(struct exe_cache *e, uint64_t key, uint32_t owner)
{
	struct known_exe *known = find(e, key);

	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known || u64map_put(&e->by_key, key, known)) {
		free(known);
		return NULL;
	}
	known->key = key;
	return enlist(e, known, owner) ? known : NULL;
}

/* Until now nothing was known about its interpreter. */
static bool becomes_python(struct exe_cache *e, struct known_exe *known, uint32_t owner)
{
	struct runs *r = calloc(1, sizeof(*r));

	if (!r)
		return false;
	lru_remove(&e->others, &known->lru);
	known->runs = r;
	return enlist(e, known, owner);
}

void exe_cache_take(struct exe_cache *e, const struct learned_exe *l, uint32_t owner)
{
	struct known_exe *known = l->key ? entry(e, l->key, owner) : NULL;
	const struct cpython_image *image;

	if (!known || !l->runs_python || (known->runs && (known->runs->seen || !l->seen)))
		return;
	image = known_images_get(discovery_images(e->discovery), &l->file, &l->image, owner);
	if (!image)
		return;
	if (!known->runs && !becomes_python(e, known, owner)) {
		known_image_release(image);
		return;
	}
	if (known->runs->image)
		known_image_release(known->runs->image);
	*known->runs = (struct runs){ .image = image, .exe = l->exe, .seen = l->seen };
	if (e->cb)
		e->cb(e->ctx, l->key, &known->runs->exe);
}

void exe_cache_learn_likely(struct exe_cache *e)
{
	const struct learned_exe *learned;
	size_t cnt, i;

	if (inspector_likely(&learned, &cnt))
		return;
	for (i = 0; i < cnt; i++)
		exe_cache_take(e, &learned[i], LRU_OWNER_ROOT);
}

void exe_cache_learn_process(struct exe_cache *e, pid_t tgid, uint32_t uid, uint64_t key)
{
	struct learned_exe learned;

	if (key && !find(e, key) && !inspector_learn(tgid, uid, &learned))
		exe_cache_take(e, &learned, uid);
}

void exe_cache_seen(struct exe_cache *e, const struct proc_info *who,
		    const struct cpython_image *image, const struct py_proc *proc)
{
	uint32_t owner = inspector_owner(who->tgid);
	struct learned_exe learned;

	if (!inspector_seen(who, owner, known_image_file(image), proc, &learned))
		exe_cache_take(e, &learned, owner);
}
