/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_out.h - an output file, or standard output, and the sink that writes it, for commands
 * that write profiles. The file appears when it is complete.
 *
 * All functions log why they fail, except when standard output was closed by its reader.
 */
#ifndef TACHBPF_PROFILE_OUT_H
#define TACHBPF_PROFILE_OUT_H

#include <stdbool.h>

#include "base/output.h"
#include "model/reader.h"
#include "model/sink.h"
#include "model/source_lookup.h"

struct export_options;
struct input_options;
struct profile_set;
struct source_book;
struct tach_options;

struct profile_out {
	const char *path;
	bool to_stdout;
	struct output_file file;
	bool to_dir;
	int dirfd;		/* if to_dir */
	struct compressor *compressor;
	struct sink *sink;
	struct source_book *book;	/* of pages; NULL: none */
	struct source_lookup sources;	/* ... as their sink gets it */
	uint64_t events;	/* set by profile_out_expect() */
};

/*
 * Returns how files are read for an export in this format: with memory, both allocated and held, if
 * the format shows both and the user has not chosen one.
 */
struct reader_args profile_out_reader(const struct input_options *input,
				      const struct sink_ops *format);

/*
 * Opens the output of an export in this format, unless it is open: only the first open file shows
 * whether there are several profiles. set: what will be written; it must outlive the output. 0, or
 * -ECANCELED after logging; then there is nothing to close.
 */
int profile_out_open(struct profile_out *out, const struct sink_ops *format,
		     const struct export_options *export, const struct input_options *input,
		     const struct profile_set *set);
/*
 * This many more events will follow: checks whether the file gets too large. 0, or SINK_REPORTED
 * after logging the size. Only for formats that write each event.
 */
int profile_out_expect(struct profile_out *out, const struct sink_ops *format,
		       const struct export_options *export, uint64_t events);
/* Opens a TACH file at path. 0, or -errno; then there is nothing to close. */
int profile_out_tach(struct profile_out *out, const char *path, const struct tach_options *tach);

/*
 * Closes the output. err: the error while writing (0 or -errno; -ECANCELED: already logged), after
 * which the file is removed. Returns err, or the error of closing: 0 or -errno.
 */
int profile_out_close(struct profile_out *out, int err);

/*
 * The TACH file at path was written from these profiles; NULL: from files that cannot be read. If
 * it is not among the input, a FILE.json next to it describes a profile that no longer exists, and
 * is removed; and the source texts that the profiles' recordings kept are kept next to it.
 */
void profile_out_renew(const char *path, const struct input_options *input,
		       const struct profile_set *set);

/* Returns the title of reports: the last component of the only path; NULL if there are several. */
const char *profile_out_title(const struct input_options *input);

/* Logs a sink's error in one line; nothing for -EPIPE and for errors that the sink has logged. */
void profile_out_complain(const char *path, int err);

#endif
