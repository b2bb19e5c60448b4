/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_sink.h - a sink in memory: the samples of a process that is too young to know
 * whether it deserves a file of its own.
 *
 * The frames keep the process' ids: replay it while the process' tables live.
 */
#ifndef TACHBPF_MEMORY_SINK_H
#define TACHBPF_MEMORY_SINK_H

#include "model/sink.h"

/* NULL with errno. Freed by its ops->close(). */
struct sink *memory_sink_new(void);

bool memory_sink_is(const struct sink *s);
size_t memory_sink_bytes(const struct sink *s);

/* Every sample in order, to event() until that returns non-zero, which is passed on. */
int memory_sink_replay(const struct sink *s, int (*event)(void *ctx, const struct event *ev),
		       void *ctx);

#endif
