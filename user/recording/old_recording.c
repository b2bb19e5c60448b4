// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * old_recording.c - see old_recording.h.
 *
 * A directory that is removed is opened without following links and must be ours (output.h):
 * others cannot make us remove what is theirs.
 */
#include "recording/old_recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/string_ref.h"
#include "formats/mlyze/mlyze.h"
#include "formats/mlyze/mlyze_stream.h"
#include "formats/tach/tach_format.h"
#include "formats/tach/tach_journal.h"
#include "host/regular.h"
#include "recording/session_json.h"

bool old_recording_is_regular(int dirfd, const char *name)
{
	struct stat st;

	return !fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
}

static void journal_name(const char *name, char out[OLD_NAME_BYTES])
{
	snprintf(out, OLD_NAME_BYTES, ".%s" TACH_JOURNAL_SUFFIX, name);
}

/* Does the file begin so? */
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

bool old_recording_is_names(int dirfd, const char *name)
{
	struct stat st;

	return begins_with(dirfd, name, MLYZE_NAMES_MAGIC) ||
	       (old_recording_is_regular(dirfd, name) && !fstatat(dirfd, name, &st, 0) &&
		!st.st_size);
}

bool old_recording_is_profile(int dirfd, const char *name)
{
	int fd = open_regular(dirfd, name, RESOLVE_NO_SYMLINKS);
	char journal[OLD_NAME_BYTES];
	uint32_t magic = 0;
	ssize_t n = -1;

	if (fd < 0)
		return false;
	if (old_recording_is_regular(dirfd, name))
		n = read(fd, &magic, sizeof(magic));
	close(fd);
	journal_name(name, journal);
	if (!n || begins_with(dirfd, name, MLYZE_MAGIC))
		return true;
	return n == sizeof(magic) && (magic == TACH_MAGIC || magic == TACH_MAGIC_SWAPPED ||
				      (!magic && old_recording_is_regular(dirfd, journal)));
}

static bool is_profile_name(const char *name)
{
	return ends_with(name, ".tach") || ends_with(name, MLYZE_SUFFIX);
}

/* A name that a recording's directory may have, and what has it. */
static bool is_entry(int dirfd, const char *name)
{
	if (!old_recording_is_regular(dirfd, name))
		return false;
	if (is_profile_name(name))
		return old_recording_is_profile(dirfd, name);
	if (ends_with(name, MLYZE_SUFFIX MLYZE_NAMES_SUFFIX))
		return old_recording_is_names(dirfd, name);
	return !strcmp(name, SESSION_FILE_NAME) || ends_with(name, ".tach" SESSION_BESIDE_SUFFIX) ||
	       ends_with(name, MLYZE_SUFFIX SESSION_BESIDE_SUFFIX) ||
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

/* A stream of a directory's entries. NULL with errno: it cannot be opened, or is a link. */
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

bool old_recording_is_there(int parent, const char *name)
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
