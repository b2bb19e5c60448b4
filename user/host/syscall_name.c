// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * syscall_name.c - the names of system calls. <asm/unistd.h> has macros, from which the
 * Makefile makes a table.
 */
#include "host/syscall_name.h"

#include <asm/unistd.h>
#include <stdio.h>

#include "base/util.h"
#include "bpf/abi.h"

static const char *const names[] = {
#include "syscall_names.inc"
};

const char *syscall_name(uint16_t nr, char buf[SYSCALL_NAME_MAX])
{
	if (nr == RAW_WAIT_FAULT)
		return "page fault";
	if (nr == RAW_SYSNO_NONE)
		return "the kernel";
	if (nr < ARRAY_SIZE(names) && names[nr])
		return names[nr];
	snprintf(buf, SYSCALL_NAME_MAX, "system call %u", nr);
	return buf;
}
