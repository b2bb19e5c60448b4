// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * containers.c - finds the container, pod and unit in cgroup paths. See containers.h;
 * container_names.c finds names.
 *
 * The components of a path are examined one by one from the root. An inner component overrides an
 * outer one (Kubernetes in docker, a service in an nspawn container).
 */
#include "host/containers.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/string_ref.h"
#include "base/util.h"
#include "host/proc.h"

#define ID_HEX 64
/* Size of /proc/PID/cgroup: a line for each hierarchy, with a path of at most PATH_MAX. */
#define CGROUP_BYTES 65536

/* Copy as many whole characters as fit, without unprintable ones. */
static void set_text(char *out, size_t size, struct string_ref w)
{
	escape_text(w.data, w.len, out, size);
}

/* ---- the table ---- */

enum id_form {
	ANY_ID,		/* at least one character */
	HEX_ID,		/* 64 hexadecimal digits */
	TASK_ID,	/* Amazon's: 32 hexadecimal digits, "-", a number */
	UNIT_ID,	/* a name as systemd escapes it: \x2d is "-" */
};

/*
 * One form of a component. The id is between the prefix and the suffix. Sources: moby
 * daemon/oci_linux.go, containerd internal/cri/server (getCgroupsPath), cri-o
 * internal/config/cgmgr, podman libpod/container_internal_linux.go, lxc src/lxc/cgroups/cgfsng.c,
 * systemd src/nspawn/nspawn-register.c, and runc and crun themselves.
 */
struct form {
	const char *parent;	/* the component before it; "/x": x, as the first component;
				 * NULL: any */
	const char *prefix, *suffix;
	enum id_form id;
	const char *runtime;	/* NULL: the container's monitor, which is in no container */
};

static const struct form forms[] = {
	/* The first matching form counts. With systemd's driver, cgroups are scopes; */
	{ NULL, "docker-", ".scope", HEX_ID, "docker" },
	{ NULL, "cri-containerd-", ".scope", HEX_ID, "containerd" },
	{ NULL, "containerd-", ".scope", HEX_ID, "containerd" },
	{ NULL, "nerdctl-", ".scope", HEX_ID, "containerd" },
	{ NULL, "crio-conmon-", ".scope", ANY_ID, NULL },
	{ NULL, "crio-", ".scope", HEX_ID, "crio" },
	{ NULL, "libpod-conmon-", ".scope", ANY_ID, NULL },
	{ NULL, "libpod-", ".scope", HEX_ID, "podman" },
	{ NULL, "runc-", ".scope", ANY_ID, "runc" },
	{ NULL, "crun-", ".scope", ANY_ID, "crun" },
	{ NULL, "machine-qemu\\x2d", ".scope", ANY_ID, NULL },
	{ NULL, "machine-lxc\\x2d", ".scope", UNIT_ID, "lxc" },	/* libvirt's */
	{ "machine.slice", "machine-", ".scope", UNIT_ID, "nspawn" },
	{ NULL, "systemd-nspawn@", ".service", UNIT_ID, "nspawn" },
	/* otherwise they are plain directories. */
	{ NULL, "libpod-payload-", "", HEX_ID, "podman" },	/* --cgroups=split, quadlets */
	{ "libpod_parent", "conmon", "", ANY_ID, NULL },
	{ NULL, "libpod-", "", HEX_ID, "podman" },
	{ NULL, "crio-conmon-", "", HEX_ID, NULL },
	{ NULL, "crio-", "", HEX_ID, "crio" },
	{ "docker", "", "", HEX_ID, "docker" },
	{ "buildkit", "", "", ANY_ID, "buildkit" },
	{ "k8s.io", "", "", HEX_ID, "containerd" },
	{ "moby", "", "", HEX_ID, "docker" },
	{ "/default", "", "", ANY_ID, "containerd" },		/* ctr, nerdctl */
	{ "lxc", "", "", ANY_ID, "lxc" },
	{ "lxc.payload", "", "", ANY_ID, "lxc" },
	{ NULL, "lxc.payload.", "", ANY_ID, "lxc" },
	{ NULL, "lxc.monitor.", "", ANY_ID, NULL },
	{ NULL, "", "", TASK_ID, "ecs" },			/* below /ecs/TASK; Fargate */
	/* /kubepods/.../podUID/ID, or docker --cgroup-parent: the runtime is unknown. */
	{ NULL, "", "", HEX_ID, "oci" },
};

static bool is_hex(struct string_ref w)
{
	size_t i;

	for (i = 0; i < w.len; i++)
		if (!isxdigit((unsigned char)w.data[i]) || isupper((unsigned char)w.data[i]))
			return false;
	return w.len;
}

