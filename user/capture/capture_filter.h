/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_filter.h - processes that do not meet the user's conditions are excluded.
 */
#ifndef TACHBPF_CAPTURE_FILTER_H
#define TACHBPF_CAPTURE_FILTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct capture;
struct tracked;

/* Before the programs are loaded: the settings that the conditions need. 0 or -errno. */
int capture_filter_configure(struct capture *s);

/*
 * Returns true if the process meets the conditions. If it is too young, its look is put off;
 * otherwise it is excluded (PROC_EV_EXCLUDED), and t may be freed.
 */
bool capture_filter_admits(struct capture *s, struct tracked *t);

/* Returns true if a process that is not tracked meets the conditions now. Changes nothing. */
bool capture_filter_meets(struct capture *s, pid_t tgid);

/*
 * Returns true if a process that has executed a program meets the conditions. What the kernel
 * could not decide is decided here, and the kernel learns of it.
 */
bool capture_filter_admits_exec(struct capture *s, const struct raw_exec *ev);

#endif
