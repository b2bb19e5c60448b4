/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tach_write.h - what is only known of the TACH sink. */
#ifndef TACHBPF_TACH_WRITE_H
#define TACHBPF_TACH_WRITE_H

#include "model/sink.h"

/*
 * Number of samples that the sink has accepted since begin(). After end(), even a failed one: how
 * many samples a reader finds in the file; 0 if it is not readable.
 */
uint64_t tach_sample_cnt(const struct sink *s);

/*
 * About how many bytes of disk a live recording's file and its journal take: the samples that were
 * flushed, and the tables twice.
 */
uint64_t tach_bytes(const struct sink *s);

/* Waits until no other thread uses the file and its journal, so that they can be closed. */
void tach_settle(struct sink *s);

#endif
