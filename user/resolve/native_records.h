/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * native_records.h - keeps a process' RAW_NATIVE until the record with the same time, thread and
 * CPU comes. A CPU sends one immediately after the other, but records of other CPUs may lie between
 * them. So one per CPU is kept; if a second one arrives, the record of the first was lost.
 */
#ifndef TACHBPF_NATIVE_RECORDS_H
#define TACHBPF_NATIVE_RECORDS_H

#include <stddef.h>

#include "bpf/abi_native.h"

struct native_record;

/* Zero-initialise. */
struct native_records {
	struct native_record *kept;
	struct native_record *spare;	/* the one taken last; its memory is reused */
};

void native_records_free(struct native_records *r);
/* Copies a record of len bytes. 0; -EBADMSG: it is incomplete; or -ENOMEM. */
int native_records_put(struct native_records *r, const struct raw_native *raw, size_t len);
/*
 * Takes the matching RAW_NATIVE apart: out->entries, and out->frames in their order. If frames were
 * left out, the one at RAW_NATIVE_INNER stands for all of these: its `below` is that of the
 * outermost, it has no address and no file, and it counts in out->left_out. The rest of both arrays
 * stays as it is. Returns 0, or -ENOENT: there is none.
 */
int native_records_take(struct native_records *r, uint64_t time_ns, uint32_t tid, uint16_t cpu,
			struct raw_native *out);

#endif
