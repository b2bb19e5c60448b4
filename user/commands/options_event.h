/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * options_event.h - the options of record that choose an event, -e and -c, and what goes with it.
 */
#ifndef TACHBPF_OPTIONS_EVENT_H
#define TACHBPF_OPTIONS_EVENT_H

#include "base/cli.h"
#include "commands/options.h"

/* Setters for options_tables.c, as in options_set.h. */
int opt_event(void *target, const struct cli_option *opt, const char *value);
int opt_event_count(void *target, const struct cli_option *opt, const char *value);

/* Does everything go together? Fills in defaults. 0, or -EINVAL after logging. */
int options_event_check(struct record_options *r);

/* The mode that the options ask for: of -m, or that of events. */
const struct record_mode_def *options_mode(const struct record_options *r);

#endif
