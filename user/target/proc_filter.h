/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * proc_filter.h - conditions from the command line that select processes, and whether a process
 * meets them.
 *
 * Conditions of one kind are alternatives; every kind must be met; an exclusion always wins. Knows
 * facts about processes, but not how to get them: /proc, BPF maps and cgroup file systems belong to
 * others.
 */
#ifndef TACHBPF_PROC_FILTER_H
#define TACHBPF_PROC_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/settings.h"
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
	char *text;		/* as the user typed it */
	char *pattern;		/* what is compared: a path without "/" at its end, a full unit
				 * name, a glob; NULL: text itself */
	uint32_t number;	/* for FILTER_PID, FILTER_UID; FILTER_CGROUP:
				 * the hierarchy, or FILTER_ANY_HIERARCHY */
	const char *remedy;	/* the text was not valid: what is allowed */
	bool met;		/* something has met it; only for included cgroup conditions */
};

struct proc_filter {
	struct proc_filter_rule *rules;
	size_t cnt;
	double min_age_s;	/* in seconds; 0: any */
	enum proc_filter_children { CHILDREN_DEFAULT, CHILDREN_YES, CHILDREN_NO } children;
};
void proc_filter_free(struct proc_filter *s);

/* The option's name: "container", ...; for an exclusion, "exclude-" precedes it. */
const char *proc_filter_kind_name(enum proc_filter_kind kind);

/* Add one condition; for pids and uids, a list of them. 0, or -errno: logs the reason. */
int proc_filter_add(struct proc_filter *s, enum proc_filter_kind kind, bool exclude,
		    const char *text);
/* An option that adds one to a struct proc_filter; data of its row: which. */
struct proc_filter_place {
	enum proc_filter_kind kind;
	bool exclude;
};
extern const struct setting_type proc_filter_setting;
/*
 * What can be asked for on command lines and in the agent's configuration: ROW(NAME, KIND, VALUE,
 * HELP) of each condition; and of each exclusion, whose name begins with "exclude-".
 */
#define PROC_FILTER_CONDITIONS(ROW)                                                                \
	ROW("container", FILTER_CONTAINER, "ID|NAME",                                              \
	    "in this container: its name, or the beginning of its ID")                             \
	ROW("pod", FILTER_POD, "UID|NAME", "in this pod: UID, name or NAMESPACE/NAME")             \
	ROW("cgroup", FILTER_CGROUP, "PATH", "in this cgroup or below it")                         \
	ROW("unit", FILTER_UNIT, "UNIT", "in this systemd unit: nginx, user-*.slice")              \
	ROW("uid", FILTER_UID, "USER[,USER...]", "run by this user: name or number")               \
	ROW("comm", FILTER_COMM, "GLOB", "whose name matches, as shown by ps -o comm")             \
	ROW("exe", FILTER_EXE, "GLOB", "whose executable matches: the path if GLOB has a /")
#define PROC_FILTER_EXCLUSIONS(ROW)                                                                \
	ROW("container", FILTER_CONTAINER, "ID|NAME", "in this container")                         \
	ROW("pod", FILTER_POD, "UID|NAME", "in this pod")                                          \
	ROW("cgroup", FILTER_CGROUP, "PATH", "in this cgroup or below it")                         \
	ROW("unit", FILTER_UNIT, "UNIT", "in this systemd unit")                                   \
	ROW("uid", FILTER_UID, "USER[,USER...]", "run by this user")                               \
	ROW("comm", FILTER_COMM, "GLOB", "whose name matches")                                     \
	ROW("exe", FILTER_EXE, "GLOB", "whose executable matches")
/*
 * As proc_filter_add(), but does not log invalid conditions: with -EINVAL, *remedy is static text
 * that says what is allowed.
 */
int proc_filter_try(struct proc_filter *s, enum proc_filter_kind kind, bool exclude,
		    const char *text, const char **remedy);

/* The kinds that have a condition, as 1 << kind: included or excluded ones. */
uint32_t proc_filter_kinds(const struct proc_filter *s, bool exclude);

/* The conditions as words of a command line, for session.json. 0 or -ENOMEM. */
int proc_filter_text(const struct proc_filter *s, struct buf *out);

/* ---- verdicts ---- */

/* Bits of a verdict: 1 << kind for each kind that is met; FILTER_EXCLUDED: an exclusion applies. */
#define FILTER_EXCLUDED (1u << 31)

struct container;
/*
 * The verdict on one cgroup by its path in its hierarchy, without the cgroups above it, although
 * processes are in those, too. c: what containers.h finds in the path, with the names known so far.
 */
uint32_t proc_filter_judge_cgroup(struct proc_filter *s, uint32_t hierarchy, const char *path,
				  const struct container *c);
/* The verdict on one fact about a process. */
uint32_t proc_filter_judge_uid(struct proc_filter *s, uint32_t uid);
uint32_t proc_filter_judge_comm(struct proc_filter *s, const char *comm);
uint32_t proc_filter_judge_exe(struct proc_filter *s, const char *path);
/* Exclusions only: pids to record have options of their own. */
uint32_t proc_filter_judge_pid(struct proc_filter *s, pid_t tgid);

/* Returns true if a process with these verdict bits is recorded. mask: kinds that they cover. */
bool proc_filter_meets(const struct proc_filter *s, uint32_t mask, uint32_t bits);

#endif
