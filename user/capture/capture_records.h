/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_records.h - takes the records of the BPF side.
 */
#ifndef TACHBPF_CAPTURE_RECORDS_H
#define TACHBPF_CAPTURE_RECORDS_H

#include <stddef.h>

struct capture;

/*
 * Takes a record of len bytes, which may come from the ring buffer or from offcpu_scan.h. A record
 * that is too short is ignored. An error that ends the capture is in s->life.err.
 */
void capture_take(struct capture *s, const void *data, size_t len);

#endif
