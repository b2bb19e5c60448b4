/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscall_name.h - the names of this machine's system calls. */
#ifndef TACHBPF_SYSCALL_NAME_H
#define TACHBPF_SYSCALL_NAME_H

#include <stdint.h>

#define SYSCALL_NAME_MAX 32

/*
 * Name of a system call: "read"; "system call 999" if unknown; "page fault" for RAW_WAIT_FAULT,
 * "the kernel" for RAW_SYSNO_NONE. Returns buf or a constant.
 */
const char *syscall_name(uint16_t nr, char buf[SYSCALL_NAME_MAX]);

#endif
