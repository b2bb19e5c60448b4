// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * container_names.c - finds names and images of containers in the state that runtimes keep
 * on disk. See containers.h; containers.c finds out which container it is.
 *
 * No daemon is asked. Files are opened below the host's root, wherever their symlinks
 * point, and only if they are regular; sizes are bounded, and strings are escaped.
 */
#include "host/containers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/json_members.h"
#include "base/util.h"
#include "host/proc.h"

/*
 * Of a file that is about one container, and of one container's part of podman's list. Users can
 * write to some of them.
 */
#define FILE_MAX_BYTES (1u << 20)
/* A longer string is none: no name or image has as much. */
#define STRING_MAX_BYTES 4096
/* How far podman's list is searched: it has about 1.2 KB for each container that exists. */
#define LIST_MAX_BYTES (32u << 20)
#define LIST_WINDOW_BYTES (64u << 10)
#define ENTRIES_MAX 100000
#define PARENTS_MAX 64
#define CONMON_ARGS_BYTES 16384

struct lookup {
	struct container *c;
	int root;		/* O_PATH */
	pid_t tgid;		/* a process in the container; 0: none is known */
};

/* ---- files ---- */

static int open_below(const struct lookup *l, const char *path, int flags)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd = syscall(SYS_openat2, l->root, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* All of a regular file. 0 or -errno. */
static int read_file(const struct lookup *l, const char *path, struct buf *b)
{
	int fd = open_below(l, path, 0), err;

	if (fd < 0)
		return fd;
	err = buf_add_file(b, fd, FILE_MAX_BYTES);
	close(fd);
	return err;
}

/* Members of the object that a file begins with. They stay as long as b, which has the file. */
static bool read_object(const struct lookup *l, const char *path, struct buf *b,
			struct json_member *members, size_t cnt)
{
	struct json_pull j;

	if (read_file(l, path, b))
		return false;
	json_pull_start(&j, b->data, b->len, 0);
	j.string_max = STRING_MAX_BYTES;
	return json_members(&j, members, cnt);
}

/* A member's string into out; false: there is none, or it is empty. */
static bool set_string(char *out, size_t size, const struct json_member *m)
{
	struct buf s = { 0 };
	bool any = json_member_string(m, &s) && s.len;

	if (any)
		escape_text((const char *)s.data, s.len, out, size);
	buf_free(&s);
	return any;
}

#define SET(field, m) set_string(l->c->field, sizeof(l->c->field), m)

static void set_runtime(struct lookup *l, const char *runtime)
{
	if (!strcmp(l->c->runtime, "oci"))
		snprintf(l->c->runtime, sizeof(l->c->runtime), "%s", runtime);
}

/* ---- Kubernetes ---- */

/*
 * Keys of labels and annotations: CRI-O's, kubelet's, containerd's. CRI-O has a long name
 * where kubelet has the short one: the last one that is there counts.
 */
static const struct {
	const char *key;
	size_t off, size;
} kube_keys[] = {
#define KEY(key, field)                                                                            \
	{ key, offsetof(struct container, field), sizeof(((struct container *)0)->field) }
	KEY("io.kubernetes.cri-o.ContainerName", name),
	KEY("io.kubernetes.cri-o.KubeName", pod),
	KEY("io.kubernetes.cri-o.Namespace", pod_namespace),
	KEY("io.kubernetes.cri-o.ImageName", image),
	KEY("io.kubernetes.container.name", name),
	KEY("io.kubernetes.pod.name", pod),
	KEY("io.kubernetes.pod.namespace", pod_namespace),
	KEY("io.kubernetes.cri.container-name", name),
	KEY("io.kubernetes.cri.sandbox-name", pod),
	KEY("io.kubernetes.cri.sandbox-namespace", pod_namespace),
	KEY("io.kubernetes.cri.image-name", image),
#undef KEY
};

static bool set_kube(struct lookup *l, const struct json_member *labels)
{
	struct json_member m[ARRAY_SIZE(kube_keys)];
	bool any = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(m); i++)
		m[i].key = kube_keys[i].key;
	json_member_object(labels, m, ARRAY_SIZE(m));
	for (i = 0; i < ARRAY_SIZE(m); i++)
		any |= set_string((char *)l->c + kube_keys[i].off, kube_keys[i].size, &m[i]);
	return any;
}

