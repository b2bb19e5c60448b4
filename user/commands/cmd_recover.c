// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * cmd_recover.c - tachbpf recover: writes what recover.c can read as a new file. A .mlyze file is
 * joined from its two parts left by a killed recording.
 *
 * The new file replaces the unfinished file of a recording, and the journal is removed. A file that
 * was damaged in another way is kept as NAME.damaged, because it may contain more.
 */
#include <dirent.h>
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
#include "commands/commands.h"
#include "commands/options.h"
#include "commands/profile_out.h"
#include "formats/formats.h"
#include "formats/input.h"
#include "formats/mlyze/mlyze.h"
#include "formats/mlyze/mlyze_join.h"
#include "formats/mlyze/mlyze_stream.h"
#include "formats/tach/recover.h"
#include "formats/tach/tach_journal.h"
#include "model/intern.h"
#include "model/remap.h"
#include "recording/regions_file.h"

#define WHY_BYTES 256
#define SUFFIX ".tach"
#define DAMAGED ".damaged"

struct counts {
	uint64_t samples;
};

struct writer {
	struct sink *sink;
	struct remap *remap;
	uint64_t samples;
};

/* One file's paths; shown: escaped. */
struct job {
	const struct recover_options *opts;
	const char *path;
	char journal[PATH_MAX];
	char *shown;
	struct recovery *r;
};

static int on_count(void *ctx, const struct event *ev)
{
	((struct counts *)ctx)->samples++;
	return 0;
}

static int on_write(void *ctx, const struct event *ev)
{
	struct writer *w = ctx;
	struct event ours;
	int err = remap_event(w->remap, ev, &ours);

	if (!err)
		err = w->sink->ops->event(w->sink, &ours);
	w->samples += !err;
	return err;
}

static int journal_path(const char *path, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? (int)(slash + 1 - path) : 0;

	if (snprintf(out, PATH_MAX, "%.*s.%s" TACH_JOURNAL_SUFFIX, dir_len, path,
		     path + dir_len) >= PATH_MAX)
		return -ENAMETOOLONG;
	return 0;
}

/*
 * Writes all readable samples to the sink, with tables of what they use. why: the reason for their
 * end, "": they are complete. 0 or -errno.
 */
static int write_samples(struct job *j, struct writer *w, char *why)
{
	struct intern *in = intern_new();
	int err = -ENOMEM;

	w->remap = in ? remap_new(recover_tables(j->r), in) : NULL;
	if (w->remap)
		err = w->sink->ops->begin(w->sink, &recover_info(j->r)->meta, intern_tables(in));
	if (!err)
		err = recover_samples(j->r, on_write, w, why, WHY_BYTES);
	if (!err)
		err = remap_libraries(w->remap);
	/* No statistics: the duration and the missed ticks are unknown. */
	if (!err)
		err = w->sink->ops->end(w->sink, NULL);
	remap_free(w->remap);
	intern_free(in);
	return err;
}

/* Gives the new file the permissions and the owner of the original. */
static int copy_rights(struct job *j, int fd)
{
	struct stat st;

	if (stat(j->path, &st) || fchmod(fd, st.st_mode & 0777) ||
	    (!geteuid() && fchown(fd, st.st_uid, st.st_gid)))
		return -errno;
	return 0;
}

static int keep_original(struct job *j)
{
	char kept[PATH_MAX];

	if (snprintf(kept, sizeof(kept), "%s" DAMAGED, j->path) >= (int)sizeof(kept))
		return -ENAMETOOLONG;
	if (!link(j->path, kept))
		return 0;
	log_error("cannot keep '%s' as '%s" DAMAGED "': %s; use -o", j->shown, j->shown,
		  strerror(errno));
	return -ECANCELED;
}

static void print_result(const struct job *j, uint64_t samples, const char *why)
{
	char shown[WHY_BYTES * 2];

	printf("%s: %" PRIu64 " %s recovered%s%s\n", j->shown, samples,
	       text_plural(samples, "sample", "samples"), *why ? "; then " : "",
	       escape_text(why, strlen(why), shown, sizeof(shown)));
}

