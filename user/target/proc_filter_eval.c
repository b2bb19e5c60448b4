// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* proc_filter_eval.c - which processes of this host meet the conditions. See proc_filter_eval.h. */
#include "target/proc_filter_eval.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "base/u64map.h"
#include "base/util.h"
#include "host/cgroups.h"
#include "host/containers.h"
#include "host/proc.h"
#include "target/inspector.h"

/* Space in the map marks for cgroups that are created later; the BPF side deletes removed ones. */
#define MARKS_MORE 16384
#define MARKS_MAX (1u << 20)
/* Limit on comms in the map marks: processes choose them. */
#ifndef COMMS_MAX
#define COMMS_MAX 4096
#define CONTAINERS_MAX 8192
#endif
#define HINTS_MAX 8
#define HINT_BYTES 80

struct mark {
	uint64_t key;
	uint32_t value;
};

/* Existing containers, pods, units or cgroups to suggest in a message. */
struct hints {
	char names[HINTS_MAX][HINT_BYTES];
	size_t cnt, more;
};

struct proc_filter_eval {
	struct proc_filter *sel;
	struct cgroups *cgroups;
	uint32_t included, excluded;	/* kinds, 1 << kind */
	bool by_name;			/* containers cannot be identified by their ids alone */
	bool ask;			/* cgroups that were not judged yet may matter */
	struct mark *found;		/* verdicts on the cgroups that existed at the start */
	size_t found_cnt;
	struct bpf_map *marks;		/* NULL: the programs are not loaded so far */
	uint32_t comms;			/* number of comms in marks */
	struct u64map containers;	/* hash of a cgroup's path -> struct container with names */
	struct hints hints[FILTER_KINDS];
};

/* ---- cgroups ---- */

static bool filter_uses(const struct proc_filter_eval *c, uint32_t kinds)
{
	return (c->included | c->excluded) & kinds;
}

static void forget_containers(struct proc_filter_eval *c)
{
	struct container *one;
	size_t pos = 0;

	while ((one = u64map_next(&c->containers, &pos)))
		free(one);
	u64map_free(&c->containers);
}

/*
 * Find the container of a cgroup by its path. A container's name may be unknown when its cgroup is
 * created (tgid 0), but known when a process runs in it (tgid). Returns false if a name is needed
 * and unknown.
 */
static bool find_container(struct proc_filter_eval *c, const char *path, pid_t tgid,
			   struct container *out)
{
	uint64_t key = hash_bytes(path, strlen(path));
	struct container *known = u64map_get(&c->containers, key);
	bool sure;

	if (known) {
		*out = *known;
		return true;
	}
	if (container_of_cgroup(path, out) || (!container_is(out) && !out->pod_uid[0]) ||
	    !c->by_name)
		return true;
	sure = !inspector_names(out, tgid) || tgid;
	if (!sure)
		return false;
	if (c->containers.cnt >= CONTAINERS_MAX)
		forget_containers(c);
	known = malloc(sizeof(*known));
	if (known)
		*known = *out;
	if (known && u64map_put(&c->containers, key, known))
		free(known);
	return true;
}

static bool judge_path(struct proc_filter_eval *c, uint32_t hierarchy, const char *path, pid_t tgid,
		       uint32_t *bits)
{
	struct container container = { .id = "" };
	bool sure = true;

	if (filter_uses(c, 1u << FILTER_CONTAINER | 1u << FILTER_POD))
		sure = find_container(c, path, tgid, &container);
	*bits |= proc_filter_judge_cgroup(c->sel, hierarchy, path, &container);
	return sure;
}

static uint32_t mark_value(uint32_t bits)
{
	static const uint32_t marks[] = {
		[FILTER_CONTAINER] = MARK_CONTAINER,
		[FILTER_POD] = MARK_POD,
		[FILTER_CGROUP] = MARK_PATH,
		[FILTER_UNIT] = MARK_UNIT,
	};
	uint32_t value = bits & FILTER_EXCLUDED ? MARK_EXCLUDED : 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(marks); i++)
		value |= bits & 1u << i ? marks[i] : 0;
	return value;
}

/* 0 or -errno. If the mark of a cgroup or comm does not fit, the BPF side asks user space. */
static int put_mark(struct proc_filter_eval *c, uint64_t key, uint32_t value)
{
	return c->marks ? bpf_map__update_elem(c->marks, &key, sizeof(key), &value, sizeof(value),
					       BPF_ANY) : 0;
}

