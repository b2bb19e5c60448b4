/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc_filter_eval.h - the conditions of proc_filter.h, applied to what runs on this host.
 *
 * Gets the facts about a process from /proc, and tells the kernel what to think of cgroups and
 * names (map marks), so that it can judge most processes by itself. Knows no capture.
 */
#ifndef TACHBPF_PROC_FILTER_EVAL_H
#define TACHBPF_PROC_FILTER_EVAL_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "target/proc_filter.h"

struct bpf_map;
struct proc_filter_eval;

/*
 * Looks at the cgroups there are; warns of conditions that nothing meets yet. sel outlives it.
 * NULL with errno.
 */
struct proc_filter_eval *proc_filter_eval_new(struct proc_filter *sel);
void proc_filter_eval_free(struct proc_filter_eval *c);

/* What the kernel needs before it loads: settings, and how many marks there may be. */
void proc_filter_eval_config(const struct proc_filter_eval *c, struct select_config *cfg);
uint32_t proc_filter_eval_marks_max(const struct proc_filter_eval *c);
/* Then: the marks. */
void proc_filter_eval_start(struct proc_filter_eval *c, struct bpf_map *marks);

/* A cgroup was made; a process goes by this name now. */
void proc_filter_eval_take_cgroup(struct proc_filter_eval *c, const struct raw_cgroup *ev);
void proc_filter_eval_take_comm(struct proc_filter_eval *c, const uint8_t comm[COMM_BYTES]);

/*
 * Is the process to be recorded? 0: it is; else UNSELECTED_* bits, of those that decide. -ESRCH:
 * it is gone. What is learned of its cgroups is told to the kernel.
 */
int proc_filter_eval_judge(struct proc_filter_eval *c, pid_t tgid);

/* Nanoseconds until the process is old enough; 0: it is. start_ns: start_boottime, 0: look. */
uint64_t proc_filter_eval_wait_ns(const struct proc_filter_eval *c, pid_t tgid, uint64_t start_ns);

#endif
