/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * memory_sink.h - a sink that keeps the samples of a process in memory, until it is known whether
 * the process gets its own file.
 *
 * Frames keep the process's ids: replay it before the process's tables are freed.
 */
#ifndef TACHBPF_MEMORY_SINK_H
#define TACHBPF_MEMORY_SINK_H

#include "model/sink.h"

/* Returns NULL with errno. Freed by its ops->close(). */
struct sink *memory_sink_new(void);

/* Return whether the sink is one of these, and how many bytes it holds. */
bool memory_sink_is(const struct sink *s);
size_t memory_sink_bytes(const struct sink *s);
/* Drops all samples. */
void memory_sink_empty(struct sink *s);

/* Calls event() for every sample in order, until it returns non-zero; returns that value, or 0. */
int memory_sink_replay(const struct sink *s, int (*event)(void *ctx, const struct event *ev),
		       void *ctx);

#endif
