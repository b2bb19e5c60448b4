// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recording_place.c - where the files of a recording are: in a directory; or a file that the user
 * has named, with FILE.json next to it; or such a file for a command and a directory, FILE.d, for
 * processes that the command starts. And the file names of processes. See recording_rows.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/util.h"
#include "formats/mlyze/mlyze_stream.h"
#include "formats/tach/tach_journal.h"
#include "recording/recording_rows.h"
#include "recording/session_json.h"
#include "recording/regions_file.h"
#include "recording/sources_file.h"

/*
 * Room reserved for session.json from the start, so that it can be written if the disk is full at
 * the end: its contents without processes, a list of CPUs, and the first processes. It grows by
 * STEP_BYTES, or by a quarter if that is more: each step costs some 50 us. A row has some 1,000
 * bytes and its command.
 */
#define SESSION_BYTES 12288
#define CPU_BYTES 256
#define ROW_BYTES 1500
#define STEP_BYTES 16384

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

static uint64_t json_bytes(void)
{
	return SESSION_BYTES + (uint64_t)get_nprocs_conf() * CPU_BYTES;
}

/* Gives up a directory in which there is no room even for session.json. */
static int unmake_dir(struct recording *r, bool made, int err)
{
	close(r->dirfd);
	r->dirfd = -1;
	if (made)
		rmdir(r->dir_path);	/* succeeds only if it is empty */
	return err;
}

int recording_dir(struct recording *r)
{
	bool is_new;
	int err;

	if (r->dirfd >= 0)
		return r->dirfd;
	r->dirfd = output_create_dir(r->dir_path, &is_new);
	if (r->dirfd < 0)
		return r->dirfd;
	/* Shows `tachbpf recover` that files in it are still being written (profile_file.c). */
	flock(r->dirfd, LOCK_EX | LOCK_NB);
	r->session_bytes = r->session_reserved = json_bytes();
	err = output_reserve(&r->session, r->dirfd, SESSION_FILE_NAME, r->session_reserved);
	if (err)
		return unmake_dir(r, is_new, err);
	r->made_dir = is_new;
	return r->dirfd;
}

void recording_reserve_row(struct recording *r, const char *command)
{
	uint64_t more;

	r->session_bytes += ROW_BYTES + strlen(command);
	if (r->session.fd < 0 || r->session_bytes <= r->session_reserved)
		return;
	more = r->session_bytes / 4 > STEP_BYTES ? r->session_bytes / 4 : STEP_BYTES;
	if (!output_reserve_more(&r->session, r->session_bytes + more))
		r->session_reserved = r->session_bytes + more;
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

bool recording_journal(const struct recording *r, const struct row *row, char out[PATH_MAX])
{
	char name[OUTPUT_NAME_MAX];

	if (snprintf(name, sizeof(name), ".%s" TACH_JOURNAL_SUFFIX, row->file) >=
	    OUTPUT_NAME_MAX)
		return false;
	if (row->named)
		return recording_beside(r, name, out);
	memcpy(out, name, sizeof(name));
	return true;
}

/* ---- files that the user has named ---- */

/* Sets out to the name of a file's FILE.json. False: it is too long. */
static bool name_beside(const char *name, char out[OUTPUT_NAME_MAX])
{
	return snprintf(out, OUTPUT_NAME_MAX, "%s" SESSION_BESIDE_SUFFIX, name) < OUTPUT_NAME_MAX;
}

/* Without such a name there is no FILE.json, which is reported at the end. */
static int reserve_beside(const struct recording *r, struct named_file *n)
{
	char json[OUTPUT_NAME_MAX], last[OUTPUT_NAME_MAX], path[PATH_MAX];
	int dirfd, err;

	if (!name_beside(n->name, json) || !recording_beside(r, json, path))
		return 0;
	dirfd = output_open_parent(path, last, false);
	if (dirfd < 0)
		return dirfd;
	err = output_reserve(&n->json, dirfd, last, json_bytes());
	close(dirfd);
	return err;
}

int recording_add_named(struct recording *r, const char *name)
{
	struct named_file *n;
	size_t i;
	int err;

	for (i = 0; i < r->named_cnt; i++)
		if (!strcmp(r->named[i].name, name))
			return 0;	/* of the program before an exec, without a sample */
	n = array_grow(r->named, r->named_cnt, &r->named_cap, sizeof(*n));
	if (!n)
		return -ENOMEM;
	r->named = n;
	n += r->named_cnt;
	n->name = strdup(name);
	n->json.fd = -1;
	if (!n->name)
		return -ENOMEM;
	err = reserve_beside(r, n);
	if (err)
		free(n->name);
	else
		r->named_cnt++;
	return err;
}

void recording_free_place(struct recording *r)
{
	size_t i;

	for (i = 0; i < r->named_cnt; i++) {
		output_abort(&r->named[i].json);
		free(r->named[i].name);
	}
	free(r->named);
	output_abort(&r->session);
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
		if (!recording_beside(r, r->named[i].name, path))
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

/* Removes a file without samples, and its journal. */
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
		remove_named(r, r->named[i].name);
	if (r->made_dir)
		rmdir(r->dir_path);	/* succeeds only if it is empty */
	replaced_restore(&r->replaced);
}

/* ---- session.json and FILE.json ---- */

/* only: of this file; NULL: everything. Closes a copy of fd. 0 or -errno. */
static int write_json(const struct recording *r, const struct capture_counts *c, int fd,
		      const char *only)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), err = 0;
	FILE *f = copy < 0 ? NULL : fdopen(copy, "w");

	if (!f) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		return err;
	}
	recording_write_json(r, c, only, f);
	if (fflush(f) || ferror(f))
		err = -errno;
	if (fclose(f) && !err)
		err = -errno;
	return err;
}

