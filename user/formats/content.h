/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* content.h - the content of an input file that may be gzipped. */
#ifndef TACHBPF_CONTENT_H
#define TACHBPF_CONTENT_H

#include "base/util.h"
#include "formats/read_error.h"

struct input;

/* Of a gzipped file, and of its content: a profile of this size has some ten million samples. */
#define CONTENT_MAX_BYTES ((size_t)256 << 20)

/* Zero-initialise; freed by content_free(). The bytes are the input's, or unpacked. */
struct content {
	const uint8_t *data;
	size_t len;		/* > 0 */
	struct buf unpacked;
};

/*
 * Finds the content. plain_max: limit of a file that is not gzipped. Returns 0, -ENOMEM or -EBADMSG
 * with a reason.
 */
int content_of(const struct input *in, size_t plain_max, struct content *c,
	       const struct reason *why);
void content_free(struct content *c);

/* The beginning of a content. */
struct content_head {
	uint8_t unpacked[4096];
	const uint8_t *data;
	size_t len;		/* at most 4096 */
	size_t whole;		/* the content's size; SIZE_MAX: unknown */
};
void content_head_of(const struct input *in, struct content_head *h);

#endif