static int rewrite_file(struct job *j)
{
	const char *to = j->opts->output ? j->opts->output : j->path;
	bool in_place = !j->opts->output;
	struct profile_out out;
	struct writer w = { 0 };
	const struct tach_options tach = { .layout = recover_info(j->r)->layout,
					   .compress = recover_info(j->r)->compression != 0 };
	char why[WHY_BYTES];
	int err;

	err = profile_out_tach(&out, to, &tach);
	if (err)
		return err;
	w.sink = out.sink;
	err = write_samples(j, &w, why);
	if (!err)
		err = copy_rights(j, out.file.fd);
	if (!err && in_place && recover_source(j->r) != RECOVERY_JOURNAL)
		err = keep_original(j);
	err = profile_out_close(&out, err);
	if (err)
		return err;
	if (in_place && recover_source(j->r) == RECOVERY_JOURNAL)
		unlink(j->journal);
	if (!in_place) {
		profile_out_renew(to, &j->opts->input, NULL);
		regions_remove(to);
	}
	print_result(j, w.samples, why);
	return 0;
}

/* The file's tables are intact: if its samples are, too, only a left-over journal is removed. */
static int recover_whole(struct job *j)
{
	struct counts c = { 0 };
	char why[WHY_BYTES];
	int err;

	err = recover_samples(j->r, on_count, &c, why, sizeof(why));
	if (err) {
		log_error("cannot read '%s': %s", j->shown, strerror(-err));
		return err;
	}
	if (*why || j->opts->output)
		return rewrite_file(j);
	if (!recover_is_live(j->r))
		unlink(j->journal);
	printf("%s: nothing to recover, %" PRIu64 " %s readable\n", j->shown, c.samples,
	       text_plural(c.samples, "sample is", "samples are"));
	return 0;
}

static int recover_tach(const char *path, const struct recover_options *opts)
{
	struct job j = { .opts = opts, .path = path, .shown = text_escape(path, strlen(path)) };
	char why[WHY_BYTES], shown[WHY_BYTES * 2];
	int err;

	err = j.shown ? journal_path(path, j.journal) : -ENOMEM;
	if (err) {
		log_error("cannot recover '%s': %s", j.shown ? j.shown : "?", strerror(-err));
		goto out;
	}
	j.r = recover_open(path, j.journal, why, sizeof(why));
	if (!j.r) {
		err = -errno;
		log_error("cannot recover '%s': %s", j.shown,
			  escape_text(why, strlen(why), shown, sizeof(shown)));
	} else if (recover_is_live(j.r) && !opts->output) {
		log_error("'%s' is still being recorded: use -o FILE to copy what was recorded so "
			  "far",
			  j.shown);
		err = -EBUSY;
	} else if (recover_source(j.r) == RECOVERY_WHOLE) {
		err = recover_whole(&j);
	} else {
		err = rewrite_file(&j);
	}
out:
	recover_free(j.r);
	free(j.shown);
	return err;
}

/* ---- .mlyze files: NAME.events and NAME.names are joined; with -o they stay ---- */

/* The file to be made: path without .events or .names. */
struct wanted {
	char path[PATH_MAX];
	const char *name;	/* its last component */
	int dirfd;		/* its directory; -1: it cannot be opened */
	char *shown;		/* escaped */
};

/* Returns the length of path without .events or .names; 0: it has neither. */
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

static bool is_memory(const char *path)
{
	char whole[PATH_MAX];
	size_t len = part_of(path);

	if (ends_with(path, MLYZE_SUFFIX) || has_parts(path))
		return true;
	snprintf(whole, sizeof(whole), "%.*s", (int)len, path);
	return len && len < PATH_MAX && has_parts(whole);
}

static int find_wanted(struct wanted *w, const char *path)
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

/* Counts its events. 0; -EBADMSG: it is damaged, which was logged. */
static int count_events(const struct wanted *w, const struct input *in)
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
	err = count_events(w, in);
	input_unmap(in);
	return err;
}

/* Sets the permissions and the owner of the events. */
static int copy_events_rights(const struct wanted *w, int fd)
{
	char events[PATH_MAX + 16];
	struct stat st;

	snprintf(events, sizeof(events), "%s" MLYZE_EVENTS_SUFFIX, w->name);
	if (fstatat(w->dirfd, events, &st, AT_SYMLINK_NOFOLLOW) || fchmod(fd, st.st_mode & 0777) ||
	    (!geteuid() && fchown(fd, st.st_uid, st.st_gid)))
		return -errno;
	return 0;
}