static int write_and_commit(const struct recording *r, const struct capture_counts *c,
			    struct output_file *f, const char *only)
{
	int err = write_json(r, c, f->fd, only);

	if (!err)
		return output_commit(f);
	log_error("cannot write %s: %s; the profiles are complete without it", f->name,
		  strerror(-err));
	output_abort(f);
	return err;
}

int recording_write_session(struct recording *r, const struct capture_counts *c)
{
	struct named_file *n;
	int err = 0, one;
	size_t i;

	if (r->session.fd >= 0)
		err = write_and_commit(r, c, &r->session, NULL);
	for (i = 0; i < r->named_cnt; i++) {
		n = &r->named[i];
		if (n->json.fd < 0) {
			log_warn("no " SESSION_BESIDE_SUFFIX " file next to the profile: its "
				 "name is too long; thread names and losses are "
				 "not kept");
			continue;
		}
		one = write_and_commit(r, c, &n->json, n->name);
		err = err ? err : one;
	}
	return err;
}

/* ---- file names of processes ---- */

static const char *recording_suffix(const struct recording *r)
{
	return r->args.mode->memory ? MLYZE_SUFFIX : OUTPUT_SUFFIX;
}

/* Sets the name of a file that the user named: "x.tach" for seq 0, then "x.1.tach" and so on. */
static void name_named(const struct recording *r, unsigned int seq, char out[OUTPUT_NAME_MAX])
{
	const char *slash = strrchr(r->path, '/'), *base = slash ? slash + 1 : r->path;
	const char *suffix = recording_suffix(r);
	size_t stem = strlen(base), tail = strlen(suffix);

	if (!seq) {
		snprintf(out, OUTPUT_NAME_MAX, "%.*s", OUTPUT_NAME_MAX - 1, base);
		return;
	}
	if (stem > tail && !strcmp(base + stem - tail, suffix))
		stem -= tail;
	snprintf(out, OUTPUT_NAME_MAX, "%.*s.%u%s",
		 (int)(stem < OUTPUT_NAME_MAX - 24 ? stem : OUTPUT_NAME_MAX - 24), base, seq,
		 suffix);
}

static bool is_there(const struct recording *r, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	/*
	 * Not access(2): under sudo it would check for root, who may not look into a user's home.
	 */
	return recording_beside(r, name, path) && !lstat(path, &st);
}

/* Returns true if a file of that name, or one that belongs to it, exists. */
static bool is_taken(const struct recording *r, const char *name)
{
	char json[OUTPUT_NAME_MAX + sizeof(SESSION_BESIDE_SUFFIX)];
	char sources[OUTPUT_NAME_MAX + sizeof(SOURCES_BESIDE_SUFFIX)];
	char regions[OUTPUT_NAME_MAX + sizeof(REGIONS_BESIDE_SUFFIX)];

	snprintf(json, sizeof(json), "%s" SESSION_BESIDE_SUFFIX, name);
	snprintf(sources, sizeof(sources), "%s" SOURCES_BESIDE_SUFFIX, name);
	snprintf(regions, sizeof(regions), "%s" REGIONS_BESIDE_SUFFIX, name);
	return is_there(r, name) || is_there(r, json) || is_there(r, sources) ||
	       is_there(r, regions);
}

/*
 * The program that the process executed before may have no sample: then its file, which is
 * complete, becomes this row's. False: there is no such file.
 */
static bool take_over(struct recording *r, struct row *row)
{
	struct row *before;
	size_t i;

	for (i = r->row_cnt; i--;) {
		before = r->rows[i];
		if (!before->named || !before->ended || before->tgid != row->tgid ||
		    !before->file[0] || before->kept || before->err)
			continue;
		memcpy(row->file, before->file, sizeof(row->file));
		before->file[0] = '\0';
		r->file_cnt--;
		return true;
	}
	return false;
}

void recording_name_row(struct recording *r, struct row *row)
{
	unsigned int seq;

	if (!row->named) {
		if (!row->file[0])
			output_file_name(row->file, row->tgid, row->comm,
					 recording_name_used(r, row->tgid), recording_suffix(r));
		return;
	}
	if (take_over(r, row))
		return;
	seq = recording_name_used(r, row->tgid);
	name_named(r, seq, row->file);
	while (seq && is_taken(r, row->file)) {
		seq = recording_name_used(r, row->tgid);
		name_named(r, seq, row->file);
	}
}
