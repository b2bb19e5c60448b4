/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * record_show.h - what the user sees of a recording when it has ended: the hottest functions, the
 * busiest processes, the flame graph of --html, and how to see more.
 */
#ifndef TACHBPF_RECORD_SHOW_H
#define TACHBPF_RECORD_SHOW_H

#include <stdbool.h>

struct record_options;
struct recording_paths;
struct recording_result;

/*
 * Print the hottest functions of the recording at these paths, with -a also the busiest processes,
 * and the next commands. Nothing if it has no samples. A recording that cannot be read in about a
 * second is not read: the command that does it is named.
 */
void record_show_hot(const struct record_options *opts, const struct recording_paths *paths);

/* --html: can the file be written? For the beginning. 0, or -errno after logging. */
int record_check_html(const struct record_options *opts);
/*
 * Write the flame graph, as replay does, if there are samples; otherwise log that there are none.
 * *written: the file was written. 0, or -errno after logging.
 */
int record_write_html(const struct record_options *opts, const struct recording_paths *paths,
		      const struct recording_result *result, bool *written);

#endif
