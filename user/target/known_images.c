// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* known_images.c - see known_images.h. */
#include "target/known_images.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct known_image {
	struct cpython_image image;	/* the part that others know: the first member */
	struct file_id file;
	struct known_images *in;
	struct known_image *next;	/* next one with the same hash */
	size_t holders;
	uint32_t owner;			/* user of the process in which it was found */
	struct lru_item idle;
};

static struct known_image *known_of(const struct cpython_image *image)
{
	return (struct known_image *)(uintptr_t)image;
}

void known_images_init(struct known_images *k)
{
	*k = (struct known_images){ .cnt = 0 };
	lru_init(&k->idle, IDLE_IMAGES_MAX, IDLE_IMAGES_OF_USER);
}

void known_images_free(struct known_images *k)
{
	struct known_image *i, *next;
	size_t pos = 0;

	while ((i = u64map_next(&k->by_file, &pos)))
		for (; i; i = next) {
			next = i->next;
			free(i);
		}
	u64map_free(&k->by_file);
	lru_free(&k->idle);
}

static uint64_t key_of(const struct file_id *file)
{
	return hash_bytes(file, sizeof(*file));
}

/* Remove it from its chain, and free it. */
static void forget_image(struct known_image *gone)
{
	struct known_images *k = gone->in;
	uint64_t key = key_of(&gone->file);
	struct known_image *first = u64map_get(&k->by_file, key), *i;

	lru_remove(&k->idle, &gone->idle);
	if (first == gone) {
		u64map_remove(&k->by_file, key);
		if (gone->next)		/* a key was removed, so adding cannot fail */
			u64map_put(&k->by_file, key, gone->next);
	} else {
		for (i = first; i->next != gone; i = i->next)
			;
		i->next = gone->next;
	}
	k->cnt--;
	free(gone);
}

static struct known_image *add_image(struct known_images *k, const struct file_id *file,
				     const struct cpython_image *image, uint32_t owner)
{
	struct known_image *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->image = *image;
	i->file = *file;
	i->in = k;
	i->owner = owner;
	i->next = u64map_get(&k->by_file, key_of(file));
	if (u64map_put(&k->by_file, key_of(file), i)) {
		free(i);
		return NULL;
	}
	k->cnt++;
	return i;
}

static const struct cpython_image *hold_image(struct known_image *i)
{
	if (!i)
		return NULL;
	known_image_hold(&i->image);
	return &i->image;
}

const struct cpython_image *known_images_find(struct known_images *k, const struct file_id *file)
{
	struct known_image *i = u64map_get(&k->by_file, key_of(file));

	while (i && memcmp(&i->file, file, sizeof(*file)))
		i = i->next;
	return hold_image(i);
}

const struct cpython_image *known_images_get(struct known_images *k, const struct file_id *file,
					     const struct cpython_image *image, uint32_t owner)
{
	const struct cpython_image *found = known_images_find(k, file);

	return found ? found : hold_image(add_image(k, file, image, owner));
}

void known_image_hold(const struct cpython_image *image)
{
	struct known_image *i = known_of(image);

	lru_remove(&i->in->idle, &i->idle);
	i->holders++;
}

void known_image_release(const struct cpython_image *image)
{
	struct known_image *i = known_of(image), *gone;

	if (--i->holders)
		return;
	gone = LRU_STRUCT(lru_excess(&i->in->idle, i->owner), struct known_image, idle);
	if (gone)
		forget_image(gone);
	if (lru_add(&i->in->idle, &i->idle, i->owner))
		forget_image(i);
}

const struct file_id *known_image_file(const struct cpython_image *image)
{
	return &known_of(image)->file;
}
