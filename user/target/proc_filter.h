/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc_filter.h - which processes are to be recorded: conditions on the command line, and
 * whether a process meets them.
 *
 * Conditions of one kind are alternatives, kinds must all be met, and what is excluded is
 * excluded. Knows facts about processes and no way to get them: /proc, the kernel's maps
 * and the cgroup file systems are others'.
 */
#ifndef TACHBPF_PROC_FILTER_H
#define TACHBPF_PROC_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/util.h"

enum proc_filter_kind {
	FILTER_CONTAINER, FILTER_POD, FILTER_CGROUP, FILTER_UNIT,	/* by cgroup */
	FILTER_PID, FILTER_UID, FILTER_COMM, FILTER_EXE,
	FILTER_KINDS
};
#define FILTER_CGROUP_KINDS (1u << FILTER_CONTAINER | 1u << FILTER_POD | 1u << FILTER_CGROUP | \
			     1u << FILTER_UNIT)

#define FILTER_ANY_HIERARCHY UINT32_MAX

struct proc_filter_rule {
	enum proc_filter_kind kind;
	bool exclude;
	char *text;		/* as the user gave it */
	char *pattern;		/* what is compared: a path without "/" at its end, a unit's full
				 * name, a glob; NULL: text */
	uint32_t number;	/* of FILTER_PID, FILTER_UID; FILTER_CGROUP: of the hierarchy, or
				 * FILTER_ANY_HIERARCHY */
	bool met;		/* by something; only included kinds of cgroups */
};

struct proc_filter {
	struct proc_filter_rule *rules;
	size_t cnt;
	double min_age_s;	/* 0: any */
	enum proc_filter_children { CHILDREN_DEFAULT, CHILDREN_YES, CHILDREN_NO } children;
};
void proc_filter_free(struct proc_filter *s);

/* "container", ...: of the option, and of "--exclude-...". */
const char *proc_filter_kind_name(enum proc_filter_kind kind);

/* One more condition, of pids and uids a list of them. 0, or -errno: logs why. */
int proc_filter_add(struct proc_filter *s, enum proc_filter_kind kind, bool exclude,
		    const char *text);

/* Kinds with a condition, as 1 << kind; included, excluded. */
uint32_t proc_filter_kinds(const struct proc_filter *s, bool exclude);

/* As words of a command line, for session.json. 0 or -ENOMEM. */
int proc_filter_text(const struct proc_filter *s, struct buf *out);

/* ---- judging ---- */

/* Bits for what is met: 1 << kind; FILTER_EXCLUDED: a condition that excludes. */
#define FILTER_EXCLUDED (1u << 31)

struct container;
/*
 * One cgroup by its path in its hierarchy, without those above it: whoever is below it is in
 * it, too. c: what containers.h says of the path, names as far as they are known.
 */
uint32_t proc_filter_judge_cgroup(struct proc_filter *s, uint32_t hierarchy, const char *path,
				  const struct container *c);
uint32_t proc_filter_judge_uid(struct proc_filter *s, uint32_t uid);
uint32_t proc_filter_judge_comm(struct proc_filter *s, const char *comm);
uint32_t proc_filter_judge_exe(struct proc_filter *s, const char *path);
/* Only what is excluded: pids to record are named one by one. */
uint32_t proc_filter_judge_pid(struct proc_filter *s, pid_t tgid);

/* All kinds in one: are these included and not excluded? mask: the kinds that bits are about. */
bool proc_filter_meets(const struct proc_filter *s, uint32_t mask, uint32_t bits);

#endif
