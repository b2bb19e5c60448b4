// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* container_files.c - see container_files.h. */
#include "host/container_files.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_members.h"
#include "base/util.h"

/*
 * Limit for a file about one container, and for one container's part of podman's list. Users can
 * write to some of them.
 */
#define FILE_MAX_BYTES (1u << 20)
/* Longer strings are ignored: no name or image is this long. */
#define STRING_MAX_BYTES 4096
/* Limit for searching podman's list: it has about 1.2 KB for each container that exists. */
#define LIST_MAX_BYTES (32u << 20)
#define LIST_WINDOW_BYTES (64u << 10)

/* Read the members of a file's object. They are valid as long as b, which holds the file. */
static bool read_object(int fd, struct buf *b, struct json_member *members, size_t cnt)
{
	struct json_pull j;

	if (buf_add_file(b, fd, FILE_MAX_BYTES))
		return false;
	json_pull_start(&j, b->data, b->len, 0);
	j.string_max = STRING_MAX_BYTES;
	return json_members(&j, members, cnt);
}

/* Copy a member's string to out. Returns false if there is none, or it is empty. */
static bool set_string(char *out, size_t size, const struct json_member *m)
{
	struct buf s = { 0 };
	bool any = json_member_string(m, &s) && s.len;

	if (any)
		escape_text((const char *)s.data, s.len, out, size);
	buf_free(&s);
	return any;
}

#define SET(field, m) set_string(c->field, sizeof(c->field), m)

/*
 * Keys of labels and annotations: CRI-O's, kubelet's, containerd's. CRI-O has a long name where
 * kubelet has the short one: the last one present counts.
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

static bool set_kube(struct container *c, const struct json_member *labels)
{
	struct json_member m[ARRAY_SIZE(kube_keys)];
	bool any = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(m); i++)
		m[i].key = kube_keys[i].key;
	json_member_object(labels, m, ARRAY_SIZE(m));
	for (i = 0; i < ARRAY_SIZE(m); i++)
		any |= set_string((char *)c + kube_keys[i].off, kube_keys[i].size, &m[i]);
	return any;
}

/* ---- docker ---- */

static void set_docker(struct container *c, const struct json_member *name,
		       const struct json_member *config)
{
	struct json_member m[] = { { .key = "Image" }, { .key = "Labels" } };
	char slashed[sizeof(c->name)];

	json_member_object(config, m, ARRAY_SIZE(m));
	SET(image, &m[0]);
	/* docker's names begin with "/". */
	if (set_string(slashed, sizeof(slashed), name))
		snprintf(c->name, sizeof(c->name), "%s", slashed + (slashed[0] == '/'));
	set_kube(c, &m[1]);
}

static bool parse_docker(int fd, struct container *c)
{
	struct json_member m[] = { { .key = "Name" }, { .key = "Config" } };
	struct buf b = { 0 };
	bool found = read_object(fd, &b, m, ARRAY_SIZE(m));

	if (found)
		set_docker(c, &m[0], &m[1]);
	buf_free(&b);
	return found;
}

bool container_file_docker_root(int fd, char *out, size_t size)
{
	struct json_member root = { .key = "data-root" };
	struct buf b = { 0 };
	bool found = read_object(fd, &b, &root, 1) && set_string(out, size, &root);

	buf_free(&b);
	return found;
}

/* ---- bundles: containerd, CRI-O ---- */

static void set_annotations(struct container *c, const struct json_member *annotations)
{
	struct json_member m[] = { { .key = "nerdctl/name" }, { .key = "nerdctl/image-name" } };

	if (set_kube(c, annotations))
		return;
	json_member_object(annotations, m, ARRAY_SIZE(m));
	SET(name, &m[0]);
	SET(image, &m[1]);
}

static bool parse_bundle(int fd, struct container *c)
{
	struct json_member annotations = { .key = "annotations" };
	struct buf b = { 0 };
	bool found = read_object(fd, &b, &annotations, 1);

	if (found)
		set_annotations(c, &annotations);
	buf_free(&b);
	return found;
}

/* ---- containers/storage: podman, CRI-O ---- */

/* metadata: JSON in a string. */
static void set_stored_image(struct container *c, const struct json_member *metadata)
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

/* Take the first of several names. */
static void set_stored_name(struct container *c, const struct json_member *names)
{
	struct json_member first = { 0 };

	if (json_member_enter(names, JT_ARRAY, &first.value) && json_pull_element(&first.value))
		SET(name, &first);
}

/*
 * Find a text in a file, and read at most FILE_MAX_BYTES from there on into b. Only a window of the
 * file is in memory. Returns false if the text is not found.
 */
static bool read_from(int fd, const char *text, struct buf *b)
{
	size_t len = strlen(text), max = LIST_WINDOW_BYTES, all = 0;
	const uint8_t *at = NULL;
	struct stat st;
	ssize_t n = 1;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		n = 0;
	while (n > 0 && b->len < max && all < LIST_MAX_BYTES && !buf_reserve(b, max - b->len)) {
		n = read(fd, b->data + b->len, max - b->len);
		b->len += n > 0 ? (size_t)n : 0;
		all += n > 0 ? (size_t)n : 0;
		if (at)
			continue;
		at = memmem(b->data, b->len, text, len);
		if (at || b->len >= len) {
			/* Drop what precedes the text, or cannot be its beginning. */
			size_t drop = at ? (size_t)(at - b->data) : b->len - len + 1;

			memmove(b->data, b->data + drop, b->len - drop);
			b->len -= drop;
		}
		if (at)
			max = FILE_MAX_BYTES;
	}
	return at;
}

/*
 * Search the list of all containers, an array of objects that begin with their id. Only the
 * matching object is parsed: parsing a long list for each container would take too much time.
 */
static bool parse_list(int fd, struct container *c)
{
	struct json_member m[] = { { .key = "names" }, { .key = "metadata" } };
	char wanted[sizeof(c->id) + 16];
	struct buf b = { 0 };
	struct json_pull j;
	bool found = false;

	snprintf(wanted, sizeof(wanted), "{\"id\":\"%s\"", c->id);
	if (read_from(fd, wanted, &b)) {
		json_pull_start(&j, b.data, b.len, 0);
		j.string_max = STRING_MAX_BYTES;
		found = json_members(&j, m, ARRAY_SIZE(m));
	}
	if (found) {
		set_stored_image(c, &m[1]);
		if (!c->name[0])
			set_stored_name(c, &m[0]);
	}
	buf_free(&b);
	return found;
}

bool container_file_parse(enum container_file what, int fd, struct container *c)
{
	static bool (*const parsers[])(int fd, struct container *c) = {
		[CONTAINER_FILE_DOCKER] = parse_docker, [CONTAINER_FILE_BUNDLE] = parse_bundle,
		[CONTAINER_FILE_LIST] = parse_list,
	};

	return (size_t)what < ARRAY_SIZE(parsers) && parsers[what](fd, c);
}
