/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * service.h - which service a process belongs to, as other systems know it: its name, the resource
 * attributes of OpenTelemetry's semantic conventions, a number by which windows group processes.
 *
 * One service has many processes. It is identified by name, namespace, version and deployment
 * environment, by the container, or the systemd unit if there is none, and by an instance id from
 * the environment. Pids are no part of it, nor is an instance id from a process context, because
 * SDKs make one for each process. Attributes of a process rather than a service
 * (process.command_line, ...) are those of the process that was inspected.
 *
 * All facts except the kernel's are hostile: what a process says of itself never replaces its
 * container, pod or host. Labels of the configuration are not in it (service_labels.h). Pure
 * functions, no allocation: some 5 µs, once for each process.
 */
#ifndef TACHBPF_SERVICE_H
#define TACHBPF_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/containers.h"
#include "host/otel_signs.h"
#include "telemetry/attrs.h"

#define SERVICE_NAME_BYTES 256
/* The name of processes without a service of their own. */
#define SERVICE_OTHER_NAME "other"

/* The facts about a process. Owned by the caller; pointers may be NULL: unknown. */
struct service_facts {
	const struct attrs *context;		/* resource of its process context */
	const struct otel_environ *env;
	const struct container *container;
	const char *exe, *comm;
	const char *cmdline;			/* bytes of /proc/PID/cmdline, including NULs */
	size_t cmdline_len;
	const char *parent;	/* its parent's service name, for multiprocessing's helpers */
	bool forked;		/* it was forked by its parent, which published its name */
	const char *python;	/* its version: "3.12.4" */
	const char *user;	/* the name of its user */
	const char *host_name;	/* the host's, not the container's */
};

/* Facts that rules can test, by their names in a configuration: service_fact_names. */
enum service_fact {
	FACT_PROGRAM,		/* what program_name() says */
	FACT_SERVICE,		/* the process's name without rules */
	FACT_EXE, FACT_COMM,
	FACT_COMMAND,		/* arguments separated by blanks, the first 1,023 bytes */
	FACT_UNIT, FACT_CONTAINER, FACT_IMAGE, FACT_POD,
	FACT_WORKLOAD,		/* the pod's name without what Kubernetes adds for each pod */
	FACT_NAMESPACE, FACT_USER, FACT_PYTHON,
	FACT_CNT
};
extern const char *const service_fact_names[FACT_CNT];
/* The same for messages. */
#define SERVICE_FACT_WORDS "program, service, exe, comm, command, unit, container, image, pod, " \
			   "workload, namespace, user and python"

/*
 * A rule of the configuration: if all globs match, the name is the template's. Globs are those of
 * fnmatch(3), match the whole text, and are case-sensitive. That of exe matches the executable's
 * name, or its path if the glob has a "/"; that of pod the pod's name, or NAMESPACE/NAME if it has
 * a "/"; that of container its name or its id.
 */
struct service_rule {
	char *glob[FACT_CNT];		/* NULL: anything; at least one is set */
	char *name;			/* text with {fact} */
};

#define SERVICE_GLOB_STARS_MAX 8	/* each one costs time, and texts are hostile */
/* Checks that the rule is valid. Returns 0, or -EINVAL with the reason for the user in *why. */
int service_rule_check(const struct service_rule *rule, char *why, size_t size);

/* What may leave the machine. */
struct service_privacy {
	bool command_line;	/* process.command_line; passwords may be in it */
	bool paths;		/* process.executable.path, process.working_directory */
	bool host_name;		/* host.*, k8s.node.* */
	bool user;		/* process.owner, user.*, enduser.* */
	bool containers;	/* container.*, k8s.*, systemd.unit; names made of them stay */
	bool others;		/* what a process says of itself and we do not know */
};

struct service_config {
	const struct service_rule *rules;	/* checked; the first that matches counts */
	size_t rule_cnt;
	struct service_privacy privacy;
	const struct attrs *labels;	/* attributes of all services; NULL: none */
	/*
	 * What a process says of itself counts before labels, and it may name a pod or a container
	 * where none was found.
	 */
	bool trust_processes;
};

/* The origin of a name. */
enum service_source {
	SERVICE_RULE, SERVICE_CONTEXT, SERVICE_ENVIRON, SERVICE_POD, SERVICE_CONTAINER,
	SERVICE_UNIT, SERVICE_PARENT, SERVICE_PROGRAM,
};

struct service {
	/*
	 * hash of its identity, stable across restarts of the host. 0 is none. May collide:
	 * service_same()
	 */
	uint64_t id;
	enum service_source source;
	struct attrs resource;	/* "service.name" is the first */
};

/*
 * Names a service: by a rule, service.name of the process context, OTEL_SERVICE_NAME, service.name
 * of OTEL_RESOURCE_ATTRIBUTES, the pod's workload, the container, the systemd service, the program;
 * in this order. "unknown_service", which SDKs use when they do not know, is no name. out is never
 * empty, and valid UTF-8 without control characters.
 */
enum service_source service_name(const struct service_facts *facts,
				 const struct service_config *config,
				 char out[SERVICE_NAME_BYTES]);

/* Makes a service from the facts. */
void service_make(const struct service_facts *facts, const struct service_config *config,
		  struct service *out);

/* Returns true if both are the same service. For callers that find a service by its id. */
bool service_same(const struct service *a, const struct service *b);

static inline const char *service_name_of(const struct service *s)
{
	return attr_value(&s->resource, &s->resource.items[0]);
}

#endif
