/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * precheck.h - can this machine and this user record at all?
 */
#ifndef TACHBPF_PRECHECK_H
#define TACHBPF_PRECHECK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Privileges, BTF, ring buffer, kernels that are known to freeze. 0, or -errno
 * after one line on stderr said what is missing and how to get it.
 */
int precheck_record(bool ignore_kernel_bugs);

/* This process' effective capabilities, as bits (include/uapi/linux/capability.h). */
uint64_t precheck_caps(void);

/*
 * The running kernel's stable version as major * 2^16 + minor * 2^8 + patch
 * (patch capped at 255), from uname's release and version strings: Debian's
 * release says 6.1.0-18 for what is 6.1.76. 0: cannot be told.
 */
unsigned int precheck_kernel_version(const char *release, const char *version);

/* May a BPF program that reads user memory from a perf event freeze this kernel? */
bool precheck_kernel_can_freeze(unsigned int kernel_version);

/* In a pid namespace that is not the host's: the kernel's process numbers mean nothing here. */
bool precheck_in_pid_namespace(void);

#endif
