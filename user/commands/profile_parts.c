// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_parts.c - see profile_parts.h. */
#include "commands/profile_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/in_threads.h"
#include "base/util.h"

struct part {
	void *into;
	struct buf logged;
	int err;
};

struct parts {
	const struct profile_parts_ops *ops;
	struct part list[PROFILE_PARTS_MAX];
	size_t cnt;
};

/* How many bytes the files have in all; of each one in sizes. */
static uint64_t find_sizes(const struct profile_set *set, uint64_t *sizes)
{
	uint64_t all = 0;
	struct stat st;
	size_t i;

	for (i = 0; i < set->file_cnt; i++) {
		sizes[i] = stat(set->files[i].path, &st) ? 0 : (uint64_t)st.st_size;
		all += sizes[i];
	}
	return all;
}

/* A collection for cnt files of the set. 0 or -ENOMEM. */
static int add_part(struct parts *p, const struct profile_set *set, const void *whole,
		    size_t first, size_t cnt)
{
	void *into = p->ops->new(whole);

	if (!into)
		return -ENOMEM;
	profile_set_part(set, first, cnt, p->ops->set(into));
	p->list[p->cnt++].into = into;
	return 0;
}

/* Neighbours of which each part has as many bytes as the others, as far as files allow. */
static int divide(struct parts *p, const struct profile_set *set, const void *whole,
		  const uint64_t *sizes, uint64_t all)
{
	uint64_t each = all / PROFILE_PARTS_MAX, bytes = 0;
	size_t first = 0, i;
	int err = 0;

	if (each < PROFILE_PART_BYTES)
		each = PROFILE_PART_BYTES;
	for (i = 0; !err && i < set->file_cnt; i++) {
		bytes += sizes[i];
		if (i + 1 < set->file_cnt &&
		    (bytes < each || p->cnt + 1 == PROFILE_PARTS_MAX))
			continue;
		err = add_part(p, set, whole, first, i + 1 - first);
		first = i + 1;
		bytes = 0;
	}
	return err;
}

static int find_parts(struct parts *p, const struct profile_set *set, const void *whole)
{
	uint64_t *sizes, all;
	int err = 0;

	if (set->file_cnt < 2 || in_threads_most() < 2)
		return 0;
	sizes = calloc(set->file_cnt, sizeof(*sizes));
	if (!sizes)
		return -ENOMEM;
	all = find_sizes(set, sizes);
	if (all >= 2 * PROFILE_PART_BYTES && all / set->file_cnt >= PROFILE_PART_FILE_BYTES)
		err = divide(p, set, whole, sizes, all);
	free(sizes);
	return err;
}

static void read_part(void *ctx, size_t i)
{
	struct parts *p = ctx;
	struct part *part = &p->list[i];

	log_hold(&part->logged);
	part->err = p->ops->read(part->into);
	log_hold(NULL);
}

/* Did all go well, so that they can be joined? */
static bool all_fit(const struct parts *p)
{
	size_t i;

	for (i = 0; i < p->cnt; i++)
		if (p->list[i].err ||
		    (p->ops->fits && !p->ops->fits(p->list[0].into, p->list[i].into)))
			return false;
	return true;
}

static int join(struct parts *p, struct profile_set *set, void *whole)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < p->cnt; i++) {
		log_print_held(&p->list[i].logged);
		err = profile_set_join_part(set, p->ops->set(p->list[i].into));
		if (!err)
			err = p->ops->join(whole, p->list[i].into);
	}
	if (!err)
		profile_set_end(set);
	return err;
}

int profile_parts_read(struct profile_set *set, const struct profile_parts_ops *ops, void *whole)
{
	struct parts p = { .ops = ops };
	int err = find_parts(&p, set, whole);
	size_t i;

	if (!err && p.cnt > 1)
		in_threads(p.cnt, read_part, &p);
	if (!err)
		err = p.cnt > 1 && all_fit(&p) ? join(&p, set, whole) : 1;
	for (i = 0; i < p.cnt; i++) {
		profile_set_free_part(ops->set(p.list[i].into));
		ops->free(p.list[i].into);
		buf_free(&p.list[i].logged);
	}
	return err;
}
