/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * async_sums.h - what a recording with --async says of asyncio tasks: in sums, in session.json and
 * in the summary.
 */
#ifndef TACHBPF_ASYNC_SUMS_H
#define TACHBPF_ASYNC_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct async_stats;
struct json;

/* Add what another process has, or subtract what was counted before. */
void async_stats_add(struct async_stats *sum, const struct async_stats *s);
void async_stats_since(struct async_stats *s, const struct async_stats *before);

/* The member "async" of session.json's outermost object, and of a process. all: also what did not
 * occur. */
void async_json(struct json *j, const struct async_stats *s, bool all);
/* Lines of the summary. */
void async_print(const struct async_stats *s, FILE *out);

#endif
