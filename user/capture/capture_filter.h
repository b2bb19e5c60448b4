/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * capture_filter.h - excludes processes that do not meet the user's conditions.
 */
#ifndef TACHBPF_CAPTURE_FILTER_H
#define TACHBPF_CAPTURE_FILTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct capture;
struct tracked;

/*
 * Judges a process that the BPF side has admitted again if its record is older than the conditions:
 * it is PAUSED if it is excluded now. t may be freed.
 */
void capture_filter_judge_admitted(struct capture *s, struct tracked *t, uint64_t time_ns);

/*
 * Returns true if the process meets the conditions. If not: a process that is too young is
 * inspected when it is old enough; any other is excluded (PROC_EV_EXCLUDED), and t may be freed.
 */
bool capture_filter_admits(struct capture *s, struct tracked *t);

/* Returns true if an untracked process meets the conditions now. Changes nothing. */
bool capture_filter_meets(struct capture *s, pid_t tgid);

/*
 * Returns true if a process that has executed a program meets the conditions. If the BPF side
 * could not judge it (UNDECIDED), or judged it before the conditions changed, this function does,
 * and enters the verdict into py_procs.
 */
bool capture_filter_admits_exec(struct capture *s, const struct raw_exec *ev);

#endif
