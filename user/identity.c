// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * identity.c - see identity.h.
 *
 * Two tables lead to a container: by the text of /proc/PID/cgroup, and by the numbers of
 * cgroups, which the kernel sends. Numbers get their meaning from cgroups that are made
 * meanwhile and from processes that live.
 */
#include "identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroups.h"
#include "proc.h"
#include "u64map.h"
#include "util.h"

/* 1.2 KB each. */
#define CONTAINERS_MAX 20000
/* Paths of cgroups that were made and have no process so far; then all are forgotten. */
#define PATHS_MAX 65536
/* A runtime may write a name down after the container's first process has begun. */
#define NAME_TRIES 3

struct entry {
	struct container container;
	uint32_t tries;		/* to find its name */
	bool named;
};

struct identities {
	struct u64map by_text;		/* hash of a container's fields -> struct entry */
	struct u64map by_cgroup;	/* key_of() -> struct entry; &nothing: in none */
	struct u64map paths;		/* path_key() -> char *: of RAW_CGROUP */
	struct entry nothing;
	uint64_t beyond;
	bool scanned;			/* the cgroups there are were added to paths */
	enum cgroup_v1 v1;
	int v1_number;
};

/* In the order of preference; a container has a cgroup in each of them. */
static const struct {
	const char *name;
	enum cgroup_v1 v1;
} hierarchies[] = {
	{ "memory", CGROUP_V1_MEMORY }, { "pids", CGROUP_V1_PIDS },
	{ "devices", CGROUP_V1_DEVICES }, { "cpu", CGROUP_V1_CPU },
	{ "freezer", CGROUP_V1_FREEZER },
};

/* "4:cpu,cpuacct:/path" has the hierarchy of that name? Its number, else 0. */
static int number_in_line(const char *line, const char *name)
{
	size_t len = strlen(name), n;
	const char *p = strchr(line, ':');

	for (p = p ? p + 1 : ""; *p && *p != ':'; p += n + (p[n] == ',')) {
		n = strcspn(p, ",:");
		if (n == len && !strncmp(p, name, len))
			return atoi(line);
	}
	return 0;
}

static void find_hierarchy(struct identities *ids)
{
	char line[4096];
	size_t i;
	FILE *f;

	for (i = 0; !ids->v1_number && i < ARRAY_SIZE(hierarchies); i++) {
		f = fopen("/proc/self/cgroup", "re");
		while (f && !ids->v1_number && fgets(line, sizeof(line), f))
			ids->v1_number = number_in_line(line, hierarchies[i].name);
		if (f)
			fclose(f);
		if (ids->v1_number)
			ids->v1 = hierarchies[i].v1;
	}
}

struct identities *identities_new(void)
{
	struct identities *ids = calloc(1, sizeof(*ids));

	if (ids)
		find_hierarchy(ids);
	return ids;
}

static void free_paths(struct identities *ids)
{
	size_t pos = 0;
	char *path;

	while ((path = u64map_next(&ids->paths, &pos)))
		free(path);
	u64map_free(&ids->paths);
	memset(&ids->paths, 0, sizeof(ids->paths));
}

void identities_free(struct identities *ids)
{
	struct entry *e;
	size_t pos = 0;

	if (!ids)
		return;
	while ((e = u64map_next(&ids->by_text, &pos)))
		free(e);
	u64map_free(&ids->by_text);
	u64map_free(&ids->by_cgroup);
	free_paths(ids);
	free(ids);
}

enum cgroup_v1 identities_hierarchy(const struct identities *ids, int *number)
{
	*number = ids->v1_number;
	return ids->v1;
}

uint64_t identities_beyond(const struct identities *ids)
{
	return ids->beyond;
}

/* ---- containers ---- */

static bool same(const struct container *a, const struct container *b)
{
	return !strcmp(a->id, b->id) && !strcmp(a->unit, b->unit) &&
	       !strcmp(a->pod_uid, b->pod_uid) && a->user == b->user;
}

/* The one entry for what a path said; NULL: too many, or no memory. */
static struct entry *intern(struct identities *ids, const struct container *c)
{
	uint64_t key = hash_bytes(c->id, strlen(c->id)) ^
		       hash_u64(hash_bytes(c->unit, strlen(c->unit)) + c->user) ^
		       hash_u64(hash_bytes(c->pod_uid, strlen(c->pod_uid)) + 1);
	struct entry *e;

	while ((e = u64map_get(&ids->by_text, key)) && !same(&e->container, c))
		key = hash_u64(key + 1);
	if (e)
		return e;
	e = ids->by_text.cnt < CONTAINERS_MAX ? calloc(1, sizeof(*e)) : NULL;
	if (!e || u64map_put(&ids->by_text, key, e)) {
		free(e);
		ids->beyond++;
		return NULL;
	}
	e->container = *c;
	return e;
}