static bool is_task(struct string_ref w)
{
	size_t i;

	for (i = 33; i < w.len && isdigit((unsigned char)w.data[i]); i++)
		;
	return w.len > 33 && i == w.len && w.data[32] == '-' &&
	       is_hex((struct string_ref){ w.data, 32 });
}

static bool id_fits(enum id_form form, struct string_ref id)
{
	switch (form) {
	case HEX_ID:
		return id.len == ID_HEX && is_hex(id);
	case TASK_ID:
		return is_task(id);
	default:
		return true;
	}
}

/* Decode \xNN in place. */
static void unescape_unit(char *s)
{
	char *out = s;
	unsigned int c;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] == 'x' && sscanf(s + 2, "%2x", &c) == 1 && c >= ' ' &&
		    c < 127 && s[2] && s[3]) {
			*out++ = (char)c;
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

/* first: the parent is the first component of the path. */
static bool parent_fits(const char *wanted, struct string_ref parent, bool first)
{
	if (!wanted)
		return true;
	if (*wanted == '/')
		return first && ref_is(parent, wanted + 1);
	return ref_is(parent, wanted);
}

static bool form_fits(const struct form *f, struct string_ref w, struct string_ref parent,
		      bool first, struct string_ref *id)
{
	size_t prefix = strlen(f->prefix), suffix = strlen(f->suffix);

	if (!parent_fits(f->parent, parent, first) || !ref_starts_with(w, f->prefix) ||
	    !ref_ends_with(w, f->suffix) || w.len < prefix + suffix)
		return false;
	*id = (struct string_ref){ w.data + prefix, w.len - prefix - suffix };
	return (id->len || !f->runtime) && id_fits(f->id, *id);
}

static void look_for_container(struct string_ref w, struct string_ref parent, bool first,
			       struct container *c)
{
	struct string_ref id;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		const struct form *f = &forms[i];

		if (!form_fits(f, w, parent, first, &id))
			continue;
		c->runtime[0] = c->id[0] = '\0';
		if (!f->runtime)
			return;
		snprintf(c->runtime, sizeof(c->runtime), "%s", f->runtime);
		set_text(c->id, sizeof(c->id), id);
		if (f->id == UNIT_ID)
			unescape_unit(c->id);
		return;
	}
}

/* ---- Kubernetes ---- */

/*
 * The uid of a pod as the API shows it, or the hash of a static pod's manifest. systemd's slices
 * have "_" in place of "-".
 */
static bool set_pod_uid(struct container *c, struct string_ref uid)
{
	size_t i;

	if (uid.len != 32 && uid.len != 36)
		return false;
	for (i = 0; i < uid.len; i++)
		if (!isxdigit((unsigned char)uid.data[i]) && uid.data[i] != '-' &&
		    uid.data[i] != '_')
			return false;
	set_text(c->pod_uid, sizeof(c->pod_uid), uid);
	for (i = 0; i < uid.len; i++)
		if (c->pod_uid[i] == '_')
			c->pod_uid[i] = '-';
	return true;
}

static const char *const classes[] = { "besteffort", "burstable" };

static void set_qos(struct container *c, const char *qos)
{
	snprintf(c->qos, sizeof(c->qos), "%s", qos);
}

/* The part of w after the last occurrence of text; len 0: text does not occur. */
static struct string_ref ref_after_last(struct string_ref w, const char *text)
{
	size_t len = strlen(text), i;

	for (i = w.len; i >= len; i--)
		if (!memcmp(w.data + i - len, text, len))
			return (struct string_ref){ w.data + i, w.len - i };
	return (struct string_ref){ w.data, 0 };
}

/* "kubepods-burstable-pod<uid>.slice", with a longer prefix where kubelets are nested. */
static void look_for_slice(struct string_ref w, struct container *c)
{
	struct string_ref uid = ref_after_last(w, "-pod");
	char class[32];
	size_t i;

	if (ref_ends_with(uid, ".slice"))
		uid.len -= strlen(".slice");
	if (!ref_after_last(w, "kubepods").len || !set_pod_uid(c, uid))
		return;
	set_qos(c, "guaranteed");
	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		snprintf(class, sizeof(class), "kubepods-%s", classes[i]);
		if (ref_after_last(w, class).len)
			set_qos(c, classes[i]);
	}
}

