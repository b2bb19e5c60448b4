// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * service.c - see service.h: the resource of a service, and what identifies it.
 *
 * What we know comes first, then what the process says: in struct attrs the first value of a key
 * stays. Keys: opentelemetry.io/docs/specs/semconv/resource, in the version of otlp.c's SCHEMA_URL.
 */
#include "telemetry/service.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "telemetry/program_name.h"
#include "telemetry/resource_variable.h"
#include "telemetry/service_places.h"

static bool in_kubernetes(const struct container *c)
{
	return c->pod_namespace[0] || c->qos[0];
}

/* ---- what a process says of itself ---- */

enum subject { NEVER, ALWAYS, COMMAND_LINE, PATHS, HOST_NAME, USER, CONTAINERS, OTHERS };

/* By prefix of the key; the first row that matches counts. */
static const struct { const char *begin; enum subject subject; } subjects[] = {
	{ "service.", ALWAYS },
	{ "deployment.environment", ALWAYS },
	{ "host.", HOST_NAME },
	{ "k8s.node.", HOST_NAME },
	{ "k8s.", CONTAINERS },
	{ "container.", CONTAINERS },
	{ "process.command", COMMAND_LINE },
	{ "process.executable.path", PATHS },
	{ "process.working_directory", PATHS },
	{ "process.executable.name", OTHERS },
	{ "process.runtime.", OTHERS },
	{ "process.owner", USER },
	{ "process.user.", USER },
	{ "process.real_user.", USER },
	{ "process.saved_user.", USER },
	{ "user.", USER },
	{ "enduser.", USER },
	/* A process's own: pids, times. The service has many processes. */
	{ "process.", NEVER },
	{ "thread.", NEVER },
};

static bool may_leave(const char *key, const struct service_privacy *p)
{
	enum subject subject = OTHERS;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(subjects); i++) {
		if (strncmp(key, subjects[i].begin, strlen(subjects[i].begin)))
			continue;
		subject = subjects[i].subject;
		break;
	}
	switch (subject) {
	case NEVER:
		return false;
	case COMMAND_LINE:
		return p->command_line;
	case PATHS:
		return p->paths;
	case HOST_NAME:
		return p->host_name;
	case USER:
		return p->user;
	case CONTAINERS:
		return p->containers;
	case OTHERS:
		return p->others;
	default:
		return true;
	}
}

/* What a process may not say of itself: it is in a pod, or a container, that we do not see. */
static bool is_false_place(const char *key, const struct container *c)
{
	if (!strncmp(key, "k8s.", 4) && strncmp(key, "k8s.node.", 9))
		return !c || !in_kubernetes(c);
	return !strncmp(key, "container.", 10) && !(c && container_is(c));
}

