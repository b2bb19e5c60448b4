/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * syscall_name.h - what this machine's system calls are called.
 */
#ifndef TACHBPF_SYSCALL_NAME_H
#define TACHBPF_SYSCALL_NAME_H

#include <stdint.h>

#define SYSCALL_NAME_MAX 32

/* "read"; "system call 999" for one we do not know; "page fault" for RAW_SYSNO_NONE. */
const char *syscall_name(uint16_t nr, char buf[SYSCALL_NAME_MAX]);

#endif
