// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recording_place.c - where the files of a recording are: in a directory; or a file that the
 * user has named, with FILE.json beside it; or such a file for a command and a directory,
 * FILE.d, for what the command starts. See recording_rows.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "formats/tach/tach_journal.h"
#include "recording/recording_rows.h"
#include "recording/session_json.h"

int recording_open_place(struct recording *r)
{
	const struct recording_args *args = &r->args;
	char name[OUTPUT_NAME_MAX];
	int err;

	output_default_name(name);
	snprintf(r->path, sizeof(r->path), "%s%s", args->output ? args->output : name,
		 !args->output && args->place == PLACE_FILE ? ".tach" : "");
	if (snprintf(r->dir_path, sizeof(r->dir_path), "%s%s", r->path,
		     args->place == PLACE_COMMAND ? PLACE_DIR_SUFFIX : "") >= PATH_MAX)
		return -ENAMETOOLONG;
	err = replaced_make_room(&r->replaced, r->path, args->place, args->force);
	if (!err && args->place == PLACE_DIR) {
		err = recording_dir(r);
		if (err < 0)
			replaced_restore(&r->replaced);
	}
	return err < 0 ? err : 0;
}

int recording_dir(struct recording *r)
{
	bool is_new;

	if (r->dirfd >= 0)
		return r->dirfd;
	is_new = access(r->dir_path, F_OK);
	r->dirfd = output_create_dir(r->dir_path);
	r->made_dir = r->dirfd >= 0 && is_new;
	return r->dirfd;
}

bool recording_is_named(const struct recording *r, pid_t tgid)
{
	return r->args.place == PLACE_FILE ||
	       (r->args.place == PLACE_COMMAND && tgid && tgid == r->command_tgid);
}

const char *recording_beside(const struct recording *r, const char *name, char out[PATH_MAX])
{
	const char *slash = strrchr(r->path, '/');

	if (snprintf(out, PATH_MAX, "%.*s%s", slash ? (int)(slash + 1 - r->path) : 0, r->path,
		     name) < PATH_MAX)
		return out;
	errno = ENAMETOOLONG;
	return NULL;
}

/* ---- files that the user has named ---- */

int recording_add_named(struct recording *r, const char *name)
{
	char **bigger = reallocarray(r->named, r->named_cnt + 1, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	r->named = bigger;
	r->named[r->named_cnt] = strdup(name);
	if (!r->named[r->named_cnt])
		return -ENOMEM;
	r->named_cnt++;
	return 0;
}

void recording_free_place(struct recording *r)
{
	size_t i;

	for (i = 0; i < r->named_cnt; i++)
		free(r->named[i]);
	free(r->named);
	if (r->dirfd >= 0)
		close(r->dirfd);
}

int recording_paths(const struct recording *r, struct recording_paths *out)
{
	char path[PATH_MAX];
	size_t i;

	*out = (struct recording_paths){ .paths = calloc(r->named_cnt + 1, sizeof(char *)) };
	if (!out->paths)
		return -ENOMEM;
	for (i = 0; i < r->named_cnt; i++) {
		if (!recording_beside(r, r->named[i], path))
			return -errno;
		out->paths[out->cnt] = strdup(path);
		if (!out->paths[out->cnt++])
			return -ENOMEM;
	}
	if (r->dirfd < 0)
		return 0;
	out->paths[out->cnt] = strdup(r->dir_path);
	return out->paths[out->cnt++] ? 0 : -ENOMEM;
}

void recording_paths_free(struct recording_paths *p)
{
	while (p->cnt)
		free(p->paths[--p->cnt]);
	free(p->paths);
	p->paths = NULL;
}

/* A file of nothing, and its journal. */
static void remove_named(const struct recording *r, const char *name)
{
	char path[PATH_MAX], journal[OUTPUT_NAME_MAX + 16];

	if (recording_beside(r, name, path))
		unlink(path);
	snprintf(journal, sizeof(journal), ".%s" TACH_JOURNAL_SUFFIX, name);
	if (recording_beside(r, journal, path))
		unlink(path);
}

void recording_discard(struct recording *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->named_cnt; i++)
		remove_named(r, r->named[i]);
	if (r->made_dir)
		rmdir(r->dir_path);	/* succeeds only if it is empty */
	replaced_restore(&r->replaced);
}

/* ---- what it says of itself ---- */

/* only: of this file; NULL: everything. 0 or -errno. */
static int write_json(const struct recording *r, const struct capture_counts *c, int fd,
		      const char *only)
{
	FILE *f = fdopen(fd, "w");
	int err = 0;

	if (!f) {
		err = -errno;
		close(fd);
		return err;
	}
	recording_write_json(r, c, only, f);
	if (fflush(f) || ferror(f))
		err = -errno;
	if (fclose(f) && !err)
		err = -errno;
	return err;
}

static int write_beside(const struct recording *r, const struct capture_counts *c,
			const char *name)
{
	char json[OUTPUT_NAME_MAX], path[PATH_MAX];
	int fd, err;

	if (snprintf(json, sizeof(json), "%s" SESSION_BESIDE_SUFFIX, name) >= OUTPUT_NAME_MAX ||
	    !recording_beside(r, json, path)) {
		log_warn("no " SESSION_BESIDE_SUFFIX " file beside the profile: its name is too "
			 "long; names of threads and losses are not kept");
		return 0;
	}
	fd = output_create_path(path);
	if (fd < 0)
		return fd;
	err = write_json(r, c, fd, name);
	if (err)
		log_error("cannot write %s: %s", path, strerror(-err));
	return err;
}

int recording_write_session(const struct recording *r, const struct capture_counts *c)
{
	int err = 0, one, fd;
	size_t i;

	if (r->dirfd >= 0) {
		fd = output_create_file(r->dirfd, SESSION_FILE_NAME);
		err = fd < 0 ? fd : write_json(r, c, fd, NULL);
		if (err && fd >= 0)
			log_error("cannot write %s/%s: %s", r->dir_path, SESSION_FILE_NAME,
				  strerror(-err));
	}
	for (i = 0; i < r->named_cnt; i++) {
		one = write_beside(r, c, r->named[i]);
		err = err ? err : one;
	}
	return err;
}
