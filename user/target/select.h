/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * select.h - which processes are to be recorded: conditions on the command line, and
 * whether a process meets them.
 *
 * Conditions of one kind are alternatives, kinds must all be met, and what is excluded is
 * excluded. Knows facts about processes and no way to get them: /proc, the kernel's maps
 * and the cgroup file systems are others'.
 */
#ifndef TACHBPF_SELECT_H
#define TACHBPF_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/util.h"

enum select_kind {
	SELECT_CONTAINER, SELECT_POD, SELECT_CGROUP, SELECT_UNIT,	/* by cgroup */
	SELECT_PID, SELECT_UID, SELECT_COMM, SELECT_EXE,
	SELECT_KINDS
};
#define SELECT_CGROUP_KINDS (1u << SELECT_CONTAINER | 1u << SELECT_POD | 1u << SELECT_CGROUP | \
			     1u << SELECT_UNIT)

#define SELECT_ANY_HIERARCHY UINT32_MAX

struct select_rule {
	enum select_kind kind;
	bool exclude;
	char *text;		/* as the user gave it */
	char *pattern;		/* what is compared: a path without "/" at its end, a unit's full
				 * name, a glob; NULL: text */
	uint32_t number;	/* of SELECT_PID, SELECT_UID; SELECT_CGROUP: of the hierarchy, or
				 * SELECT_ANY_HIERARCHY */
	bool met;		/* by something; only included kinds of cgroups */
};

struct selection {
	struct select_rule *rules;
	size_t cnt;
	double min_age_s;	/* 0: any */
	enum select_children { CHILDREN_DEFAULT, CHILDREN_YES, CHILDREN_NO } children;
};
void selection_free(struct selection *s);

/* "container", ...: of the option, and of "--exclude-...". */
const char *select_kind_name(enum select_kind kind);

/* One more condition, of pids and uids a list of them. 0, or -errno: logs why. */
int select_add(struct selection *s, enum select_kind kind, bool exclude, const char *text);

/* Kinds with a condition, as 1 << kind; included, excluded. */
uint32_t select_kinds(const struct selection *s, bool exclude);

/* As words of a command line, for session.json. 0 or -ENOMEM. */
int select_text(const struct selection *s, struct buf *out);

/* ---- judging ---- */

/* Bits for what is met: 1 << kind; SELECT_EXCLUDED: a condition that excludes. */
#define SELECT_EXCLUDED (1u << 31)

struct container;
/*
 * One cgroup by its path in its hierarchy, without those above it: whoever is below it is in
 * it, too. c: what containers.h says of the path, names as far as they are known.
 */
uint32_t select_judge_cgroup(struct selection *s, uint32_t hierarchy, const char *path,
			     const struct container *c);
uint32_t select_judge_uid(struct selection *s, uint32_t uid);
uint32_t select_judge_comm(struct selection *s, const char *comm);
uint32_t select_judge_exe(struct selection *s, const char *path);
/* Only what is excluded: pids to record are named one by one. */
uint32_t select_judge_pid(struct selection *s, pid_t tgid);

/* All kinds in one: are these included and not excluded? mask: the kinds that bits are about. */
bool select_meets(const struct selection *s, uint32_t mask, uint32_t bits);

#endif
