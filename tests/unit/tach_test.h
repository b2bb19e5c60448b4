/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_test.h - what the tests of the file side share: temporary files, a
 * repeatable random number, events kept in memory, writing and reading back.
 */
#ifndef TACHBPF_TACH_TEST_H
#define TACHBPF_TACH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/util.h"
#include "formats/tach/tach_reader.h"
#include "model/intern.h"
#include "model/sink.h"

#define PATH_BYTES 64

/* xorshift64*: the same numbers everywhere. */
static inline uint64_t rnd(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* A file that vanishes by itself; its path in path. */
static inline int memory_file(char path[PATH_BYTES])
{
	int fd = memfd_create("tachbpf-test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
	return fd;
}

static inline struct buf file_bytes(const char *path)
{
	struct buf b = { 0 };
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(buf_reserve(&b, st.st_size + 1), 0);
	b.len = st.st_size;
	assert_int_equal(pread(fd, b.data, b.len, 0), st.st_size);
	b.data[b.len] = '\0';
	close(fd);
	return b;
}

static inline void set_file(int fd, const void *data, size_t len)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, data, len, 0), len);
}

/* Events that outlive the call that brought them. */
struct kept {
	uint64_t time_us, thread_id;
	size_t seq;				/* in order of arrival */
	uint32_t interp_id, nframes, first;	/* first: index into frames */
	uint8_t status;
	uint64_t weight;
	uint32_t tick_ns;
};

struct events {
	struct kept *list;
	size_t cnt, cap;
	uint32_t *frames;
	size_t frame_cnt, frame_cap;
};

static inline int keep_event(void *ctx, const struct event *ev)
{
	struct events *e = ctx;

	if (e->cnt == e->cap) {
		e->cap = e->cap ? e->cap * 2 : 64;
		e->list = realloc(e->list, e->cap * sizeof(*e->list));
		assert_non_null(e->list);
	}
	while (e->frame_cnt + ev->nframes > e->frame_cap) {
		e->frame_cap = e->frame_cap ? e->frame_cap * 2 : 1024;
		e->frames = realloc(e->frames, e->frame_cap * sizeof(*e->frames));
		assert_non_null(e->frames);
	}
	e->list[e->cnt] = (struct kept){ ev->time_us, ev->thread_id, e->cnt, ev->interp_id,
					 ev->nframes, (uint32_t)e->frame_cnt, ev->status,
					 ev->weight, ev->tick_ns };
	e->cnt++;
	if (ev->nframes)
		memcpy(e->frames + e->frame_cnt, ev->frames, ev->nframes * sizeof(*e->frames));
	e->frame_cnt += ev->nframes;
	return 0;
}

static inline struct event kept_event(const struct events *e, size_t i)
{
	const struct kept *k = &e->list[i];

	return (struct event){ .time_us = k->time_us, .thread_id = k->thread_id,
			       .interp_id = k->interp_id, .nframes = k->nframes,
			       .frames = e->frames + k->first, .status = k->status,
			       .weight = k->weight, .tick_ns = k->tick_ns };
}

static inline void events_free(struct events *e)
{
	free(e->list);
	free(e->frames);
	memset(e, 0, sizeof(*e));
}

static inline int compare_kept(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->thread_id != y->thread_id)
		return x->thread_id < y->thread_id ? -1 : 1;
	if (x->interp_id != y->interp_id)
		return x->interp_id < y->interp_id ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

/* By thread, keeping each thread's order: what a TACH file promises. */
static inline void sort_by_thread(struct events *e)
{
	if (e->cnt)
		qsort(e->list, e->cnt, sizeof(*e->list), compare_kept);
}

static inline struct tach_reader *open_ok(const char *path)
{
	char why[256] = "";
	struct tach_reader *r = tach_reader_open(path, why, sizeof(why));

	if (!r)
		fail_msg("%s: %s", path, why);
	return r;
}

static inline void run_ok(struct tach_reader *r, struct events *e)
{
	char why[256] = "";

	if (tach_reader_run(r, keep_event, e, why, sizeof(why)))
		fail_msg("samples: %s", why);
}

static inline char *golden_path(const char *name, char path[512])
{
	snprintf(path, 512, "%s/tach/%s", GOLDEN_DIR, name);
	return path;
}

/* Feed a whole file into a sink of its own making. */
static inline int feed_event(void *ctx, const struct event *ev)
{
	struct sink *s = ctx;

	return s->ops->event(s, ev);
}

static inline void convert(const char *from, const struct sink_ops *ops,
			   const struct sink_args *args)
{
	struct tach_reader *r = open_ok(from);
	const struct tach_info *info = tach_reader_info(r);
	struct sink *s = ops->open(args);
	char why[256] = "";

	assert_non_null(s);
	assert_int_equal(ops->begin(s, &info->meta, tach_reader_tables(r)), 0);
	if (tach_reader_run(r, feed_event, s, why, sizeof(why)))
		fail_msg("%s: %s", from, why);
	assert_int_equal(ops->end(s, &info->stats), 0);
	assert_int_equal(ops->close(s), 0);
	tach_reader_free(r);
}

#endif