/*
 * kubelet's symbolic links to logs: "<pod>_<namespace>_<container>-<id>.log". Names in
 * Kubernetes do not contain "_".
 */
static bool read_log_links(struct lookup *l)
{
	struct container *c = l->c;
	int fd = open_below(l, "/var/log/containers", O_DIRECTORY), cnt = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	char tail[sizeof(c->id) + 8], *ns, *name;
	struct dirent *e = NULL;
	size_t len, n = (size_t)snprintf(tail, sizeof(tail), "-%s.log", c->id);

	if (!d && fd >= 0)
		close(fd);
	while (d && cnt++ < ENTRIES_MAX && (e = readdir(d))) {
		len = strlen(e->d_name);
		if (len > n && !strcmp(e->d_name + len - n, tail))
			break;
	}
	if (d && e && (ns = strchr(e->d_name, '_')) && (name = strchr(ns + 1, '_'))) {
		escape_text(e->d_name, (size_t)(ns - e->d_name), c->pod, sizeof(c->pod));
		escape_text(ns + 1, (size_t)(name - ns - 1), c->pod_namespace,
			    sizeof(c->pod_namespace));
		escape_text(name + 1, strlen(name + 1) - n, c->name, sizeof(c->name));
	} else {
		name = NULL;
	}
	if (d)
		closedir(d);
	return d && e && name;
}

/* ---- docker ---- */

/* The home directory of the container's user in the host's /etc/passwd; false: unknown. */
static bool home_of_user(const struct lookup *l, char out[PATH_MAX])
{
	struct passwd *pw;
	bool found = false;
	FILE *f;
	int fd = open_below(l, "/etc/passwd", 0);

	f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && (pw = fgetpwent(f)))
		if (pw->pw_uid == l->c->user)
			found = snprintf(out, PATH_MAX, "%s", pw->pw_dir) < PATH_MAX / 2;
	fclose(f);
	return found;
}

/* What docker says of a container. */
static void set_docker(struct lookup *l, const struct json_member *name,
		       const struct json_member *config)
{
	struct json_member m[] = { { .key = "Image" }, { .key = "Labels" } };
	char slashed[sizeof(l->c->name)];

	json_member_object(config, m, ARRAY_SIZE(m));
	SET(image, &m[0]);
	/* Its names begin with "/". */
	if (set_string(slashed, sizeof(slashed), name))
		snprintf(l->c->name, sizeof(l->c->name), "%s", slashed + (slashed[0] == '/'));
	set_kube(l, &m[1]);
	set_runtime(l, "docker");
}

static bool read_docker_at(struct lookup *l, const char *data_root)
{
	struct json_member m[] = { { .key = "Name" }, { .key = "Config" } };
	char path[2 * PATH_MAX];
	struct buf b = { 0 };
	bool found;

	if (snprintf(path, sizeof(path), "%s/containers/%s/config.v2.json", data_root, l->c->id) >=
	    PATH_MAX)
		return false;
	found = read_object(l, path, &b, m, ARRAY_SIZE(m));
	if (found)
		set_docker(l, &m[0], &m[1]);
	buf_free(&b);
	return found;
}

/* Where docker's own settings say that its data are. */
static bool configured_root(const struct lookup *l, char *out, size_t size)
{
	struct json_member root = { .key = "data-root" };
	struct buf b = { 0 };
	bool found = read_object(l, "/etc/docker/daemon.json", &b, &root, 1) &&
		     set_string(out, size, &root);

	buf_free(&b);
	return found;
}

