/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * containers.h - the container, Kubernetes pod and systemd unit of a process.
 *
 * They come from the cgroup's path (a table, no I/O) and, for names and images, from the state that
 * the runtime keeps on disk; no daemon is asked. All of it is hostile: users can create cgroups of
 * any name where systemd lets them, and containers choose their own names. Strings that are cut
 * here stay valid UTF-8 without control characters.
 */
#ifndef TACHBPF_CONTAINERS_H
#define TACHBPF_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/event.h"

/* container.user: the cgroup is not a user's. */
#define CONTAINER_NO_USER UINT32_MAX

struct container {
	/* From the cgroup's path; "": unknown. */
	char runtime[16];	/* docker, containerd, crio, podman, nspawn, lxc,
				 * runc ...; oci: one of several whose paths look
				 * alike; pidns: see container_of_pid() */
	char id[72];		/* 64 hex digits; the name for nspawn, lxc and runc */
	char pod_uid[72];	/* Kubernetes: contains dashes; podman: 64 hex digits */
	char qos[12];		/* guaranteed, burstable, besteffort */
	char unit[128];		/* the innermost systemd service or scope */
	uint32_t user;		/* the cgroup is below user@UID.service, so that user may have
				 * forged it; CONTAINER_NO_USER: it is not */
	/* From the runtime's state on disk: container_names(). */
	char name[128];		/* the container's name; in Kubernetes, the one in the pod's spec */
	char image[256];
	char pod[256];
	char pod_namespace[64];
};

/*
 * Evaluate one cgroup path, as in /proc/PID/cgroup: absolute, starting with "/.." if it is above
 * our own cgroup namespace. 0; -ENOENT: neither a container nor a unit, and *out is empty.
 */
int container_of_cgroup(const char *path, struct container *out);

/*
 * Evaluate the text of /proc/PID/cgroup (v1, v2 or both): the most informative line counts. As
 * above.
 */
int container_of_cgroup_file(const char *text, size_t len, struct container *out);

/*
 * The container of a process. If none of its paths has a known form, but it is in another pid
 * namespace than we are, its container has the runtime "pidns" and the namespace's number as id. 0;
 * -ENOENT: in no container; -ESRCH: no such process.
 */
int container_of_pid(pid_t tgid, struct container *out);
/* The two parts of it. The second is for a process in another pid namespace than we are. */
int container_of_pid_cgroups(pid_t tgid, struct container *out);
int container_of_pid_namespace(pid_t tgid, struct container *out);

/* Make sure that all strings are terminated, if they come from an untrusted source. */
void container_end_strings(struct container *c);

/* Returns true for a container, false for a mere unit. */
static inline bool container_is(const struct container *c)
{
	return c->id[0];
}

/*
 * The container's name in outputs: "namespace/pod/name" in Kubernetes, else its name, else the
 * first 12 characters of its id; "": no container. Returns out.
 */
char *container_label(const struct container *c, char out[CONTAINER_LABEL_BYTES]);

/* Files of the runtimes. */
enum container_file {
	CONTAINER_FILE_DOCKER,		/* docker's config.v2.json */
	CONTAINER_FILE_BUNDLE,		/* config.json of an OCI bundle */
	CONTAINER_FILE_LIST,		/* containers.json of containers/storage: all containers */
};
/* container_file_parse(), or a function that calls it where a file can do no harm. */
typedef bool (*container_parse_fn)(enum container_file what, int fd, struct container *c);
/*
 * Fill in names from the runtimes' state below root: the host's "/", or container_host_root() if we
 * are in a container that has the host's pid namespace. tgid: a process in the container; 0: none
 * is known. Only opens files; parse reads them. 0; -ENOENT: nothing was found.
 */
int container_names(struct container *c, const char *root, pid_t tgid, container_parse_fn parse);
/* The same on this host, by a process that may read these files. */
typedef int (*container_names_fn)(struct container *c, pid_t tgid);

/* "/proc/1/root" if it is accessible, else "". */
const char *container_host_root(void);

/*
 * Returns true if the user's text identifies this container: by its name, its label, or at least
 * the first 4 characters of its id. Patterns are not supported.
 */
bool container_matches(const struct container *c, const char *wanted);
/* Returns true if the text is the uid, name, or "namespace/name" of the container's pod. */
bool container_matches_pod(const struct container *c, const char *wanted);

#endif