/* "/kubepods/burstable/pod<uid>"; guaranteed pods have no class in the path. */
static void look_for_pod_dir(struct string_ref w, struct string_ref parent, struct container *c)
{
	size_t i;

	if (!ref_starts_with(w, "pod") ||
	    !set_pod_uid(c, (struct string_ref){ w.data + 3, w.len - 3 }))
		return;
	set_qos(c, "");
	if (ref_is(parent, "kubepods"))
		set_qos(c, "guaranteed");
	for (i = 0; i < ARRAY_SIZE(classes); i++)
		if (ref_is(parent, classes[i]))
			set_qos(c, classes[i]);
}

/* Pods of podman: "machine-libpod_pod_<hex>.slice", "user-libpod_pod_<hex>.slice". */
static void look_for_podman_pod(struct string_ref w, struct container *c)
{
	struct string_ref uid = ref_after_last(w, "libpod_pod_");

	if (ref_ends_with(uid, ".slice"))
		uid.len -= strlen(".slice");
	if (uid.len == ID_HEX && is_hex(uid))
		set_text(c->pod_uid, sizeof(c->pod_uid), uid);
}

/*
 * containerd that is configured for systemd's names on a host without systemd: a single
 * component "kubepods-besteffort-pod<uid>.slice:cri-containerd:<id>".
 */
static void look_for_colons(struct string_ref w, struct container *c)
{
	const char *first = memchr(w.data, ':', w.len), *last;
	struct string_ref id;

	last = first ? memrchr(w.data, ':', w.len) : NULL;
	if (!last || last == first)
		return;
	id = (struct string_ref){ last + 1, (size_t)(w.data + w.len - last - 1) };
	if (id.len != ID_HEX || !is_hex(id))
		return;
	look_for_slice((struct string_ref){ w.data, (size_t)(first - w.data) }, c);
	set_text(c->id, sizeof(c->id), id);
	snprintf(c->runtime, sizeof(c->runtime), "%s",
		 !memcmp(first, ":cri-containerd:", 16) ? "containerd" :
		 !memcmp(first, ":docker:", 8) ? "docker" :
		 !memcmp(first, ":crio:", 6) ? "crio" : "oci");
}

/* ---- systemd ---- */

static void look_for_unit(struct string_ref w, struct container *c)
{
	char number[16];
	struct string_ref uid;

	if (ref_ends_with(w, ".service") || ref_ends_with(w, ".scope"))
		set_text(c->unit, sizeof(c->unit), w);
	if (!ref_starts_with(w, "user@") || !ref_ends_with(w, ".service"))
		return;
	uid = (struct string_ref){ w.data + 5, w.len - 5 - strlen(".service") };
	if (uid.len && uid.len < sizeof(number) && isdigit((unsigned char)*uid.data)) {
		snprintf(number, sizeof(number), "%.*s", (int)uid.len, uid.data);
		c->user = (uint32_t)strtoul(number, NULL, 10);
	}
}

/* ---- paths ---- */

static bool is_empty(const struct container *c)
{
	return !c->id[0] && !c->unit[0] && !c->pod_uid[0];
}

static int look_at_path(struct string_ref path, struct container *c)
{
	struct string_ref parent = { "", 0 }, w;
	const char *end = path.data + path.len, *slash;

	memset(c, 0, sizeof(*c));
	c->user = CONTAINER_NO_USER;
	for (w.data = path.data; w.data < end; w.data = slash + 1) {
		slash = memchr(w.data, '/', (size_t)(end - w.data));
		if (!slash)
			slash = end;
		w.len = (size_t)(slash - w.data);
		if (!w.len)
			continue;
		look_for_unit(w, c);
		look_for_slice(w, c);
		look_for_pod_dir(w, parent, c);
		look_for_podman_pod(w, c);
		look_for_colons(w, c);
		look_for_container(w, parent, parent.data == path.data + 1, c);
		parent = w;
	}
	return is_empty(c) ? -ENOENT : 0;
}

int container_of_cgroup(const char *path, struct container *out)
{
	return look_at_path((struct string_ref){ path, strlen(path) }, out);
}

/* Rate how much information a line contains. */
static int information_in(const struct container *c)
{
	return 4 * !!c->id[0] + 2 * !!c->pod_uid[0] + !!c->unit[0];
}

/* Lines are "hierarchy:controllers:path"; a path may contain any byte except a newline. */
int container_of_cgroup_file(const char *text, size_t len, struct container *out)
{
	const char *end = text + len, *line, *next, *colon;
	struct container c;

	memset(out, 0, sizeof(*out));
	out->user = CONTAINER_NO_USER;
	for (line = text; line < end; line = next + 1) {
		struct string_ref path;

		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			next = end;
		colon = memchr(line, ':', (size_t)(next - line));
		colon = colon ? memchr(colon + 1, ':', (size_t)(next - colon - 1)) : NULL;
		if (!colon)
			continue;
		path = (struct string_ref){ colon + 1, (size_t)(next - colon - 1) };
		if (ref_ends_with(path, " (deleted)"))
			path.len -= strlen(" (deleted)");
		if (!look_at_path(path, &c) && information_in(&c) > information_in(out))
			*out = c;
	}
	return is_empty(out) ? -ENOENT : 0;
}

