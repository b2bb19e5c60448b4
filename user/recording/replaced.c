// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* replaced.c - see replaced.h. Names are checked before they are moved. */
#include "recording/replaced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "formats/mlyze/mlyze.h"
#include "formats/mlyze/mlyze_stream.h"
#include "formats/tach/tach_format.h"
#include "formats/tach/tach_journal.h"
#include "host/regular.h"
#include "recording/regions_file.h"
#include "recording/session_json.h"
#include "recording/sources_file.h"

#define NAME_BYTES OLD_NAME_BYTES
#define SHOWN_BYTES 512

/*
 * ---- files of an earlier recording in a directory ----
 *
 * Only files written by a recording count and are ever removed. No symbolic link is followed, and a
 * directory that is removed must be ours (output.h): others cannot make us remove their files.
 */

static bool is_regular(int dirfd, const char *name)
{
	struct stat st;

	return !fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
}

static void journal_name(const char *name, char out[OLD_NAME_BYTES])
{
	snprintf(out, OLD_NAME_BYTES, ".%s" TACH_JOURNAL_SUFFIX, name);
}

/* Returns true if the file begins with these bytes. */
static bool begins_with(int dirfd, const char *name, const char *magic)
{
	int fd = open_regular(dirfd, name, RESOLVE_NO_SYMLINKS);
	char begin[16];
	bool same;

	if (fd < 0)
		return false;
	same = read(fd, begin, strlen(magic)) == (ssize_t)strlen(magic) &&
	       !memcmp(begin, magic, strlen(magic));
	close(fd);
	return same;
}

/* Returns true if it is the journal of names of a Memlyze file. */
static bool is_names(int dirfd, const char *name)
{
	struct stat st;

	return begins_with(dirfd, name, MLYZE_NAMES_MAGIC) ||
	       (is_regular(dirfd, name) && !fstatat(dirfd, name, &st, 0) &&
		!st.st_size);
}

/*
 * Returns true if it is a TACH or a Memlyze file, an empty one, or a TACH file whose recording was
 * killed, with its journal.
 */
static bool is_profile(int dirfd, const char *name)
{
	int fd = open_regular(dirfd, name, RESOLVE_NO_SYMLINKS);
	char journal[OLD_NAME_BYTES];
	uint32_t magic = 0;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (is_regular(dirfd, name))
		n = read(fd, &magic, sizeof(magic));
	close(fd);
	journal_name(name, journal);
	if (!n || begins_with(dirfd, name, MLYZE_MAGIC))
		return true;
	return n == sizeof(magic) && (magic == TACH_MAGIC || magic == TACH_MAGIC_SWAPPED ||
				      (!magic && is_regular(dirfd, journal)));
}

static bool is_profile_name(const char *name)
{
	return ends_with(name, ".tach") || ends_with(name, MLYZE_SUFFIX);
}

