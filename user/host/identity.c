// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * identity.c - see identity.h.
 *
 * Two tables map to the container of a process: one from the text of /proc/PID/cgroup, one from the
 * ids of cgroups, which the BPF side sends. The meaning of an id is learned from the records of new
 * cgroups, and from processes that are alive.
 */
#include "host/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/u64map.h"
#include "base/util.h"
#include "host/cgroups.h"
#include "host/proc.h"

/* Limit; 1.2 KB each. */
#define CONTAINERS_MAX 20000
/*
 * Limits on paths of new cgroups in which no process was seen so far: their number, and their total
 * bytes. Beyond either, all are forgotten.
 */
#define PATHS_MAX 262144
#ifndef PATHS_BYTES_MAX
#define PATHS_BYTES_MAX (16u << 20)
#endif
/* A runtime may store a container's name after its first process has started. */
#define NAME_TRIES 3
/* Limit on users whose quotas are kept; further users have no quota. */
#define USERS_MAX 65536
#define LINK_BYTES 64		/* "mnt:[4026531841]" */

struct entry {
	struct container container;
	uint32_t tries;		/* number of attempts to find its name */
	bool named;
};

/*
 * How many containers one user other than root may make us keep and look up, so that there is room
 * for those of others. Below a user's own service, any cgroup can be made to look like a container;
 * elsewhere that takes a container that may create cgroups.
 */
struct quota {
	uint32_t containers, tries;
};
static const struct quota own_quota = { .containers = 2000, .tries = 1000 };
static const struct quota other_quota = { .containers = CONTAINERS_MAX / 2, .tries = 20000 };

struct identities {
	container_names_fn names;
	struct u64map quotas;		/* user -> struct quota: what is left of it */
	struct u64map by_text;		/* hash of a container's fields -> struct entry */
	struct u64map by_cgroup;	/* key_of() -> struct entry; &nothing: in no container */
	struct u64map paths;		/* cgroup_key() -> char * */
	size_t path_bytes;
	struct entry nothing;
	uint64_t beyond, unnamed;
	bool scanned;			/* the paths of all existing cgroups were added to paths */
	uint64_t hierarchies;
	char mounts[LINK_BYTES];	/* our mount namespace; "": unknown */
};

/* Find all hierarchies: not every container has a cgroup in each of v1's. */
static void find_hierarchies(struct identities *ids)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[4096];
	int number;

	ids->hierarchies = 1;
	while (f && fgets(line, sizeof(line), f)) {
		number = atoi(line);
		if (number > 0 && number < 64)
			ids->hierarchies |= 1ull << number;
	}
	if (f)
		fclose(f);
}

struct identities *identities_new(container_names_fn names)
{
	struct identities *ids = calloc(1, sizeof(*ids));

	if (!ids)
		return NULL;
	ids->names = names;
	find_hierarchies(ids);
	if (proc_direct.link(0, "ns/mnt", ids->mounts, sizeof(ids->mounts)) < 0)
		*ids->mounts = '\0';
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
	ids->path_bytes = 0;
}

void identities_free(struct identities *ids)
{
	struct entry *e;
	struct quota *q;
	size_t pos = 0;

	if (!ids)
		return;
	while ((q = u64map_next(&ids->quotas, &pos)))
		free(q);
	u64map_free(&ids->quotas);
	pos = 0;
	while ((e = u64map_next(&ids->by_text, &pos)))
		free(e);
	u64map_free(&ids->by_text);
	u64map_free(&ids->by_cgroup);
	free_paths(ids);
	free(ids);
}

uint64_t identities_hierarchies(const struct identities *ids)
{
	return ids->hierarchies;
}

uint64_t identities_beyond(const struct identities *ids)
{
	return ids->beyond;
}

uint64_t identities_unnamed(const struct identities *ids)
{
	return ids->unnamed;
}

/* ---- containers ---- */

/*
 * What is left of a user's quota; NULL: root has no limit. A container below a user's service
 * belongs to that user, whatever the uid of the process.
 */
static struct quota *quota_of(struct identities *ids, const struct container *c, uint32_t uid)
{
	static struct quota none;
	bool own = c->user != CONTAINER_NO_USER;
	uint64_t key = (uint64_t)(own ? c->user : uid) << 1 | own;
	struct quota *q;

	if (key >> 1 == 0)
		return NULL;
	q = u64map_get(&ids->quotas, key);
	if (q)
		return q;
	q = ids->quotas.cnt < USERS_MAX ? malloc(sizeof(*q)) : NULL;
	if (!q || u64map_put(&ids->quotas, key, q)) {
		free(q);
		return &none;
	}
	*q = own ? own_quota : other_quota;
	return q;
}

static bool same_container(const struct container *a, const struct container *b)
{
	return !strcmp(a->id, b->id) && !strcmp(a->unit, b->unit) &&
	       !strcmp(a->pod_uid, b->pod_uid) && a->user == b->user;
}