void proc_filter_eval_take_cgroup(struct proc_filter_eval *c, const struct raw_cgroup *ev)
{
	uint32_t bits = 0;

	if (memchr(ev->path, '\0', sizeof(ev->path)) &&
	    judge_path(c, ev->hierarchy, (const char *)ev->path, 0, &bits))
		put_mark(c, cgroup_key(ev->hierarchy, ev->id), mark_value(bits));
}

/* ---- cgroups that exist at the start ---- */

static void add_hint(struct hints *h, const char *name)
{
	char shown[HINT_BYTES];
	size_t i;

	escape_text(name, strlen(name), shown, sizeof(shown));
	if (!*shown)
		return;
	for (i = 0; i < h->cnt; i++)
		if (!strcmp(h->names[i], shown))
			return;
	if (h->cnt == HINTS_MAX)
		h->more++;
	else
		memcpy(h->names[h->cnt++], shown, sizeof(shown));
}

static bool is_unit(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (!strcmp(dot, ".service") || !strcmp(dot, ".scope"));
}

static void add_hints(struct proc_filter_eval *c, const struct cgroup_dir *dir)
{
	const char *name = strrchr(dir->path, '/') + 1;
	char label[CONTAINER_LABEL_BYTES];
	struct container container;

	if (name == dir->path + 1)
		add_hint(&c->hints[FILTER_CGROUP], dir->path);
	if (is_unit(name))
		add_hint(&c->hints[FILTER_UNIT], name);
	if (!filter_uses(c, 1u << FILTER_CONTAINER | 1u << FILTER_POD))
		return;
	memset(&container, 0, sizeof(container));
	find_container(c, dir->path, 0, &container);
	add_hint(&c->hints[FILTER_CONTAINER], container_label(&container, label));
	add_hint(&c->hints[FILTER_POD], container.pod[0] ? container.pod : container.pod_uid);
}

static int add_cgroup(void *ctx, const struct cgroup_dir *dir)
{
	struct proc_filter_eval *c = ctx;
	struct mark *more;
	uint32_t bits = 0;
	bool sure;

	if (!(c->found_cnt & (c->found_cnt + 1))) {	/* room for 1, 2, 4, ... */
		more = reallocarray(c->found, 2 * (c->found_cnt + 1), sizeof(*more));
		if (!more)
			return -ENOMEM;
		c->found = more;
	}
	sure = judge_path(c, dir->hierarchy, dir->path, 0, &bits);
	add_hints(c, dir);
	if (sure)
		c->found[c->found_cnt++] = (struct mark){
			cgroup_key(dir->hierarchy, dir->id), mark_value(bits)
		};
	return 0;
}

static void warn_of_unmet(struct proc_filter_eval *c, const struct proc_filter_rule *rule)
{
	const struct hints *h = &c->hints[rule->kind];
	char shown[HINT_BYTES], list[HINTS_MAX * (HINT_BYTES + 2)] = "";
	const char *kind = proc_filter_kind_name(rule->kind);
	size_t i, len = 0;

	for (i = 0; i < h->cnt; i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "",
					h->names[i]);
	log_warn("there is no %s '%s' now%s%s%s%s; one that starts later is %s", kind,
		 escape_text(rule->text, strlen(rule->text), shown, sizeof(shown)),
		 h->cnt ? " (found: " : " (none found)", list,
		 h->more ? ", ..." : "", h->cnt ? ")" : "",
		 rule->exclude ? "left out" : "recorded");
}

/* Remove the mount point from conditions on paths. */
static int resolve_paths(struct proc_filter_eval *c)
{
	struct proc_filter *sel = c->sel;
	const char *path;
	char *copy;
	size_t i;

	for (i = 0; i < sel->cnt; i++) {
		struct proc_filter_rule *rule = &sel->rules[i];

		if (rule->kind != FILTER_CGROUP ||
		    cgroups_resolve(c->cgroups, rule->pattern, &rule->number, &path))
			continue;
		copy = strdup(path);
		if (!copy)
			return -ENOMEM;
		free(rule->pattern);
		rule->pattern = copy;
	}
	return 0;
}

/* Judge the existing cgroups, and warn of conditions that none of them meets. 0 or -errno. */
static int judge_existing_cgroups(struct proc_filter_eval *c)
{
	int err = resolve_paths(c);
	size_t i;

	if (err || !filter_uses(c, FILTER_CGROUP_KINDS))
		return err;
	err = cgroups_each(c->cgroups, add_cgroup, c);
	c->ask = filter_uses(c, FILTER_CGROUP_KINDS & ~(1u << FILTER_CGROUP));
	for (i = 0; !err && i < c->sel->cnt; i++) {
		const struct proc_filter_rule *rule = &c->sel->rules[i];

		if (!(1u << rule->kind & FILTER_CGROUP_KINDS) || rule->met)
			continue;
		warn_of_unmet(c, rule);
		c->ask = true;
	}
	return err;
}

