/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sinks.h - the formats that are written: by name, by a file's name, one after the other.
 */
#ifndef TACHBPF_SINKS_H
#define TACHBPF_SINKS_H

#include "model/sink.h"

/*
 * ops->open(); GROUP_CONTAINER, which formats do not know, becomes profiles of containers
 * by process. NULL with errno.
 */
struct sink *sink_new(const struct sink_ops *ops, const struct sink_args *args);

/* By name; NULL: no such format. */
const struct sink_ops *sink_find(const char *name);
/* The i-th format, NULL behind the last: for --help. */
const struct sink_ops *sink_at(size_t i);

/* What a file of that name would hold: by its suffix or ".NAME"; NULL: that does not say. */
const struct sink_ops *sink_for_path(const char *path);

#endif
