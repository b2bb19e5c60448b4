/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_decode.h - decodes the samples of a TACH file one after another. Part of tach_reader, which
 * has checked everything around them.
 */
#ifndef TACHBPF_TACH_DECODE_H
#define TACHBPF_TACH_DECODE_H

#include "formats/tach/tach_reader.h"
#include "model/event.h"

/*
 * data: the sample region of the file, len bytes. takes: what on_event does (enum event_takes).
 * Returns 0, what on_event returned, or -EBADMSG or -ENOMEM with a reason in why.
 */
int tach_decode(const struct tach_info *info, const uint8_t *data, size_t len, unsigned int takes,
		int (*on_event)(void *ctx, const struct event *ev), void *ctx, char *why,
		size_t why_size);

/* Likewise, one sample per call, for readers of several files at once. */
struct tach_decoder;

/*
 * info, data and why must outlive it. Returns NULL with errno and a reason in why. Free it by
 * tach_decoder_free().
 */
struct tach_decoder *tach_decoder_new(const struct tach_info *info, const uint8_t *data,
				      size_t len, char *why, size_t why_size);
void tach_decoder_free(struct tach_decoder *d);

/* Returns 1: *ev is the next sample, valid until the next call; 0: no more; -EBADMSG or -ENOMEM. */
int tach_decoder_next(struct tach_decoder *d, struct event *ev);

#endif
