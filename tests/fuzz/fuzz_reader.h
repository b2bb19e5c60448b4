/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fuzz_reader.h - any bytes through one of the readers, and what it accepts
 * through the collapsed sink: what a reader hands out must be safe for sinks.
 */
#ifndef TACHBPF_FUZZ_READER_H
#define TACHBPF_FUZZ_READER_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/describe.h"
#include "formats/formats.h"
#include "formats/readers.h"
#include "model/reader.h"
#include "model/sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "not so: %s\n", what);
		abort();
	}
}

static inline int consume(void *ctx, const struct event *ev)
{
	struct sink *s = ctx;

	require(ev->nframes <= EVENT_MAX_FRAMES && ev->weight, "at most 256 frames, some weight");
	require(!s->ops->event(s, ev), "sinks take every event");
	return 0;
}

static inline void ignore_text(struct describe *d, const char *key, const char *s, size_t len)
{
	require(!len || memchr(s, s[len - 1], len) != NULL, "text is there");
}

static inline void ignore_number(struct describe *d, const char *key, uint64_t v)
{
}

static inline void ignore_key(struct describe *d, const char *key)
{
}

static inline void ignore(struct describe *d)
{
}

static inline void consume_profile(struct reader *r, int null_fd)
{
	struct describe d = { ignore_text, ignore_number, ignore_key, ignore, ignore };
	struct sink_args args = { .fd = null_fd, .many = true };
	struct sink *s = sink_collapsed.open(&args);
	char why[256] = "";
	int err;

	require(s && !s->ops->begin(s, &reader_info(r)->meta, reader_tables(r)), "begin");
	err = reader_run(r, consume, s, why, sizeof(why));
	require(!err || (err == -EBADMSG && why[0]), "errors have reasons");
	require(!s->ops->end(s, &reader_info(r)->stats), "end");
	s->ops->close(s);
	reader_describe(r, &d);
}

/* The input as a file of this format; NULL: refused. The caller frees it. */
static inline struct reader *fuzz_open(const uint8_t *data, size_t size,
				       const struct reader_args *args)
{
	static int fd = -1;
	static char path[64];
	char why[256] = "";
	struct reader *r;

	if (fd < 0) {
		fd = memfd_create("in", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	require(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size, "a file");
	r = reader_open(path, args, why, sizeof(why));
	require(r || (why[0] && errno), "a reason");
	return r;
}

static inline int fuzz_reader(const char *format, enum reader_value value, const uint8_t *data,
			      size_t size)
{
	struct reader_args args = { .format = format, .value = value };
	struct reader *r = fuzz_open(data, size, &args);
	int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	uint32_t i;

	for (i = 0; r && i < reader_profile_cnt(r) && i < 64; i++) {
		reader_select(r, i);
		consume_profile(r, null_fd);
	}
	reader_free(r);
	close(null_fd);
	return 0;
}

#endif
