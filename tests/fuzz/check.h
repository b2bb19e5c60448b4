/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* check.h - what a fuzz target finds wrong ends it. */
#ifndef TACHBPF_FUZZ_CHECK_H
#define TACHBPF_FUZZ_CHECK_H

#include <stdbool.h>
#include <stdlib.h>

static inline void check(bool ok)
{
	if (!ok)
		abort();
}

#endif
