// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* profile_parts.c - see profile_parts.h. */
#include "commands/profile_parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/in_threads.h"
#include "base/util.h"

/* Parts being read or waiting for their turn, in addition to the number of threads. */
#define AHEAD 2

struct part {
	size_t first, cnt;	/* its files */
	struct profile_set *into;	/* at the start of its collection; NULL: not read */
	struct buf logged;
	int err;
	bool done;		/* it was read */
};

struct parts {
	const struct profile_parts_ops *ops;
	struct part *list;
	size_t cnt;
};

/* Returns the total size of the files in bytes; that of each is in sizes. */
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

/* Divides the files into consecutive parts of about the same number of bytes. */
static void divide_files(struct parts *p, const struct profile_set *set, const uint64_t *sizes,
			 uint64_t each, size_t most)
{
	uint64_t bytes = 0;
	size_t first = 0, i;

	for (i = 0; i < set->file_cnt; i++) {
		bytes += sizes[i];
		if (i + 1 < set->file_cnt && (bytes < each || p->cnt + 1 == most))
			continue;
		p->list[p->cnt++] = (struct part){ .first = first, .cnt = i + 1 - first };
		first = i + 1;
		bytes = 0;
	}
}

/* Makes at most most parts (0: as many as files allow); none if the set is small. 0 or -ENOMEM. */
static int find_parts(struct parts *p, const struct profile_set *set, size_t most)
{
	uint64_t *sizes, all, each;

	if (set->file_cnt < 2 || in_threads_most() < 2)
		return 0;
	sizes = calloc(set->file_cnt, sizeof(*sizes));
	p->list = calloc(set->file_cnt, sizeof(*p->list));
	if (!sizes || !p->list) {
		free(sizes);
		return -ENOMEM;
	}
	all = find_sizes(set, sizes);
	each = most ? all / most : 0;
	if (each < PROFILE_PART_BYTES)
		each = PROFILE_PART_BYTES;
	if (all >= 2 * PROFILE_PART_BYTES && all / set->file_cnt >= PROFILE_PART_FILE_BYTES)
		divide_files(p, set, sizes, each, most);
	free(sizes);
	return 0;
}

/* Creates the collection that the part is read into. 0 or -ENOMEM. */
static int start_part(const struct parts *p, const struct profile_set *set, const void *whole,
		      struct part *part)
{
	part->into = calloc(1, p->ops->bytes);
	if (!part->into)
		return -ENOMEM;
	profile_set_part(set, part->first, part->cnt, part->into);
	return p->ops->begin(part->into, whole);
}

static void read_part(void *ctx, size_t i)
{
	struct parts *p = ctx;
	struct part *part = &p->list[i];

	log_hold(&part->logged);
	part->err = profile_set_each(part->into, p->ops->add, part->into);
	log_hold(NULL);
}

static void drop_part(const struct parts *p, struct part *part)
{
	if (part->into) {
		profile_set_free_part(part->into);
		p->ops->end(part->into);
		free(part->into);
	}
	part->into = NULL;
	buf_free(&part->logged);
}

static void free_parts(struct parts *p)
{
	size_t i;

	for (i = 0; i < p->cnt; i++)
		drop_part(p, &p->list[i]);
	free(p->list);
}

/* Returns true if all succeeded and they can be joined. */
static bool all_fit(const struct parts *p)
{
	size_t i;

	for (i = 0; i < p->cnt; i++)
		if (p->list[i].err ||
		    (p->ops->fits && !p->ops->fits(p->list[0].into, p->list[i].into)))
			return false;
	return true;
}

static int join_parts(struct parts *p, struct profile_set *set, void *whole)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < p->cnt; i++) {
		log_print_held(&p->list[i].logged);
		err = profile_set_join_part(set, p->list[i].into);
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
	int err = find_parts(&p, set, PROFILE_PARTS_MAX);
	size_t i;

	for (i = 0; !err && p.cnt > 1 && i < p.cnt; i++)
		err = start_part(&p, set, whole, &p.list[i]);
	if (!err && p.cnt > 1)
		in_threads(p.cnt, read_part, &p);
	if (!err)
		err = p.cnt > 1 && all_fit(&p) ? join_parts(&p, set, whole) : 1;
	free_parts(&p);
	return err;
}

