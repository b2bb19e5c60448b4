/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc_filter_eval.h - the conditions of proc_filter.h, applied to the processes of this host.
 *
 * Gets the facts about a process from /proc, and enters verdicts on cgroups and comms into the map
 * marks, so that the BPF side can judge most processes itself. Does not know capture.
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
 * Read the existing cgroups, and warn of conditions that none of them meets. sel must outlive it.
 * NULL with errno. Freed by proc_filter_eval_free().
 */
struct proc_filter_eval *proc_filter_eval_new(struct proc_filter *sel);
void proc_filter_eval_free(struct proc_filter_eval *c);

/* The settings that the BPF side needs before it is loaded, in *cfg. */
void proc_filter_eval_config(const struct proc_filter_eval *c, struct filter_config *cfg);
/* Limit on entries in the map marks. */
uint32_t proc_filter_eval_marks_max(const struct proc_filter_eval *c);
/*
 * After loading: replace the content of the map marks by the verdicts. May change the settings: if
 * not all verdicts on cgroups fit, the BPF side must ask; logs how many do not. 0; -errno: the
 * verdict on a uid does not fit, which cannot happen if the map has room for all conditions.
 */
int proc_filter_eval_start(struct proc_filter_eval *c, struct bpf_map *marks);

/* Judge a new cgroup, or a process' new comm; enter the verdict into the map. */
void proc_filter_eval_take_cgroup(struct proc_filter_eval *c, const struct raw_cgroup *ev);
void proc_filter_eval_take_comm(struct proc_filter_eval *c, const uint8_t comm[COMM_BYTES]);

/*
 * Judge a process. 0: it is recorded; > 0: it is not, for the reasons in these UNSELECTED_* bits;
 * -ESRCH: no such process. Verdicts on its cgroups are entered into the map.
 */
int proc_filter_eval_judge(struct proc_filter_eval *c, pid_t tgid);

/*
 * Nanoseconds until the process is old enough; 0: it is. start_ns: start_boottime; 0: read it from
 * /proc.
 */
uint64_t proc_filter_eval_wait_ns(const struct proc_filter_eval *c, pid_t tgid, uint64_t start_ns);

#endif
