/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * containers.h - the container, Kubernetes pod and systemd unit that a process is in.
 *
 * They come from the cgroup's path (a table, no I/O) and, for names and images, from the
 * state that the runtime keeps on disk; a daemon is never asked. All of it is hostile:
 * users can make cgroups of any name where systemd lets them, and containers choose their
 * names. Strings that are cut here stay valid UTF-8 and have no control characters.
 */
#ifndef TACHBPF_CONTAINERS_H
#define TACHBPF_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/event.h"

/* container.user: no user's cgroup. */
#define CONTAINER_NO_USER UINT32_MAX

struct container {
	/* From the cgroup's path; "": unknown. */
	char runtime[16];	/* docker, containerd, crio, podman, nspawn, lxc,
				 * runc ...; oci: one of several whose paths look
				 * alike; pidns: see container_of_pid() */
	char id[72];		/* 64 hex digits; the name with nspawn, lxc and runc */
	char pod_uid[72];	/* Kubernetes: with dashes; podman: 64 hex digits */
	char qos[12];		/* guaranteed, burstable, besteffort */
	char unit[128];		/* the innermost systemd service or scope */
	uint32_t user;		/* the cgroup is below user@UID.service, and that user
				 * may have forged it; CONTAINER_NO_USER: it is not */
	/* From the runtime's state on disk: container_names(). */
	char name[128];		/* the container's name; in Kubernetes, as in the pod's spec */
	char image[256];
	char pod[256];
	char pod_namespace[64];
};

/*
 * Evaluate one cgroup path, as in /proc/PID/cgroup: absolute, with "/.." where it is above
 * our own cgroup namespace. 0; -ENOENT: neither a container nor a unit, and *out is empty.
 */
int container_of_cgroup(const char *path, struct container *out);

/*
 * Evaluate the text of /proc/PID/cgroup (v1, v2 or both): the line with most information
 * counts. As above.
 */
int container_of_cgroup_file(const char *text, size_t len, struct container *out);

/*
 * The container of a process. If its paths have no known form, but it is in another pid
 * namespace than we, it is in a container of runtime "pidns", whose id is the namespace's
 * number. 0; -ENOENT: in none; -ESRCH: no such process.
 */
int container_of_pid(pid_t tgid, struct container *out);
/* The two halves of it. The second is for a process in another pid namespace than we. */
int container_of_pid_cgroups(pid_t tgid, struct container *out);
int container_of_pid_namespace(pid_t tgid, struct container *out);

/* Make sure that all strings end, if who filled them in cannot be believed. */
void container_end_strings(struct container *c);

/* Is it a container, and not only a unit? */
static inline bool container_is(const struct container *c)
{
	return c->id[0];
}

/*
 * What the container is called in outputs: "namespace/pod/name" in Kubernetes, else its
 * name, else the first 12 characters of its id; "": no container. Returns out.
 */
char *container_label(const struct container *c, char out[CONTAINER_LABEL_BYTES]);

/* Files of the runtimes. */
enum container_file {
	CONTAINER_FILE_DOCKER,		/* docker's config.v2.json */
	CONTAINER_FILE_BUNDLE,		/* config.json of an OCI bundle */
	CONTAINER_FILE_LIST,		/* containers.json of containers/storage: a list of all */
};
/* container_file_parse(), or whoever calls it where a file can do no harm. */
typedef bool (*container_parse_fn)(enum container_file what, int fd, struct container *c);
/*
 * Fill in names from the runtimes' state below root: the host's "/", or container_host_root()
 * where we are in a container that has the host's pid namespace. tgid: a process in the container;
 * 0: none is known. Only opens files, which parse reads. 0; -ENOENT: nothing was found.
 */
int container_names(struct container *c, const char *root, pid_t tgid, container_parse_fn parse);
/* The same on this host, by whoever may look at these files. */
typedef int (*container_names_fn)(struct container *c, pid_t tgid);

/* "/proc/1/root" if it is accessible, else "". */
const char *container_host_root(void);

/*
 * Does the user's text identify this container? It can be a name, a label, or the first 4
 * or more characters of the id. Patterns are not supported.
 */
bool container_matches(const struct container *c, const char *wanted);
/* Does it identify the container's pod? It can be a uid, a name, or "namespace/name". */
bool container_matches_pod(const struct container *c, const char *wanted);

#endif
