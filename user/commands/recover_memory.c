// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recover_memory.c - see recover_memory.h. The new file replaces NAME.events and NAME.names; with -o
 * they stay.
 */
#include "commands/recover_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/string_ref.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/options.h"
#include "formats/input.h"
#include "formats/mlyze/mlyze.h"
#include "formats/mlyze/mlyze_join.h"
#include "formats/mlyze/mlyze_stream.h"

#define WHY_BYTES 256

/* The file that is wanted: path without .events or .names. */
struct wanted {
	char path[PATH_MAX];
	const char *name;	/* its last component */
	int dirfd;		/* its directory; -1: it cannot be opened */
	char *shown;		/* escaped */
};

/* The length of path without .events or .names; 0: it has neither. */
static size_t part_of(const char *path)
{
	if (ends_with(path, MLYZE_EVENTS_SUFFIX))
		return strlen(path) - strlen(MLYZE_EVENTS_SUFFIX);
	return ends_with(path, MLYZE_NAMES_SUFFIX) ? strlen(path) - strlen(MLYZE_NAMES_SUFFIX) : 0;
}

static bool has_parts(const char *path)
{
	char names[PATH_MAX];
	struct stat st;

	return snprintf(names, sizeof(names), "%s" MLYZE_NAMES_SUFFIX, path) < PATH_MAX &&
	       !lstat(names, &st);
}

bool recover_memory_is(const char *path)
{
	char whole[PATH_MAX];
	size_t len = part_of(path);

	if (ends_with(path, MLYZE_SUFFIX) || has_parts(path))
		return true;
	snprintf(whole, sizeof(whole), "%.*s", (int)len, path);
	return len && len < PATH_MAX && has_parts(whole);
}

static int want(struct wanted *w, const char *path)
{
	size_t len = part_of(path);
	const char *slash;

	*w = (struct wanted){ .dirfd = -1 };
	if (snprintf(w->path, sizeof(w->path), "%.*s", len ? (int)len : INT_MAX, path) >= PATH_MAX)
		return -ENAMETOOLONG;
	w->shown = text_escape(w->path, strlen(w->path));
	if (!w->shown)
		return -ENOMEM;
	slash = strrchr(w->path, '/');
	w->name = slash ? slash + 1 : w->path;
	if (slash) {
		char dir[PATH_MAX];

		snprintf(dir, sizeof(dir), "%.*s", (int)(slash + 1 - w->path), w->path);
		w->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	} else {
		w->dirfd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return w->dirfd < 0 ? -errno : 0;
}

/* ---- a file that is there ---- */

/* Count its events. 0; -EBADMSG: it is damaged, which was logged. */
static int look(const struct wanted *w, const struct input *in)
{
	struct mlyze_error error;
	struct mlyze_file *f = mlyze_open(in->data, in->size, &error);
	struct mlyze_cursor c = { 0 };
	struct mlyze_event ev;
	int more = f ? 1 : -EBADMSG;

	if (f)
		mlyze_rewind(&c, f);
	while (more > 0)
		more = mlyze_next(&c, &ev, &error);
	if (more)
		log_error("'%s' is damaged at byte %" PRIu64 ": %s; nothing is left of its "
			  "recording that could repair it%s", w->shown, error.off, error.text,
			  f ? ": readers use the data before it" : "");
	else
		printf("%s: nothing to recover, %" PRIu64 " %s readable\n", w->shown, c.index,
		       text_plural(c.index, "event is", "events are"));
	mlyze_free(f);
	return more;
}

static int look_at_whole(const struct wanted *w)
{
	char why[WHY_BYTES], shown[2 * WHY_BYTES];
	struct input *in = input_map(w->path, why, sizeof(why));
	int err;

	if (!in) {
		err = -errno;
		log_error("cannot recover '%s': %s", w->shown,
			  escape_text(why, strlen(why), shown, sizeof(shown)));
		return err;
	}
	err = look(w, in);
	input_unmap(in);
	return err;
}

/* ---- joining ---- */

/* The permissions and the owner of the events. */
static int copy_rights(const struct wanted *w, int fd)
{
	char events[PATH_MAX + 16];
	struct stat st;

	snprintf(events, sizeof(events), "%s" MLYZE_EVENTS_SUFFIX, w->name);
	if (fstatat(w->dirfd, events, &st, AT_SYMLINK_NOFOLLOW) || fchmod(fd, st.st_mode & 0777) ||
	    (!geteuid() && fchown(fd, st.st_uid, st.st_gid)))
		return -errno;
	return 0;
}

static void print_result(const char *shown, const struct mlyze_joined *joined)
{
	printf("%s: %" PRIu64 " %s recovered", shown, joined->events,
	       text_plural(joined->events, "event", "events"));
	if (joined->dropped)
		printf("; then %" PRIu64 " %s no whole event", joined->dropped,
		       text_plural(joined->dropped, "byte that is", "bytes that are"));
	printf("\n");
}

static int join(const struct wanted *w, const char *to)
{
	char why[WHY_BYTES] = "", shown[2 * WHY_BYTES];
	struct mlyze_joined joined;
	struct output_file out;
	int err = output_open(&out, to ? to : w->path);

	if (err)
		return err;
	err = mlyze_join_to(out.fd, w->dirfd, w->name, &joined, why, sizeof(why));
	if (!err) {
		err = copy_rights(w, out.fd);
		snprintf(why, sizeof(why), "%s", strerror(-err));
	}
	if (err) {
		output_abort(&out);
		log_error("cannot recover '%s': %s", w->shown,
			  escape_text(why, strlen(why), shown, sizeof(shown)));
		return err;
	}
	err = output_commit(&out);
	if (err)
		return err;
	if (!to)
		mlyze_remove_parts(w->dirfd, w->name);
	print_result(w->shown, &joined);
	return 0;
}

static int recover(const struct wanted *w, const struct recover_options *opts)
{
	if (!has_parts(w->path))
		return look_at_whole(w);
	if (mlyze_is_live(w->dirfd, w->name) && !opts->output) {
		log_error("'%s' is still being recorded: use -o FILE to copy what was recorded so "
			  "far",
			  w->shown);
		return -EBUSY;
	}
	return join(w, opts->output);
}

int recover_memory(const char *path, const struct recover_options *opts)
{
	struct wanted w;
	int err = want(&w, path);

	if (err)
		log_error("cannot recover '%s': %s", w.shown ? w.shown : "?", strerror(-err));
	else
		err = recover(&w, opts);
	if (w.dirfd >= 0)
		close(w.dirfd);
	free(w.shown);
	return err;
}
