// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * profile_out.c - see profile_out.h. Knows no format but that TACH seeks.
 */
#include "commands/profile_out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/compress.h"
#include "base/util.h"
#include "commands/options.h"
#include "formats/formats.h"
#include "formats/sinks.h"

#define SHOWN_BYTES 512
/* Frames share nothing: fewer are smaller. As much memory again goes into compressing one. */
#define FRAME_BYTES (8 << 20)

const char *profile_out_title(const struct file_options *opts)
{
	const char *slash = opts->path_cnt == 1 ? strrchr(opts->paths[0], '/') : NULL;

	if (opts->path_cnt != 1)
		return NULL;
	return slash && slash[1] ? slash + 1 : opts->paths[0];
}

void profile_out_complain(const char *path, int err)
{
	char shown[SHOWN_BYTES];

	escape_text(path, strlen(path), shown, sizeof(shown));
	if (err == -EOVERFLOW)
		log_error("cannot write '%s': too many samples: the layouts draft1 and draft2 end at "
			  "2^32 - 1, and counts that are written out as samples at 2^30 in a file",
			  shown);
	else if (err != -EPIPE && err != SINK_REPORTED)
		log_error("cannot write '%s': %s", shown, strerror(-err));
}

int profile_out_open(struct profile_out *out, const struct sink_ops *ops, const char *path,
		     const struct file_options *opts, bool many)
{
	struct sink_args args = { .layout = opts->layout, .many = many,
				  .frame_bytes = FRAME_BYTES,
				  .lines = opts->lines, .group = opts->group,
				  .no_source = opts->no_source,
				  .title = profile_out_title(opts) };
	int err = 0;

	*out = (struct profile_out){ .path = path, .to_stdout = !strcmp(path, "-") };
	if (out->to_stdout && ops == &sink_tach) {
		log_error("TACH cannot be written to standard output: give -o a file's name");
		return -EINVAL;
	}
	if (out->to_stdout && ops->binary && isatty(STDOUT_FILENO)) {
		log_error("%s is not for terminals: give -o FILE", ops->name);
		return -EINVAL;
	}
	if (out->to_stdout)
		out->path = "standard output";
	else
		err = output_open(&out->file, path);
	if (err)
		return err;
	args.fd = out->to_stdout ? STDOUT_FILENO : out->file.fd;
	if (ops == &sink_tach && !opts->no_compression)
		args.compressor = out->compressor = compressor_new(COMPRESS_LEVEL);
	if (ops != &sink_tach || opts->no_compression || out->compressor)
		out->sink = sink_new(ops, &args);
	if (out->sink)
		return 0;
	err = errno ? -errno : -ENOMEM;
	return profile_out_close(out, err);
}

int profile_out_close(struct profile_out *out, int err)
{
	int close_err = out->sink ? out->sink->ops->close(out->sink) : 0;

	compressor_free(out->compressor);
	err = err ? err : close_err;
	if (err && err != -ECANCELED)
		profile_out_complain(out->path, err);
	if (out->to_stdout)
		return err;
	if (!err)
		return output_commit(&out->file);
	output_abort(&out->file);
	return err;
}