void container_end_strings(struct container *c)
{
	c->runtime[sizeof(c->runtime) - 1] = c->id[sizeof(c->id) - 1] = '\0';
	c->pod_uid[sizeof(c->pod_uid) - 1] = c->qos[sizeof(c->qos) - 1] = '\0';
	c->unit[sizeof(c->unit) - 1] = c->name[sizeof(c->name) - 1] = '\0';
	c->image[sizeof(c->image) - 1] = c->pod[sizeof(c->pod) - 1] = '\0';
	c->pod_namespace[sizeof(c->pod_namespace) - 1] = '\0';
}

/* ---- processes ---- */

/* The number of a process' pid namespace; tgid 0: that of the reader of /proc. 0: unknown. */
static uint64_t pid_namespace(pid_t tgid)
{
	static const char begin[] = "pid:[";
	char link[64];
	ssize_t n = proc_link(tgid, "ns/pid", link, sizeof(link));

	return n > 0 && !strncmp(link, begin, strlen(begin)) ?
	       strtoull(link + strlen(begin), NULL, 10) : 0;
}

int container_of_pid_cgroups(pid_t tgid, struct container *out)
{
	char *text = malloc(CGROUP_BYTES);
	ssize_t n;

	memset(out, 0, sizeof(*out));
	out->user = CONTAINER_NO_USER;
	if (!text)
		return -ENOMEM;
	n = proc_read(tgid, "cgroup", text, CGROUP_BYTES);
	if (n > 0)
		container_of_cgroup_file(text, (size_t)n, out);
	free(text);
	if (n < 0)
		return (int)n;
	return is_empty(out) ? -ENOENT : 0;
}

int container_of_pid_namespace(pid_t tgid, struct container *out)
{
	uint64_t own, theirs;

	if (!container_is(out)) {
		own = pid_namespace(0);
		theirs = pid_namespace(tgid);
		if (own && theirs && own != theirs) {
			snprintf(out->runtime, sizeof(out->runtime), "pidns");
			snprintf(out->id, sizeof(out->id), "%llu", (unsigned long long)theirs);
		}
	}
	return is_empty(out) ? -ENOENT : 0;
}

int container_of_pid(pid_t tgid, struct container *out)
{
	int err = container_of_pid_cgroups(tgid, out);

	return err && err != -ENOENT ? err : container_of_pid_namespace(tgid, out);
}

/* ---- names ---- */

char *container_label(const struct container *c, char out[CONTAINER_LABEL_BYTES])
{
	out[0] = '\0';
	if (!container_is(c))
		return out;
	if (c->pod[0] && c->name[0])
		snprintf(out, CONTAINER_LABEL_BYTES, "%s/%s/%s", c->pod_namespace, c->pod, c->name);
	else if (c->name[0])
		snprintf(out, CONTAINER_LABEL_BYTES, "%s", c->name);
	else if (strlen(c->id) == ID_HEX)
		snprintf(out, CONTAINER_LABEL_BYTES, "%.12s", c->id);
	else
		snprintf(out, CONTAINER_LABEL_BYTES, "%s%s",
			 strcmp(c->runtime, "pidns") ? "" : "pidns-", c->id);
	return out;
}

#define ID_PREFIX_MIN 4

bool container_matches(const struct container *c, const char *wanted)
{
	char label[CONTAINER_LABEL_BYTES];
	size_t len = strlen(wanted);

	if (!len || !container_is(c))
		return false;
	if (!strcmp(c->name, wanted) || !strcmp(c->id, wanted) ||
	    !strcmp(container_label(c, label), wanted))
		return true;
	return len >= ID_PREFIX_MIN && strlen(c->id) == ID_HEX && !strncmp(c->id, wanted, len);
}

bool container_matches_pod(const struct container *c, const char *wanted)
{
	char both[sizeof(c->pod) + sizeof(c->pod_namespace) + 1];

	if (!*wanted || !c->pod_uid[0])
		return false;
	snprintf(both, sizeof(both), "%s/%s", c->pod_namespace, c->pod);
	return !strcmp(c->pod_uid, wanted) || (c->pod[0] && !strcmp(c->pod, wanted)) ||
	       (c->pod[0] && !strcmp(both, wanted));
}
