/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * known_images.h - one copy of each CPython image that was found.
 *
 * Processes and known executables hold the image that they run: held images are limited by the
 * number of living processes and known executables, and none is dropped. An image that nobody holds
 * is kept for the next process; of these the one that was released first is dropped, and each user
 * has only a part of them.
 */
#ifndef TACHBPF_KNOWN_IMAGES_H
#define TACHBPF_KNOWN_IMAGES_H

#include "base/lru.h"
#include "cpython/image.h"
#include "target/inspect_files.h"

/* Limits on images that nobody holds, in total and of one user: a few hundred bytes each. */
#define IDLE_IMAGES_MAX 2048
#define IDLE_IMAGES_OF_USER 256

struct known_images {
	struct u64map by_file;		/* hash of file -> chain of struct known_image */
	size_t cnt;			/* images; read-only for others */
	struct lru idle;		/* those that nobody holds */
};

/* The struct must not be moved. Freed by known_images_free(), even if images are held. */
void known_images_init(struct known_images *k);
void known_images_free(struct known_images *k);

/* The copy of the image of this file, held for the caller. NULL: there is none. */
const struct cpython_image *known_images_find(struct known_images *k, const struct file_id *file);
/*
 * The copy of this image, held for the caller; created, and owned by that user, if there is none.
 * NULL: out of memory.
 */
const struct cpython_image *known_images_get(struct known_images *k, const struct file_id *file,
					     const struct cpython_image *image, uint32_t owner);
/* Add and remove a holder. image: from known_images_get(). */
void known_image_hold(const struct cpython_image *image);
void known_image_release(const struct cpython_image *image);
/* Its file. */
const struct file_id *known_image_file(const struct cpython_image *image);

#endif
