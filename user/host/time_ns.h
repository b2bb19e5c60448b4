/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* time_ns.h - the clock of a process in another time namespace (Linux 5.6+). */
#ifndef TACHBPF_HOST_TIME_NS_H
#define TACHBPF_HOST_TIME_NS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Set *ns to what must be added to CLOCK_MONOTONIC here to have it in the process' time namespace:
 * 0 in nearly all processes. Reads some files of /proc. 0; -ENOTSUP: its namespace is not that of
 * its children, and not ours, so that its clock is unknown; -errno of proc_read().
 */
int time_ns_offset(pid_t tgid, int64_t *ns);

#endif