/* Returns true if ids are enough to meet the condition, without names. */
static bool is_by_id(const struct proc_filter_rule *rule)
{
	size_t len = strspn(rule->text, "0123456789abcdef-");

	return !rule->text[len] && (rule->kind == FILTER_POD ? len >= 32 : len >= 12);
}

struct proc_filter_eval *proc_filter_eval_new(struct proc_filter *sel)
{
	struct proc_filter_eval *c = calloc(1, sizeof(*c));
	size_t i;
	int err;

	if (!c)
		return NULL;
	c->sel = sel;
	c->included = proc_filter_kinds(sel, false);
	c->excluded = proc_filter_kinds(sel, true);
	for (i = 0; i < sel->cnt; i++)
		c->by_name |= (sel->rules[i].kind == FILTER_CONTAINER ||
			       sel->rules[i].kind == FILTER_POD) && !is_by_id(&sel->rules[i]);
	c->cgroups = cgroups_new();
	err = c->cgroups ? judge_existing_cgroups(c) : -ENOMEM;
	if (!err)
		return c;
	proc_filter_eval_free(c);
	errno = -err;
	return NULL;
}

void proc_filter_eval_free(struct proc_filter_eval *c)
{
	if (!c)
		return;
	forget_containers(c);
	cgroups_free(c->cgroups);
	free(c->found);
	free(c);
}

/* ---- the BPF side ---- */

void proc_filter_eval_config(const struct proc_filter_eval *c, struct filter_config *cfg)
{
	*cfg = (struct filter_config){
		.min_age_ns = (uint64_t)(c->sel->min_age_s * NS_PER_S),
		.cgroup_kinds = mark_value(c->included),
		.any = true,
		.cgroups = filter_uses(c, FILTER_CGROUP_KINDS),
		.cgroup_excludes = !!(c->excluded & FILTER_CGROUP_KINDS),
		.cgroup_ask = c->ask,
		.uids = filter_uses(c, 1u << FILTER_UID),
		.uid_needed = !!(c->included & 1u << FILTER_UID),
		.comms = filter_uses(c, 1u << FILTER_COMM),
		.exes = filter_uses(c, 1u << FILTER_EXE),
		.children = c->sel->children == CHILDREN_YES,
	};
}

uint32_t proc_filter_eval_marks_max(const struct proc_filter_eval *c)
{
	uint64_t want = 2 * (uint64_t)c->found_cnt + c->sel->cnt + COMMS_MAX;

	if (c->ask)
		want += MARKS_MORE;
	return want < MARKS_MAX ? (uint32_t)want : MARKS_MAX;
}

static void remove_marks(struct bpf_map *marks)
{
	uint32_t left = bpf_map__max_entries(marks);
	uint64_t key;

	while (left-- && !bpf_map__get_next_key(marks, NULL, &key, sizeof(key)))
		bpf_map__delete_elem(marks, &key, sizeof(key), 0);
}

static int put_uids(struct proc_filter_eval *c)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < c->sel->cnt; i++) {
		uint32_t uid = c->sel->rules[i].number;

		if (c->sel->rules[i].kind == FILTER_UID)
			err = put_mark(c, uid_key(uid),
				       proc_filter_judge_uid(c->sel, uid) & FILTER_EXCLUDED ?
					       MARK_EXCLUDED :
					       MARK_INCLUDED);
	}
	return err;
}

int proc_filter_eval_start(struct proc_filter_eval *c, struct bpf_map *marks)
{
	size_t i, without = 0;
	int err;

	remove_marks(marks);
	c->marks = marks;
	err = put_uids(c);	/* first: the BPF side does not ask about uids */
	for (i = 0; !err && i < c->found_cnt; i++)
		without += put_mark(c, c->found[i].key, c->found[i].value) != 0;
	if (!without)
		return err;
	c->ask = true;
	log_warn("%zu of %zu cgroups do not fit into the BPF programs' filter table: processes in "
		 "them are checked one by one", without, c->found_cnt);
	return 0;
}

static uint32_t judge_comm(struct proc_filter_eval *c, const char *comm)
{
	return proc_filter_meets(c->sel, 1u << FILTER_COMM, proc_filter_judge_comm(c->sel, comm)) ?
		       0 : UNSELECTED_NAME;
}