/* The single entry for the container of a process of uid; NULL: too many, or out of memory. */
static struct entry *intern_container(struct identities *ids, const struct container *c,
				      uint32_t uid)
{
	uint64_t key = hash_bytes(c->id, strlen(c->id)) ^
		       hash_u64(hash_bytes(c->unit, strlen(c->unit)) + c->user) ^
		       hash_u64(hash_bytes(c->pod_uid, strlen(c->pod_uid)) + 1);
	struct quota *q;
	struct entry *e;

	while ((e = u64map_get(&ids->by_text, key)) && !same_container(&e->container, c))
		key = hash_u64(key + 1);
	if (e)
		return e;
	q = quota_of(ids, c, uid);
	if (ids->by_text.cnt < CONTAINERS_MAX && (!q || q->containers))
		e = calloc(1, sizeof(*e));
	if (!e || u64map_put(&ids->by_text, key, e)) {
		free(e);
		ids->beyond++;
		return NULL;
	}
	e->container = *c;
	if (q)
		q->containers--;
	return e;
}

static void find_names(struct identities *ids, struct entry *e, pid_t tgid, uint32_t uid)
{
	struct quota *q;

	if (e->named || !container_is(&e->container) || e->tries >= NAME_TRIES)
		return;
	q = quota_of(ids, &e->container, uid);
	if (q && !q->tries) {
		e->tries = NAME_TRIES;
		ids->unnamed++;
		return;
	}
	if (q)
		q->tries--;
	e->tries++;
	e->named = !ids->names(&e->container, tgid);
}

/*
 * An exiting task is moved to the root cgroups before it is gone, so its paths are ignored then.
 * Its memory goes before that (do_exit(): exit_mm(), then cgroup_exit()). *err: -ESRCH: it is
 * exiting, or gone; then *st is not filled in.
 */
static struct entry *entry_of_task(struct identities *ids, pid_t task, struct proc_status *st,
				   int *err)
{
	struct container c;

	*err = container_of_pid_cgroups(task, &c);
	if (proc_status(task, st) || !st->has_memory)
		*err = -ESRCH;
	else if ((!*err || *err == -ENOENT) && st->ns_tgid_cnt != 1)	/* 1: it is in ours */
		*err = container_of_pid_namespace(task, &c);
	return *err ? NULL : intern_container(ids, &c, st->uid);
}

/* out->uid is set. */
static void set_container(struct identities *ids, struct identity *out, struct entry *e,
			  pid_t tgid)
{
	if (!e || (!container_is(&e->container) && !e->container.unit[0] &&
		   !e->container.pod_uid[0]))
		return;
	find_names(ids, e, tgid, out->uid);
	out->container = &e->container;
}

/* out->container is set: those of containers need no look. */
static void set_root(const struct identities *ids, struct identity *out, pid_t task)
{
	char root[LINK_BYTES], mounts[LINK_BYTES];
	ssize_t n;

	if (out->container && container_is(out->container)) {
		out->root = IDENTITY_ROOT_OTHER;
		return;
	}
	n = proc_link(task, "root", root, sizeof(root));
	if (n == -ENAMETOOLONG || (n > 0 && strcmp(root, "/")))
		out->root = IDENTITY_ROOT_OTHER;
	else if (n > 0 && *ids->mounts && proc_link(task, "ns/mnt", mounts, sizeof(mounts)) > 0)
		out->root = strcmp(mounts, ids->mounts) ? IDENTITY_ROOT_OTHER : IDENTITY_ROOT_OURS;
}

void identity_of_process(struct identities *ids, const struct proc_info *who,
			 struct identity *out)
{
	struct proc_status st;
	struct entry *e;
	int err;

	*out = (struct identity){ .uid = IDENTITY_NO_UID };
	e = entry_of_task(ids, who->task, &st, &err);
	if (err == -ESRCH)
		return;
	out->uid = st.uid;
	set_container(ids, out, e, who->task);
	if (st.ns_tgid_cnt > 1)
		out->ns_tgid = st.ns_tgids[st.ns_tgid_cnt - 1];
	set_root(ids, out, who->task);
}

/* ---- by cgroup id ---- */

/* A key for all its cgroups, independent of their order. */
static uint64_t key_of(const struct raw_origin *w)
{
	uint32_t i, cnt = w->cgroup_cnt < RAW_CGROUPS ? w->cgroup_cnt : RAW_CGROUPS;
	uint64_t key = 0;

	for (i = 0; i < cnt; i++)
		key += hash_u64(w->cgroups[i] + 1);
	return key;
}