static bool read_docker(struct lookup *l)
{
	char root[PATH_MAX + 32], home[PATH_MAX];

	if (l->c->user != CONTAINER_NO_USER) {
		if (!home_of_user(l, home))
			return false;
		snprintf(root, sizeof(root), "%s/.local/share/docker", home);
		return read_docker_at(l, root);
	}
	return read_docker_at(l, "/var/lib/docker") ||
	       read_docker_at(l, "/var/snap/docker/common/var-lib-docker") ||
	       (configured_root(l, root, sizeof(root)) && read_docker_at(l, root));
}

/* ---- containerd ---- */

/* The state directories of containerd, k3s and microk8s. */
static const char *const containerd_states[] = {
	"/run/containerd/io.containerd.runtime.v2.task",
	"/run/k3s/containerd/io.containerd.runtime.v2.task",
	"/var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task",
};

static void set_annotations(struct lookup *l, const struct json_member *annotations)
{
	struct json_member m[] = { { .key = "nerdctl/name" }, { .key = "nerdctl/image-name" } };

	if (set_kube(l, annotations))
		return;
	json_member_object(annotations, m, ARRAY_SIZE(m));
	SET(name, &m[0]);
	SET(image, &m[1]);
}

static bool read_bundle(struct lookup *l, const char *dir, const char *runtime)
{
	struct json_member annotations = { .key = "annotations" };
	char path[PATH_MAX];
	struct buf b = { 0 };
	bool found;

	if (snprintf(path, sizeof(path), "%s/config.json", dir) >= PATH_MAX)
		return false;
	found = read_object(l, path, &b, &annotations, 1);
	if (found) {
		set_annotations(l, &annotations);
		set_runtime(l, runtime);
	}
	buf_free(&b);
	return found;
}

/* Search each of containerd's namespaces but "moby": docker's own state knows more. */
static bool read_containerd(struct lookup *l)
{
	char bundle[PATH_MAX];
	struct dirent *e;
	bool found = false;
	int fd, cnt;
	size_t i;
	DIR *d;

	for (i = 0; !found && i < ARRAY_SIZE(containerd_states); i++) {
		fd = open_below(l, containerd_states[i], O_DIRECTORY);
		d = fd < 0 ? NULL : fdopendir(fd);
		if (!d && fd >= 0)
			close(fd);
		for (cnt = 0; d && !found && cnt < ENTRIES_MAX && (e = readdir(d)); cnt++) {
			if (e->d_name[0] == '.' || !strcmp(e->d_name, "moby") ||
			    snprintf(bundle, sizeof(bundle), "%s/%s/%s", containerd_states[i],
				     e->d_name, l->c->id) >= PATH_MAX)
				continue;
			found = read_bundle(l, bundle, "containerd");
		}
		if (d)
			closedir(d);
	}
	return found;
}

/* ---- containers/storage: podman, CRI-O ---- */

static const char *const storage_dirs[] = { "overlay-containers", "vfs-containers",
					    "btrfs-containers", "zfs-containers" };
/*
 * The second file lists containers that are removed
 * when their process ends (since storage 1.45).
 */
static const char *const storage_lists[] = { "containers.json", "volatile-containers.json" };

/* metadata: JSON as a string. */
static void set_stored_image(struct lookup *l, const struct json_member *metadata)
{
	struct json_member image = { .key = "image-name" };
	struct buf text = { 0 };
	struct json_pull j;

	if (json_member_string(metadata, &text)) {
		json_pull_start(&j, text.data, text.len, 0);
		if (json_members(&j, &image, 1))
			SET(image, &image);
	}
	buf_free(&text);
}

/* The first of several names. */
static void set_stored_name(struct lookup *l, const struct json_member *names)
{
	struct json_member first = { 0 };

	if (json_member_enter(names, JT_ARRAY, &first.value) && json_pull_element(&first.value))
		SET(name, &first);
}

/*
 * Find a text in a file, and read from there on at most FILE_MAX_BYTES into b. Only a window of the
 * file is in memory. Returns false if it is not there.
 */