void proc_filter_eval_take_comm(struct proc_filter_eval *c, const uint8_t comm[COMM_BYTES])
{
	char text[COMM_BYTES + 1];

	if (!filter_uses(c, 1u << FILTER_COMM) || c->comms == COMMS_MAX)
		return;
	c->comms++;
	snprintf(text, sizeof(text), "%.*s", COMM_BYTES, (const char *)comm);
	put_mark(c, comm_key(comm), judge_comm(c, text) ? 0 : MARK_INCLUDED);
}

/* ---- processes ---- */

struct judgement {
	struct proc_filter_eval *c;
	pid_t tgid;
	uint32_t bits;
};

static int judge_own_cgroup(void *ctx, uint32_t hierarchy, const char *path, bool own)
{
	struct judgement *j = ctx;
	uint32_t bits = 0;
	uint64_t id;

	judge_path(j->c, hierarchy, path, j->tgid, &bits);
	j->bits |= bits;
	id = own && j->c->ask ? cgroups_id(j->c->cgroups, hierarchy, path) : 0;
	if (id)
		put_mark(j->c, cgroup_key(hierarchy, id), mark_value(bits));
	return 0;
}

static int judge_cgroups(struct proc_filter_eval *c, pid_t tgid)
{
	struct judgement j = { .c = c, .tgid = tgid };
	int err = cgroups_of_process(tgid, judge_own_cgroup, &j);

	if (err)
		return err;
	return proc_filter_meets(c->sel, FILTER_CGROUP_KINDS, j.bits) ? 0 : UNSELECTED_CGROUP;
}

static int judge_uid(struct proc_filter_eval *c, pid_t tgid)
{
	uint32_t uid;
	int err = proc_euid(tgid, &uid);

	if (err)
		return err;
	return proc_filter_meets(c->sel, 1u << FILTER_UID, proc_filter_judge_uid(c->sel, uid)) ?
		       0 : UNSELECTED_UID;
}

static int judge_names(struct proc_filter_eval *c, pid_t tgid)
{
	char path[PATH_MAX];
	struct proc_stat st;
	int err;

	if (filter_uses(c, 1u << FILTER_COMM)) {
		err = proc_stat(tgid, &st);
		if (err)
			return err;
		if (judge_comm(c, st.comm))
			return UNSELECTED_NAME;
	}
	if (!filter_uses(c, 1u << FILTER_EXE))
		return 0;
	/* A kernel thread has no executable; neither has a process whose first thread has ended. */
	if (proc_exe(proc_living_task(tgid), path, sizeof(path)))
		return kill(tgid, 0) && errno == ESRCH ? -ESRCH : UNSELECTED_NAME;
	if (strlen(path) > 10 && !strcmp(path + strlen(path) - 10, " (deleted)"))
		path[strlen(path) - 10] = '\0';
	return proc_filter_meets(c->sel, 1u << FILTER_EXE, proc_filter_judge_exe(c->sel, path)) ?
		       0 : UNSELECTED_NAME;
}

static int judge_pid(struct proc_filter_eval *c, pid_t tgid)
{
	struct proc_stat st;
	int i;

	for (i = 0; tgid > 0 && i < PROC_ANCESTORS_MAX; i++) {
		if (proc_filter_judge_pid(c->sel, tgid))
			return UNSELECTED_PID;
		if (c->sel->children != CHILDREN_YES || proc_stat(tgid, &st))
			return 0;
		tgid = st.ppid;
	}
	return 0;
}

int proc_filter_eval_judge(struct proc_filter_eval *c, pid_t tgid)
{
	static const struct {
		uint32_t kinds;
		int (*judge)(struct proc_filter_eval *c, pid_t tgid);
	} judges[] = {
		{ 1u << FILTER_PID, judge_pid },
		{ 1u << FILTER_UID, judge_uid },
		{ 1u << FILTER_COMM | 1u << FILTER_EXE, judge_names },
		{ FILTER_CGROUP_KINDS, judge_cgroups },
	};
	int found = 0, one;
	size_t i;

	/* All kinds are judged: if one changes later, the verdicts on the others must be known. */
	for (i = 0; i < ARRAY_SIZE(judges); i++) {
		one = filter_uses(c, judges[i].kinds) ? judges[i].judge(c, tgid) : 0;
		if (one < 0)
			return one;
		found |= one;
	}
	return found;
}

uint64_t proc_filter_eval_wait_ns(const struct proc_filter_eval *c, pid_t tgid, uint64_t start_ns)
{
	uint64_t age, need = (uint64_t)(c->sel->min_age_s * NS_PER_S);
	struct proc_stat st;

	if (!need)
		return 0;
	if (!start_ns && !proc_stat(tgid, &st))
		start_ns = st.start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	age = clock_ns(CLOCK_BOOTTIME) - start_ns;
	return age < need ? need - age : 0;
}
