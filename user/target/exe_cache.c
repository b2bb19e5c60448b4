// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * exe_cache.c - see exe_cache.h.
 */
#include "target/exe_cache.h"

#include <stdlib.h>
#include <string.h>

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

/* An executable that runs one. */
struct known_exe {
	uint64_t key;		/* exe_key() */
	struct lru_item lru;
	struct runs *runs;
};

/* An executable about which nothing can be predicted at its exec. */
struct other_exe {
	struct exe_file file;
	struct lru_item lru;
	bool said;		/* reported by the callback */
	bool becomes;		/* a process of it became Python: its execs are examined */
};

/*
 * Executables without Python: limited by the size of the map other_exes, and per user. One that was
 * forgotten is inspected again when it runs. Those with Python are limited by the size of the map
 * known_exes; one of them that was forgotten is found again in its process, a little later than at
 * its exec.
 */
#define OTHERS_OF_USER (MAX_OTHER_EXES / 4)
#define PYTHONS_OF_USER (MAX_EXES / 8)

struct exe_cache {
	struct discovery *discovery;
	struct u64map by_key;		/* exe_key() -> struct known_exe */
	struct u64map by_file;		/* hash of struct exe_file -> struct other_exe */
	struct lru pythons, others;
	exe_cache_fn python;
	exe_cache_other_fn other;
	void *ctx;
};

struct exe_cache *exe_cache_new(struct discovery *d, exe_cache_fn python, exe_cache_other_fn other,
				void *ctx)
{
	struct exe_cache *e = calloc(1, sizeof(*e));

	if (e) {
		e->discovery = d;
		e->python = python;
		e->other = other;
		e->ctx = ctx;
		lru_init(&e->pythons, MAX_EXES, PYTHONS_OF_USER);
		lru_init(&e->others, MAX_OTHER_EXES, OTHERS_OF_USER);
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
	struct other_exe *other;
	size_t pos = 0;

	if (!e)
		return;
	while ((known = u64map_next(&e->by_key, &pos))) {
		free_runs(known->runs);
		free(known);
	}
	pos = 0;
	while ((other = u64map_next(&e->by_file, &pos)))
		free(other);
	u64map_free(&e->by_key);
	u64map_free(&e->by_file);
	lru_free(&e->pythons);
	lru_free(&e->others);
	free(e);
}

/* ---- executables with Python ---- */

/* NULL: nothing to do. */
static void forget_exe(struct exe_cache *e, struct known_exe *known)
{
	if (!known)
		return;
	lru_remove(&e->pythons, &known->lru);
	u64map_remove(&e->by_key, known->key);
	e->python(e->ctx, known->key, NULL);
	free_runs(known->runs);
	free(known);
}

static struct known_exe *find_exe(struct exe_cache *e, uint64_t key)
{
	struct known_exe *known = u64map_get(&e->by_key, key);

	if (known)
		lru_use(&e->pythons, &known->lru);
	return known;
}

const struct cpython_image *exe_cache_find(struct exe_cache *e, uint64_t key,
					   const struct py_exe **exe)
{
	const struct known_exe *known = find_exe(e, key);

	if (!known)
		return NULL;
	*exe = &known->runs->exe;
	return known->runs->image;
}

/* Make room in the list, and add it there. NULL: out of memory. */
static struct known_exe *add_exe(struct exe_cache *e, uint64_t key, uint32_t owner)
{
	struct known_exe *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	known->key = key;
	known->runs = calloc(1, sizeof(*known->runs));
	if (!known->runs || u64map_put(&e->by_key, key, known)) {
		free(known->runs);
		free(known);
		return NULL;
	}
	forget_exe(e, LRU_STRUCT(lru_excess(&e->pythons, owner), struct known_exe, lru));
	if (!lru_add(&e->pythons, &known->lru, owner))
		return known;
	forget_exe(e, known);
	return NULL;
}

static void take_python(struct exe_cache *e, const struct learned_exe *l, uint32_t owner)
{
	struct known_exe *known = find_exe(e, l->key);
	const struct cpython_image *image;

	if (known && (known->runs->seen || !l->seen))
		return;
	image = known_images_get(discovery_images(e->discovery), &l->file, &l->image, owner);
	if (!known && image)
		known = add_exe(e, l->key, owner);
	if (!known || !image) {
		if (image)
			known_image_release(image);
		return;
	}
	if (known->runs->image)
		known_image_release(known->runs->image);
	*known->runs = (struct runs){ .image = image, .exe = l->exe, .seen = l->seen };
	e->python(e->ctx, l->key, &known->runs->exe);
}

/* ---- executables without ---- */

static uint64_t file_key(const struct exe_file *file)
{
	return hash_bytes(file, sizeof(*file));
}

/* NULL: nothing to do. */
static void forget_other(struct exe_cache *e, struct other_exe *o)
{
	if (!o)
		return;
	lru_remove(&e->others, &o->lru);
	u64map_remove(&e->by_file, file_key(&o->file));
	if (o->said)
		e->other(e->ctx, &o->file, false);
	free(o);
}

static struct other_exe *find_other(struct exe_cache *e, const struct exe_file *file)
{
	struct other_exe *o = u64map_get(&e->by_file, file_key(file));

	if (!o || memcmp(&o->file, file, sizeof(*file)))
		return NULL;
	lru_use(&e->others, &o->lru);
	return o;
}

bool exe_cache_is_other(struct exe_cache *e, const struct exe_file *file)
{
	const struct other_exe *o = find_other(e, file);

	return o && o->said;
}

static struct other_exe *add_other(struct exe_cache *e, const struct exe_file *file, uint32_t owner)
{
	uint64_t key = file_key(file);
	struct other_exe *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->file = *file;
	forget_other(e, u64map_get(&e->by_file, key));	/* of a different file with this hash */
	forget_other(e, LRU_STRUCT(lru_excess(&e->others, owner), struct other_exe, lru));
	if (u64map_put(&e->by_file, key, o)) {
		free(o);
		return NULL;
	}
	if (!lru_add(&e->others, &o->lru, owner))
		return o;
	forget_other(e, o);
	return NULL;
}

/* Not other: a file that became Python, or whose Python is not known before it runs. */
static void take_other(struct exe_cache *e, const struct learned_exe *l, uint32_t owner)
{
	struct other_exe *o = find_other(e, &l->itself);
	bool say;

	if (!o)
		o = add_other(e, &l->itself, owner);
	if (!o)
		return;
	o->becomes |= l->seen;
	say = l->other && !o->becomes;
	if (say != o->said)
		e->other(e->ctx, &o->file, say);
	o->said = say;
}

/* ---- learn ---- */

void exe_cache_take(struct exe_cache *e, const struct learned_exe *l, uint32_t owner)
{
	if (!l->key)
		return;
	if (!l->runs_python) {
		take_other(e, l, owner);
		return;
	}
	forget_other(e, find_other(e, &l->itself));
	take_python(e, l, owner);
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

void exe_cache_learn_process(struct exe_cache *e, pid_t tgid, uint32_t uid, uint64_t key,
			     const struct exe_file *file)
{
	struct learned_exe learned;

	if (!key || find_exe(e, key) || find_other(e, file) || inspector_learn(tgid, uid, &learned))
		return;
	/*
	 * Otherwise the process executes another program now, or stat(2) and the kernel disagree
	 * about the file: then it is not learned twice, but its execs are records.
	 */
	if (learned.key == key && memcmp(&learned.itself, file, sizeof(*file))) {
		learned.itself = *file;
		learned.other = false;
	}
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
