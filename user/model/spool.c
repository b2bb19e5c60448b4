// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * spool.c - streams of numbers in a temporary file. See spool.h.
 *
 * A chunk is SPOOL_CHUNK_BYTES of varints. Its first two bytes are the number of used bytes; the
 * rest is zero. No record spans two chunks.
 */
#include "model/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_MAX 8	/* numbers */
#define LENGTH_BYTES 2

struct spool {
	int fd;		/* -1: not opened yet */
	uint64_t end;
};

struct spool *spool_new(void)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (s)
		s->fd = -1;
	return s;
}

void spool_free(struct spool *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

static int open_file(struct spool *s)
{
	const char *const dirs[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };
	char path[] = "/tmp/tachbpf-XXXXXX";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (!dirs[i] || !*dirs[i])
			continue;
		s->fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (s->fd >= 0)
			return 0;
	}
	/* Not every file system supports O_TMPFILE. */
	s->fd = mkostemp(path, O_CLOEXEC);
	if (s->fd < 0)
		return -errno;
	unlink(path);
	return 0;
}

/* Writes a full tail as a chunk of the file. */
static int put_chunk(struct spool *s, struct spool_stream *st)
{
	uint8_t chunk[SPOOL_CHUNK_BYTES] = { 0 };
	uint16_t len = (uint16_t)st->tail.len;
	size_t done = 0;
	ssize_t n;
	int err = s->fd < 0 ? open_file(s) : 0;

	if (!err)
		err = buf_add(&st->chunks, &s->end, sizeof(s->end));
	if (err)
		return err;
	memcpy(chunk, &len, LENGTH_BYTES);
	memcpy(chunk + LENGTH_BYTES, st->tail.data, st->tail.len);
	while (done < sizeof(chunk)) {
		n = pwrite(s->fd, chunk + done, sizeof(chunk) - done, (off_t)(s->end + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	s->end += sizeof(chunk);
	st->tail.len = 0;
	return 0;
}

int spool_add(struct spool *s, struct spool_stream *st, const uint64_t *values, unsigned int cnt)
{
	uint8_t record[RECORD_MAX * VARINT_MAX], *p = record;
	unsigned int i;
	int err;

	if (cnt > RECORD_MAX)
		return -EINVAL;
	for (i = 0; i < cnt; i++)
		p = varint_put(p, values[i]);
	if (st->tail.len + (size_t)(p - record) > SPOOL_CHUNK_BYTES - LENGTH_BYTES) {
		err = put_chunk(s, st);
		if (err)
			return err;
	}
	return buf_add(&st->tail, record, (size_t)(p - record));
}

void spool_stream_free(struct spool_stream *st)
{
	buf_free(&st->chunks);
	buf_free(&st->tail);
}

void spool_read(struct spool_reader *r, struct spool *s, const struct spool_stream *st)
{
	r->spool = s;
	r->stream = st;
	r->next = 0;
	r->p = r->end = NULL;
}

/* Returns 1; 0: no more; -errno. */
static int next_chunk(struct spool_reader *r)
{
	size_t cnt = r->stream->chunks.len / sizeof(uint64_t), done = 0;
	uint64_t off;
	uint16_t len;
	ssize_t n;

	if (r->next > cnt)
		return 0;
	if (r->next++ == cnt) {
		r->p = r->stream->tail.data;
		r->end = r->p + r->stream->tail.len;
		return r->p != r->end;
	}
	memcpy(&off, r->stream->chunks.data + (r->next - 1) * sizeof(off), sizeof(off));
	while (done < sizeof(r->data)) {
		n = pread(r->spool->fd, r->data + done, sizeof(r->data) - done,
			  (off_t)(off + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	memcpy(&len, r->data, LENGTH_BYTES);
	if (len > SPOOL_CHUNK_BYTES - LENGTH_BYTES)
		return -EIO;
	r->p = r->data + LENGTH_BYTES;
	r->end = r->p + len;
	return 1;
}

int spool_next(struct spool_reader *r, uint64_t *values, unsigned int cnt)
{
	unsigned int i;
	int more;

	if (r->p == r->end) {
		more = next_chunk(r);
		if (more <= 0)
			return more;
	}
	for (i = 0; i < cnt; i++) {
		r->p = varint_get(r->p, r->end, &values[i]);
		if (!r->p)
			return -EIO;	/* the file is our own, so its disk is damaged */
	}
	return 1;
}
