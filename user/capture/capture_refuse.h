/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* capture_refuse.h - why a process that the user named is not recorded. */
#ifndef TACHBPF_CAPTURE_REFUSE_H
#define TACHBPF_CAPTURE_REFUSE_H

#include <sys/types.h>

struct capture;

/*
 * Log why a process that the user named is not recorded: err and why are of discovery_inspect(). Of
 * one that is not Python, the first Python is named that it has started. Returns the error.
 */
int capture_refuse(struct capture *s, pid_t tgid, int err, const char *why);

#endif