static void print_joined(const char *shown, const struct mlyze_joined *joined)
{
	printf("%s: %" PRIu64 " %s recovered", shown, joined->events,
	       text_plural(joined->events, "event", "events"));
	if (joined->dropped)
		printf("; then %" PRIu64 " %s not a complete event", joined->dropped,
		       text_plural(joined->dropped, "byte that is", "bytes that are"));
	printf("\n");
}

static int join_parts(const struct wanted *w, const char *to)
{
	char why[WHY_BYTES] = "", shown[2 * WHY_BYTES];
	struct mlyze_joined joined;
	struct output_file out;
	int err = output_open(&out, to ? to : w->path);

	if (err)
		return err;
	err = mlyze_join_to(out.fd, w->dirfd, w->name, &joined, why, sizeof(why));
	if (!err) {
		err = copy_events_rights(w, out.fd);
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
	print_joined(w->shown, &joined);
	return 0;
}

static int recover_parts(const struct wanted *w, const struct recover_options *opts)
{
	if (!has_parts(w->path))
		return look_at_whole(w);
	if (mlyze_is_live(w->dirfd, w->name) && !opts->output) {
		log_error("'%s' is still being recorded: use -o FILE to copy what was recorded so "
			  "far",
			  w->shown);
		return -EBUSY;
	}
	return join_parts(w, opts->output);
}

static int recover_memory(const char *path, const struct recover_options *opts)
{
	struct wanted w;
	int err = find_wanted(&w, path);

	if (err)
		log_error("cannot recover '%s': %s", w.shown ? w.shown : "?", strerror(-err));
	else
		err = recover_parts(&w, opts);
	if (w.dirfd >= 0)
		close(w.dirfd);
	free(w.shown);
	return err;
}

/* ---- files and recordings ---- */

static int recover_file(const char *path, const struct recover_options *opts)
{
	return is_memory(path) ? recover_memory(path, opts) : recover_tach(path, opts);
}

static int is_profile(const struct dirent *d)
{
	return *d->d_name != '.' &&
	       (ends_with(d->d_name, SUFFIX) || ends_with(d->d_name, MLYZE_SUFFIX) ||
		ends_with(d->d_name, MLYZE_SUFFIX MLYZE_NAMES_SUFFIX));
}

/*
 * Returns true if the entry has just been recovered. A file and its journal are two entries, in
 * this order.
 */
static bool is_of_last(const char *name, const char *last)
{
	return last && ends_with(name, MLYZE_NAMES_SUFFIX) &&
	       strlen(last) == strlen(name) - strlen(MLYZE_NAMES_SUFFIX) &&
	       !strncmp(name, last, strlen(last));
}

/* Recovers every profile in a directory, also after one that could not be recovered. */
static int recover_dir(const char *dir, const struct recover_options *opts)
{
	struct dirent **entries = NULL;
	int cnt, i, err = 0, one;
	char shown[512];

	escape_text(dir, strlen(dir), shown, sizeof(shown));
	if (opts->output) {
		log_error("'%s' is a directory, whose files are recovered in place; leave "
			  "-o out", shown);
		return -EINVAL;
	}
	cnt = scandir(dir, &entries, is_profile, versionsort);
	if (cnt < 0) {
		log_error("cannot read '%s': %s", shown, strerror(errno));
		return -EIO;
	}
	if (!cnt)
		log_error("no .tach or .mlyze file in directory '%s': expected the directory of a "
			  "recording", shown);
	for (i = 0; i < cnt; i++) {
		char *path;

		if (is_of_last(entries[i]->d_name, i ? entries[i - 1]->d_name : NULL))
			continue;
		if (asprintf(&path, "%s/%s", dir, entries[i]->d_name) < 0)
			path = NULL;
		one = path ? recover_file(path, opts) : -ENOMEM;
		err = err ? err : one;
		free(path);
	}
	for (i = 0; i < cnt; i++)
		free(entries[i]);
	free(entries);
	return cnt ? err : -ENOENT;
}

int recover_run(const struct recover_options *opts)
{
	struct stat st;
	int err = 0, one;
	size_t i;

	for (i = 0; i < opts->input.path_cnt; i++) {
		if (!stat(opts->input.paths[i], &st) && S_ISDIR(st.st_mode))
			one = recover_dir(opts->input.paths[i], opts);
		else
			one = recover_file(opts->input.paths[i], opts);
		err = err ? err : one;
	}
	if (!err)
		err = output_flush_stdout();
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
