/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * multi_probe.h - many places of a file probed by one link (uprobe_multi, Linux 6.6). The kernel
 * removes all of them at once; probes with an event each (prober.h) take tens of ms each, one after
 * the other.
 */
#ifndef TACHBPF_MULTI_PROBE_H
#define TACHBPF_MULTI_PROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Expected attach type of the BPF programs: BPF_TRACE_UPROBE_MULTI, include/uapi/linux/bpf.h. */
#define MULTI_PROBE_TYPE 48

struct multi_probe {
	int program;		/* its descriptor */
	int file;		/* open for reading */
	pid_t tgid;		/* the only process */
	bool returns;		/* the places are functions, and their returns are probed */
	uint32_t cnt;
	const uint64_t *places;	/* offsets in the file */
	const uint64_t *cookies;	/* for bpf_get_attach_cookie() */
};

/* Returns the link, or -errno. Closing it removes the probes, and takes up to 0.1 s more. */
int multi_probe_open(const struct multi_probe *p);

/* Returns true if this kernel has it. */
bool multi_probe_is_known(void);

#endif