/* The name that a key has in the semantic conventions now. */
static const char *current_key(const char *key)
{
	static const struct { const char *old, *now; } renamed[] = {
		{ "deployment.environment", "deployment.environment.name" },
		{ "container.runtime", "container.runtime.name" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(renamed); i++)
		if (!strcmp(key, renamed[i].old))
			return renamed[i].now;
	return key;
}

static void put_attr(const struct attrs *from, const struct attr *at, struct attrs *out)
{
	const char *key = current_key(attr_key(from, at));

	if (at->is_number)
		attrs_put_number(out, key, strlen(key), at->number);
	else
		attrs_put_text(out, key, attr_value(from, at));
}

/* Adds what the process says, except keys that are there. */
static void add_its_own(const struct attrs *its, const struct service_config *config,
			const struct container *place, bool with_instance, struct attrs *out)
{
	size_t i;

	for (i = 0; i < its->cnt; i++) {
		const struct attr *at = &its->items[i];
		const char *key = attr_key(its, at);

		if (!may_leave(key, &config->privacy) ||
		    (!with_instance && !strcmp(key, "service.instance.id")) ||
		    (!config->trust_processes && is_false_place(key, place)))
			continue;
		put_attr(its, at, out);
	}
	out->dropped += its->dropped;
}

/* ---- what we know ---- */

/* "registry:5000/team/web:1.2@sha256:...": the name is without tag and digest. */
static void put_image(const char *image, struct attrs *out)
{
	const char *slash = strrchr(image, '/'), *colon;
	size_t len = strcspn(image, "@"), name_len = len;
	char tag[sizeof(((struct container *)0)->image)];

	colon = strchr(slash ? slash : image, ':');
	if (colon && (size_t)(colon - image) < len)
		name_len = (size_t)(colon - image);
	if (name_len)
		attrs_put(out, "container.image.name", strlen("container.image.name"), image,
			  name_len);
	if (name_len == len)
		return;
	snprintf(tag, sizeof(tag), "%.*s", (int)(len - name_len - 1), colon + 1);
	attrs_put_list(out, "container.image.tags", tag);
}

static void put_container(const struct container *c, struct attrs *out)
{
	char unit[SERVICE_PLACE_BYTES];

	/* There, the id is the number of a pid namespace, which is reused after a restart. */
	if (strcmp(c->runtime, "pidns"))
		attrs_put_text(out, "container.id", c->id);
	put_image(c->image, out);
	if (in_kubernetes(c)) {
		attrs_put_text(out, "k8s.pod.uid", c->pod_uid);
		attrs_put_text(out, "k8s.pod.name", c->pod);
		attrs_put_text(out, "k8s.namespace.name", c->pod_namespace);
		attrs_put_text(out, "k8s.container.name", c->name);
	} else {
		attrs_put_text(out, "container.name", c->name);
	}
	/* The semantic conventions have no name for a unit. */
	if (!container_is(c))
		attrs_put_text(out, "systemd.unit", *service_unit(c, unit) ? c->unit : "");
}

static void put_process(const struct service_facts *f, const struct service_privacy *p,
			struct attrs *out)
{
	const char *exe = f->exe ? f->exe : "", *slash = strrchr(exe, '/');
	char command_line[ATTR_VALUE_BYTES];

	attrs_put_text(out, "process.executable.name", slash ? slash + 1 : exe);
	if (p->paths)
		attrs_put_text(out, "process.executable.path", exe);
	if (p->command_line) {
		program_cmdline(f->cmdline, f->cmdline ? f->cmdline_len : 0, command_line,
				sizeof(command_line));
		attrs_put_text(out, "process.command_line", command_line);
	}
	if (p->user)
		attrs_put_text(out, "process.owner", f->user);
	attrs_put_text(out, "process.runtime.name", "cpython");
	attrs_put_text(out, "process.runtime.version", f->python);
}

/* ---- the identity ---- */

static const char *const identifying[] = {
	"service.name", "service.namespace", "service.version", "service.instance.id",
	"deployment.environment.name", "container.id", "k8s.pod.uid", "k8s.container.name",
	"systemd.unit",
};

bool service_same(const struct service *a, const struct service *b)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(identifying); i++)
		if (strcmp(attrs_text(&a->resource, identifying[i]),
			   attrs_text(&b->resource, identifying[i])))
			return false;
	return true;
}

static uint64_t identity_hash(const struct attrs *resource)
{
	uint64_t h = 1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(identifying); i++) {
		const char *text = attrs_text(resource, identifying[i]);

		h = hash_u64(h ^ hash_bytes(text, strlen(text)));
	}
	return h ? h : 1;
}

void service_make(const struct service_facts *f, const struct service_config *config,
		  struct service *out)
{
	const struct service_privacy *p = &config->privacy;
	char name[SERVICE_NAME_BYTES];
	struct attrs env;

	out->source = service_name(f, config, name);
	attrs_clear(&out->resource);
	attrs_put_text(&out->resource, "service.name", name);
	if (f->container && p->containers)
		put_container(f->container, &out->resource);
	attrs_put_text(&out->resource, "os.type", "linux");
	if (p->host_name)
		attrs_put_text(&out->resource, "host.name", f->host_name);
	put_process(f, p, &out->resource);
	if (f->context)
		add_its_own(f->context, config, f->container, false, &out->resource);
	if (f->env) {
		attrs_clear(&env);
		resource_variable_read(f->env->resource, &env);
		add_its_own(&env, config, f->container, true, &out->resource);
		attrs_put_text(&out->resource, "service.version", f->env->version);
	}
	out->id = identity_hash(&out->resource);
}
