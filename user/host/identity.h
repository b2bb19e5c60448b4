/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * identity.h - whose a process is and where it runs: user, container, its number there.
 *
 * Learned while the process lives, from /proc or from what the kernel sends of it, and
 * kept: containers are told apart by their cgroup's path, asked for names once each.
 * Knows no BPF map and no file of a recording.
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

struct identity {
	/* Of the identities, until they are freed; NULL: neither in a container nor in a unit. */
	const struct container *container;
	uint32_t uid;		/* the effective one; IDENTITY_NO_UID: not known */
	pid_t ns_tgid;		/* in its own pid namespace; 0: in ours, or not known */
};

/* NULL with errno. */
struct identities *identities_new(void);
void identities_free(struct identities *ids);

/* Of a process as /proc shows it now. What is not known stays empty. */
void identity_of_process(struct identities *ids, const struct proc_info *who,
			 struct identity *out);

/* By what the kernel sent; /proc is asked where that does not say enough. */
void identity_of_origin(struct identities *ids, pid_t tgid, const struct raw_origin *origin,
			struct identity *out);

/* The kernel's record of a new cgroup: processes in it may be gone before we look. */
void identities_cgroup(struct identities *ids, const struct raw_cgroup *raw);

/* The hierarchies that tell containers and units, as cfg_hierarchies wants them. */
uint64_t identities_hierarchies(const struct identities *ids);

/* "container": null or an object, "unit"; c: NULL if it is in neither, or in several. */
void container_json(struct json *j, const struct container *c);
/* "ns_pid", which is its pid if there is one namespace, "uid"; null if not known. */
void identity_json(struct json *j, const struct identity *id, pid_t tgid);

/* Containers beyond the number that is kept: their processes have none. */
uint64_t identities_beyond(const struct identities *ids);

#endif
