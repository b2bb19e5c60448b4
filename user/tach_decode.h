/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_decode.h - the samples of a TACH file, one after another. Part of
 * tach_reader, which has checked everything around them.
 */
#ifndef TACHBPF_TACH_DECODE_H
#define TACHBPF_TACH_DECODE_H

#include "event.h"
#include "tach_reader.h"

/*
 * data: the sample region as it is in the file, len bytes. 0, what on_event
 * returned, or -EBADMSG / -ENOMEM with a reason in why.
 */
int tach_decode(const struct tach_info *info, const uint8_t *data, size_t len,
		int (*on_event)(void *ctx, const struct event *ev), void *ctx, char *why,
		size_t why_size);

#endif