static void find_names(struct entry *e, pid_t tgid)
{
	if (e->named || !container_is(&e->container) || e->tries >= NAME_TRIES)
		return;
	e->tries++;
	e->named = !container_names(&e->container, container_host_root(), tgid);
}

static struct entry *entry_of_pid(struct identities *ids, pid_t tgid, int *err)
{
	struct container c;

	*err = container_of_pid(tgid, &c);
	return *err ? NULL : intern(ids, &c);
}

static void set_container(struct identity *out, struct entry *e, pid_t tgid)
{
	if (!e || (!container_is(&e->container) && !e->container.unit[0] &&
		   !e->container.pod_uid[0]))
		return;
	find_names(e, tgid);
	out->container = &e->container;
}

void identity_of_pid(struct identities *ids, pid_t tgid, struct identity *out)
{
	pid_t task = proc_living_task(tgid);
	struct proc_status st;
	int err;

	*out = (struct identity){ .uid = IDENTITY_NO_UID };
	if (!task)
		return;
	set_container(out, entry_of_pid(ids, task, &err), task);
	if (proc_status(task, &st))
		return;
	out->uid = st.uid;
	if (st.ns_tgid_cnt > 1)
		out->ns_tgid = st.ns_tgids[st.ns_tgid_cnt - 1];
}

/* ---- by number ---- */

static uint64_t key_of(const struct raw_whence *w)
{
	return hash_u64(w->cgroup) ^ hash_u64(w->cgroup_v1 + (1ull << 63));
}

static uint64_t path_key(uint64_t id, bool unified)
{
	return hash_u64(id * 2 + unified);
}

static void add_path(struct identities *ids, uint32_t hierarchy, uint64_t id, const char *text)
{
	uint64_t key = path_key(id, !hierarchy);
	char *path, *old;

	if (hierarchy && hierarchy != (uint32_t)ids->v1_number)
		return;
	if (ids->paths.cnt >= PATHS_MAX)
		free_paths(ids);
	path = strndup(text, RAW_CGROUP_PATH);
	old = u64map_remove(&ids->paths, key);
	free(old);
	if (path && u64map_put(&ids->paths, key, path))
		free(path);
}

void identities_cgroup(struct identities *ids, const struct raw_cgroup *raw)
{
	add_path(ids, raw->hierarchy, raw->id, (const char *)raw->path);
}

static int add_dir(void *ctx, const struct cgroup_dir *dir)
{
	add_path(ctx, dir->hierarchy, dir->id, dir->path);
	return 0;
}

/* Once, when a process in a cgroup that was there before we came is gone before we look. */
static void scan(struct identities *ids)
{
	struct cgroups *all = ids->scanned ? NULL : cgroups_new();

	ids->scanned = true;
	if (all)
		cgroups_each(all, add_dir, ids);
	cgroups_free(all);
}

/* From the paths of cgroups: whichever says more. */
static struct entry *entry_of_paths(struct identities *ids, const struct raw_whence *w)
{
	const char *unified = u64map_get(&ids->paths, path_key(w->cgroup, true));
	const char *v1 = w->cgroup_v1 ? u64map_get(&ids->paths, path_key(w->cgroup_v1, false)) :
					NULL;
	char text[2 * RAW_CGROUP_PATH + 16];
	struct container c;
	int len;

	if (!unified && !v1 && !ids->scanned) {
		scan(ids);
		return entry_of_paths(ids, w);
	}
	len = snprintf(text, sizeof(text), "1:v1:%s\n0::%s\n", v1 ? v1 : "/",
		       unified ? unified : "/");
	if (container_of_cgroup_file(text, (size_t)len, &c))
		return NULL;
	return intern(ids, &c);
}

void identity_of_whence(struct identities *ids, pid_t tgid, const struct raw_whence *whence,
			struct identity *out)
{
	uint64_t key = key_of(whence);
	struct entry *e = u64map_get(&ids->by_cgroup, key);
	int err = 0;

	*out = (struct identity){ .uid = whence->uid, .ns_tgid = (pid_t)whence->ns_tgid };
	if (!e) {
		e = entry_of_pid(ids, tgid, &err);
		/* Gone, or in a namespace of its own only, which is not the cgroup's. */
		if (err == -ESRCH || (e && !strcmp(e->container.runtime, "pidns"))) {
			e = err ? entry_of_paths(ids, whence) : e;
		} else if (e || err == -ENOENT) {
			if (ids->by_cgroup.cnt >= PATHS_MAX) {
				u64map_free(&ids->by_cgroup);
				memset(&ids->by_cgroup, 0, sizeof(ids->by_cgroup));
			}
			u64map_put(&ids->by_cgroup, key, e ? e : &ids->nothing);
		}
	}
	/* In a cgroup that says nothing, but in a pid namespace: which, only /proc knows. */
	if (e == &ids->nothing && whence->ns_tgid)
		e = entry_of_pid(ids, tgid, &err);
	set_container(out, e, tgid);
}
