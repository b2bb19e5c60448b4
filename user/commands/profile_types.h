/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * profile_types.h - which sample type of a set of files counts: the agent writes CPU time, waits
 * and memory to files of their own, whose sum means nothing.
 */
#ifndef TACHBPF_PROFILE_TYPES_H
#define TACHBPF_PROFILE_TYPES_H

#include <stdbool.h>

struct profile_set;

/* Returns true if a file of this name has sample types: pprof or OTLP. */
bool profile_name_is_typed(const char *name);

/* If --value names no type, it is the first such file's. 0 or -ENOMEM. */
int profile_types_choose(struct profile_set *set);

/* After profile_set_each(): says how many files have other types. None of the type: an error. */
void profile_types_report(struct profile_set *set);

#endif
