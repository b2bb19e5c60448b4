// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* skeleton.c - see skeleton.h. */
#include "capture/skeleton.h"

#include "tachbpf.skel.h"

struct tachbpf_bpf *skeleton_open(void)
{
	return tachbpf_bpf__open();
}
