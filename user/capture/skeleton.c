// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* skeleton.c - see skeleton.h. */
#include "capture/skeleton.h"

#include "tachbpf.skel.h"

struct tachbpf_bpf *skeleton_open(void)
{
	struct tachbpf_bpf *skel = tachbpf_bpf__open();

	if (skel)	/* which runs once, and is unloaded: direct_map.h */
		bpf_program__set_autoattach(skel->progs.find_direct_map, false);
	return skel;
}
