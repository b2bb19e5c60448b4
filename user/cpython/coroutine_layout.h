/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* coroutine_layout.h - how each version stores suspended coroutines and what they wait for. */
#ifndef TACHBPF_CPYTHON_COROUTINE_LAYOUT_H
#define TACHBPF_CPYTHON_COROUTINE_LAYOUT_H

#include "bpf/abi_async.h"
#include "cpython/debug_offsets.h"

/*
 * From validated debug offsets of 3.14+, and what they do not contain. Below 3.14 asyncio's tasks
 * cannot be found from outside, and *out is zero.
 */
void coroutine_layout(const struct debug_offsets *d, unsigned int minor,
		      struct async_coroutine_layout *out);

#endif