static bool read_from(const struct lookup *l, const char *path, const char *text, struct buf *b)
{
	size_t len = strlen(text), max = LIST_WINDOW_BYTES, all = 0;
	const uint8_t *at = NULL;
	int fd = open_below(l, path, 0);
	struct stat st;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		n = 0;
	while (n > 0 && b->len < max && all < LIST_MAX_BYTES && !buf_reserve(b, max - b->len)) {
		n = read(fd, b->data + b->len, max - b->len);
		b->len += n > 0 ? (size_t)n : 0;
		all += n > 0 ? (size_t)n : 0;
		if (at)
			continue;
		at = memmem(b->data, b->len, text, len);
		if (at || b->len >= len) {
			/* What is in front of it, or cannot be its beginning, is done with. */
			size_t drop = at ? (size_t)(at - b->data) : b->len - len + 1;

			memmove(b->data, b->data + drop, b->len - drop);
			b->len -= drop;
		}
		if (at)
			max = FILE_MAX_BYTES;
	}
	if (fd >= 0)
		close(fd);
	return at;
}

/*
 * Search the list of all containers, an array of objects that begin with their id. Only the
 * matching object is parsed: parsing a long list for each container would take too much time.
 */
static bool read_list(struct lookup *l, const char *path)
{
	struct json_member m[] = { { .key = "names" }, { .key = "metadata" } };
	char wanted[sizeof(l->c->id) + 16];
	struct buf b = { 0 };
	struct json_pull j;
	bool found = false;

	snprintf(wanted, sizeof(wanted), "{\"id\":\"%s\"", l->c->id);
	if (read_from(l, path, wanted, &b)) {
		json_pull_start(&j, b.data, b.len, 0);
		j.string_max = STRING_MAX_BYTES;
		found = json_members(&j, m, ARRAY_SIZE(m));
	}
	if (found) {
		set_stored_image(l, &m[1]);
		if (!l->c->name[0])
			set_stored_name(l, &m[0]);
	}
	buf_free(&b);
	return found;
}

static bool read_lists(struct lookup *l, const char *dir)
{
	char path[PATH_MAX + 64];
	bool found = false;
	size_t i;

	for (i = 0; !found && i < ARRAY_SIZE(storage_lists); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, storage_lists[i]);
		found = read_list(l, path);
	}
	return found;
}

static bool read_storage(struct lookup *l, const char *root)
{
	char dir[PATH_MAX + 64];
	bool found = false;
	size_t i;

	for (i = 0; !found && i < ARRAY_SIZE(storage_dirs); i++) {
		snprintf(dir, sizeof(dir), "%.*s/%s", PATH_MAX - 1, root, storage_dirs[i]);
		found = read_lists(l, dir);
	}
	return found;
}

/* ---- conmon, the monitor process of a container of podman or CRI-O ---- */

/* The value of one of two options; NULL: not there. args: NUL-separated. */
static const char *option(const char *args, size_t len, const char *a, const char *b)
{
	const char *p, *end = args + len;
	bool next = false;

	for (p = args; p < end; p += strlen(p) + 1) {
		if (next)
			return p;
		next = !strcmp(p, a) || !strcmp(p, b);
	}
	return NULL;
}

/*
 * The arguments of the conmon that is an ancestor of tgid, NUL-separated. Returns their length; 0:
 * none. Processes inside the container are ignored, because they can have any name.
 */
