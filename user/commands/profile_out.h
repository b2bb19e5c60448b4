/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_out.h - a sink and the file it writes, which appears when it is
 * complete: for commands that write profiles.
 *
 * All of these log why they fail; no reader of standard output is no news.
 */
#ifndef TACHBPF_PROFILE_OUT_H
#define TACHBPF_PROFILE_OUT_H

#include <stdbool.h>

#include "base/output.h"
#include "model/sink.h"

struct export_options;
struct input_options;
struct tach_options;

struct profile_out {
	const char *path;
	bool to_stdout;
	struct output_file file;
	struct compressor *compressor;
	struct sink *sink;
};

/* What an export's options say, in format. many: several profiles will come. 0 or -errno. */
int profile_out_open(struct profile_out *out, const struct sink_ops *format,
		     const struct export_options *export, const struct input_options *input,
		     bool many);
/* A TACH file. 0 or -errno. */
int profile_out_tach(struct profile_out *out, const char *path, const struct tach_options *tach);

/* err: what went wrong while it was written (0, or -errno; -ECANCELED: it was logged). 0 or -errno. */
int profile_out_close(struct profile_out *out, int err);

/* What reports are headed with: the one path's last component; NULL: there are several. */
const char *profile_out_title(const struct input_options *input);

/* One line about a sink's error. */
void profile_out_complain(const char *path, int err);

#endif
