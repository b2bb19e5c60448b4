/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sinks.h - finds output formats: by name, by a file's name, one after the other. */
#ifndef TACHBPF_SINKS_H
#define TACHBPF_SINKS_H

#include "base/util.h"
#include "model/sink.h"

/*
 * Opens a sink. GROUP_CONTAINER, which formats do not know, is implemented here: profiles are
 * joined by container. Returns NULL with errno on failure.
 */
struct sink *sink_new(const struct sink_ops *ops, const struct sink_args *args);

/* The format with this name, or NULL. */
const struct sink_ops *sink_find(const char *name);
/* The i-th format; NULL: no more. For --help. */
const struct sink_ops *sink_at(size_t i);

/*
 * Returns the format for a file of this name: by its suffix, ".NAME", or another ending that people
 * use for such files, as ".txt"; the longest one decides. NULL: unknown.
 */
const struct sink_ops *sink_for_path(const char *path);
/* Appends the endings of all formats, as in ".svg, .html", for messages. Returns 0 or -ENOMEM. */
int sink_endings(struct buf *out);

#endif
