/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* precheck.h - whether this machine and this user can record at all. */
#ifndef TACHBPF_PRECHECK_H
#define TACHBPF_PRECHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Checks that /proc is mounted. Returns 0, or -ENOENT after logging that it is not. */
int precheck_proc(void);

/*
 * Checks /proc, the privileges, the PID namespace, the calls that start workers, and that the
 * kernel has a BPF ring buffer and type information and is not known to freeze (unless
 * ignore_kernel_bugs). Returns 0, or -errno after logging one line with what is missing and the
 * remedy.
 */
int precheck_record(bool ignore_kernel_bugs);

/* Returns this process's effective capabilities, as bits (include/uapi/linux/capability.h). */
uint64_t precheck_caps(void);

/*
 * Returns the running kernel's stable version as major * 2^16 + minor * 2^8 + patch (patch capped
 * at 255), from uname's release and version strings: Debian's release is 6.1.0-18 for 6.1.76. 0:
 * unknown.
 */
unsigned int precheck_kernel_version(const char *release, const char *version);

/* Returns true if a BPF program that reads user memory from a perf event can freeze this kernel. */
bool precheck_kernel_can_freeze(unsigned int kernel_version);

/*
 * Returns true if this process is in its own PID namespace: process ids there differ from those
 * that the BPF side sees.
 */
bool precheck_in_pid_namespace(void);

#endif