static void add_path(struct identities *ids, uint32_t hierarchy, uint64_t id, const char *text)
{
	uint64_t key = cgroup_key(hierarchy, id);
	char *path, *old;

	if (hierarchy > 63 || !(ids->hierarchies >> hierarchy & 1))
		return;
	if (ids->paths.cnt >= PATHS_MAX || ids->path_bytes >= PATHS_BYTES_MAX)
		free_paths(ids);
	path = strndup(text, RAW_CGROUP_PATH);
	old = u64map_remove(&ids->paths, key);
	ids->path_bytes -= old ? strlen(old) : 0;
	free(old);
	if (path && u64map_put(&ids->paths, key, path)) {
		free(path);
		path = NULL;
	}
	ids->path_bytes += path ? strlen(path) : 0;
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

/*
 * Done once, when a process has ended before we look, and its cgroup is older than the recording.
 */
static void scan_cgroups(struct identities *ids)
{
	struct cgroups *all = ids->scanned ? NULL : cgroups_new();

	ids->scanned = true;
	if (all)
		cgroups_each(all, add_dir, ids);
	cgroups_free(all);
}

/* Use the most informative path. Returns false if none of its cgroups has a known path. */
static bool entry_of_paths(struct identities *ids, const struct raw_origin *w, struct entry **out)
{
	uint32_t i, cnt = w->cgroup_cnt < RAW_CGROUPS ? w->cgroup_cnt : RAW_CGROUPS;
	struct buf text = { 0 };
	struct container c;
	const char *path;

	for (i = 0; i < cnt; i++) {
		path = u64map_get(&ids->paths, w->cgroups[i]);
		if (path && (buf_add(&text, "0::", 3) || buf_add(&text, path, strlen(path)) ||
			     buf_add(&text, "\n", 1)))
			break;
	}
	*out = NULL;
	if (text.len && !container_of_cgroup_file((char *)text.data, text.len, &c))
		*out = intern_container(ids, &c, w->uid);
	buf_free(&text);
	return text.len;
}

static struct entry *entry_of_gone(struct identities *ids, const struct raw_origin *w)
{
	struct entry *e;

	if (!entry_of_paths(ids, w, &e) && !ids->scanned) {
		scan_cgroups(ids);
		entry_of_paths(ids, w, &e);
	}
	return e;
}

static void remember_cgroup(struct identities *ids, uint64_t key, struct entry *e)
{
	if (ids->by_cgroup.cnt >= PATHS_MAX) {
		u64map_free(&ids->by_cgroup);
		memset(&ids->by_cgroup, 0, sizeof(ids->by_cgroup));
	}
	u64map_put(&ids->by_cgroup, key, e ? e : &ids->nothing);
}

void identity_of_origin(struct identities *ids, pid_t tgid, const struct raw_origin *origin,
			struct identity *out)
{
	uint64_t key = key_of(origin);
	struct entry *e = u64map_get(&ids->by_cgroup, key);
	struct proc_status st;
	int err = 0;

	*out = (struct identity){ .uid = origin->uid, .ns_tgid = (pid_t)origin->ns_tgid };
	if (!e) {
		e = entry_of_task(ids, tgid, &st, &err);
		if (err == -ESRCH)
			e = entry_of_gone(ids, origin);
		/* Not cached for pidns: the cgroups do not determine the pid namespace. */
		else if (!e || strcmp(e->container.runtime, "pidns"))
			remember_cgroup(ids, key, e);
	}
	/*
	 * Its cgroups yield nothing, but it is in another pid namespace, which only /proc
	 * identifies.
	 */
	if (e == &ids->nothing && origin->ns_tgid)
		e = entry_of_task(ids, tgid, &st, &err);
	set_container(ids, out, e, tgid);
	set_root(ids, out, tgid);
}

/* ---- JSON, for session.json and `tachbpf ps` ---- */

static const char *or_null(const char *s)
{
	return *s ? s : NULL;
}

void container_json(struct json *j, const struct container *c)
{
	char label[CONTAINER_LABEL_BYTES];
	const struct {
		const char *key, *value;
	} fields[] = {
		{ "label", label }, { "runtime", c ? c->runtime : "" }, { "id", c ? c->id : "" },
		{ "name", c ? c->name : "" }, { "image", c ? c->image : "" },
		{ "pod", c ? c->pod : "" }, { "pod_namespace", c ? c->pod_namespace : "" },
		{ "pod_uid", c ? c->pod_uid : "" }, { "qos", c ? c->qos : "" },
	};
	size_t i;

	if (c && container_is(c)) {
		container_label(c, label);
		json_object(j, "container");
		for (i = 0; i < ARRAY_SIZE(fields); i++)
			json_string(j, fields[i].key, or_null(fields[i].value));
		json_object_end(j);
	} else {
		json_null(j, "container");
	}
	json_string(j, "unit", c ? or_null(c->unit) : NULL);
}

void identity_json(struct json *j, const struct identity *id, pid_t tgid)
{
	json_uint(j, "ns_pid", id->ns_tgid ? id->ns_tgid : tgid);
	if (id->uid == IDENTITY_NO_UID)
		json_null(j, "uid");
	else
		json_uint(j, "uid", id->uid);
}
