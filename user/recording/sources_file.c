// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sources_file.c - see sources_file.h. */
#include "recording/sources_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/json_members.h"
#include "base/output.h"
#include "base/util.h"
#include "host/regular.h"

#define VERSION 1
#define PATH_BYTES 4096
/* Of a file that is read: a byte of text takes at most six, as an escape. */
#define FILE_MAX_BYTES ((size_t)6 * SAVED_SOURCES_BYTES + (1u << 20))

/* ---- the list ---- */

static bool copy_ref(struct string_ref *to, struct string_ref from)
{
	char *copy = malloc((size_t)from.len + 1);

	if (!copy)
		return false;
	memcpy(copy, from.data, from.len);
	*to = (struct string_ref){ copy, from.len };
	return true;
}

static void free_source(struct saved_source *source)
{
	free((char *)source->path.data);
	free((char *)source->text.data);
	free(source->pids);
}

int saved_source_add_pid(struct saved_source *source, uint32_t pid)
{
	uint32_t *pids, i;

	for (i = 0; i < source->pid_cnt; i++)
		if (source->pids[i] == pid)
			return 0;
	if (source->pid_cnt == SAVED_PIDS_MAX)
		return 0;
	pids = realloc(source->pids, (source->pid_cnt + 1) * sizeof(*pids));
	if (!pids)
		return -ENOMEM;
	pids[source->pid_cnt++] = pid;
	source->pids = pids;
	return 0;
}

int saved_sources_add(struct saved_sources *s, const struct saved_source *source)
{
	struct saved_source copy = { .changed = source->changed };
	uint32_t i;
	int err = 0;

	if (s->cnt == SAVED_SOURCES_MAX || !source->path.len || source->path.len >= PATH_BYTES ||
	    source->text.len > SAVED_SOURCE_BYTES ||
	    source->text.len > SAVED_SOURCES_BYTES - s->bytes)
		return -E2BIG;
	if (!copy_ref(&copy.path, source->path) || !copy_ref(&copy.text, source->text))
		err = -ENOMEM;
	for (i = 0; !err && i < source->pid_cnt; i++)
		err = saved_source_add_pid(&copy, source->pids[i]);
	if (!err)
		err = array_add(s->list, s->cnt, s->cap, copy);
	if (err)
		free_source(&copy);
	else
		s->bytes += copy.text.len;
	return err;
}

void saved_sources_free(struct saved_sources *s)
{
	while (s->cnt)
		free_source(&s->list[--s->cnt]);
	free(s->list);
	*s = (struct saved_sources){ 0 };
}

/* ---- writing ---- */

bool sources_path(const char *recording, bool is_dir, char out[PATH_MAX])
{
	return snprintf(out, PATH_MAX, "%s%s", recording,
			is_dir ? "/" SOURCES_FILE_NAME : SOURCES_BESIDE_SUFFIX) < PATH_MAX;
}

static void write_source(struct json *j, const struct saved_source *source)
{
	uint32_t i;

	json_object(j, NULL);
	json_ref(j, "path", &source->path);
	json_bool(j, "changed", source->changed);
	if (source->pid_cnt) {
		json_array(j, "pids");
		for (i = 0; i < source->pid_cnt; i++)
			json_uint(j, NULL, source->pids[i]);
		json_array_end(j);
	}
	json_ref(j, "text", &source->text);
	json_object_end(j);
}

static int write_to(const struct saved_sources *s, FILE *f)
{
	struct json j;
	size_t i;

	json_start(&j, f, false);
	json_object(&j, NULL);
	json_uint(&j, "version", VERSION);
	json_array(&j, "sources");
	for (i = 0; i < s->cnt; i++)
		write_source(&j, &s->list[i]);
	json_array_end(&j);
	json_object_end(&j);
	fputc('\n', f);
	return fflush(f) || ferror(f) ? -errno : 0;
}

int saved_sources_write(const struct saved_sources *s, const char *path)
{
	struct output_file file;
	int err = output_open(&file, path), copy;
	FILE *f;

	if (err)
		return err;
	copy = fcntl(file.fd, F_DUPFD_CLOEXEC, 0);
	f = copy < 0 ? NULL : fdopen(copy, "w");
	err = f ? write_to(s, f) : -errno;
	if (f && fclose(f) && !err)
		err = -errno;
	if (!f && copy >= 0)
		close(copy);
	if (!err)
		return output_commit(&file);
	log_error("cannot write %s: %s; the profiles are complete without it", file.name,
		  strerror(-err));
	output_abort(&file);
	return err;
}

/* ---- reading ---- */

static int read_pids(const struct json_member *m, struct saved_source *source)
{
	struct json_pull j;
	uint64_t pid;
	int err = 0;

	if (!json_member_enter(m, JT_ARRAY, &j))
		return 0;
	while (!err && json_pull_element(&j)) {
		if (json_pull_type(&j) != JT_NUMBER)
			json_pull_skip(&j);
		else if (json_pull_uint(&j, &pid) && pid && pid <= INT32_MAX)
			err = saved_source_add_pid(source, (uint32_t)pid);
	}
	return err;
}

static struct string_ref ref_of(const struct buf *b)
{
	return (struct string_ref){ (const char *)b->data, (uint32_t)b->len };
}

/* Adds the element of "sources" that begins here, unless something is wrong with it. */
static int read_source(struct saved_sources *s, struct json_pull *j)
{
	enum { PATH, CHANGED, PIDS, TEXT, CNT };
	struct json_member m[CNT] = { { .key = "path" }, { .key = "changed" }, { .key = "pids" },
				      { .key = "text" } };
	struct saved_source source = { 0 };
	struct buf path = { 0 }, text = { 0 };
	int err = 0;

	if (json_members(j, m, CNT) && json_member_string(&m[PATH], &path) &&
	    json_member_string(&m[TEXT], &text)) {
		source.path = ref_of(&path);
		source.text = ref_of(&text);
		source.changed = json_member_is(&m[CHANGED], JT_TRUE);
		err = read_pids(&m[PIDS], &source);
		/* Pids that are no pids must not turn it into the machine's own file. */
		if (!err && (!m[PIDS].value.data || source.pid_cnt))
			err = saved_sources_add(s, &source);
	}
	free(source.pids);
	buf_free(&path);
	buf_free(&text);
	return err == -E2BIG ? 0 : err;
}

static int read_json(struct saved_sources *s, const struct buf *text)
{
	struct json_member m[2] = { { .key = "version" }, { .key = "sources" } };
	struct json_pull j;
	uint64_t version;
	int err = 0;

	json_pull_start(&j, text->data, text->len, 0);
	j.string_max = SAVED_SOURCE_BYTES;
	if (!json_members(&j, m, 2) || !json_pull_finish(&j) ||
	    !json_member_count(&m[0], &version) || version != VERSION ||
	    !json_member_enter(&m[1], JT_ARRAY, &j))
		return -EBADMSG;
	while (!err && json_pull_element(&j)) {
		if (json_pull_type(&j) == JT_OBJECT)
			err = read_source(s, &j);
		else
			json_pull_skip(&j);
	}
	return err;
}

int saved_sources_read(struct saved_sources *s, int dirfd, const char *name)
{
	int fd = open_regular(dirfd, name, 0), err;
	struct buf text = { 0 };

	if (fd < 0)
		return fd;
	err = buf_add_file(&text, fd, FILE_MAX_BYTES);
	close(fd);
	if (!err)
		err = read_json(s, &text);
	buf_free(&text);
	return err;
}
