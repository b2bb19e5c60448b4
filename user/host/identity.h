/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * identity.h - the user and the container of a process, and its pid there.
 *
 * Determined while the process is alive, from /proc or from what the BPF side sends, and then kept.
 * Containers are distinguished by their cgroups' paths; the name of each is looked up once. Knows
 * no BPF map and no file of a recording.
 */
#ifndef TACHBPF_IDENTITY_H
#define TACHBPF_IDENTITY_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "host/containers.h"
#include "host/proc.h"

struct identities;
struct json;

#define IDENTITY_NO_UID UINT32_MAX

/*
 * Whether a path means the same file for a process as for us. Another mount namespace counts as
 * another root, even if most of it is the same.
 */
enum identity_root { IDENTITY_ROOT_UNKNOWN, IDENTITY_ROOT_OURS, IDENTITY_ROOT_OTHER };

struct identity {
	/* owned by the identities; NULL: in neither a container nor a unit */
	const struct container *container;
	uint32_t uid;		/* the effective uid; IDENTITY_NO_UID: unknown */
	pid_t ns_tgid;		/* in its own pid namespace; 0: that is ours, or unknown */
	enum identity_root root;	/* when it began, or its parent's */
};

/* names: not NULL. Returns NULL with errno. Freed by identities_free(). */
struct identities *identities_new(container_names_fn names);
void identities_free(struct identities *ids);

/* The identity of a process from /proc as it is now; unknown fields stay empty. */
void identity_of_process(struct identities *ids, const struct proc_info *who,
			 struct identity *out);

/* The identity from what the BPF side sent; /proc supplies what is missing. */
void identity_of_origin(struct identities *ids, pid_t tgid, const struct raw_origin *origin,
			struct identity *out);

/* Take the record of a new cgroup: its processes may end before /proc is read. */
void identities_cgroup(struct identities *ids, const struct raw_cgroup *raw);

/* The hierarchies whose paths show containers and units, as bits for cfg_hierarchies. */
uint64_t identities_hierarchies(const struct identities *ids);

/*
 * Write the keys "container" (null or an object)
 * and "unit". c: NULL if in neither, or in several.
 */
void container_json(struct json *j, const struct container *c);
/* Write "ns_pid" (the pid if there is only one namespace) and "uid"; null if unknown. */
void identity_json(struct json *j, const struct identity *id, pid_t tgid);

/* Number of containers beyond the limit. Their processes have no container. */
uint64_t identities_beyond(const struct identities *ids);
/* Number of containers without a name because their users have used up their lookups. */
uint64_t identities_unnamed(const struct identities *ids);

#endif
