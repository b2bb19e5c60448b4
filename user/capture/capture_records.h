/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_records.h - what a record of the kernel changes.
 */
#ifndef TACHBPF_CAPTURE_RECORDS_H
#define TACHBPF_CAPTURE_RECORDS_H

#include <stddef.h>

struct capture;

/*
 * Take a record of len bytes, from the ring buffer or as if it were from there. A record that is
 * too short is ignored. Errors that end the capture are in s->life.err.
 */
void capture_take(struct capture *s, const void *data, size_t len);

#endif
