/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * choose.h - the conditions of select.h, applied to what runs on this host.
 *
 * Gets the facts about a process from /proc, and tells the kernel what to think of cgroups and
 * names (map marks), so that it can judge most processes by itself. Knows no sessions.
 */
#ifndef TACHBPF_CHOOSE_H
#define TACHBPF_CHOOSE_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "target/select.h"

struct bpf_map;
struct chooser;

/*
 * Looks at the cgroups there are; warns of conditions that nothing meets yet. sel outlives it.
 * NULL with errno.
 */
struct chooser *chooser_new(struct selection *sel);
void chooser_free(struct chooser *c);

/* What the kernel needs before it loads: settings, and how many marks there may be. */
void chooser_config(const struct chooser *c, struct select_config *cfg);
uint32_t chooser_marks_max(const struct chooser *c);
/* Then: the marks. */
void chooser_start(struct chooser *c, struct bpf_map *marks);

/* A cgroup was made; a process goes by this name now. */
void chooser_take_cgroup(struct chooser *c, const struct raw_cgroup *ev);
void chooser_take_comm(struct chooser *c, const uint8_t comm[COMM_BYTES]);

/*
 * Is the process to be recorded? 0: it is; else UNSELECTED_* bits, of those that decide. -ESRCH:
 * it is gone. What is learned of its cgroups is told to the kernel.
 */
int chooser_judge(struct chooser *c, pid_t tgid);

/* Nanoseconds until the process is old enough; 0: it is. start_ns: start_boottime, 0: look. */
uint64_t chooser_wait_ns(const struct chooser *c, pid_t tgid, uint64_t start_ns);

#endif