/* Returns true for a name that a recording's directory may have, with matching contents. */
static bool is_entry(int dirfd, const char *name)
{
	if (!is_regular(dirfd, name))
		return false;
	if (is_profile_name(name))
		return is_profile(dirfd, name);
	if (ends_with(name, MLYZE_SUFFIX MLYZE_NAMES_SUFFIX))
		return is_names(dirfd, name);
	return !strcmp(name, SESSION_FILE_NAME) || !strcmp(name, SOURCES_FILE_NAME) ||
	       ends_with(name, ".tach" SESSION_BESIDE_SUFFIX) ||
	       ends_with(name, ".tach" SOURCES_BESIDE_SUFFIX) ||
	       ends_with(name, ".tach" REGIONS_BESIDE_SUFFIX) ||
	       ends_with(name, MLYZE_SUFFIX SESSION_BESIDE_SUFFIX) ||
	       ends_with(name, MLYZE_SUFFIX SOURCES_BESIDE_SUFFIX) ||
	       ends_with(name, MLYZE_SUFFIX MLYZE_EVENTS_SUFFIX) ||
	       ends_with(name, ".tach.damaged") ||
	       (!strncmp(name, OUTPUT_TEMP_PREFIX, strlen(OUTPUT_TEMP_PREFIX)) &&
		ends_with(name, ".tmp")) ||
	       (*name == '.' && ends_with(name, TACH_JOURNAL_SUFFIX));
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Returns a stream of a directory's entries. NULL with errno: it cannot be opened, or is a link. */
static DIR *open_dir(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

int old_recording_find_other(int parent, const char *name, char other[OLD_NAME_BYTES],
			     size_t *entries)
{
	DIR *d = open_dir(parent, name);
	struct dirent *e;

	other[0] = '\0';
	*entries = 0;
	if (!d)
		return -errno;
	while (!other[0] && (e = readdir(d))) {
		if (is_dot(e->d_name))
			continue;
		++*entries;
		if (!is_entry(dirfd(d), e->d_name))
			snprintf(other, OLD_NAME_BYTES, "%s", e->d_name);
	}
	closedir(d);
	return 0;
}

/* Returns true if the directory has a recording, whatever else there is. */
static bool has_recording(int parent, const char *name)
{
	DIR *d = open_dir(parent, name);
	struct dirent *e;
	bool found = false;

	while (d && !found && (e = readdir(d)))
		found = is_profile_name(e->d_name) || !strcmp(e->d_name, SESSION_FILE_NAME) ||
			ends_with(e->d_name, MLYZE_SUFFIX MLYZE_EVENTS_SUFFIX);
	if (d)
		closedir(d);
	return found;
}

int old_recording_remove(int parent, const char *name)
{
	DIR *d = open_dir(parent, name);
	struct dirent *e;
	int err;

	if (!d)
		return -errno;
	err = output_check_dir(dirfd(d), name);
	while (!err && (e = readdir(d)))
		if (!is_dot(e->d_name) && is_entry(dirfd(d), e->d_name))
			unlinkat(dirfd(d), e->d_name, 0);
	if (!err && unlinkat(parent, name, AT_REMOVEDIR))
		err = -errno;
	closedir(d);
	return err;
}

/* ---- the parts of a recording, and their names when set aside ---- */

enum part { MAIN, JSON, SOURCES, REGIONS, JOURNAL, CHILDREN, NAMES, EVENTS, PART_CNT };

/* Returns the name of a part of the recording NAME, and its name when set aside. */
static void part_name(const char *name, enum part part, char out[NAME_BYTES])
{
	static const struct {
		const char *before, *after;
	} around[PART_CNT] = {
		[MAIN] = { "", "" }, [JSON] = { "", SESSION_BESIDE_SUFFIX },
		[SOURCES] = { "", SOURCES_BESIDE_SUFFIX },
		[REGIONS] = { "", REGIONS_BESIDE_SUFFIX },
		[JOURNAL] = { ".", TACH_JOURNAL_SUFFIX }, [CHILDREN] = { "", PLACE_DIR_SUFFIX },
		[NAMES] = { "", MLYZE_NAMES_SUFFIX }, [EVENTS] = { "", MLYZE_EVENTS_SUFFIX },
	};

	snprintf(out, NAME_BYTES, "%s%s%s", around[part].before, name, around[part].after);
}

static void aside_name(const char *name, enum part part, char out[NAME_BYTES])
{
	char whole[NAME_BYTES];

	part_name(name, part, whole);
	snprintf(out, NAME_BYTES, ".%.*s.replaced", OUTPUT_NAME_MAX, whole);
}

static const char *shown_name(const char *name, char buf[SHOWN_BYTES])
{
	return escape_text(name, strlen(name), buf, SHOWN_BYTES);
}

/* ---- checks that files belong to a recording ---- */

/* 0: it has only files of a recording; or -errno after logging. */
static int check_dir(int parent, const char *name)
{
	char other[NAME_BYTES], buf[SHOWN_BYTES], buf2[SHOWN_BYTES];
	size_t entries;
	int err = old_recording_find_other(parent, name, other, &entries);

	if (err)
		log_error("cannot read directory '%s': %s", shown_name(name, buf), strerror(-err));
	else if (*other)
		log_error("'%s' contains '%s', which is not part of a recording: --force does not "
			  "replace it; choose another name with -o", shown_name(name, buf),
			  shown_name(other, buf2));
	return err ? err : *other ? -EEXIST : 0;
}

static bool is_regions(int dirfd, const char *name)
{
	struct regions regions;
	char why[128];
	bool is_ours = !regions_read(&regions, dirfd, name, why, sizeof(why));

	regions_free(&regions);
	return is_ours;
}

/* As check_dir(), for any part. */
static int check_part(int parent, const char *name, enum part part, const struct stat *st)
{
	struct session_json *session = NULL;
	struct saved_sources sources = { 0 };
	char buf[SHOWN_BYTES], file[NAME_BYTES];
	bool is_ours = false;

	if (S_ISDIR(st->st_mode))
		return check_dir(parent, name);
	if (part == MAIN) {
		is_ours = is_profile(parent, name);
	} else if (part == JOURNAL || part == EVENTS) {
		is_ours = is_regular(parent, name);
	} else if (part == NAMES) {
		is_ours = is_names(parent, name);
	} else if (part == SOURCES) {
		is_ours = !saved_sources_read(&sources, parent, name);
		saved_sources_free(&sources);
	} else if (part == REGIONS) {
		is_ours = is_regions(parent, name);
	} else if (part == JSON && is_regular(parent, name)) {
		snprintf(file, sizeof(file), "%.*s",
			 (int)(strlen(name) - strlen(SESSION_BESIDE_SUFFIX)), name);
		session = session_json_read_beside(parent, file, NULL);
		is_ours = session;
		session_json_free(session);
	}
	if (is_ours)
		return 0;
	log_error("'%s' is not part of a recording: --force does not replace it; choose another "
		  "name with -o", shown_name(name, buf));
	return -EEXIST;
}

/* ---- existing files ---- */

struct obstacles {
	struct stat st[PART_CNT];
	bool there[PART_CNT], in_the_way[PART_CNT];
};

/* Returns true if a directory for new files is in the way. Other contents may stay. */
static bool dir_is_full(int parent, const char *name, const struct stat *st)
{
	return S_ISDIR(st->st_mode) ? has_recording(parent, name) : true;
}

static void find_beside(struct obstacles *o)
{
	o->in_the_way[JSON] = o->there[JSON];
	o->in_the_way[SOURCES] = o->there[SOURCES];
	o->in_the_way[REGIONS] = o->there[REGIONS];
}

static void find_obstacles(int parent, const char *name, enum place_kind kind,
			   struct obstacles *o)
{
	bool old_file;
	char part[NAME_BYTES];
	int i;

	memset(o, 0, sizeof(*o));
	for (i = 0; i < PART_CNT; i++) {
		part_name(name, i, part);
		o->there[i] = !fstatat(parent, part, &o->st[i], AT_SYMLINK_NOFOLLOW);
	}
	old_file = o->there[MAIN] && S_ISREG(o->st[MAIN].st_mode);
	if (o->there[MAIN])
		o->in_the_way[MAIN] = kind == PLACE_DIR ?
			dir_is_full(parent, name, &o->st[MAIN]) :
			!old_file || o->st[MAIN].st_size;
	if (kind != PLACE_DIR)
		find_beside(o);
	else if (o->in_the_way[MAIN])
		o->in_the_way[REGIONS] = o->there[REGIONS];
	/* Of a memory recording that was killed. */
	part_name(name, NAMES, part);
	if (kind != PLACE_DIR && o->there[NAMES] && is_names(parent, part)) {
		o->in_the_way[NAMES] = true;
		o->in_the_way[EVENTS] = o->there[EVENTS];
	}
	part_name(name, CHILDREN, part);
	if (kind == PLACE_COMMAND && o->there[CHILDREN])
		o->in_the_way[CHILDREN] = dir_is_full(parent, part, &o->st[CHILDREN]);
	/* The rest of a file's recording is removed with it. */
	if (old_file && o->in_the_way[MAIN]) {
		find_beside(o);
		o->in_the_way[JOURNAL] = o->there[JOURNAL];
		if (o->there[CHILDREN] && S_ISDIR(o->st[CHILDREN].st_mode))
			o->in_the_way[CHILDREN] = has_recording(parent, part);
	}
}

/* What is neither a file nor a directory, or the wrong kind, is not ours to replace. */
static int refuse_kind(int parent, const char *name, enum place_kind kind, const struct stat *st)
{
	char buf[SHOWN_BYTES];

	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return output_check_replaceable(parent, name);
	if (kind == PLACE_DIR && S_ISREG(st->st_mode)) {
		log_error("'%s' exists and is not a directory; choose another name with -o",
			  shown_name(name, buf));
		return -ENOTDIR;
	}
	if (kind != PLACE_DIR && S_ISDIR(st->st_mode))
		return output_check_replaceable(parent, name);
	return 0;
}

static int refuse_place(int parent, const char *name, enum place_kind kind,
			const struct obstacles *o)
{
	char part[NAME_BYTES], buf[SHOWN_BYTES];
	int i, err = 0;

	for (i = 0; !o->in_the_way[i]; i++)
		;
	part_name(name, i, part);
	err = refuse_kind(parent, part, i == MAIN ? kind : i == CHILDREN ? PLACE_DIR : PLACE_FILE,
			  &o->st[i]);
	if (err)
		return err;
	if (S_ISDIR(o->st[i].st_mode))
		log_error("'%s' already holds a recording; remove it, choose another directory "
			  "with -o, or use --force to replace it", shown_name(part, buf));
	else
		log_error("'%s' already exists; remove it, choose another name with -o, or use "
			  "--force to replace the recording", shown_name(part, buf));
	return -EEXIST;
}

/* ---- moving and removing ---- */

/* Removes a file, or a directory with a recording's files in it. Logs what cannot be removed. */
static void remove_part(int parent, const char *name)
{
	int err = old_recording_remove(parent, name);
	char buf[SHOWN_BYTES];

	if (err == -ENOTDIR || err == -ELOOP)
		err = unlinkat(parent, name, 0) ? -errno : 0;
	if (err && err != -ENOENT && err != -EPERM)
		log_warn("cannot remove '%s': %s", shown_name(name, buf), strerror(-err));
}

static int set_aside(struct replaced *r, enum part part)
{
	char from[NAME_BYTES], to[NAME_BYTES], buf[SHOWN_BYTES];
	struct stat st;
	int err;

	part_name(r->name, part, from);
	aside_name(r->name, part, to);
	/* Left by a recording that was killed while it replaced another. */
	if (!fstatat(r->dirfd, to, &st, AT_SYMLINK_NOFOLLOW))
		remove_part(r->dirfd, to);
	if (renameat(r->dirfd, from, r->dirfd, to)) {
		err = errno;
		log_error("cannot set '%s' aside: %s; remove it or choose another name with -o",
			  shown_name(from, buf), strerror(err));
		return -err;
	}
	r->aside |= 1u << part;
	return 0;
}

int replaced_make_room(struct replaced *r, const char *path, enum place_kind kind, bool force)
{
	struct obstacles o;
	char part[NAME_BYTES];
	int i, err = 0;

	r->aside = 0;
	r->dirfd = output_open_parent(path, r->name, kind == PLACE_DIR);
	if (r->dirfd < 0)
		return r->dirfd;
	find_obstacles(r->dirfd, r->name, kind, &o);
	for (i = 0; !err && i < PART_CNT; i++) {
		part_name(r->name, i, part);
		if (o.in_the_way[i])
			err = force ? check_part(r->dirfd, part, i, &o.st[i]) :
				      refuse_place(r->dirfd, r->name, kind, &o);
	}
	for (i = 0; !err && i < PART_CNT; i++)
		if (o.in_the_way[i])
			err = set_aside(r, i);
	if (err)
		replaced_restore(r);
	return err;
}

static void end_replacing(struct replaced *r)
{
	if (r->dirfd >= 0)
		close(r->dirfd);
	r->dirfd = -1;
	r->aside = 0;
}

void replaced_remove(struct replaced *r)
{
	char aside[NAME_BYTES];
	int i;

	for (i = 0; i < PART_CNT; i++) {
		aside_name(r->name, i, aside);
		if (r->aside & 1u << i)
			remove_part(r->dirfd, aside);
	}
	end_replacing(r);
}

void replaced_restore(struct replaced *r)
{
	char part[NAME_BYTES], aside[NAME_BYTES], buf[SHOWN_BYTES];
	int i;

	for (i = 0; i < PART_CNT; i++) {
		part_name(r->name, i, part);
		aside_name(r->name, i, aside);
		if (r->aside & 1u << i && renameat(r->dirfd, aside, r->dirfd, part))
			log_warn("the earlier recording is now '%s': %s", shown_name(aside, buf),
				 strerror(errno));
	}
	end_replacing(r);
}

void replaced_keep(struct replaced *r)
{
	char aside[NAME_BYTES], buf[SHOWN_BYTES];
	int i;

	for (i = 0; i < PART_CNT; i++) {
		aside_name(r->name, i, aside);
		if (r->aside & 1u << i)
			log_warn("the earlier recording is kept as '%s'", shown_name(aside, buf));
	}
	end_replacing(r);
}
