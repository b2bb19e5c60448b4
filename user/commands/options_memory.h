/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * options_memory.h - record's options for --mode mem: how they are set, and which options go
 * together.
 */
#ifndef TACHBPF_OPTIONS_MEMORY_H
#define TACHBPF_OPTIONS_MEMORY_H

#include "base/cli.h"
#include "commands/options.h"

/* What holds if the option is not given. */
#define MEMORY_EVERY_BYTES 65536
#define MEMORY_INTERVAL_S 1.0
#define MEMORY_MIN_BLOCK_BYTES 512

/* Setters, as those of options_set.h: --every, --interval, --allocations. */
int opt_memory_every(void *target, const struct cli_option *opt, const char *value);
int opt_memory_interval(void *target, const struct cli_option *opt, const char *value);
int opt_allocations(void *target, const struct cli_option *opt, const char *value);

/*
 * What is recorded was chosen. Refuse what has no sense together, and set what was not given. 0, or
 * -EINVAL after logging why.
 */
int options_memory_check(struct record_options *r);

#endif