static size_t conmon_args(const struct lookup *l, char args[CONMON_ARGS_BYTES], pid_t *conmon)
{
	struct proc_stat st = { .ppid = l->tgid };
	struct container its;
	ssize_t n;
	int i;

	for (i = 0; i < PARENTS_MAX && st.ppid > 1; i++) {
		pid_t tgid = st.ppid;

		if (proc_stat(tgid, &st))
			return 0;
		if (strcmp(st.comm, "conmon"))
			continue;
		container_of_pid(tgid, &its);
		if (!strcmp(its.id, l->c->id))
			continue;
		n = proc_read(tgid, "cmdline", args, CONMON_ARGS_BYTES);
		*conmon = tgid;
		return n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/*
 * Read the list of the storage that conmon's options name: as conmon sees it, else below
 * the host's root.
 */
static void read_lists_of(struct lookup *l, pid_t conmon, const char *dir)
{
	struct lookup its = *l;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", conmon);
	its.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (its.root < 0 || !read_lists(&its, dir))
		read_lists(l, dir);
	if (its.root >= 0)
		close(its.root);
}

/* conmon's bundle is "<storage>/overlay-containers/<id>/userdata". */
static bool read_conmon(struct lookup *l)
{
	char args[CONMON_ARGS_BYTES], dir[PATH_MAX];
	const char *cid, *name, *bundle;
	pid_t conmon = 0;
	size_t len = l->tgid ? conmon_args(l, args, &conmon) : 0;
	int up;

	cid = option(args, len, "-c", "--cid");
	if (!cid || strcmp(cid, l->c->id))
		return false;
	name = option(args, len, "-n", "--name");
	bundle = option(args, len, "-b", "--bundle");
	if (name)
		escape_text(name, strlen(name), l->c->name, sizeof(l->c->name));
	if (bundle && strlen(bundle) < sizeof(dir)) {
		strcpy(dir, bundle);
		for (up = 0; up < 2 && strrchr(dir, '/'); up++)
			*strrchr(dir, '/') = '\0';
		read_lists_of(l, conmon, dir);
	}
	set_runtime(l, "podman");
	return name;
}

static bool read_podman(struct lookup *l)
{
	char root[PATH_MAX + 64], home[PATH_MAX];

	if (read_conmon(l))
		return true;
	if (l->c->user != CONTAINER_NO_USER) {
		if (!home_of_user(l, home))
			return false;
		snprintf(root, sizeof(root), "%s/.local/share/containers/storage", home);
	} else {
		snprintf(root, sizeof(root), "/var/lib/containers/storage");
	}
	if (!read_storage(l, root))
		return false;
	set_runtime(l, "podman");
	return true;
}

static bool read_crio(struct lookup *l)
{
	char dir[PATH_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(storage_dirs); i++) {
		snprintf(dir, sizeof(dir), "/run/containers/storage/%s/%s/userdata",
			 storage_dirs[i], l->c->id);
		if (read_bundle(l, dir, "crio") && l->c->name[0])
			return true;
	}
	return false;
}

/* ---- all sources ---- */

static bool is_its_name(struct lookup *l)
{
	snprintf(l->c->name, sizeof(l->c->name), "%s", l->c->id);
	return true;
}

/* In this order. "oci" may be any runtime whose ids have 64 digits. */
static const struct {
	const char *runtime;
	bool oci;
	bool (*read)(struct lookup *l);
} readers[] = {
	{ "docker", true, read_docker },
	{ "containerd", true, read_containerd },
	{ "crio", true, read_crio },
	{ "podman", true, read_podman },
	{ "nspawn", false, is_its_name },
	{ "lxc", false, is_its_name },
	{ "runc", false, is_its_name },
	{ "crun", false, is_its_name },
};

/* An id becomes part of a path, so only these characters are allowed. */
static bool id_is_plain(const char *id)
{
	return *id && !id[strspn(id, "0123456789abcdef")];
}

int container_names(struct container *c, const char *root, pid_t tgid)
{
	struct lookup l = { .c = c, .tgid = tgid };
	bool found = false, plain = id_is_plain(c->id);
	size_t i;

	l.root = open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (l.root < 0)
		return -errno;
	for (i = 0; !found && i < ARRAY_SIZE(readers); i++)
		if (!strcmp(c->runtime, readers[i].runtime) ||
		    (readers[i].oci && !strcmp(c->runtime, "oci")))
			found = (plain || !readers[i].oci) && readers[i].read(&l);
	if (c->pod_uid[0] && !c->pod[0] && plain && c->user == CONTAINER_NO_USER)
		found |= read_log_links(&l);
	close(l.root);
	return found ? 0 : -ENOENT;
}

const char *container_host_root(void)
{
	return access("/proc/1/root/.", X_OK) ? "" : "/proc/1/root";
}
