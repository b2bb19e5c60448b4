// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* content.c - see content.h. */
#include "formats/content.h"

#include <errno.h>

#include "base/gzip.h"
#include "formats/input.h"

static int unpack(const struct input *in, struct content *c)
{
	int err = in->size > CONTENT_MAX_BYTES ? -EFBIG : 0;

	err = err ? err : gunzip_bytes(in->data, in->size, CONTENT_MAX_BYTES, &c->unpacked);
	c->data = c->unpacked.data;
	c->len = c->unpacked.len;
	return err;
}

int content_of(const struct input *in, size_t plain_max, struct content *c,
	       const struct reason *why)
{
	int err = in->size > plain_max ? -EFBIG : 0;

	c->data = in->data;
	c->len = in->size;
	if (gzip_begins(in->data, in->size))
		err = unpack(in, c);
	if (err == -EFBIG)
		return reason_say(why, "a profile of more than %zu MiB", CONTENT_MAX_BYTES >> 20);
	if (err == -ENOMEM)
		return reason_memory(why);
	if (err)
		return reason_at(why, 0, "it cannot be decompressed");
	return c->len ? 0 : reason_at(why, 0, "no content");
}

void content_free(struct content *c)
{
	buf_free(&c->unpacked);
	*c = (struct content){ .data = NULL };
}

void content_head_of(const struct input *in, struct content_head *h)
{
	h->data = in->data;
	h->len = in->size < sizeof(h->unpacked) ? in->size : sizeof(h->unpacked);
	h->whole = in->size;
	if (!gzip_begins(in->data, in->size))
		return;
	h->data = h->unpacked;
	h->len = gunzip_head(in->data, in->size, h->unpacked, sizeof(h->unpacked));
	h->whole = SIZE_MAX;
}
