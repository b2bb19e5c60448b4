/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tach_write.h - what only the TACH sink can be asked.
 */
#ifndef TACHBPF_TACH_WRITE_H
#define TACHBPF_TACH_WRITE_H

#include "model/sink.h"

/* How many samples the tach sink has encoded since begin(): what the header will say. */
uint64_t tach_sample_cnt(const struct sink *s);

#endif
