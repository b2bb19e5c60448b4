/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * containers.h - which container, Kubernetes pod and systemd unit a process is in.
 *
 * Three sources, in this order: the cgroup's path (a table, no I/O), the runtime's own
 * state on disk (names, images), never a daemon. Everything is hostile: users make
 * cgroups of any name where systemd lets them, containers choose their names. What is
 * cut to size here stays valid UTF-8 and has no control characters.
 */
#ifndef TACHBPF_CONTAINERS_H
#define TACHBPF_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/event.h"

/* Whose cgroups it was found in, if not the system's. */
#define CONTAINER_NO_USER UINT32_MAX

struct container {
	/* From the cgroup's path. "" where nothing is known. */
	char runtime[16];	/* docker, containerd, crio, podman, nspawn, lxc, runc ...;
				 * oci: of a form that several share; pidns: see container_of_pid() */
	char id[72];		/* 64 hex digits; of nspawn, lxc, runc: its name */
	char pod_uid[72];	/* Kubernetes: with dashes; podman: 64 hex digits */
	char qos[12];		/* guaranteed, burstable, besteffort */
	char unit[128];		/* the innermost systemd service or scope */
	uint32_t user;		/* it is below user@UID.service: that user may have made it up */
	/* From the runtime's state: container_names(). */
	char name[128];		/* the container's own: in Kubernetes that of the pod's spec */
	char image[256];
	char pod[256];
	char pod_namespace[64];
};

/*
 * What a cgroup's path says, as /proc/PID/cgroup shows it: absolute, with "/.." where it is
 * above our own cgroup namespace. 0; -ENOENT: neither container nor unit, *out is empty.
 */
int container_of_cgroup(const char *path, struct container *out);

/* The text of /proc/PID/cgroup, v1, v2 or both: the line that says most. Likewise. */
int container_of_cgroup_file(const char *text, size_t len, struct container *out);

/*
 * Of a process. One without a known form of path, but in another pid namespace than ours, is
 * in a container of runtime "pidns" whose id is the namespace's number. -ESRCH: it is gone.
 */
int container_of_pid(pid_t tgid, struct container *out);

/* It is in a container, not only in a unit. */
static inline bool container_is(const struct container *c)
{
	return c->id[0];
}

/*
 * The name to call it by: "namespace/pod/name" in Kubernetes, else its name, else the first
 * 12 characters of its id. "": no container. Returns out.
 */
char *container_label(const struct container *c, char out[CONTAINER_LABEL_BYTES]);

/*
 * Fill in names from the runtimes' state below root (the host's "/"; of a container with the
 * host's pid namespace it is container_host_root()). tgid: a process in it, 0: none is known.
 * Reads files only. 0; -ENOENT: nothing was found.
 */
int container_names(struct container *c, const char *root, pid_t tgid);

/* "/proc/1/root" if that can be used, else "". */
const char *container_host_root(void);

/*
 * Is it meant by what a user says: a name, a label, or the beginning of an id? Of the id at
 * least 4 characters. No patterns.
 */
bool container_matches(const struct container *c, const char *wanted);
/* Likewise of its pod: uid, name, "namespace/name". */
bool container_matches_pod(const struct container *c, const char *wanted);

#endif
