/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record.h - checks a struct raw_async, which a BPF program or a worker has filled in. */
#ifndef TACHBPF_ASYNCIO_RECORD_H
#define TACHBPF_ASYNCIO_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi_await.h"

/* Returns true if a record of len bytes has all that it claims, in order. */
bool async_record_is_whole(const struct raw_async *raw, size_t len);

#endif
