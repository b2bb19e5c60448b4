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
struct proc_filter;
struct tracked;

/* Set what the conditions need in the BPF programs, before they are loaded. 0 or -errno. */
int capture_filter_configure(struct capture *s);

/* After they were loaded, and before they are attached: enter the conditions. 0 or -errno. */
int capture_filter_start(struct capture *s);

/*
 * Replace the conditions (NULL: none) in user space and in the BPF programs. When it returns 0, no
 * program judges by the old ones any more, but verdicts by them are left in py_procs and in records
 * that were not taken yet: until s->filter_changed_ns is set to a time, each record is judged
 * again. -errno: nothing has changed; logs why.
 */
int capture_filter_change(struct capture *s, struct proc_filter *filter);

/*
 * Judge a tracked process again after a change. One that was profiled and is excluded now is
 * PAUSED; one that is PAUSED and selected now is inspected soon; one that is selected before and
 * after is left alone. t may be freed.
 */
void capture_filter_judge_again(struct capture *s, struct tracked *t);

/*
 * The same for a process that the BPF side has admitted; only if its record is from before the
 * change.
 */
void capture_filter_judge_admitted(struct capture *s, struct tracked *t, uint64_t time_ns);

/*
 * Returns true if the process meets the conditions. If not: a process that is too young is
 * inspected when it is old enough; any other is excluded (PROC_EV_EXCLUDED), and t may be freed.
 */
bool capture_filter_admits(struct capture *s, struct tracked *t);

/* Returns true if a process that is not tracked meets the conditions now. Changes nothing. */
bool capture_filter_meets(struct capture *s, pid_t tgid);

/*
 * Returns true if a process that has executed a program meets the conditions. If the BPF side
 * could not judge it (UNDECIDED), or judged it before the conditions changed, this function does,
 * and enters the verdict into py_procs.
 */
bool capture_filter_admits_exec(struct capture *s, const struct raw_exec *ev);

#endif
