// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * container_names.c - finds names and images of containers in the state that runtimes keep on disk.
 * See containers.h; containers.c determines the container.
 *
 * No daemon is asked. Files are opened below the host's root, wherever their symlinks point, and
 * only if they are regular; container_files.c reads them.
 */
#include "host/container_files.h"

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

#include "base/util.h"
#include "host/proc.h"
#include "host/regular.h"

#define ENTRIES_MAX 100000
#define PARENTS_MAX 64
#define CONMON_ARGS_BYTES 16384

struct lookup {
	struct container *c;
	int root;		/* O_PATH */
	pid_t tgid;		/* a process in the container; 0: none is known */
	container_parse_fn parse;
};

/* ---- files ---- */

/* Open a regular file. Descriptor or -errno. */
static int open_below(const struct lookup *l, const char *path)
{
	return open_regular(l->root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

/* NULL: no such directory. */
static DIR *open_dir(const struct lookup *l, const char *path)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_DIRECTORY,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd = syscall(SYS_openat2, l->root, path, &how, sizeof(how));
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* Take from a file what it contains about the container. Returns false if that is nothing. */
static bool learn_from_file(const struct lookup *l, enum container_file what, const char *path)
{
	int fd = open_below(l, path);
	bool found = fd >= 0 && l->parse(what, fd, l->c);

	if (fd >= 0)
		close(fd);
	return found;
}

static void set_runtime(struct lookup *l, const char *runtime)
{
	if (!strcmp(l->c->runtime, "oci"))
		snprintf(l->c->runtime, sizeof(l->c->runtime), "%s", runtime);
}

/* ---- Kubernetes ---- */

/*
 * kubelet's symbolic links to logs: "<pod>_<namespace>_<container>-<id>.log". Names in
 * Kubernetes do not contain "_".
 */
static bool read_log_links(struct lookup *l)
{
	struct container *c = l->c;
	DIR *d = open_dir(l, "/var/log/containers");
	int cnt = 0;
	char tail[sizeof(c->id) + 8], *ns, *name;
	struct dirent *e = NULL;
	size_t len, n = (size_t)snprintf(tail, sizeof(tail), "-%s.log", c->id);

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

/* Copy the home directory of the container's user, from the host's /etc/passwd; false: unknown. */
static bool home_of_user(const struct lookup *l, char out[PATH_MAX])
{
	struct passwd *pw;
	bool found = false;
	FILE *f;
	int fd = open_below(l, "/etc/passwd");

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

static bool read_docker_at(struct lookup *l, const char *data_root)
{
	char path[2 * PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/containers/%s/config.v2.json", data_root, l->c->id) >=
	    PATH_MAX || !learn_from_file(l, CONTAINER_FILE_DOCKER, path))
		return false;
	set_runtime(l, "docker");
	return true;
}

/* Copy the data directory from docker's settings, which only root can change. */
static bool configured_root(const struct lookup *l, char *out, size_t size)
{
	int fd = open_below(l, "/etc/docker/daemon.json");
	bool found = fd >= 0 && container_file_docker_root(fd, out, size);

	if (fd >= 0)
		close(fd);
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

static bool read_bundle(struct lookup *l, const char *dir, const char *runtime)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/config.json", dir) >= PATH_MAX ||
	    !learn_from_file(l, CONTAINER_FILE_BUNDLE, path))
		return false;
	set_runtime(l, runtime);
	return true;
}

/* Search each of containerd's namespaces except "moby": docker's own state has more details. */
static bool read_containerd(struct lookup *l)
{
	char bundle[PATH_MAX];
	struct dirent *e;
	bool found = false;
	int cnt;
	size_t i;
	DIR *d;

	for (i = 0; !found && i < ARRAY_SIZE(containerd_states); i++) {
		d = open_dir(l, containerd_states[i]);
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

static bool read_lists(struct lookup *l, const char *dir)
{
	char path[PATH_MAX + 64];
	bool found = false;
	size_t i;

	for (i = 0; !found && i < ARRAY_SIZE(storage_lists); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, storage_lists[i]);
		found = learn_from_file(l, CONTAINER_FILE_LIST, path);
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

/* The value of one of two options; NULL: not given. args: NUL-separated. */
static const char *option_value(const char *args, size_t len, const char *a, const char *b)
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
 * Copy the arguments of the conmon that is an ancestor of tgid, NUL-separated. Returns their
 * length; 0: none. Processes inside the container are ignored, because they can have any name.
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
 * Read the list of the storage that conmon's options name: in conmon's view, else below the host's
 * root.
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

	cid = option_value(args, len, "-c", "--cid");
	if (!cid || strcmp(cid, l->c->id))
		return false;
	name = option_value(args, len, "-n", "--name");
	bundle = option_value(args, len, "-b", "--bundle");
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

/* An id becomes part of a path, so only these characters are permitted. */
static bool id_is_plain(const char *id)
{
	return *id && !id[strspn(id, "0123456789abcdef")];
}

int container_names(struct container *c, const char *root, pid_t tgid,
		    container_parse_fn parse_file)
{
	struct lookup l = { .c = c, .tgid = tgid, .parse = parse_file };
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
