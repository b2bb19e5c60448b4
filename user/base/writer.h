/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * writer.h - writes text to a file descriptor, for outputs of many short pieces.
 *
 * It buffers. It keeps the first error and then does nothing, so that callers check once, with
 * writer_flush().
 */
#ifndef TACHBPF_WRITER_H
#define TACHBPF_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WRITER_BYTES (64 * 1024)

struct writer {
	int fd;			/* owned by the caller */
	int err;		/* 0 or -errno */
	uint64_t left;		/* bytes that may still be written */
	size_t len;
	char data[WRITER_BYTES];
};

/*
 * max_bytes: more is the error -EFBIG; 0: no limit. Returns NULL with errno; the caller frees it
 * with free().
 */
struct writer *writer_new(int fd, uint64_t max_bytes);
/* Writes the buffered data. Returns 0, or the first error since writer_new(). */
int writer_flush(struct writer *w);

/* Used by writer_put() if the buffer is full. */
void writer_put_slow(struct writer *w, const void *data, size_t len);
/* Writes a decimal number. */
void writer_uint(struct writer *w, uint64_t v);
void writer_int(struct writer *w, int64_t v);
/* Writes us microseconds as milliseconds, exactly: "12.345", "12". */
void writer_ms(struct writer *w, int64_t us);

static inline void writer_put(struct writer *w, const void *data, size_t len)
{
	if (len > WRITER_BYTES || w->len + len > WRITER_BYTES) {
		writer_put_slow(w, data, len);
		return;
	}
	/* data may be NULL if len is 0. */
	if (len)
		memcpy(w->data + w->len, data, len);
	w->len += len;
}

static inline void writer_text(struct writer *w, const char *s)
{
	writer_put(w, s, strlen(s));
}

static inline void writer_char(struct writer *w, char c)
{
	writer_put(w, &c, 1);
}

#endif