/* ---- in order ---- */

struct turns {
	struct parts p;
	struct profile_set *set;
	void *whole;
	size_t ahead;		/* maximum number of parts at a time */
	pthread_mutex_t lock;	/* of all below, of the set, and of parts that nobody reads */
	pthread_cond_t joined;
	size_t next;		/* the part to be joined */
	bool joining;		/* a thread joins, without the lock: whole is its own */
	int err;
};

/* Other threads look at the set when they begin a part. */
static int join_set(struct turns *t, struct profile_set *part)
{
	int err;

	pthread_mutex_lock(&t->lock);
	err = profile_set_join_part(t->set, part);
	pthread_mutex_unlock(&t->lock);
	return err;
}

/* The part's results so far are discarded. */
static int read_again(struct turns *t, struct part *part)
{
	struct profile_set again;
	int err, join_err;

	drop_part(&t->p, part);
	profile_set_part(t->set, part->first, part->cnt, &again);
	err = t->p.ops->read_again(t->whole, &again);
	join_err = join_set(t, &again);
	return err ? err : join_err;
}

/* Joins the part, and frees it. Its messages precede those of joining it. 0 or -errno. */
static int take_turn(struct turns *t, struct part *part)
{
	struct buf logged = { 0 };
	int err = 1, set_err;

	if (!part->err) {
		log_hold(&logged);
		err = t->p.ops->join(t->whole, part->into);
		log_hold(NULL);
	}
	if (err == 1) {
		buf_free(&logged);
		return read_again(t, part);
	}
	log_print_held(&part->logged);
	log_print_held(&logged);
	set_err = join_set(t, part->into);
	drop_part(&t->p, part);
	return err ? err : set_err;
}

/* Joins all parts whose turn it is, with the lock, unless another thread does. */
static void take_turns(struct turns *t)
{
	while (!t->joining && !t->err && t->next < t->p.cnt && t->p.list[t->next].done) {
		struct part *part = &t->p.list[t->next];
		int err;

		t->joining = true;
		pthread_mutex_unlock(&t->lock);
		err = take_turn(t, part);
		pthread_mutex_lock(&t->lock);
		t->joining = false;
		t->next++;
		t->err = err;
		pthread_cond_broadcast(&t->joined);
	}
}

/* Parts are begun in order, so the next one to be joined never waits here. */
static void read_in_turn(void *ctx, size_t i)
{
	struct turns *t = ctx;
	bool started = false;

	pthread_mutex_lock(&t->lock);
	while (!t->err && i >= t->next + t->ahead)
		pthread_cond_wait(&t->joined, &t->lock);
	if (!t->err) {
		t->p.list[i].err = start_part(&t->p, t->set, t->whole, &t->p.list[i]);
		started = !t->p.list[i].err;
	}
	pthread_mutex_unlock(&t->lock);
	if (started)
		read_part(&t->p, i);
	pthread_mutex_lock(&t->lock);
	t->p.list[i].done = true;
	take_turns(t);
	pthread_mutex_unlock(&t->lock);
}

int profile_parts_in_turn(struct profile_set *set, const struct profile_parts_ops *ops,
			  void *whole)
{
	struct turns t = { .p.ops = ops, .set = set, .whole = whole,
			   .ahead = in_threads_most() + AHEAD,
			   .lock = PTHREAD_MUTEX_INITIALIZER, .joined = PTHREAD_COND_INITIALIZER };
	int err = find_parts(&t.p, set, 0);

	if (!err && t.p.cnt > 1) {
		in_threads(t.p.cnt, read_in_turn, &t);
		err = t.err;
		if (!err)
			profile_set_end(set);
	} else if (!err) {
		err = 1;
	}
	free_parts(&t.p);
	return err;
}
