// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * record_export.c - files in other formats at the end of a recording: of --html, and of -o with a
 * format's name, for which the recording itself is removed once it is converted. See
 * record_parts.h.
 */
#include "commands/record_hot.h"
#include "commands/record_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/text.h"
#include "base/util.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "formats/formats.h"
#include "recording/recording.h"
#include "recording/replaced.h"

#define SHOWN_BYTES 512

static const char *shown_path(const char *path, char buf[SHOWN_BYTES])
{
	return escape_text(path, strlen(path), buf, SHOWN_BYTES);
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- before the recording ---- */

/* Checks that a file can be created there. 0, or -errno after logging. */
static int check_path(const char *path)
{
	struct output_file file;
	int err = path ? output_open(&file, path) : 0;

	if (path && !err)
		output_abort(&file);
	return err;
}

int record_check_exports(const struct record_options *opts)
{
	const char *path = opts->export.path;
	char shown[SHOWN_BYTES];
	struct stat st;
	int err = check_path(opts->html);

	if (!err && path && !opts->recording.force && !lstat(path, &st) && S_ISREG(st.st_mode)) {
		log_error("'%s' already exists; remove it, choose another name with -o, or use "
			  "--force to replace it", shown_path(path, shown));
		return -EEXIST;
	}
	return err ? err : check_path(path);
}

/* ---- after it ---- */

/* Converts the recording at these paths. 0, or -errno after logging. */
static int write_export(const struct record_options *opts, const struct recording_paths *paths,
			const struct sink_ops *format, const char *path)
{
	struct convert_options convert = {
		.export = { .tach.compress = true, .format = format, .output = path,
			    .no_source = opts->no_source, .only_kept = true },
	};
	int err = record_find_profiles(paths, &convert.input);
	char shown[SHOWN_BYTES];

	if (opts->export.path)
		convert.export.title = last_component(opts->export.path);
	if (err)
		log_error("cannot write '%s': %s", shown_path(path, shown), strerror(-err));
	else if (convert_run(&convert) != EXIT_SUCCESS)
		err = -EIO;
	else
		log_info(format == &sink_flamegraph ? "flame graph: %s" : "wrote %s",
			 shown_path(path, shown));
	free(convert.input.paths);
	return err;
}

/* Says that nothing was written because there are no samples. */
static void say_nothing(const char *what, const char *path)
{
	char shown[SHOWN_BYTES];

	if (path)
		log_warn("there are no samples: no %s was written to '%s'", what,
			 shown_path(path, shown));
}

int record_write_exports(const struct record_options *opts, const struct recording_paths *paths,
			 const struct recording_result *result, const char **page)
{
	const struct record_export *e = &opts->export;
	int html_err = 0, err = 0;

	*page = NULL;
	if (!result->samples) {
		say_nothing("flame graph", opts->html);
		say_nothing(e->path ? e->format->name : "", e->path);
		return 0;
	}
	if (opts->html)
		html_err = write_export(opts, paths, &sink_flamegraph, opts->html);
	if (e->format)
		err = write_export(opts, paths, e->format, e->path);
	if (opts->html && !html_err)
		*page = opts->html;
	else if (!opts->html && e->format && !err)
		*page = e->path;
	return err ? err : html_err;
}

void record_end_export(const struct record_options *opts, bool written)
{
	char name[OUTPUT_NAME_MAX], shown[SHOWN_BYTES];
	struct stat st;
	int parent, err;

	if (!opts->export.format || lstat(opts->export.recording, &st))
		return;
	if (!written) {
		log_info("the recording is kept in '%s': tachbpf convert can write it in any "
			 "format", shown_path(opts->export.recording, shown));
		return;
	}
	parent = output_open_parent(opts->export.recording, name, true);
	if (parent < 0)
		return;
	err = old_recording_remove(parent, name);
	if (err && err != -EPERM)
		log_warn("cannot remove '%s': %s", shown_path(opts->export.recording, shown),
			 strerror(-err));
	close(parent);
}
